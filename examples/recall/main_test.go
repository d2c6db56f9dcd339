package main

import (
	"strings"
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestRecall(t *testing.T) {
	model := script.Gemini(t,
		script.Say("Written down: grandmother's plum cake, with cardamom in the crumble."),
		script.Say("A soup of pumpkin, then, which needs no recipe of ours at all, only patience."),
		script.Say("The user dictated a recipe for plum cake, then asked about soup."),
		script.Call("recall", map[string]any{"query": "plum cake crumble spice"}),
		script.Say("Cardamom, a pinch, and never cinnamon."),
	)
	got := script.Run(t, main, `Plum cake: into the crumble goes a pinch of cardamom, never cinnamon, as grandmother said.
What could we cook on a rainy Sunday in October, with little work?
Which spice goes into the crumble?
`, "-session", "s1")
	if !strings.Contains(got, `cook calls recall {"query":"plum cake crumble spice"}`) || !strings.HasSuffix(got, "cook: Cardamom, a pinch, and never cinnamon.\n> \n") {
		t.Errorf("printed\n%s", got)
	}
	// Where the summary forgot it, and the tool got it back.
	const exact = "into the crumble goes a pinch of cardamom, never cinnamon"
	asked, told := model.Sent(3), model.Sent(4)
	if strings.Contains(asked.Conversation, "cinnamon") || !strings.Contains(asked.Conversation, "user: The user dictated a recipe for plum cake") {
		t.Errorf("before the recall the prompt is\n%s", asked.Conversation)
	}
	last := told.Conversation[strings.LastIndex(told.Conversation, "\n")+1:]
	if !strings.HasPrefix(last, "recall gives ") || !strings.Contains(last, exact) {
		t.Errorf("after the recall the prompt is\n%s", told.Conversation)
	}
}
