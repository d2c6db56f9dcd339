package context_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/clone"
	icontext "github.com/recap-adk/recap/internal/context"
)

func TestNormalize(t *testing.T) {
	user := func(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: genai.RoleUser, Parts: parts} }
	model := func(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: genai.RoleModel, Parts: parts} }
	text := func(s string) *genai.Part { return &genai.Part{Text: s} }
	call := func(id string) *genai.Part { return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "f"}} }
	answer := func(id, value string) *genai.Part {
		return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "f", Response: map[string]any{"v": value}}}
	}
	for _, test := range []struct {
		name           string
		contents, want []*genai.Content
	}{
		{"nothing", nil, nil},
		{"turns stay", []*genai.Content{user(text("q")), model(text("a"))}, []*genai.Content{user(text("q")), model(text("a"))}},
		{"side by side", []*genai.Content{user(text("earlier")), user(text("q")), model(text("a")), model(call("1")), user(answer("1", "x")), user(text("next"))},
			[]*genai.Content{user(text("earlier"), text("q")), model(text("a"), call("1")), user(answer("1", "x"), text("next"))}},
		{"the model begins", []*genai.Content{model(text("hello")), user(text("q"))},
			[]*genai.Content{user(text("(The conversation begins.)")), model(text("hello")), user(text("q"))}},
		{"no role and nothing in it", []*genai.Content{nil, {Parts: []*genai.Part{text("q"), nil, text(" \n")}}, model(text("\t")), {}, user(text("q2"))},
			[]*genai.Content{user(text("q"), text("q2"))}},
		{"a signature is not nothing", []*genai.Content{user(text("q")), model(&genai.Part{ThoughtSignature: []byte{1}})},
			[]*genai.Content{user(text("q")), model(&genai.Part{ThoughtSignature: []byte{1}})}},
		{"IDs recur", []*genai.Content{user(text("q")), model(call("1"), call("1")), user(answer("1", "x"), answer("1", "y")), model(call("1")), user(answer("1", "z")), model(call("1-2")), user(answer("1-2", "u"))},
			[]*genai.Content{user(text("q")), model(call("1"), call("1-2")), user(answer("1", "x"), answer("1-2", "y")), model(call("1-3")), user(answer("1-3", "z")), model(call("1-2-2")), user(answer("1-2-2", "u"))}},
		{"no IDs", []*genai.Content{user(text("q")), model(call(""), call("")), user(answer("", "x"), answer("", "y"))},
			[]*genai.Content{user(text("q")), model(call(""), call("")), user(answer("", "x"), answer("", "y"))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := clone.Of(test.contents)
			if diff := cmp.Diff(test.want, icontext.Normalize(test.contents)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, test.contents); diff != "" {
				t.Errorf("the contents given were changed: -want +got:\n%s", diff)
			}
		})
	}
}
