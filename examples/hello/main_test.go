package main

import (
	"os"
	"strings"
	"testing"

	"github.com/recap-adk/recap/examples/internal/script"
)

// TestReadme: the program in the README is this one.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "func main() {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	if !strings.Contains(string(readme), "func main() {\n"+body+"\n}\n") {
		t.Errorf("the README does not hold the main function of this example:\n%s", body)
	}
}

func TestHello(t *testing.T) {
	model := script.Gemini(t, script.Say("Hello, Ada."), script.Say("Ada."))
	t.Chdir(t.TempDir())
	if got, want := script.Run(t, main, "My name is Ada.\nWho am I?\n"), "Hello, Ada.\nAda.\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	const want = `user: My name is Ada.
model: Hello, Ada.
user: Who am I?`
	if got := model.Sent(1).Conversation; got != want {
		t.Errorf("the model was sent\n%s\nwant\n%s", got, want)
	}
	if _, err := os.Stat("chat.db"); err != nil {
		t.Error(err)
	}
}

// TestRefused: an answer that the service refuses has no content.
func TestRefused(t *testing.T) {
	script.Gemini(t, script.Refuse("PROHIBITED_CONTENT"), script.Say("Hello."))
	t.Chdir(t.TempDir())
	if got, want := script.Run(t, main, "something bad\nHello\n"), "the prompt was blocked\nHello.\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}
