package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeChat writes a conversation of so many turns.
func writeChat(t *testing.T, turns int) string {
	t.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var messages []message
	for i := range turns {
		messages = append(messages,
			message{"user", fmt.Sprintf("This is question number %d, about invoice 77%02d, and it is a long one.", i, i)},
			message{"assistant", strings.Repeat("This is an answer, and it goes on for quite a while. ", 8)})
	}
	data, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "chat.json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// useGemini has the client of Gemini talk to handle.
func useGemini(t *testing.T, handle http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	t.Setenv("GOOGLE_API_KEY", "")
	t.Setenv("GEMINI_API_KEY", "a key")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", server.URL)
}

// TestGemini: summaries come from the model, and what it spent is counted.
func TestGemini(t *testing.T) {
	useGemini(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"They spoke of invoices."}]},"finishReason":"STOP"}],
			"usageMetadata":{"promptTokenCount":90,"candidatesTokenCount":10,"totalTokenCount":100}}`)
	})
	db := filepath.Join(t.TempDir(), "s.db")
	result := replayJSON(t, writeChat(t, 12), "--db", db, "--session", "s", "--overlap", "0", "--summarizer", "gemini:some-model")
	if result.Compactions != 2 || result.SummarizerTokens != 200 {
		t.Errorf("%d compactions, %d summarizer tokens", result.Compactions, result.SummarizerTokens)
	}
	for e := range stored(t, db, "s").Events().All() {
		if c := e.Actions.Compaction; c != nil && !strings.Contains(c.Text(), "They spoke of invoices.") {
			t.Errorf("a summary is %q", c.Text())
		}
	}
}

// TestGeminiFails: figures that are not the model's are not passed off as such.
func TestGeminiFails(t *testing.T) {
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"an error":  {http.StatusForbidden, `{"error":{"code":403,"message":"no access","status":"PERMISSION_DENIED"}}`},
		"a refusal": {http.StatusOK, `{"promptFeedback":{"blockReason":"SAFETY"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			useGemini(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(answer.status)
				fmt.Fprint(w, answer.body)
			})
			const note = "2 compactions applied, the first: the fallback made the summary: "
			chat, dir := writeChat(t, 12), t.TempDir()
			args := []string{"replay", chat, "--overlap", "0", "--summarizer", "gemini:some-model", "--db"}
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), append(args, filepath.Join(dir, "1.db")), &stdout, &stderr); status != 0 || stderr.Len() > 0 {
				t.Fatalf("exit status %d: %s", status, stderr.String())
			}
			if !strings.Contains(stdout.String(), "\n\n  Note: "+note) {
				t.Errorf("no note below the table: %s", stdout.String())
			}
			stdout.Reset()
			if status := run(t.Context(), append(args, filepath.Join(dir, "2.db"), "--json"), &stdout, &stderr); status != 0 {
				t.Fatalf("exit status %d: %s", status, stderr.String())
			}
			if !json.Valid(stdout.Bytes()) || !strings.HasPrefix(stderr.String(), "recap: note: "+note) || strings.Count(stderr.String(), "\n") != 1 {
				t.Errorf("standard output %s, standard error %s", stdout.String(), stderr.String())
			}
		})
	}
}

// TestInterrupted: an interrupt does not wait for a model that hangs. A
// database that was made for the replay goes; one that was there is as it was.
func TestInterrupted(t *testing.T) {
	chat, dir := writeChat(t, 12), t.TempDir()
	t.Setenv("TMPDIR", dir)
	kept := filepath.Join(dir, "kept.db")
	replayJSON(t, chat, "--db", kept, "--session", "before")
	before := stored(t, kept, "before").Events().Len()

	for _, args := range [][]string{
		{},
		{"--db", filepath.Join(dir, "made.db")},
		{"--db", kept, "--session", "new"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		useGemini(t, func(_ http.ResponseWriter, r *http.Request) {
			// Only with the body read does the server notice that the client
			// gives up.
			_, _ = io.Copy(io.Discard, r.Body)
			cancel()
			<-r.Context().Done()
		})
		var stdout, stderr bytes.Buffer
		args = append([]string{"replay", chat, "--summarizer", "gemini:some-model"}, args...)
		status := run(ctx, args, &stdout, &stderr)
		if status != exitInterrupted || stdout.Len() > 0 || stderr.String() != "recap: interrupted\n" {
			t.Errorf("%q: exit status %d, standard output %q, standard error %q", args, status, stdout.String(), stderr.String())
		}
	}

	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || !slices.Equal(files, []string{kept}) {
		t.Errorf("the files are %v, %v", files, err)
	}
	if after := stored(t, kept, "before").Events().Len(); after != before {
		t.Errorf("the session that was there has %d events, had %d", after, before)
	}
	s, err := openStore(kept)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close(true)
	if err := s.claim(t.Context(), "new"); err != nil {
		t.Errorf("the interrupted session was left: %v", err)
	}
}

// TestClosedUnkept: a replay that does not come to its end removes the session
// that it made, and never one that was there.
func TestClosedUnkept(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept.db")
	replayJSON(t, writeChat(t, 2), "--db", kept, "--session", "before")
	s, err := openStore(kept)
	if err != nil {
		t.Fatal(err)
	}
	var input inputError
	if err := s.claim(t.Context(), "before"); !errors.As(err, &input) {
		t.Errorf("claiming a session that is there: %v", err)
	}
	if err := s.close(false); err != nil {
		t.Error(err)
	}
	if n := stored(t, kept, "before").Events().Len(); n != 4 {
		t.Errorf("%d events are left", n)
	}
}

// sse are events of a stream as Anthropic's.
func sse(events ...string) string {
	var b strings.Builder
	for _, event := range events {
		var named struct{ Type string }
		_ = json.Unmarshal([]byte(event), &named)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", named.Type, event)
	}
	return b.String()
}

// TestProviders: each provider's client sends its key and the model's name to
// the server that the environment names.
func TestProviders(t *testing.T) {
	for _, test := range []struct{ name, baseURL, path, answer string }{
		{"openai:some-model", "OPENAI_BASE_URL", "/chat/completions",
			`{"id":"1","object":"chat.completion","model":"some-model","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"They spoke of invoices."}}],
			"usage":{"prompt_tokens":90,"completion_tokens":10,"total_tokens":100}}`},
		{"anthropic:some-model", "ANTHROPIC_BASE_URL", "/v1/messages",
			sse(`{"type":"message_start","message":{"id":"1","type":"message","role":"assistant","model":"some-model","content":[],"usage":{"input_tokens":90,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"They spoke of invoices."}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":10}}`,
				`{"type":"message_stop"}`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if key := r.Header.Get("Authorization"); key != "Bearer a key" || r.URL.Path != test.path || !bytes.Contains(body, []byte(`"some-model"`)) {
					t.Errorf("%s with key %q: %s", r.URL.Path, key, body)
				}
				w.Header().Set("Content-Type", "application/json")
				if strings.HasPrefix(test.answer, "event:") {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				fmt.Fprint(w, test.answer)
			}))
			defer server.Close()
			t.Setenv("OPENAI_API_KEY", "a key")
			t.Setenv("ANTHROPIC_API_KEY", "a key")
			t.Setenv(test.baseURL, server.URL)
			result := replayJSON(t, writeChat(t, 12), "--db", filepath.Join(t.TempDir(), "s.db"), "--overlap", "0", "--summarizer", test.name)
			if result.Compactions != 2 || result.SummarizerTokens != 200 {
				t.Errorf("%d compactions, %d summarizer tokens", result.Compactions, result.SummarizerTokens)
			}
		})
	}
}
