package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestTransfer(t *testing.T) {
	to := func(name string) script.Answer {
		return script.Call("transfer_to_agent", map[string]any{"agent_name": name})
	}
	model := script.Gemini(t,
		script.Say("Good evening."),
		to("booking"), script.Say("For how many?"),
		script.Say("Booked."),
		to("complaints"), script.Say("I am sorry. A dessert?"),
	)
	got := script.Run(t, main, "Hello\nA table tomorrow at 8\nTwo\nThe soup was cold last time\n", "-session", "s1")
	const want = `Talking to desk in session s1. /quit or Ctrl-D ends it.
> desk: Good evening.
>   desk calls transfer_to_agent {"agent_name":"booking"}
  transfer_to_agent gives {}
booking: For how many?
> booking: Booked.
>   booking calls transfer_to_agent {"agent_name":"complaints"}
  transfer_to_agent gives {}
complaints: I am sorry. A dessert?
> 
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	// The desk knows its agents by their descriptions.
	desk := model.Sent(0)
	if !slices.Equal(desk.Tools, []string{"transfer_to_agent"}) || !strings.Contains(desk.System, "Books tables, and changes bookings.") {
		t.Errorf("the desk was sent %+v", desk)
	}
	// Who takes over knows what was said and done, and by whom.
	const known = `user: Hello
user: From another agent of this conversation:
user: [desk] wrote: Good evening.
user: A table tomorrow at 8
user: From another agent of this conversation:
user: [desk] used the tool transfer_to_agent with {"agent_name":"booking"}
user: From another agent of this conversation:
user: [desk] got from the tool transfer_to_agent: {}
user: From another agent of this conversation:
user: [booking] wrote: For how many?
user: Two
user: From another agent of this conversation:
user: [booking] wrote: Booked.
user: The soup was cold last time
user: From another agent of this conversation:
user: [booking] used the tool transfer_to_agent with {"agent_name":"complaints"}
user: From another agent of this conversation:
user: [booking] got from the tool transfer_to_agent: {}`
	if got := model.Sent(5); got.Conversation != known || !strings.HasPrefix(got.System, "You apologize") {
		t.Errorf("the agent for complaints was sent\n%s\n%s\nwant\n%s", got.System, got.Conversation, known)
	}
}
