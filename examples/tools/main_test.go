package main

import (
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestTools(t *testing.T) {
	city := func(name string) script.Answer { return script.Call("weather", map[string]any{"city": name}) }
	model := script.Gemini(t,
		city("Oslo").And(city("Lisbon")),
		script.Say("Lisbon is warmer."),
		city("Atlantis"),
		script.Say("Nobody measures there."),
		script.Call("days", map[string]any{"from": "2026-03-01", "to": "2026-03-14"}),
		script.Say("Fourteen days."),
	)
	got := script.Run(t, main, "Oslo or Lisbon?\nAnd Atlantis?\nHow long is March 1 to 14?\n", "-session", "s1")
	const want = `Talking to planner in session s1. /quit or Ctrl-D ends it.
>   planner calls weather {"city":"Oslo"}
  planner calls weather {"city":"Lisbon"}
  weather gives {"celsius":-4,"sky":"snow"}
  weather gives {"celsius":19,"sky":"clear"}
planner: Lisbon is warmer.
>   planner calls weather {"city":"Atlantis"}
  weather gives {"error":"there is no weather station in Atlantis"}
planner: Nobody measures there.
>   planner calls days {"from":"2026-03-01","to":"2026-03-14"}
  days gives {"result":14}
planner: Fourteen days.
> 
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	const sent = `user: Oslo or Lisbon?
model calls weather {"city":"Oslo"}
model calls weather {"city":"Lisbon"}
weather gives {"celsius":-4,"sky":"snow"}
weather gives {"celsius":19,"sky":"clear"}`
	if got := model.Sent(1).Conversation; got != sent {
		t.Errorf("the model was sent\n%s\nwant\n%s", got, sent)
	}
}
