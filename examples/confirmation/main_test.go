package main

import (
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestConfirmation(t *testing.T) {
	send := func(euros int) script.Answer {
		return script.Call("send_money", map[string]any{"to": "Ada", "euros": euros})
	}
	model := script.Gemini(t,
		send(20), script.Say("Done."),
		send(2000), script.Say("That is on its way."),
		send(3000), script.Say("Then not."),
	)
	got := script.Run(t, main, "20 to Ada\n2000 to Ada\nyes\n3000 to Ada\nno\n")
	const want = `Done.
Allow send_money map[euros:2000 to:Ada]? (yes/no)
That is on its way.
Allow send_money map[euros:3000 to:Ada]? (yes/no)
Then not.
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	const sent = `user: 20 to Ada
model calls send_money {"euros":20,"to":"Ada"}
send_money gives {"result":"sent 20 euros to Ada"}
model: Done.
user: 2000 to Ada
model calls send_money {"euros":2000,"to":"Ada"}
send_money gives {"result":"sent 2000 euros to Ada"}
model: That is on its way.
user: 3000 to Ada
model calls send_money {"euros":3000,"to":"Ada"}
send_money gives {"error":"tool \"send_money\" was not run: the user did not confirm it"}`
	if got := model.Sent(5).Conversation; got != sent {
		t.Errorf("the model was sent\n%s\nwant\n%s", got, sent)
	}
}
