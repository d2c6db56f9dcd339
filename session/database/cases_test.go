package database_test

import (
	"bytes"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/libtnb/sqlite"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
)

// TestRecordAmongMetadata is case 80 of the ADK family: a compaction record
// goes through the database next to the application's metadata, ours, and the
// summarizer's usage, and none of them leaks into another.
func TestRecordAmongMetadata(t *testing.T) {
	service := open(t, newFile(t))
	created, err := service.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 5, 1, 12, 0, 0, 123456000, time.UTC)
	event := session.NewEvent(t.Context(), "i1")
	event.Author = "user"
	event.ModelVersion = "m-1"
	event.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 7}
	event.CustomMetadata = map[string]any{"mine": "kept", "recap": map[string]any{"level": 2.0}}
	event.Actions.Compaction = session.NewEventCompaction(at, at.Add(time.Second), genai.NewContentFromText("S", genai.RoleModel), nil)
	if err := service.AppendEvent(t.Context(), created.Session, event); err != nil {
		t.Fatal(err)
	}
	got, err := service.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(event, got.Session.Events().At(0)); diff != "" {
		t.Errorf("the event changed: %s", diff)
	}
}

// TestPickledActions is case 78 of the ADK family: adk-python's oldest schema has
// the same tables with pickled actions. adk-python reads its pickle; Recap does
// not run one. It says where it stopped, and changes nothing.
func TestPickledActions(t *testing.T) {
	path := newFile(t)
	service := open(t, path)
	created, err := service.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	event := session.NewEvent(t.Context(), "i1")
	event.ID, event.Author = "e1", "user"
	if err := service.AppendEvent(t.Context(), created.Session, event); err != nil {
		t.Fatal(err)
	}
	pool, err := sql.Open(sqlite.DriverName, path)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	pickle := []byte("\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00\x8c\x0fgoogle.adk.event")
	if _, err := pool.Exec("UPDATE events SET actions = ?", pickle); err != nil {
		t.Fatal(err)
	}
	_, err = service.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err == nil || !strings.Contains(err.Error(), `event "e1": column actions`) {
		t.Errorf("error %v, want one that names the event and the column", err)
	}
	var stored []byte
	if err := pool.QueryRow("SELECT actions FROM events").Scan(&stored); err != nil || !bytes.Equal(stored, pickle) {
		t.Errorf("the row changed: %q, %v", stored, err)
	}
}
