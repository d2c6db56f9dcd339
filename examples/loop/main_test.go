package main

import (
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestLoop(t *testing.T) {
	model := script.Gemini(t,
		script.Say("Rain, rain, rain, rain, rain."), script.Say("That is no haiku."),
		script.Say("Rain on the tin roof"), script.Call("exit_loop", nil),
	)
	got := script.Run(t, main, "rain\n", "-session", "s1")
	const want = `Talking to poets in session s1. /quit or Ctrl-D ends it.
> writer: Rain, rain, rain, rain, rain.
critic: That is no haiku.
writer: Rain on the tin roof
  critic calls exit_loop {}
  exit_loop gives {}
> 
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	const heard = `user: rain
model: Rain, rain, rain, rain, rain.
user: From another agent of this conversation:
user: [critic] wrote: That is no haiku.`
	if got, want := model.Sent(2).Conversation, heard; got != want {
		t.Errorf("the writer was sent\n%s\nwant\n%s", got, want)
	}
}

// TestMaxIterations: a critic that is never content is not asked for ever.
func TestMaxIterations(t *testing.T) {
	var answers []script.Answer
	for range 4 {
		answers = append(answers, script.Say("Rain."), script.Say("Again."))
	}
	script.Gemini(t, answers...)
	script.Run(t, main, "rain\n")
}
