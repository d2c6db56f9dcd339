package eval

import (
	"math"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/conversation"
)

func TestContains(t *testing.T) {
	for _, test := range []struct {
		text, value string
		want        bool
	}{
		{"the code is 4711.", "4711", true},
		{"the code is 24711", "4711", false},
		{"the code is 47110 or 4711", "4711", true},
		{"cost: €4,376.68!", "€4,376.68", true},
		{"cost: €4,376.681", "€4,376.68", false},
		{"write to ada@x.example", "a@x.example", false},
		{"番号は4711です", "4711", true},
		{"anything", "", false},
	} {
		if got := contains(test.text, test.value); got != test.want {
			t.Errorf("%q contains %q: %v", test.text, test.value, got)
		}
	}
}

func TestF1(t *testing.T) {
	for _, test := range []struct {
		answer, want string
		f1           float64
	}{
		{"The 7th of May", "7th of May", 1},
		{"7 May", "7 May 2023", 0.8},
		{"I do not know", "7 May", 0},
		{"", "7 May", 0},
		{"the", "a", 1}, // nothing is left of either
	} {
		if got := f1(test.answer, test.want); math.Abs(got-test.f1) > 0.001 {
			t.Errorf("%q for %q: %.3f, want %.3f", test.answer, test.want, got, test.f1)
		}
	}
}

// TestAnchors: exact values are looked for by the words around them, each once,
// and not those of the last turns.
func TestAnchors(t *testing.T) {
	turn := func(text string) conversation.Turn {
		return conversation.Turn{User: genai.NewContentFromText(text, genai.RoleUser)}
	}
	c := &conversation.Conversation{Turns: []conversation.Turn{
		turn("My order 7741, which is order 7741 still, went to gate B42 at noon."),
		turn("8812"), // nothing around it
		turn("output: 9913"),
		turn("There were 17 of them at the gate this morning."),
		turn("They are apart by \"  \" and nothing else in the file."),
		{User: genai.NewContentFromText("And?", genai.RoleUser), Steps: []conversation.Step{{
			Content: genai.NewContentFromText("I look.", genai.RoleModel),
			Results: []conversation.Result{{Name: "find", Response: map[string]any{"seat": "12A", "row": map[string]any{"price": 99.5}}}},
		}}},
	}}
	for range recent {
		c.Turns = append(c.Turns, turn("the later code is 5555"))
	}
	want := map[string]string{"7741": "My order which is order still went to gate", "B42": "which is order 7741 still went to gate at noon.", "99.5": "find row price seat 12A", "12A": "find row price 99.5 seat"}
	got := anchorsOf(c, false)
	for _, a := range got {
		if want[a.value] != a.around {
			t.Errorf("%q is looked for by %q, want %q", a.value, a.around, want[a.value])
		}
	}
	if len(got) != len(want) {
		t.Errorf("anchors: %q", got)
	}
	if got := anchorsOf(c, true); len(got) != 2 {
		t.Errorf("anchors of the user: %q", got)
	}
}
