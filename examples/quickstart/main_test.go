package main

import (
	"slices"
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestQuickstart(t *testing.T) {
	model := script.Gemini(t, script.Say("At nine ", "in the morning."), script.Say("At six."), script.Refuse("PROHIBITED_CONTENT"))
	const want = `Talking to guide in session s1. /quit or Ctrl-D ends it.
> guide: At nine in the morning.
> guide: At six.
> error: PROHIBITED_CONTENT: the prompt was blocked
> 
`
	got := script.Run(t, main, "When does the museum open?\nAnd close?\nSomething bad\n", "-session", "s1")
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	const sent = `user: When does the museum open?
model: At nine in the morning.
user: And close?`
	if got := model.Sent(1).Conversation; got != sent {
		t.Errorf("the model was sent\n%s\nwant\n%s", got, sent)
	}
	if got := model.Sent(0).Tools; !slices.Equal(got, []string{"google_search"}) {
		t.Errorf("the model may call %v", got)
	}
}
