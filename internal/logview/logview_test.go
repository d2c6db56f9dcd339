package logview_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/session"
)

const log = `
	i1 1 user: Where is my order?
	i1 2 agent: call a find {"order": 7741}
	i1 3 agent: resp a find {"at": "depot"}
	i1 4 agent: At the depot.
	c1 5 summary 1-4: Order 7741 is at the depot.
	i2 6 user: And the lamp?
	i2 7 agent: Sent.
	c2 8 summary 6-7: The lamp is sent.
	c3 9 summary 1-7 without 6: Order 7741 is at the depot, the lamp is sent.
	c4 10 summary 7-6: Its range is inverted.
	i3 11 user: Thank you.`

// show writes blocks as a line for each entry.
func show(entries []*logview.Entry) {
	for _, block := range logview.Blocks(entries) {
		if block.Summary != nil {
			fmt.Printf("summary %d\n", block.Summary.Number)
		}
		for _, entry := range block.Entries {
			by := ""
			if entry.By != nil {
				by = fmt.Sprintf(" by %d", entry.By.Number)
			}
			fmt.Printf("  %d %s%s: %v\n", entry.Number, entry.State, by, logview.Lines(entry.Event))
		}
	}
}

func Example() {
	events, err := logtext.Parse(log)
	if err != nil {
		panic(err)
	}
	show(logview.Read(events))
	// Output:
	// summary 9
	//   1 covered by 9: [Where is my order?]
	//   2 covered by 9: [calls find {"order":7741}]
	//   3 covered by 9: [find returns {"at":"depot"}]
	//   4 covered by 9: [At the depot.]
	//   5 merged by 9: [Order 7741 is at the depot.]
	//   7 covered by 9: [Sent.]
	//   8 merged by 9: [The lamp is sent.]
	//   6 shown: [And the lamp?]
	//   10 invalid: [Its range is inverted.]
	//   11 shown: [Thank you.]
}

// A summary that was undone stands in for nothing; the ones before it do again.
func ExampleRead_undone() {
	events, err := logtext.Parse(log)
	if err != nil {
		panic(err)
	}
	undo, err := logtext.Parse("u1 12 summary 0-0: (taken back)")
	if err != nil {
		panic(err)
	}
	session.Manifest{Releases: events[8].Timestamp}.Put(undo[0])
	show(logview.Read(append(events, undo...)))
	// Output:
	// summary 5
	//   1 covered by 5: [Where is my order?]
	//   2 covered by 5: [calls find {"order":7741}]
	//   3 covered by 5: [find returns {"at":"depot"}]
	//   4 covered by 5: [At the depot.]
	// summary 8
	//   6 covered by 8: [And the lamp?]
	//   7 covered by 8: [Sent.]
	//   9 undone by 12: [Order 7741 is at the depot, the lamp is sent.]
	//   10 invalid: [Its range is inverted.]
	//   11 shown: [Thank you.]
	//   12 undo: [(taken back)]
}

func TestFind(t *testing.T) {
	events, err := logtext.Parse(log)
	if err != nil {
		t.Fatal(err)
	}
	entries := logview.Read(events)
	for name, want := range map[string]string{
		"": "9", "5": "5", "e8": "8",
		"1": "event 1 is no summary", "e99": "there is no summary e99",
	} {
		got, err := logview.Find(entries, name)
		text := fmt.Sprint(err)
		if err == nil {
			text = fmt.Sprint(got.Number)
		}
		if text != want {
			t.Errorf("Find(%q) is %s, want %s", name, text, want)
		}
	}
	if _, err := logview.Find(entries[:4], ""); err == nil || err.Error() != "the session has no summary" {
		t.Errorf("of a log without summaries: %v", err)
	}
	summary, _ := logview.Find(entries, "")
	if n := len(logview.ToldBy(entries, summary)); n != 5 {
		t.Errorf("the summary tells of %d events", n)
	}
}

func TestToldBy(t *testing.T) {
	events, err := logtext.Parse(`
		i1 1 user: One.
		i2 2 user: Two.
		c1 3 summary 1-2: One and two.
		i3 4 user: Three.
		c2 5 summary 2-4: Three.
		c3 6 summary 1-4: All.
		i4 7 user: Four.`)
	if err != nil {
		t.Fatal(err)
	}
	entries := logview.Read(events)
	for number, want := range map[int]string{3: "[1 2]", 5: "[4]", 6: "[1 2 4]"} {
		var got []int
		for _, entry := range logview.ToldBy(entries, entries[number-1]) {
			got = append(got, entry.Number)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("summary %d tells of %v, want %s", number, got, want)
		}
	}
}

// Every event is in one block, whatever the log.
func TestBlocksLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text string
		for at := range rapid.IntRange(1, 30).Draw(t, "events") {
			if rapid.IntRange(0, 3).Draw(t, "kind") > 0 {
				text += fmt.Sprintf("i%d %d user: hello\n", at, at+1)
				continue
			}
			from := rapid.IntRange(0, at+1).Draw(t, "from")
			text += fmt.Sprintf("c %d summary %d-%d: They spoke.\n", at+1, from, rapid.IntRange(0, at+1).Draw(t, "to"))
		}
		events, err := logtext.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]int{}
		for _, block := range logview.Blocks(logview.Read(events)) {
			if block.Summary != nil {
				seen[block.Summary.Number]++
			}
			for _, entry := range block.Entries {
				seen[entry.Number]++
			}
		}
		for i := range events {
			if seen[i+1] != 1 {
				t.Fatalf("event %d is in %d blocks of\n%s", i+1, seen[i+1], text)
			}
		}
	})
}
