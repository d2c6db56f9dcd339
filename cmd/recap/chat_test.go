package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notesServer is a program: an MCP server with one tool, on standard input and
// output.
func notesServer() {
	type note struct {
		Text string `json:"text"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "add_note", Description: "Keeps a note."},
		func(_ context.Context, _ *mcp.CallToolRequest, in note) (*mcp.CallToolResult, note, error) {
			return nil, note{"kept: " + in.Text}, nil
		})
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
}

// TestChatTools: the model of a chat calls the tools of an MCP server, and
// recalls what was summarized.
func TestChatTools(t *testing.T) {
	var asked []string
	answers := []string{
		`{"text":"One moment."},{"functionCall":{"name":"add_note","args":{"text":"the bell is at gate 7741"}}}`,
		`{"text":"I have kept it."}`,
		`{"functionCall":{"name":"recall","args":{"query":"gate of the bell"}}}`,
		`{"text":"At gate 7741."}`,
	}
	useGemini(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "streamGenerateContent") { // the summarizer
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"A note was kept."}]},"finishReason":"STOP"}]}`)
			return
		}
		var request json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(asked) == len(answers) {
			http.Error(w, fmt.Sprint(err), http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]},\"finishReason\":\"STOP\"}]}\n\n", answers[len(asked)])
		asked = append(asked, string(request))
	})
	root := newRoot()
	var out, errs strings.Builder
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs([]string{"chat", filepath.Join(t.TempDir(), "chat.db"), "talk", "--mcp", "notes-server", "--model", "gemini:some-model"})
	root.SetIn(strings.NewReader("Keep a note that the bell is at gate 7741.\n/recall bell\n/compact\n/recall bell gate\nWhere is the bell?\n"))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(asked) != len(answers) {
		t.Fatalf("the model was called %d times: %s\n%s", len(asked), out.String(), errs.String())
	}
	for i, want := range []string{`"add_note"`, `kept: the bell is at gate 7741`, `"recall"`, `"recalled"`} {
		if !strings.Contains(asked[i], want) {
			t.Errorf("request %d has no %s: %s", i+1, want, asked[i])
		}
	}
	for _, want := range []string{
		"One moment.\n[add_note {\"text\":\"the bell is at gate 7741\"}]\nI have kept it.\n",
		"No summary stands in for anything here",
		"      Keep a note that the bell is at gate 7741.\n",
		"[recall {\"query\":\"gate of the bell\"}]\nAt gate 7741.\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, out.String())
		}
	}
	if errs.Len() > 0 {
		t.Error(errs.String())
	}
}
