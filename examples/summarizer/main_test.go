package main

import (
	"strings"
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestSummarizer(t *testing.T) {
	model := script.Gemini(t,
		script.Say("Both have been said before.\nDecided: the gate is painted green."),
		script.Say("That leaves 900 for the path.\nDecided: the path waits until autumn."),
		script.Say("Noted, though nobody could say when."),
		script.Say("Then we shall hear from her in May, when she is back from her journey."),
		script.Say("Green."),
	)
	got := script.Run(t, main, `Some say blue and some say green for the gate; green it is, after an hour.
The path costs 1,400 and we have 900 left, so it has to wait until autumn.
Someone should ask the neighbor about the hedge, which is in the way of the path.
Eva will ask her, but the neighbor is away until May, so there is no hurry.
Which color?
`)
	const want = `Both have been said before.
Decided: the gate is painted green.
That leaves 900 for the path.
Decided: the path waits until autumn.
  [summary] applied
Noted, though nobody could say when.
Then we shall hear from her in May, when she is back from her journey.
  [summary] applied: the fallback made the summary: the summarizer returned no text
Green.
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	// The prompt holds the decisions, an extract, and no more of four turns.
	prompt := model.Sent(4).Conversation
	for text, want := range map[string]bool{
		"user: Decided: the gate is painted green.\nDecided: the path waits until autumn.": true,
		"Eva will ask her": true, "user: Which color?": true,
		"blue": false, "1,400": false, "nobody could say": false,
	} {
		if strings.Contains(prompt, text) != want {
			t.Errorf("the prompt holds %q: %v; it is\n%s", text, !want, prompt)
		}
	}
}
