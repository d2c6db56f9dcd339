package main

import (
	"strings"
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestSequential(t *testing.T) {
	model := script.Gemini(t,
		script.Say("Red, three wheels."),
		script.Say("A red tricycle!"),
		script.Say("Ein rotes Dreirad!"),
		script.Say("Brass, loud."),
		script.Say("A loud horn!"),
		script.Say("Eine laute Hupe!"),
	)
	got := script.Run(t, main, "a tricycle\na horn\n", "-session", "s1")
	const want = `Talking to pipeline in session s1. /quit or Ctrl-D ends it.
> facts: Red, three wheels.
writer: A red tricycle!
translator: Ein rotes Dreirad!
> facts: Brass, loud.
writer: A loud horn!
translator: Eine laute Hupe!
> 
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	if got := model.Sent(1).System; !strings.Contains(got, "from these facts:\nRed, three wheels.") {
		t.Errorf("the writer's instruction is\n%s", got)
	}
	// It is shown nothing but what the agent before it said.
	const last = `user: From another agent of this conversation:
user: [writer] wrote: A red tricycle!`
	if got := model.Sent(2); !strings.Contains(got.System, "into German:\nA red tricycle!") || got.Conversation != last {
		t.Errorf("the translator was sent\n%s\n%s", got.System, got.Conversation)
	}
}
