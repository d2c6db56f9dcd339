package dialog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/internal/dialog"
)

func TestMessages(t *testing.T) {
	tests := []struct {
		name string
		// contents are lines of parts: a role, then a text, "call ID name" or
		// "result ID name", with "|" between parts. The ID "-" is none.
		contents []string
		want     []string // the same, with IDs as they are sent
		err      string
	}{
		{"nothing", nil, []string{"user: " + dialog.GoOn}, ""},
		{"a question", []string{"user: hi"}, []string{"user: hi"}, ""},
		{"the model spoke last", []string{"user: hi", "model: hello"}, []string{"user: hi", "model: hello", "user: " + dialog.GoOn}, ""},
		{"the model spoke first", []string{"model: hello", "user: hi"}, []string{"user: " + dialog.Opening, "model: hello", "user: hi"}, ""},
		{"no role is the user's", []string{": hi"}, []string{"user: hi"}, ""},
		{
			"neighbors of one role are joined",
			[]string{"user: a", "user: b | c", "model: d", "model: e", "user: f"},
			[]string{"user: a | b | c", "model: d | e", "user: f"}, "",
		},
		{
			"empty contents do not part their neighbors",
			[]string{"user: a", "model: ", "user: b"},
			[]string{"user: a | b"}, "",
		},
		{
			"a round of tools",
			[]string{"user: a", "model: let me see | call c1 f", "user: result c1 f", "model: done", "user: b"},
			[]string{"user: a", "model: let me see | call c1 f", "user: result c1 f", "model: done", "user: b"}, "",
		},
		{
			"results come in the order of their calls",
			[]string{"user: a", "model: call c1 f | call c2 g", "user: result c2 g | result c1 f"},
			[]string{"user: a", "model: call c1 f | call c2 g", "user: result c1 f | result c2 g"}, "",
		},
		{
			"results of one round in several contents",
			[]string{"user: a", "model: call c1 f | call c2 g", "user: result c1 f", "user: result c2 g"},
			[]string{"user: a", "model: call c1 f | call c2 g", "user: result c1 f | result c2 g"}, "",
		},
		{
			"a result behind what the user said",
			[]string{"user: a", "model: call c1 f", "user: wait", "user: more | result c1 f"},
			[]string{"user: a", "model: call c1 f", "user: result c1 f | wait | more"}, "",
		},
		{
			"a result after the model went on",
			[]string{"user: a", "model: call c1 f", "user: b", "model: c", "user: result c1 f | d"},
			[]string{"user: a", "model: call c1 f", "user: result c1 f | b", "model: c", "user: d"}, "",
		},
		{
			"what the model says behind a result is not put before it",
			[]string{"user: a", "model: call c1 f", "user: result c1 f", "model: done"},
			[]string{"user: a", "model: call c1 f", "user: result c1 f", "model: done", "user: " + dialog.GoOn}, "",
		},
		{
			"calls of one round in several contents",
			[]string{"user: a", "model: call c1 f", "model: call c2 g", "user: result c1 f | result c2 g"},
			[]string{"user: a", "model: call c1 f | call c2 g", "user: result c1 f | result c2 g"}, "",
		},
		{
			"the last result of a call holds",
			[]string{"user: a", "model: call c1 f", "user: result c1 pending", "model: ok", "user: result c1 final"},
			[]string{"user: a", "model: call c1 f", "user: result c1 final", "model: ok", "user: " + dialog.GoOn}, "",
		},
		{
			"no IDs",
			[]string{"user: a", "model: call - f | call - g | call - f", "user: result - g | result - f | result - f"},
			[]string{"user: a", "model: call call-1 f | call call-2 g | call call-3 f", "user: result call-1 f | result call-2 g | result call-3 f"}, "",
		},
		{
			"a call without an ID and a result with one",
			[]string{"user: a", "model: call - f", "user: result c1 f"},
			[]string{"user: a", "model: call call-1 f", "user: result call-1 f"}, "",
		},
		{
			"an ID of two rounds",
			[]string{"user: a", "model: call c1 f", "user: result c1 f", "model: call c1 g", "user: result c1 g"},
			[]string{"user: a", "model: call c1 f", "user: result c1 f", "model: call call-1 g", "user: result call-1 g"}, "",
		},
		{
			"an ID that is not valid, beside one that looks like a new one",
			[]string{"user: a", "model: call c.1 f | call call-1 g", "user: result c.1 f | result call-1 g"},
			[]string{"user: a", "model: call call-2 f | call call-1 g", "user: result call-2 f | result call-1 g"}, "",
		},
		{
			"a call without a result",
			[]string{"user: a", "model: x | call c1 f", "user: b"},
			nil, `contents[1].parts[1]: the call of "f" (ID "c1") has no response`,
		},
		{
			"a call without a result among others",
			[]string{"user: a", "model: call c1 f | call c2 f", "user: result c2 f"},
			nil, `contents[1].parts[0]: the call of "f" (ID "c1") has no response`,
		},
		{
			"a result without a call",
			[]string{"user: a", "user: b | result c1 f"},
			nil, `contents[1].parts[1]: the response of "f" (ID "c1") has no call before it`,
		},
		{
			"a result before its call",
			[]string{"user: result c1 f", "model: call c1 f"},
			nil, `contents[0].parts[0]: the response of "f" (ID "c1") has no call before it`,
		},
	}
	rules := dialog.Rules{ValidID: func(id string) bool { return !strings.Contains(id, ".") }}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			contents := parse(test.contents)
			before := clone.Of(contents)
			messages, err := dialog.Messages(contents, rules)
			if diff := cmp.Diff(before, contents); diff != "" {
				t.Errorf("the contents were changed (-before +after):\n%s", diff)
			}
			if fmt.Sprint(err) != test.err && (err != nil || test.err != "") {
				t.Fatalf("error is %v, want %s", err, test.err)
			}
			if diff := cmp.Diff(test.want, show(messages)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessagesSkipsNilAndWhatIsNotKept(t *testing.T) {
	contents := []*genai.Content{nil, {Role: "model", Parts: []*genai.Part{nil, {Text: "hm", Thought: true}}}, {Role: "user", Parts: []*genai.Part{{Text: "hi"}}}}
	messages, err := dialog.Messages(contents, dialog.Rules{Keep: func(part *genai.Part) bool { return !part.Thought }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"user: hi"}, show(messages)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Whatever the order of a balanced conversation is, no part is lost and
// providers get what they demand.
func TestMessagesOfAnyConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		contents := drawConversation(t)
		messages, err := dialog.Messages(contents, dialog.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		want, got := map[string]int{}, map[string]int{}
		for _, content := range contents {
			for _, part := range content.Parts {
				want[label(part)]++
			}
		}
		ids := map[string]bool{}
		for i, message := range messages {
			if wantRole := []string{genai.RoleUser, genai.RoleModel}[i%2]; message.Role != wantRole {
				t.Fatalf("message %d is of role %q", i, message.Role)
			}
			var open []string
			if i > 0 {
				open = callIDs(messages[i-1])
			}
			for _, part := range message.Parts {
				switch {
				case part.FunctionResponse != nil:
					if len(open) == 0 || open[0] != part.ID {
						t.Fatalf("message %d: result %q, calls left %v", i, part.ID, open)
					}
					open = open[1:]
				case len(open) > 0:
					t.Fatalf("message %d: %s before the results of %v", i, label(part.Part), open)
				case part.FunctionCall != nil && ids[part.ID]:
					t.Fatalf("message %d: ID %q is not unique", i, part.ID)
				}
				ids[part.ID] = true
				if part.At != "" {
					got[label(part.Part)]++
				}
			}
			if len(open) > 0 {
				t.Fatalf("message %d: no results of %v", i, open)
			}
		}
		if messages[len(messages)-1].Role != genai.RoleUser {
			t.Fatal("the model has the last word")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("parts (-want +got):\n%s", diff)
		}
	})
}

// drawConversation draws contents in which every call has one result somewhere
// behind it. IDs may repeat from round to round.
func drawConversation(t *rapid.T) []*genai.Content {
	var contents []*genai.Content
	var open []*genai.Part
	say := func(role string, parts ...*genai.Part) {
		contents = append(contents, &genai.Content{Role: role, Parts: parts})
	}
	answer := func() {
		i := rapid.IntRange(0, len(open)-1).Draw(t, "answered")
		call := open[i].FunctionCall
		open = slices.Delete(open, i, i+1)
		say("user", &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name}})
	}
	for range rapid.IntRange(0, 20).Draw(t, "contents") {
		switch kind := rapid.SampledFrom([]string{"text", "call", "result"}).Draw(t, "kind"); {
		case kind == "text":
			say(rapid.SampledFrom([]string{"user", "model", ""}).Draw(t, "role"), &genai.Part{Text: rapid.StringN(1, 3, -1).Draw(t, "text")})
		case kind == "call":
			id := rapid.SampledFrom([]string{"", "c1", "c2", "call-1"}).Draw(t, "ID")
			if id != "" && slices.ContainsFunc(open, func(part *genai.Part) bool { return part.FunctionCall.ID == id }) {
				continue // two open calls of one ID cannot be told apart
			}
			call := &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: rapid.SampledFrom([]string{"f", "g"}).Draw(t, "name")}}
			open = append(open, call)
			say("model", call)
		case len(open) > 0:
			answer()
		}
	}
	for len(open) > 0 {
		answer()
	}
	return contents
}

func callIDs(message dialog.Message) []string {
	var ids []string
	for _, part := range message.Parts {
		if part.FunctionCall != nil {
			ids = append(ids, part.ID)
		}
	}
	return ids
}

func parse(lines []string) []*genai.Content {
	var contents []*genai.Content
	for _, line := range lines {
		role, rest, _ := strings.Cut(line, ": ")
		content := &genai.Content{Role: role}
		for _, text := range strings.Split(rest, " | ") {
			words := strings.Fields(text)
			part := &genai.Part{Text: text}
			if len(words) == 3 {
				id := strings.TrimSuffix(words[1], "-")
				if words[1] != "-" {
					id = words[1]
				}
				switch words[0] {
				case "call":
					part = &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: words[2]}}
				case "result":
					part = &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: words[2]}}
				}
			}
			content.Parts = append(content.Parts, part)
		}
		contents = append(contents, content)
	}
	return contents
}

func show(messages []dialog.Message) []string {
	var lines []string
	for _, message := range messages {
		var parts []string
		for _, part := range message.Parts {
			text := part.Text
			if part.FunctionCall != nil {
				text = "call " + part.ID + " " + part.FunctionCall.Name
			} else if part.FunctionResponse != nil {
				text = "result " + part.ID + " " + part.FunctionResponse.Name
			}
			parts = append(parts, text)
		}
		lines = append(lines, message.Role+": "+strings.Join(parts, " | "))
	}
	return lines
}

func label(part *genai.Part) string {
	switch {
	case part.FunctionCall != nil:
		return fmt.Sprintf("call %p", part)
	case part.FunctionResponse != nil:
		return fmt.Sprintf("result %p", part)
	}
	return fmt.Sprintf("text %p", part)
}
