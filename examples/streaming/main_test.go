package main

import (
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestStreaming(t *testing.T) {
	model := script.Gemini(t, script.Say("Once ", "upon ", "a time."), script.Say("The end."))
	got := script.Run(t, main, "A story, please.\nGo on.\n")
	const want = `Once upon a time.
(pieces: 3, characters: 17, finish reason: STOP)
The end.
(pieces: 1, characters: 8, finish reason: STOP)
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	const sent = `user: A story, please.
model: Once upon a time.
user: Go on.`
	if got := model.Sent(1).Conversation; got != sent {
		t.Errorf("the model was sent\n%s\nwant\n%s", got, sent)
	}
}
