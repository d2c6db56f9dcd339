package database_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
