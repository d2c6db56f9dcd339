package adkpython_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/libtnb/sqlite"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/adkpython"
	"github.com/recap-adk/recap/session/sessiontest"
)

func open(tb testing.TB, dsn string) session.Service {
	tb.Helper()
	service, err := adkpython.NewSessionService(sqlite.Open(dsn))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := service.(io.Closer).Close(); err != nil {
			tb.Error(err)
		}
	})
	return service
}

// fixture is a copy of a database that adk-python wrote.
func fixture(tb testing.TB, name string) string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// emptied is a database of adk-python's without rows.
func emptied(tb testing.TB, name string) string {
	tb.Helper()
	path := fixture(tb, name)
	for _, table := range []string{"events", "sessions", "app_states", "user_states"} {
		execute(tb, path, "DELETE FROM "+table)
	}
	return path
}

func execute(tb testing.TB, path, statement string) {
	tb.Helper()
	db, err := sql.Open(sqlite.DriverName, path)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		tb.Fatal(err)
	}
}

// TestService runs the suite of all stores on each schema, and on the tables
// that this package makes.
func TestService(t *testing.T) {
	// JSON has no text that is not UTF-8.
	const except = "Storage/of a text that is not UTF-8"
	for name, dsn := range map[string]func(testing.TB) string{
		"made here":              func(tb testing.TB) string { return filepath.Join(tb.TempDir(), "sessions.db") },
		"in memory":              func(testing.TB) string { return ":memory:" },
		"DatabaseSessionService": func(tb testing.TB) string { return emptied(tb, "v1.db") },
		"SqliteSessionService":   func(tb testing.TB) string { return emptied(tb, "sqlite.db") },
	} {
		t.Run(name, func(t *testing.T) {
			sessiontest.Run(t, func(t *testing.T) session.Service { return open(t, dsn(t)) }, except)
		})
	}
}

var trip = session.GetRequest{AppName: "travel", UserID: "ada", SessionID: "trip-1"}

// TestReadsWhatPythonWrote: the conversation that testdata/make_fixtures.py has
// adk-python store, with a compaction by adk-python itself.
func TestReadsWhatPythonWrote(t *testing.T) {
	for _, name := range []string{"v1.db", "sqlite.db"} {
		t.Run(name, func(t *testing.T) {
			service := open(t, fixture(t, name))
			got, err := service.Get(t.Context(), &trip)
			if err != nil {
				t.Fatal(err)
			}
			state := map[string]any{}
			for key, value := range got.Session.State().All() {
				state[key] = value
			}
			if diff := cmp.Diff(map[string]any{
				"city": "Porto", "last_order": 7741.0, "user:name": "Ada", "user:home_city": "Lisbon",
				"app:shop": "Tram", "app:opening_hours": map[string]any{"from": 9.0},
			}, state); diff != "" {
				t.Errorf("state: -want +got:\n%s", diff)
			}
			want := []string{
				`e1 i1 1.000001 user@: text "Where is my order 7741? ✈ 旅行"`,
				`e2 i1 2.5 guide@root.guide: call c1 find_order {"deep":{"snake_key":[1,2.5,null]},"order_id":7741} signature fffefd00736967 usage 120`,
				`e3 i1 3.25 guide@root.guide: response c1 find_order {"found_at":"depot","user_id":"u"} delta {"app:opening_hours":{"from":9},"last_order":7741,"user:home_city":"Lisbon"}`,
				`e4 i1 4 guide@: text "It is at the depot." metadata {"source_kind":{"a_b":1}} finish STOP model m-1`,
				`summary 4.25 user@: compaction 1.000001-4 "The order 7741 was looked up."`,
				`e5 i2 5 user@: text "Book it."`,
				`e6 i2 6 guide@: call c2 book {} long [c2]`,
				`e7 i2 7 guide@: text "I have asked for it."`,
			}
			if diff := cmp.Diff(want, show(got.Session)); diff != "" {
				t.Errorf("events: -want +got:\n%s", diff)
			}
			list, err := service.List(t.Context(), &session.ListRequest{AppName: "travel"})
			if err != nil || len(list.Sessions) != 3 {
				t.Errorf("%d sessions, %v", len(list.Sessions), err)
			}
		})
	}
}

// show writes events a line each.
func show(s session.Session) (lines []string) {
	base := time.Unix(1772355600, 0)
	for e := range s.Events().All() {
		var b strings.Builder
		id := e.ID + " " + e.InvocationID
		if e.Actions.Compaction != nil {
			id = e.ID
		}
		fmt.Fprintf(&b, "%s %g %s@%s:", id, float64(e.Timestamp.Sub(base).Microseconds())/1e6, e.Author, e.Branch)
		text := func(v any) string { data, _ := json.Marshal(v); return string(data) }
		if e.Content != nil {
			for _, p := range e.Content.Parts {
				switch {
				case p.FunctionCall != nil:
					fmt.Fprintf(&b, " call %s %s %s", p.FunctionCall.ID, p.FunctionCall.Name, text(p.FunctionCall.Args))
				case p.FunctionResponse != nil:
					fmt.Fprintf(&b, " response %s %s %s", p.FunctionResponse.ID, p.FunctionResponse.Name, text(p.FunctionResponse.Response))
				default:
					fmt.Fprintf(&b, " text %q", p.Text)
				}
				if len(p.ThoughtSignature) > 0 {
					fmt.Fprintf(&b, " signature %x", p.ThoughtSignature)
				}
			}
		}
		if r := e.Actions.Compaction; r != nil {
			fmt.Fprintf(&b, " compaction %g-%g %q", r.Start().Sub(base).Seconds(), r.End().Sub(base).Seconds(), r.Text())
		}
		if len(e.Actions.StateDelta) > 0 {
			b.WriteString(" delta " + text(e.Actions.StateDelta))
		}
		if len(e.CustomMetadata) > 0 {
			b.WriteString(" metadata " + text(e.CustomMetadata))
		}
		if e.FinishReason != "" {
			b.WriteString(" finish " + string(e.FinishReason) + " model " + e.ModelVersion)
		}
		if e.UsageMetadata != nil {
			fmt.Fprintf(&b, " usage %d", e.UsageMetadata.PromptTokenCount)
		}
		if len(e.LongRunningToolIDs) > 0 {
			fmt.Fprintf(&b, " long %v", e.LongRunningToolIDs)
		}
		lines = append(lines, b.String())
	}
	return lines
}

// TestRefusals: databases that are not adk-python's, or no longer.
func TestRefusals(t *testing.T) {
	for _, tc := range []struct{ name, schema, want string }{
		{"pickled", "CREATE TABLE events (id, app_name, actions BLOB)", "adk migrate session"},
		{"of adk-go", "CREATE TABLE events (id, app_name, actions BLOB, isolation_scope)", "package session/database"},
		{"of somebody else", "CREATE TABLE events (id, what)", "no column event_data"},
		{"of the future", "CREATE TABLE events (id, event_data); CREATE TABLE adk_internal_metadata (key, value); INSERT INTO adk_internal_metadata VALUES ('schema_version', '2')", `version "2"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.db")
			execute(t, path, tc.schema)
			_, err := adkpython.NewSessionService(sqlite.Open(path))
			if err == nil || !strings.Contains(err.Error(), tc.want) || errors.Is(err, adkpython.ErrPickled) != (tc.name == "pickled") {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// TestBadRows: one clear error that names the event.
func TestBadRows(t *testing.T) {
	for _, data := range []string{`{`, `null`, `[]`, `{"timestamp": 1e300}`, `{"content": 7}`} {
		path := fixture(t, "v1.db")
		execute(t, path, "UPDATE events SET event_data = '"+data+"' WHERE id = 'e4'")
		_, err := open(t, path).Get(t.Context(), &trip)
		if err == nil || !strings.Contains(err.Error(), `event "e4": column event_data`) {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// goOn appends what Go's runtime appends, and compacts with exclusions.
func goOn(t *testing.T, path string) {
	t.Helper()
	service := open(t, path)
	got, err := service.Get(t.Context(), &trip)
	if err != nil {
		t.Fatal(err)
	}
	question := session.NewEvent(t.Context(), "i3")
	question.ID, question.Author, question.Content = "go1", "user", genai.NewContentFromText("And the <hotel>?", genai.RoleUser)
	answer := session.NewEvent(t.Context(), "i3")
	answer.ID, answer.Author = "go2", "guide"
	answer.Content = genai.NewContentFromFunctionCall("find_hotel", map[string]any{"camelCase": 1.0, "snake_case": "x"}, genai.RoleModel)
	answer.Content.Parts[0].FunctionCall.ID, answer.Content.Parts[0].ThoughtSignature = "c3", []byte{0xff, 0xfe, 0}
	answer.Actions.StateDelta = map[string]any{"hotel": "Tejo", "app:shop": "Tram 28"}
	result := session.NewEvent(t.Context(), "i3")
	result.ID, result.Author = "go3", "guide"
	result.Content = genai.NewContentFromFunctionResponse("find_hotel", map[string]any{"ok": true}, genai.RoleUser)
	result.Content.Parts[0].FunctionResponse.ID = "c3"
	final := session.NewEvent(t.Context(), "i3")
	final.ID, final.Author, final.Content = "go4", "guide", genai.NewContentFromText("The Tejo, as always and as everybody knows it.", genai.RoleModel)
	for _, e := range []*session.Event{question, answer, result, final} {
		if err := service.AppendEvent(t.Context(), got.Session, e); err != nil {
			t.Fatal(err)
		}
	}
	c, err := compaction.NewCompactor(&compaction.Config{CompactionInterval: 2, Summarizer: compaction.ExtractiveSummarizer{}}, service)
	if err != nil {
		t.Fatal(err)
	}
	if o := c.Compact(t.Context(), got.Session); o.Kind != compaction.Applied {
		t.Fatal(o)
	}
}

// TestWritesWhatPythonReads: rows that Go appends, as they are stored.
func TestWritesWhatPythonReads(t *testing.T) {
	path := fixture(t, "v1.db")
	goOn(t, path)
	db, err := sql.Open(sqlite.DriverName, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var row, compacted string
	if err := db.QueryRow("SELECT event_data FROM events WHERE id = 'go2'").Scan(&row); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"function_call":{"args":{"camelCase":1,"snake_case":"x"},"id":"c3"`, `"thought_signature":"__4A"`, `"invocation_id":"i3"`, `"state_delta":{"app:shop":"Tram 28","hotel":"Tejo"}`} {
		if !strings.Contains(row, want) {
			t.Errorf("%s\nlacks %s", row, want)
		}
	}
	if err := db.QueryRow("SELECT event_data FROM events WHERE event_data LIKE '%compacted_content%' ORDER BY timestamp DESC LIMIT 1").Scan(&compacted); err != nil {
		t.Fatal(err)
	}
	// e6 waits for its answer, so it is excluded, in a place of ours.
	if !strings.Contains(compacted, `"excludedEvents":[{"invocationId":"i2"`) || strings.Contains(compacted, "excluded_events") {
		t.Errorf("stored as %s", compacted)
	}
	got, err := open(t, path).Get(t.Context(), &trip)
	if err != nil {
		t.Fatal(err)
	}
	last := got.Session.Events().At(got.Session.Events().Len() - 1)
	if r := last.Actions.Compaction; r == nil || len(r.ExcludedEvents) != 1 || last.Manifest().From.IsZero() {
		t.Errorf("read as %+v", last.Actions.Compaction)
	}
}

// TestPythonReadsOn has the real adk-python read and continue what Go wrote, and
// Go what Python wrote after that.
func TestPythonReadsOn(t *testing.T) {
	python := os.Getenv("RECAP_ADK_PYTHON")
	if python == "" {
		t.Skip("RECAP_ADK_PYTHON does not name a Python that has google-adk")
	}
	for _, name := range []string{"v1.db", "sqlite.db"} {
		t.Run(name, func(t *testing.T) {
			path := fixture(t, name)
			goOn(t, path)
			out, err := exec.Command(python, "testdata/read_on.py", path, strings.TrimSuffix(name, ".db")).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got, err := open(t, path).Get(t.Context(), &trip)
			if err != nil {
				t.Fatal(err)
			}
			lines := show(got.Session)
			if last := lines[len(lines)-1]; !strings.Contains(last, `text "Python goes on."`) {
				t.Errorf("the last event is %s", last)
			}
		})
	}
}
