package conversation

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite what the cases in testdata want")

// TestCases reads the logs in testdata. A case is some prose, the log, and
// what is read from it, or the error.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i+1 < len(archive.Files); i += 2 {
				input, want := archive.Files[i], &archive.Files[i+1]
				if want.Name != "want" {
					t.Fatalf("%s is followed by %s, not by want", input.Name, want.Name)
				}
				got := describe(Parse(input.Name, input.Data))
				if *update {
					want.Data = []byte(got)
				} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", input.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// describe writes a conversation for people.
func describe(c *Conversation, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", c.Format)
	if c.System != "" {
		fmt.Fprintf(&b, "system: %q\n", c.System)
	}
	for i, turn := range c.Turns {
		fmt.Fprintf(&b, "turn %d\n", i+1)
		if turn.User != nil {
			for _, p := range turn.User.Parts {
				fmt.Fprintf(&b, "  user: %s\n", asJSON(p))
			}
		}
		for _, step := range turn.Steps {
			switch {
			case step.Content == nil:
				b.WriteString("  model: nothing\n")
			default:
				for _, p := range step.Content.Parts {
					fmt.Fprintf(&b, "  model: %s\n", asJSON(p))
				}
			}
			if step.ErrorCode+step.ErrorMessage != "" {
				fmt.Fprintf(&b, "    failed: %s: %s\n", step.ErrorCode, step.ErrorMessage)
			}
			if step.Usage != nil {
				fmt.Fprintf(&b, "    usage: %s\n", asJSON(step.Usage))
			}
			for _, r := range step.Results {
				fmt.Fprintf(&b, "    result of %s %q: %s\n", r.Name, r.CallID, asJSON(r.Response))
			}
		}
	}
	return b.String()
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// sharedData returns the path of a file in the data directory beside the
// repository. It is no part of the project, so the test is skipped without it.
func sharedData(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s beside the repository", filepath.Join("shared", "data", name))
	}
	return path
}

func TestSharedData(t *testing.T) {
	tests := []struct {
		file, format                         string
		turns, users, steps, results, failed int
		calls, unanswered, silent            int
	}{
		{"airline-support.json", OpenAIMessages, 209, 209, 344, 137, 0, 137, 0, 0},
		{"coding-session.jsonl", CodingAgent, 89, 88, 453, 373, 22, 391, 18, 14},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			path := sharedData(t, test.file)
			c, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			got := test
			got.format = c.Format
			got.turns = len(c.Turns)
			got.users, got.steps, got.results, got.failed, got.calls, got.silent = 0, 0, 0, 0, 0, 0
			for _, turn := range c.Turns {
				if turn.User != nil {
					got.users++
				}
				for _, step := range turn.Steps {
					got.steps++
					got.results += len(step.Results)
					if step.ErrorCode != "" {
						got.failed++
					}
					if step.Content == nil {
						got.silent++
						continue
					}
					for _, p := range step.Content.Parts {
						if p.FunctionCall != nil {
							got.calls++
						}
					}
				}
			}
			got.unanswered = got.calls - got.results
			if got != test {
				t.Errorf("got  %+v\nwant %+v", got, test)
			}
			checkInvariants(t, c)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rawOutline(t, data), outline(c)); diff != "" {
				t.Errorf("messages of the file and of the turns (-file +turns):\n%s", diff)
			}
		})
	}
}

// outline lists the messages of a conversation in order.
func outline(c *Conversation) []string {
	var list []string
	if c.System != "" {
		list = append(list, "system "+c.System)
	}
	for _, turn := range c.Turns {
		if turn.User != nil {
			list = append(list, "user "+joinText(turn.User.Parts))
		}
		for _, step := range turn.Steps {
			line := "assistant"
			if step.Content != nil {
				for _, p := range step.Content.Parts {
					if p.FunctionCall != nil {
						line += " call " + p.FunctionCall.ID + " " + p.FunctionCall.Name + asJSON(p.FunctionCall.Args)
					} else {
						line += " " + p.Text
					}
				}
			}
			list = append(list, line)
			for _, r := range step.Results {
				list = append(list, "result "+r.CallID+" "+r.Name)
			}
		}
	}
	return list
}

// rawOutline lists the messages of a file as outline does, without the code
// under test.
func rawOutline(t *testing.T, data []byte) []string {
	var doc struct{ Messages []map[string]any }
	if json.Unmarshal(data, &doc) != nil {
		for line := range strings.Lines(string(data)) {
			var entry struct{ Message map[string]any }
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(err)
			}
			if entry.Message != nil {
				doc.Messages = append(doc.Messages, entry.Message)
			}
		}
	}
	var list []string
	for _, m := range doc.Messages {
		var texts []string
		var calls string
		if text, ok := m["content"].(string); ok && text != "" {
			texts = append(texts, text)
		}
		parts, _ := m["content"].([]any)
		for _, p := range parts {
			part := p.(map[string]any)
			switch part["type"] {
			case "text":
				texts = append(texts, part["text"].(string))
			case "thinking":
				texts = append(texts, part["thinking"].(string))
			case "toolCall":
				calls += fmt.Sprintf(" call %s %s%s", part["id"], part["name"], asJSON(part["arguments"]))
			}
		}
		toolCalls, _ := m["tool_calls"].([]any)
		for _, c := range toolCalls {
			var args map[string]any
			function := c.(map[string]any)["function"].(map[string]any)
			if err := json.Unmarshal([]byte(function["arguments"].(string)), &args); err != nil {
				t.Fatal(err)
			}
			calls += fmt.Sprintf(" call %s %s%s", c.(map[string]any)["id"], function["name"], asJSON(args))
		}
		switch m["role"] {
		case "system", "user":
			list = append(list, m["role"].(string)+" "+strings.Join(texts, "\n"))
		case "assistant":
			list = append(list, strings.Join(append([]string{"assistant"}, texts...), " ")+calls)
		case "tool":
			list = append(list, fmt.Sprintf("result %s %s", m["tool_call_id"], m["name"]))
		case "toolResult":
			list = append(list, fmt.Sprintf("result %s %s", m["toolCallId"], m["toolName"]))
		}
	}
	return list
}

// checkInvariants fails the test if the conversation is not as documented.
func checkInvariants(t rapid.TB, c *Conversation) {
	t.Helper()
	if len(c.Turns) == 0 {
		t.Fatalf("no turns")
	}
	for i, turn := range c.Turns {
		if turn.User == nil && len(turn.Steps) == 0 {
			t.Fatalf("turn %d is empty", i)
		}
		if turn.User != nil && (turn.User.Role != genai.RoleUser || len(turn.User.Parts) == 0) {
			t.Fatalf("turn %d: user content %s", i, asJSON(turn.User))
		}
		if turn.User == nil && i > 0 {
			before := c.Turns[i-1].Steps
			if len(before) == 0 || len(before[len(before)-1].Results) > 0 {
				t.Fatalf("turn %d goes on with turn %d", i, i-1)
			}
		}
		for j, step := range turn.Steps {
			if j+1 < len(turn.Steps) && len(step.Results) == 0 {
				t.Fatalf("turn %d goes on after step %d without results", i, j)
			}
			open := map[call]int{}
			if step.Content != nil {
				if step.Content.Role != genai.RoleModel || len(step.Content.Parts) == 0 {
					t.Fatalf("turn %d step %d: content %s", i, j, asJSON(step.Content))
				}
				for _, p := range step.Content.Parts {
					if fc := p.FunctionCall; fc != nil {
						open[call{id: fc.ID, name: fc.Name}]++
					}
				}
			}
			for _, r := range step.Results {
				key := call{id: r.CallID, name: r.Name}
				open[key]--
				if open[key] < 0 || r.Response == nil {
					t.Fatalf("turn %d step %d: result %s", i, j, asJSON(r))
				}
			}
		}
	}
	if _, err := json.Marshal(c); err != nil {
		t.Fatalf("a value that is no JSON: %v", err)
	}
}

// TestOrder: random logs come out of the turns in the order in which they went
// in, each result at the nearest open call of its ID.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var messages, want []string
		type openCall struct{ id, name string }
		var open []openCall
		id := rapid.SampledFrom([]string{"a", "b", "c"})
		for i := range rapid.IntRange(1, 40).Draw(t, "messages") {
			kind := rapid.SampledFrom([]string{"user", "assistant", "calls", "tool", "tool"}).Draw(t, "kind")
			text := fmt.Sprint("text ", i)
			switch {
			case kind == "user":
				open = nil
				messages = append(messages, fmt.Sprintf(`{"role": "user", "content": %q}`, text))
				want = append(want, "user "+text)
			case kind == "calls":
				// A round is complete or given up before the next: only then
				// is the order of a log also that of its turns.
				open = nil
				var calls []string
				line := "assistant"
				for n := range rapid.IntRange(1, 3).Draw(t, "calls") {
					c := openCall{id.Draw(t, "id"), fmt.Sprintf("tool%d_%d", i, n)}
					open = append(open, c)
					calls = append(calls, fmt.Sprintf(`{"id": %q, "function": {"name": %q, "arguments": "{}"}}`, c.id, c.name))
					line += " call " + c.id + " " + c.name + "{}"
				}
				messages = append(messages, fmt.Sprintf(`{"role": "assistant", "content": null, "tool_calls": [%s]}`, strings.Join(calls, ",")))
				want = append(want, line)
			case kind == "tool" && len(open) > 0:
				pick := rapid.IntRange(0, len(open)-1).Draw(t, "answered")
				for first := range open { // the first of that ID is answered first
					if open[first].id == open[pick].id {
						pick = first
						break
					}
				}
				messages = append(messages, fmt.Sprintf(`{"role": "tool", "tool_call_id": %q, "content": "%d"}`, open[pick].id, i))
				want = append(want, "result "+open[pick].id+" "+open[pick].name)
				open = append(open[:pick:pick], open[pick+1:]...)
			default:
				open = nil
				messages = append(messages, fmt.Sprintf(`{"role": "assistant", "content": %q}`, text))
				want = append(want, "assistant "+text)
			}
		}
		forms := map[string]string{
			"array": "[" + strings.Join(messages, ",") + "]",
			"lines": strings.Join(messages, "\n"),
		}
		for name, form := range forms {
			c, err := Parse(name, []byte(form))
			if err != nil {
				t.Fatalf("%v\n%s", err, form)
			}
			checkInvariants(t, c)
			if diff := cmp.Diff(want, outline(c)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	huge := write("huge.json", "")
	if err := os.Truncate(huge, 200<<20); err != nil { // sparse
		t.Fatal(err)
	}
	tests := []struct{ path, want string }{
		{filepath.Join(dir, "none.json"), "no such file or directory"},
		{dir, "is a directory"},
		{huge, "209715200 bytes is more than the limit of 67108864 (64 MiB)"},
		{write("empty.json", ""), "the file is empty"},
		{write("blank.json", " \r\n\n\t"), "the file is empty"},
	}
	for _, test := range tests {
		_, err := Load(test.path)
		if want := test.path + ": " + test.want; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"too large", strings.Repeat(" ", MaxSize+1), "f: 67108865 bytes is more than the limit of 67108864 (64 MiB)"},
		{"prose", "Hello", "f: unknown format: neither OpenAI chat messages, nor an ADK session, nor a coding agent's log"},
		{"number", "17", "f: unknown format: neither OpenAI chat messages, nor an ADK session, nor a coding agent's log"},
		{"other object", `{"a": 1}`, "f: unknown format: neither OpenAI chat messages, nor an ADK session, nor a coding agent's log"},
		{"other array", `[1, 2]`, "f: unknown format: neither OpenAI chat messages, nor an ADK session, nor a coding agent's log"},
		{"messages are no array", `{"messages": 1}`, "f: unknown format: neither OpenAI chat messages, nor an ADK session, nor a coding agent's log"},
		{"no messages", `{"messages": []}`, "f: no user message and no model reply in it"},
		{"no events", `{"id": "s", "events": []}`, "f: no user message and no model reply in it"},
		{"system only", `[{"role": "system", "content": "x"}]`, "f: no user message and no model reply in it"},
		{"not UTF-8", "[\n{\"role\": \"\xff\"}]", "f:2:11: not UTF-8 text"},
		{"truncated", "{\"messages\": [\n  {\"role\": \"us\"\n", "f:2:15: unexpected end of JSON input"},
		{"trailing garbage", "{\"messages\": []}\nx", "f:2:1: invalid character 'x' after top-level value"},
		{"two documents", "{\"messages\": []}\n{\"messages\": []}", "f:2:1: invalid character '{' after top-level value"},
		{"truncated line", "{\"role\": \"user\", \"content\": \"x\"}\n{\"role\": \"us", "f:2: unexpected end of JSON input"},
		{"broken first line", "{\"role\": x}\n{\"role\": \"user\"}", "f:1:10: invalid character 'x' looking for beginning of value"},
		{"line that is no object", "{\"type\": \"session\"}\n7", "f:2: unexpected JSON number"},
		{"deep", strings.Repeat("[", 20000), "f:1:10001: invalid character '[' exceeded max depth"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("f", []byte(test.data))
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestLosslessObject(t *testing.T) {
	tests := []struct {
		text string
		want bool
	}{
		{`{}`, true},
		{` {"a": [1, 2.50, -0, 1e3, 1E-2, 0.1, true, null, {"b": "ü"}]} `, true},
		{`{"a": 9007199254740993}`, false},
		{`{"a": 9007199254740992}`, true},
		{`{"a": 12345678901234567890000}`, false},
		{`{"a": 1234567890000000000000000}`, true},
		{`{"a": 3.14159265358979323846}`, false},
		{`{"a": 1e999}`, false},
		{`{"a": 1e-999}`, false},
		{`{"a": 1e-99999999999999999999}`, false},
		{`{"a": 0e99999999999999999999}`, true},
		{`{"a": 0.000}`, true},
		{`{"a": 1, "a": 1}`, false},
		{`{"a": "\ud800"}`, false},
		{`{"\ud800": 1}`, false},
		{`{"a": "\ud83d\ude00"}`, true},
		{`{"a": [9007199254740993]}`, false},
		{`[]`, false},
		{`{"a": 1} x`, false},
		{`{"a": `, false},
		{``, false},
	}
	for _, test := range tests {
		if _, ok := losslessObject(test.text); ok != test.want {
			t.Errorf("%s: %t, want %t", test.text, ok, test.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, input := range archive.Files {
			f.Add(input.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("file", data)
		if err != nil {
			if text := err.Error(); !strings.HasPrefix(text, "file:") || strings.Contains(text, "\n") {
				t.Fatalf("error %q", text)
			}
			return
		}
		checkInvariants(t, c)
	})
}
