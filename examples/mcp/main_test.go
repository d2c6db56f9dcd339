package main

import (
	"os"
	"slices"
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

// TestMain is the server where the program starts itself as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "server" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestMCP(t *testing.T) {
	take := func(count int) script.Answer {
		return script.Call("take", map[string]any{"part": "screws", "count": count})
	}
	model := script.Gemini(t,
		script.Call("stock", map[string]any{"part": "screws"}), script.Say("Forty."),
		take(50), script.Say("There are not so many."),
		take(15), script.Say("Here they are."),
	)
	got := script.Run(t, main, "Any screws?\nI need 50\nyes\nThen 15\nyes\n", "-session", "s1")
	const want = `Talking to clerk in session s1. /quit or Ctrl-D ends it.
>   clerk calls stock {"part":"screws"}
  stock gives {"output":{"left":40}}
clerk: Forty.
>   clerk calls take {"count":50,"part":"screws"}
  take gives {"error":"tool \"take\" was not run: it needs the user's confirmation, which was asked for"}
May the tool take be called? Answer this call with a ToolConfirmation.
Allow take {"count":50,"part":"screws"}? (yes/no)   take gives {"error":"tool \"take\": there are only 40 screws"}
clerk: There are not so many.
>   clerk calls take {"count":15,"part":"screws"}
  take gives {"error":"tool \"take\" was not run: it needs the user's confirmation, which was asked for"}
May the tool take be called? Answer this call with a ToolConfirmation.
Allow take {"count":15,"part":"screws"}? (yes/no)   take gives {"output":{"left":25}}
clerk: Here they are.
> 
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	if got := model.Sent(0).Tools; !slices.Equal(got, []string{"stock", "take"}) {
		t.Errorf("the model may call %v", got)
	}
}
