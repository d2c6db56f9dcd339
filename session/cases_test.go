package session_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
)

// TestFractionalTimes is case 81 of the ADK family: a record keeps fractions of
// seconds in its float times.
func TestFractionalTimes(t *testing.T) {
	in := `{"startTimestamp":1772355601.623456,"endTimestamp":1772355602.5,"compactedContent":{"parts":[{"text":"S"}],"role":"model"}}`
	var record session.EventCompaction
	if err := json.Unmarshal([]byte(in), &record); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(&record)
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != in {
		t.Errorf("got %s\nwant %s", out, in)
	}
}

// TestActionsKeepTheirRecord is case 100 of the ADK family: actions that are
// copied, as JSON or in memory, keep their record.
func TestActionsKeepTheirRecord(t *testing.T) {
	event := &session.Event{ID: "e1", Actions: session.EventActions{
		Compaction: &session.EventCompaction{StartTimestamp: 1, EndTimestamp: 2, CompactedContent: genai.NewContentFromText("S", genai.RoleModel)},
	}}
	data, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	var decoded session.Event
	if err := json.Unmarshal(data, &decoded); err != nil {
		t.Fatal(err)
	}
	for what, e := range map[string]*session.Event{"decoded": &decoded, "cloned": event.Clone()} {
		if r := e.Actions.Compaction; r == event.Actions.Compaction || !r.Valid() || r.Text() != "S" {
			t.Errorf("%s: %+v", what, r)
		}
	}
}
