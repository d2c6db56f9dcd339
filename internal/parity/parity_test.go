package parity

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

// vector is a log, and what adk-python made of it.
type vector struct {
	Feature           string
	Seed, Turn        int
	Interval, Overlap int
	Events            []*session.Event
	// Window are the IDs of the events that it gave to the summarizer.
	Window []string
	// Summary is the event that it stored, if it did.
	Summary json.RawMessage
	// Contents are the roles and parts that it sends afterwards.
	Contents [][]any
}

func vectors(t *testing.T) (all []vector) {
	file, err := os.Open("testdata/vectors.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%v: %.200s", err, lines.Text())
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWindows: the same window is chosen, but for the differences that have a
// name.
func TestWindows(t *testing.T) {
	differences := []difference{
		{"a backlog goes window by window, where adk-python takes it all at once", func(v vector, ours []string) bool {
			return v.Feature == "backlog" && len(ours) > 0 && slices.Equal(ours, v.Window[:min(len(ours), len(v.Window))])
		}},
		{"what waits steps aside, where adk-python stops at it or waits", func(v vector, ours []string) bool {
			return waits(v.Events)
		}},
		{"an invocation that may go on is not summarized yet", func(v vector, ours []string) bool {
			return v.Feature == "cut off" && isUnfinished(v.Events)
		}},
		{"a window is of one branch and scope, where adk-python mixes branches", func(v vector, ours []string) bool {
			return (v.Feature == "branches" || v.Feature == "scopes") && len(lanesOf(v.Events)) > 1
		}},
		{"after a rewind what the summary covered is new again by itself", func(v vector, ours []string) bool {
			return v.Feature == "rewinds" && isRewound(v.Events)
		}},
	}
	compare(t, differences, func(v vector) (ours []string, equal bool) {
		w, ok := compaction.SelectEventsToCompact(v.Events, &compaction.Config{CompactionInterval: v.Interval, OverlapSize: v.Overlap})
		if ok {
			for _, e := range w.Events {
				ours = append(ours, e.ID)
			}
		}
		return ours, slices.Equal(ours, v.Window)
	}, func(v vector) any { return v.Window })
}

// TestContents: the model is sent the same, but for the differences that have a
// name. How a summary and what other agents said are put into words is one for
// all, and is taken away before the comparison.
func TestContents(t *testing.T) {
	differences := []difference{
		{"a long-running call that waits gets an answer that says so, as providers want one", func(v vector, ours []string) bool {
			return slices.ContainsFunc(ours, func(line string) bool { return strings.Contains(line, `{"status": "pending"}`) })
		}},
		{"a summary hides its own branch and scope only, where adk-python's hides by time", func(v vector, ours []string) bool {
			return (v.Feature == "branches" || v.Feature == "scopes") && len(lanesOf(v.Events)) > 1
		}},
	}
	compare(t, differences, func(v vector) (ours []string, equal bool) {
		log := v.Events
		if len(v.Window) > 0 {
			var summary session.Event
			if err := json.Unmarshal(v.Summary, &summary); err != nil {
				t.Fatal(err)
			}
			log = append(slices.Clone(log), &summary)
		}
		for _, content := range icontext.Contents(log, icontext.Options{Agent: "guide", Compacted: true}) {
			ours = append(ours, shown(content)...)
		}
		return ours, slices.Equal(ours, theirs(v))
	}, func(v vector) any { return theirs(v) })
}

// TestStored: the record that adk-python stored is read and written as it was.
func TestStored(t *testing.T) {
	n := 0
	for _, v := range vectors(t) {
		if len(v.Window) == 0 {
			continue
		}
		n++
		var stored struct {
			Actions struct{ Compaction map[string]any }
		}
		var read session.Event
		if err := json.Unmarshal(v.Summary, &stored); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(v.Summary, &read); err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(read.Actions.Compaction)
		if err != nil {
			t.Fatal(err)
		}
		var again map[string]any
		if err := json.Unmarshal(written, &again); err != nil || !reflect.DeepEqual(again, stored.Actions.Compaction) {
			t.Errorf("%v\nread and written as %s", stored.Actions.Compaction, written)
		}
	}
	t.Logf("%d records", n)
}

// difference is a deliberate one: it explains why ours is not what adk-python
// does to v.
type difference struct {
	name     string
	explains func(v vector, ours []string) bool
}

// compare counts the vectors that are equal, and those that a difference
// explains. Any other is an error.
func compare(t *testing.T, differences []difference, ours func(vector) ([]string, bool), theirs func(vector) any) {
	counts, equal, total := map[string]int{}, map[string][2]int{}, 0
	for _, v := range vectors(t) {
		total++
		got, same := ours(v)
		share := equal[v.Feature]
		share[1]++
		if same {
			share[0]++
		} else if i := slices.IndexFunc(differences, func(d difference) bool { return d.explains(v, got) }); i >= 0 {
			counts[differences[i].name]++
		} else {
			t.Errorf("%s %d, turn %d, interval %d, overlap %d:\n%s\nours %q\nadk-python's %q", v.Feature, v.Seed, v.Turn, v.Interval, v.Overlap, describe(v.Events), got, theirs(v))
		}
		equal[v.Feature] = share
	}
	same := 0
	for _, feature := range slices.Sorted(maps.Keys(equal)) {
		same += equal[feature][0]
		t.Logf("%-14s %3d of %3d equal", feature, equal[feature][0], equal[feature][1])
	}
	t.Logf("%-14s %3d of %3d equal", "all", same, total)
	for _, d := range differences {
		t.Logf("%3d: %s", counts[d.name], d.name)
		if counts[d.name] == 0 {
			t.Errorf("no vector shows the difference %q", d.name)
		}
	}
}

// theirs are the contents that adk-python sends, a line for each part, with
// what it says around the words of other agents taken away.
func theirs(v vector) (lines []string) {
	for _, content := range v.Contents {
		role, _ := content[0].(string)
		parts, _ := content[1].([]any)
		for _, part := range parts {
			text, _ := part.(string)
			if text == "For context:" {
				continue
			}
			if strings.HasPrefix(text, "summary ") {
				role = genai.RoleUser // ours is the user's
			}
			lines = append(lines, role+" "+strings.Replace(text, "] said:", "] wrote:", 1))
		}
	}
	return lines
}

// shown are the parts of a content of ours in the same form.
func shown(content *genai.Content) (lines []string) {
	for _, part := range content.Parts {
		switch text := part.Text; {
		case part.FunctionCall != nil:
			lines = append(lines, fmt.Sprintf("%s call %s %s", content.Role, part.FunctionCall.ID, part.FunctionCall.Name))
		case part.FunctionResponse != nil:
			data, _ := json.Marshal(part.FunctionResponse.Response)
			spaced := strings.ReplaceAll(strings.ReplaceAll(string(data), `":`, `": `), `,"`, `, "`)
			lines = append(lines, fmt.Sprintf("%s response %s %s", content.Role, part.FunctionResponse.ID, spaced))
		case strings.HasPrefix(text, "<earlier>"), text == "</earlier>", strings.HasPrefix(text, "From another agent"):
		default:
			lines = append(lines, content.Role+" "+strings.TrimSpace(text))
		}
	}
	return lines
}

// waits reports whether a log holds a call, or a question, without an answer.
func waits(events []*session.Event) bool {
	open := map[string]bool{}
	for _, e := range events {
		if e.Content != nil {
			for _, part := range e.Content.Parts {
				if part.FunctionCall != nil {
					open[part.FunctionCall.ID] = true
				}
				if part.FunctionResponse != nil && part.FunctionResponse.Response["status"] != "started" {
					delete(open, part.FunctionResponse.ID)
				}
			}
		}
		for id := range e.Actions.RequestedToolConfirmations {
			open[id] = true
		}
	}
	// A long-running call with one answer only still waits for the last.
	for _, e := range events {
		if len(e.LongRunningToolIDs) > 0 {
			return true
		}
	}
	return len(open) > 0
}

func isUnfinished(events []*session.Event) bool {
	last := events[len(events)-1]
	return last.Author == "user" || !last.IsFinalResponse()
}

func isRewound(events []*session.Event) bool {
	return slices.ContainsFunc(events, func(e *session.Event) bool { return e.Actions.RewindBeforeInvocationID != "" })
}

func lanesOf(events []*session.Event) map[icontext.Lane]bool {
	lanes := map[icontext.Lane]bool{}
	for _, e := range events {
		lanes[icontext.LaneOf(e)] = true
	}
	return lanes
}

func describe(events []*session.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%s %s %s@%s!%s:", e.ID, e.InvocationID, e.Author, e.Branch, e.IsolationScope)
		if e.Content != nil {
			b.WriteString(" " + strings.Join(shown(e.Content), ", "))
		}
		if r := e.Actions.Compaction; r != nil {
			fmt.Fprintf(&b, " %s covers %v-%v", r.Text(), r.Start().Unix()-1767225600, r.End().Unix()-1767225600)
		}
		if id := e.Actions.RewindBeforeInvocationID; id != "" {
			b.WriteString(" rewind " + id)
		}
		for id := range e.Actions.RequestedToolConfirmations {
			b.WriteString(" confirm " + id)
		}
		b.WriteString("\n")
	}
	return b.String()
}
