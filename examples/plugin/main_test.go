package main

import (
	"fmt"
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestPlugin(t *testing.T) {
	buy := func(item string, price float64) script.Answer {
		return script.Call("buy", map[string]any{"item": item, "price": price})
	}
	model := script.Gemini(t,
		buy("pen", 2), script.Say("The pen is yours."),
		buy("piano", 9000), script.Say("That I must not."),
	)
	got := script.Run(t, main, "A pen. My card is 4111 1111 1111 1111.\nA piano.\n", "-session", "s1")
	var tokens int
	for i := range 4 {
		tokens += model.Sent(i).Tokens()
	}
	want := fmt.Sprintf(`Talking to buyer in session s1. /quit or Ctrl-D ends it.
>   buyer calls buy {"item":"pen","price":2}
  buy gives {"result":"bought: pen"}
buyer: The pen is yours.
>   buyer calls buy {"item":"piano","price":9000}
  buy gives {"error":"too dear: ask somebody"}
buyer: That I must not.
> 
guard: %d prompt tokens, refused calls: 1
`, tokens)
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	const sent = `user: A pen. My card is [card].
model calls buy {"item":"pen","price":2}
buy gives {"result":"bought: pen"}
model: The pen is yours.
user: A piano.
model calls buy {"item":"piano","price":9000}
buy gives {"error":"too dear: ask somebody"}`
	if got := model.Sent(3).Conversation; got != sent {
		t.Errorf("the model was sent\n%s\nwant\n%s", got, sent)
	}
}
