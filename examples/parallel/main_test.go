package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestParallel(t *testing.T) {
	model := script.Gemini(t,
		script.Say("The Prado.").When("the best museums"),
		script.Say("Tortilla.").When("the best food"),
		script.Say("The Retiro.").When("the best parks"),
		script.Say("Prado, tortilla, Retiro."),
	)
	got := script.Run(t, main, "Madrid\n", "-session", "s1", "-streaming_mode", "none")
	head, rest, _ := strings.Cut(got, "\n> ")
	lines := strings.Split(rest, "\n")
	if len(lines) != 6 {
		t.Fatalf("printed\n%s", got)
	}
	slices.Sort(lines[:3]) // who is ready first
	const want = `Talking to trip in session s1. /quit or Ctrl-D ends it.
> food: Tortilla.
museums: The Prado.
parks: The Retiro.
planner: Prado, tortilla, Retiro.
> 
`
	if got := head + "\n> " + strings.Join(lines, "\n"); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	for i := range 3 {
		if got := model.Sent(i).Conversation; got != "user: Madrid" {
			t.Errorf("a researcher was sent\n%s", got)
		}
	}
	const instruction = "Museums: The Prado.\nFood: Tortilla.\nParks: The Retiro."
	if got := model.Sent(3).System; !strings.Contains(got, instruction) {
		t.Errorf("the planner's instruction is\n%s", got)
	}
}
