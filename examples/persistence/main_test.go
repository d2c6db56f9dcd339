package main

import (
	"strings"
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

func TestPersistence(t *testing.T) {
	model := script.Gemini(t,
		script.Call("remember_name", map[string]any{"name": "Ada"}), script.Say("Good morning, Ada."),
		script.Say("You slept well."),
		script.Say("Noted, Ada."),
	)
	t.Chdir(t.TempDir())
	runs := []struct {
		about, session, input, want string
	}{
		{"the first", "monday", "I am Ada and slept well.\n", `This session is new.
diary: Good morning, Ada.
`},
		{"the second goes on", "monday", "How did I sleep?\n", `user: I am Ada and slept well.
diary: Good morning, Ada.
diary: You slept well.
`},
		{"another session", "tuesday", "It rained.\n", `This session is new.
diary: Noted, Ada.
`},
	}
	for _, run := range runs {
		if got := script.Run(t, main, run.input, run.session); got != run.want {
			t.Errorf("%s printed\n%s\nwant\n%s", run.about, got, run.want)
		}
	}
	const second = `user: I am Ada and slept well.
model calls remember_name {"name":"Ada"}
remember_name gives {"result":"kept"}
model: Good morning, Ada.
user: How did I sleep?`
	if got := model.Sent(2).Conversation; got != second {
		t.Errorf("the second run sent\n%s\nwant\n%s", got, second)
	}
	third := model.Sent(3)
	if third.Conversation != "user: It rained." || !strings.HasSuffix(third.System, "The user's name: Ada") {
		t.Errorf("the other session sent\n%s\n%s", third.System, third.Conversation)
	}
}
