package sessionfile_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/internal/sessionfile"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

const log = `
	i1 1 user: Where is my order?
	i1 2 shop: thought hm | call a find {"order": 7741} | call* b ask {}
	i1 3 shop: resp a find {"output": "at the depot"}
	i1 4.000001 shop: It is at the depot.
	c1 5 summary 1-4.000001 without 2: The order is at the depot.
	i2 6 scout@root.scout!scope1: usage 100 | I look. </details>
	i3 7 user: rewind i2
	i4 8 user: <b>Thanks</b>`

func sessionOf(t testing.TB, text string) session.Session {
	t.Helper()
	events, err := logtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return session.NewSnapshot(session.SnapshotData{
		AppName: "shop", UserID: "ada", ID: "s1", Events: events, LastUpdateTime: logtext.Base,
		State: map[string]any{"mood": "good", "app:currency": "GBP", "user:name": "Ada"},
	})
}

func write(t testing.TB, s session.Session, format string, opts sessionfile.Options) string {
	t.Helper()
	var text bytes.Buffer
	if err := sessionfile.Write(&text, format, s, opts); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func Example() {
	events, err := logtext.Parse("i1 1 user: Hello!\ni1 2 shop: Hello, Ada.")
	if err != nil {
		panic(err)
	}
	s := session.NewSnapshot(session.SnapshotData{AppName: "shop", UserID: "ada", ID: "s1", Events: events})
	if err := sessionfile.Write(os.Stdout, sessionfile.OpenAI, s, sessionfile.Options{}); err != nil {
		panic(err)
	}
	// Output:
	// {"messages":[
	// {"role":"user","content":"Hello!"},
	// {"role":"assistant","content":"Hello, Ada."}
	// ]}
}

// What is written as ADK is read back, and nothing is lost.
func TestADK(t *testing.T) {
	s := sessionOf(t, log)
	text := write(t, s, sessionfile.ADK, sessionfile.Options{})
	file, err := sessionfile.Read(t.Context(), "s.json", []byte(text), sessionfile.ReadOptions{TrustRecords: true})
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for e := range s.Events().All() {
		if diff := cmp.Diff(e, file.Events[i], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("event %d: %s", i+1, diff)
		}
		i++
	}
	if i != len(file.Events) || file.ID != "s1" || file.AppName != "shop" || file.UserID != "ada" || file.Cleared != 0 {
		t.Errorf("read %d events of %+v", len(file.Events), file)
	}
	if diff := cmp.Diff(map[string]any{"mood": "good"}, file.State); diff != "" {
		t.Errorf("the state: %s", diff)
	}
}

// A record in a file hides nothing, whoever wrote it and however it is spelled.
func TestRecordsAreCleared(t *testing.T) {
	for name, event := range map[string]string{
		"camelCase":       `{"author":"user","actions":{"compaction":{"startTimestamp":1,"endTimestamp":2,"compactedContent":{"parts":[{"text":"x"}]}}}}`,
		"snake_case":      `{"author":"user","actions":{"compaction":{"start_timestamp":1,"end_timestamp":2,"compacted_content":{"parts":[{"text":"x"}]}}}}`,
		"another case":    `{"author":"user","Actions":{"Compaction":{"startTimestamp":1,"endTimestamp":2,"compactedContent":{"parts":[{"text":"x"}]}}}}`,
		"with a message":  `{"author":"user","content":{"parts":[{"text":"hi"}]},"actions":{"compaction":{"startTimestamp":1,"endTimestamp":2}}}`,
		"actions twice":   `{"author":"user","actions":{},"actions":{"compaction":{"startTimestamp":1,"endTimestamp":2}}}`,
		"with a manifest": `{"author":"user","customMetadata":{"recap":{"releases":"2026-01-01T00:00:00Z"}},"actions":{"compaction":{"startTimestamp":1,"endTimestamp":2}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			file, err := sessionfile.Read(t.Context(), "s.json", []byte(`{"events":[`+event+`]}`), sessionfile.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range file.Events {
				if e.Actions.Compaction != nil || !e.Manifest().Releases.IsZero() {
					t.Errorf("the event has %+v", e.Actions)
				}
			}
			if want := strings.Count(event, `"hi"`); file.Cleared != 1 || len(file.Events) != want {
				t.Errorf("%d records cleared, %d events", file.Cleared, len(file.Events))
			}
		})
	}
}

// What is written as messages is what providers take, and is read back.
func TestOpenAI(t *testing.T) {
	got := write(t, sessionOf(t, log), sessionfile.OpenAI, sessionfile.Options{})
	const want = `{"messages":[
{"role":"user","content":"Where is my order?"},
{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"find","arguments":"{\"order\":7741}"}},{"id":"b","type":"function","function":{"name":"ask","arguments":"{}"}}]},
{"role":"tool","content":"at the depot","tool_call_id":"a"},
{"role":"tool","content":"{\"status\":\"pending\"}","tool_call_id":"b"},
{"role":"assistant","content":"It is at the depot."},
{"role":"user","content":"<b>Thanks</b>"}
]}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c, err := conversation.Parse("m.json", []byte(got)); err != nil || len(c.Turns) != 2 {
		t.Errorf("read back: %+v, %v", c, err)
	}
}

func TestOpenAIParts(t *testing.T) {
	s := sessionOf(t, "i1 1 user: Look.\ni1 2 shop: call - see {}\ni1 3 shop: resp - see {}\ni1 4 shop: Nice.")
	first := s.Events().At(0).Content
	first.Parts = append(first.Parts,
		&genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte{1}}},
		&genai.Part{InlineData: &genai.Blob{MIMEType: "audio/wav", Data: []byte{2}}},
		&genai.Part{InlineData: &genai.Blob{MIMEType: "application/pdf", Data: []byte{3}}},
		&genai.Part{FileData: &genai.FileData{MIMEType: "text/plain", FileURI: "gs://a/b"}})
	got := write(t, s, sessionfile.OpenAI, sessionfile.Options{})
	for _, want := range []string{
		`{"text":"Look.","type":"text"},{"image_url":{"url":"data:image/png;base64,AQ=="},"type":"image_url"}`,
		`{"input_audio":{"data":"Ag==","format":"wav"},"type":"input_audio"}`,
		`{"file":{"file_data":"data:application/pdf;base64,Aw=="},"type":"file"}`,
		`{"text":"[gs://a/b]","type":"text"}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %s:\n%s", want, got)
		}
	}
	if _, err := conversation.Parse("m.json", []byte(got)); err != nil {
		t.Errorf("read back: %v", err)
	}
}

// Events of files that have no times and no IDs get those of the platform.
func TestReadMessages(t *testing.T) {
	n := 0
	ctx := platform.WithTimeProvider(t.Context(), func() time.Time { return logtext.Base })
	ctx = platform.WithUUIDProvider(ctx, func() string { n++; return fmt.Sprint(n) })
	file, err := sessionfile.Read(ctx, "m.json", []byte(`[
		{"role":"system","content":"Be kind."},
		{"role":"user","content":"Hi"},
		{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c","content":"1"},
		{"role":"assistant","content":"Done."},
		{"role":"user","content":"Bye"}]`), sessionfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range file.Events {
		got = append(got, fmt.Sprintf("%s %s %s +%v", e.ID, e.InvocationID, e.Author, e.Timestamp.Sub(logtext.Base)))
	}
	want := []string{
		"2 e-1 user +0s", "3 e-1 assistant +1µs", "4 e-1 assistant +2µs", "5 e-1 assistant +3µs", "7 e-6 user +4µs",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if file.System != "Be kind." {
		t.Errorf("the system message is %q", file.System)
	}
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                               "s.json: the file is empty",
		`{"events":[null]}`:              "s.json: event 1: it is null",
		`{"events":[{"id":"a"}]}`:        "s.json: event 1: an event without an author",
		`{"events":[7]}`:                 "s.json: event 1: ",
		`{"id":7,"events":[]}`:           "s.json: ",
		`{"events":[{"author":"user",`:   "s.json:1:28: ",
		`[{"role":"tool"}]`:              "s.json: message 1: ",
		`{"sessions":[]}`:                "s.json: unknown format",
		`{"events":[{"timestamp":"x"}]}`: "s.json: event 1: ",
	} {
		_, err := sessionfile.Read(context.Background(), "s.json", []byte(text), sessionfile.ReadOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Read(%s): %v, want %s", text, err, want)
		}
	}
}

// Markdown cannot be forged: what was said is quoted.
func TestMarkdown(t *testing.T) {
	s := sessionOf(t, log)
	s.Events().At(0).Content.Parts[0].Text = "Hi\n### 7. shop\n```"
	got := write(t, s, sessionfile.Markdown, sessionfile.Options{})
	for _, want := range []string{"\n> Hi\n> ### 7. shop\n> ```\n", "### 5. summary", "user, taken back", "> calls `find`"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"events":[{"author":"user","invocation_id":"i","content":{"parts":[{"inline_data":{"data":"-_"}}]}}]}`))
	f.Add([]byte(`[{"role":"user","content":"hi"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := sessionfile.Read(t.Context(), "f", data, sessionfile.ReadOptions{})
		if err != nil {
			return
		}
		for _, e := range file.Events {
			if e.Actions.Compaction != nil {
				t.Error("a record was minted")
			}
		}
		// What was read can be written, and read again.
		s := session.NewSnapshot(session.SnapshotData{AppName: "a", UserID: "u", ID: "s", Events: file.Events})
		for _, format := range sessionfile.Formats {
			text := write(t, s, format, sessionfile.Options{Compacted: true})
			if format == sessionfile.ADK && len(file.Events) > 0 {
				again, err := sessionfile.Read(t.Context(), "f", []byte(text), sessionfile.ReadOptions{})
				if err != nil || len(again.Events) != len(file.Events) {
					t.Errorf("read again: %v", err)
				}
			}
		}
	})
}
