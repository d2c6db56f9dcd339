package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
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

// TestHello runs the program against a local server that speaks Gemini's
// protocol.
func TestHello(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"answer %d"}]},"finishReason":"STOP"}]}`, calls)
	}))
	defer server.Close()
	t.Setenv("GOOGLE_GEMINI_BASE_URL", server.URL)
	t.Setenv("GOOGLE_API_KEY", "none")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "")
	t.Chdir(t.TempDir())
	if got := play(t, "hello\nhow are you?\n"); got != "answer 1\nanswer 2\n" {
		t.Errorf("printed %q", got)
	}
	if _, err := os.Stat("chat.db"); err != nil {
		t.Error(err)
	}
}

// play runs main with an input and returns what it printed.
func play(t *testing.T, input string) string {
	t.Helper()
	stdin, stdout := os.Stdin, os.Stdout
	defer func() { os.Stdin, os.Stdout = stdin, stdout }()
	in, err := os.CreateTemp(t.TempDir(), "in")
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.WriteString(input); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	os.Stdin, os.Stdout = in, out
	main()
	printed, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(printed)
}
