package context_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"google.golang.org/genai"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/logtext"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestCases runs the cases in testdata: each archive says in its comment what
// it shows, holds a log in the notation of package logtext as "log", options
// as "options", and what the model is sent as "want".
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sections := map[string]*txtar.File{}
			for i := range archive.Files {
				sections[archive.Files[i].Name] = &archive.Files[i]
			}
			events, err := logtext.Parse(string(sections["log"].Data))
			if err != nil {
				t.Fatal(err)
			}
			opts := icontext.Options{Agent: "agent", Compacted: true}
			if o := sections["options"]; o != nil {
				if err := json.Unmarshal(o.Data, &opts); err != nil {
					t.Fatal(err)
				}
			}
			got := show(icontext.Contents(events, opts))
			if *update {
				sections["want"].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(sections["want"].Data); got != want {
				t.Errorf("%s\ngot:\n%s\nwant:\n%s", archive.Comment, got, want)
			}
		})
	}
}

// show writes contents one part a line, with the role before each content.
func show(contents []*genai.Content) string {
	var b strings.Builder
	for _, content := range contents {
		for i, part := range content.Parts {
			role := content.Role
			if i > 0 {
				role = strings.Repeat(" ", len(role))
			}
			fmt.Fprintf(&b, "%s | %s\n", role, showPart(part))
		}
	}
	return b.String()
}

func showPart(part *genai.Part) string {
	switch {
	case part.FunctionCall != nil:
		return fmt.Sprintf("call %s %s", part.FunctionCall.ID, part.FunctionCall.Name)
	case part.FunctionResponse != nil:
		data, _ := json.Marshal(part.FunctionResponse.Response)
		return fmt.Sprintf("resp %s %s %s", part.FunctionResponse.ID, part.FunctionResponse.Name, data)
	case part.InlineData != nil:
		return "data " + part.InlineData.MIMEType
	case part.Thought:
		return "thought " + part.Text
	}
	return strings.ReplaceAll(strings.TrimSuffix(part.Text, "\n"), "\n", `\n`)
}

func ExampleContents() {
	events, _ := logtext.Parse(`
		i1 1 user: I am Ada, order 7741.
		i1 2 agent: Noted.
		c1 3 summary 1-2: Ada asks about order 7741.
		i2 4 user: Where is it?
	`)
	for _, content := range icontext.Contents(events, icontext.Options{Agent: "agent", Compacted: true}) {
		for _, part := range content.Parts {
			fmt.Printf("%s: %s\n", content.Role, strings.TrimSpace(part.Text))
		}
	}
	// Output:
	// user: <earlier>
	// Condensed record of the conversation so far: background, not a request.
	// user: Ada asks about order 7741.
	// user: </earlier>
	// user: Where is it?
}

func TestContentsShareNothingWithTheLog(t *testing.T) {
	events, err := logtext.Parse(`
		i1 1 user: hello
		i1 2 agent: call a look {"x":{"y":1}}
		i1 3 agent: resp a look {"z":[1]}
		c1 4 summary 1-1: greeting
	`)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(events)
	for _, content := range icontext.Contents(events, icontext.Options{Agent: "agent", Compacted: true}) {
		content.Role = "changed"
		for _, part := range content.Parts {
			part.Text = "changed"
			if part.FunctionCall != nil {
				part.FunctionCall.Args["x"].(map[string]any)["y"] = "changed"
			}
			if part.FunctionResponse != nil {
				part.FunctionResponse.Response["z"].([]any)[0] = "changed"
			}
		}
	}
	if after, _ := json.Marshal(events); string(after) != string(before) {
		t.Errorf("changing contents changed the log:\n%s\n%s", before, after)
	}
}

func BenchmarkContents(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		log := logtext.Long(n, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				icontext.Contents(log, icontext.Options{Agent: "agent", Compacted: true})
			}
		})
	}
}
