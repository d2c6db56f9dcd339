package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestCompaction(t *testing.T) {
	model := script.Gemini(t,
		script.Say("Lovely. For 24 guests you need a tent, six tables and a plan for rain."),
		script.Say("Noted: no nuts. I would leave out the walnut bread, the pesto and the baklava."),
		script.Say("Saturday it is. I would send the invitations four weeks before, with a map."),
		script.Say("Garden party for 24 guests on June 6; no nuts; invitations four weeks before."),
		script.Say("A band of three."),
		script.Say("Lanterns."),
	)
	got := script.Run(t, main, `A garden party for 24 guests, please, with tables and a tent.
Two guests must not eat nuts, so nothing with nuts in it at all.
The day is Saturday, June 6, in the afternoon and evening.
Music?
Light?
`)
	const want = `Lovely. For 24 guests you need a tent, six tables and a plan for rain.
  [prompt: N tokens]
Noted: no nuts. I would leave out the walnut bread, the pesto and the baklava.
  [prompt: N tokens]
Saturday it is. I would send the invitations four weeks before, with a map.
  [prompt: N tokens]
  [compaction applied: N events, about N tokens became N]
A band of three.
  [prompt: N tokens]
Lanterns.
  [prompt: N tokens]
The log:
  user: A garden party for 24 guests, please, with tables and a tent.
  planner: Lovely. For 24 guests you need a tent, six tables and a plan for rain.
  user: Two guests must not eat nuts, so nothing with nuts in it at all.
  planner: Noted: no nuts. I would leave out the walnut bread, the pesto and the baklava.
  user: The day is Saturday, June 6, in the afternoon and evening.
  planner: Saturday it is. I would send the invitations four weeks before, with a map.
  summary: Garden party for 24 guests on June 6; no nuts; invitations four weeks before.
  user: Music?
  planner: A band of three.
  user: Light?
  planner: Lanterns.
`
	// Sizes are estimates, in lines that begin with a bracket.
	masked := regexp.MustCompile(`(?m)^  \[.*$`).ReplaceAllStringFunc(got, func(line string) string {
		return regexp.MustCompile(`\d+`).ReplaceAllString(line, "N")
	})
	if masked != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	if got := model.Sent(3).Conversation; !strings.Contains(got, "walnut bread") {
		t.Errorf("the summarizer was sent\n%s", got)
	}
	before, after := model.Sent(2).Tokens(), model.Sent(4).Tokens()
	if after >= before || !strings.Contains(got, fmt.Sprintf("[prompt: %d tokens]", after)) {
		t.Errorf("the prompt has %d tokens, %d before; printed\n%s", after, before, got)
	}
	// The prompt holds the summary in place of the first three turns.
	prompt := model.Sent(5).Conversation
	for text, want := range map[string]bool{
		"user: Garden party for 24 guests on June 6; no nuts": true,
		"user: Music?\nmodel: A band of three.\nuser: Light?": true,
		"a tent": false, "must not eat nuts": false, "walnut bread": false, "with a map": false,
	} {
		if strings.Contains(prompt, text) != want {
			t.Errorf("the prompt holds %q: %v; it is\n%s", text, !want, prompt)
		}
	}
}
