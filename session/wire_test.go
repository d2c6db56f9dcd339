package session_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/recap-adk/recap/session"
)

var wireRecord = &session.EventCompaction{
	StartTimestamp: 1772355601.623456, EndTimestamp: 1772355612.5,
	CompactedContent: genai.NewContentFromText("S", genai.RoleModel),
	ExcludedEvents:   []session.EventRef{{InvocationID: "i2", Timestamp: time.UnixMicro(1772355605000001).UTC()}},
}

// TestRecordIsWritten: as adk-python does by default, as adk-go does on request.
func TestRecordIsWritten(t *testing.T) {
	event := &session.Event{Actions: session.EventActions{Compaction: wireRecord}}
	python, err := json.Marshal(event.Actions)
	if err != nil {
		t.Fatal(err)
	}
	goStyle, err := event.Actions.MarshalADKGo()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ got, want string }{
		{string(python), `{"compaction":{"startTimestamp":1772355601.623456,"endTimestamp":1772355612.5,"compactedContent":{"parts":[{"text":"S"}],"role":"model"},"excludedEvents":[{"invocationId":"i2","timestamp":1772355605.000001}]}}`},
		{string(goStyle), `{"compaction":{"startTimestamp":"2026-03-01T09:00:01.623456Z","endTimestamp":"2026-03-01T09:00:12.5Z","compactedContent":{"parts":[{"text":"S"}],"role":"model"},"excludedEvents":[{"invocationId":"i2","timestamp":"2026-03-01T09:00:05.000001Z"}]}}`},
	} {
		if tc.got != tc.want {
			t.Errorf("got  %s\nwant %s", tc.got, tc.want)
		}
	}
}

// TestRecordIsRead in every form that an ADK writes. That of adk-python's
// databases is case 79 of the ADK family: it is what the migration of its oldest
// schema leaves behind, and its text is kept.
func TestRecordIsRead(t *testing.T) {
	for name, text := range map[string]string{
		"adk-python":       `{"startTimestamp":1772355601.623456,"endTimestamp":1772355612.5,"compactedContent":{"parts":[{"text":"S"}],"role":"model"},"excludedEvents":[{"invocationId":"i2","timestamp":1772355605.000001}]}`,
		"its databases":    `{"start_timestamp":1772355601.623456,"end_timestamp":1772355612.5,"compacted_content":{"parts":[{"text":"S"}],"role":"model"},"excluded_events":[{"invocation_id":"i2","timestamp":1772355605.000001}]}`,
		"adk-go":           `{"startTimestamp":"2026-03-01T09:00:01.623456Z","endTimestamp":"2026-03-01T10:00:12.5+01:00","compactedContent":{"parts":[{"text":"S"}],"role":"model"},"excludedEvents":[{"invocationId":"i2","timestamp":"2026-03-01T09:00:05.000001Z"}]}`,
		"adk-go, untagged": `{"StartTimestamp":"2026-03-01T09:00:01.623456Z","EndTimestamp":"2026-03-01T09:00:12.5Z","CompactedContent":{"parts":[{"text":"S"}],"role":"model"},"ExcludedEvents":[{"InvocationID":"i2","Timestamp":"2026-03-01T09:00:05.000001Z"}]}`,
	} {
		var got session.EventCompaction
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(wireRecord, &got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	var java session.EventCompaction
	if err := json.Unmarshal([]byte(`{"startTimestamp":1772355601623,"endTimestamp":1772355612500,"compactedContent":{"parts":[{"text":"S"}]}}`), &java); err != nil {
		t.Fatal(err)
	}
	if java.StartTimestamp != 1772355601.623 || java.EndTimestamp != 1772355612.5 || !java.Valid() {
		t.Errorf("adk-java: %+v", java)
	}
}

func TestBadRecords(t *testing.T) {
	for text, want := range map[string]string{
		`{"startTimestamp":true}`:   "neither RFC 3339 nor a number",
		`{"startTimestamp":"soon"}`: "compaction record",
		`{"startTimestamp":1e300}`:  "out of range",
		`{"compactedContent":7}`:    "compaction record: content",
		`[]`:                        "compaction record",
	} {
		var record session.EventCompaction
		if err := json.Unmarshal([]byte(text), &record); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestValid(t *testing.T) {
	content := genai.NewContentFromText("S", genai.RoleModel)
	thought := &genai.Content{Parts: []*genai.Part{nil, {Text: "hm", Thought: true}}}
	for name, tc := range map[string]struct {
		record *session.EventCompaction
		want   bool
	}{
		"good":          {&session.EventCompaction{StartTimestamp: 1, EndTimestamp: 2, CompactedContent: content}, true},
		"one event":     {&session.EventCompaction{StartTimestamp: 1, EndTimestamp: 1, CompactedContent: content}, true},
		"nil":           {nil, false},
		"inverted":      {&session.EventCompaction{StartTimestamp: 2, EndTimestamp: 1, CompactedContent: content}, false},
		"no start":      {&session.EventCompaction{EndTimestamp: 1, CompactedContent: content}, false},
		"not a number":  {&session.EventCompaction{StartTimestamp: math.NaN(), EndTimestamp: 1, CompactedContent: content}, false},
		"without end":   {&session.EventCompaction{StartTimestamp: 1, EndTimestamp: math.Inf(1), CompactedContent: content}, false},
		"no content":    {&session.EventCompaction{StartTimestamp: 1, EndTimestamp: 2}, false},
		"blank":         {&session.EventCompaction{StartTimestamp: 1, EndTimestamp: 2, CompactedContent: genai.NewContentFromText(" \n", "model")}, false},
		"thoughts only": {&session.EventCompaction{StartTimestamp: 1, EndTimestamp: 2, CompactedContent: thought}, false},
	} {
		if got := tc.record.Valid(); got != tc.want {
			t.Errorf("%s: Valid is %v", name, got)
		}
	}
}

// TestRangesAreExact: any time at microseconds goes through both forms and is
// the same, so an event at the end of a range stays in it.
func TestRangesAreExact(t *testing.T) {
	check := func(t *rapid.T, at time.Time) {
		event := &session.Event{InvocationID: "i", Timestamp: at.Add(999 * time.Nanosecond)}
		record := session.NewEventCompaction(at, at, genai.NewContentFromText("S", "model"), nil)
		python, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		goStyle, err := record.MarshalADKGo()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{python, goStyle} {
			var got session.EventCompaction
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if !got.Covers(event) || !got.Start().Equal(at) || !got.End().Equal(at) {
				t.Fatalf("%s does not cover %v", text, at)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, time.UnixMicro(rapid.Int64Range(1, 7258118400000000).Draw(t, "micros")).UTC())
	})
	rapid.Check(t, func(t *rapid.T) { // where a float64 is coarsest
		check(t, time.UnixMicro(1<<32*1e6+rapid.Int64Range(0, 1e9).Draw(t, "after 2106")).UTC())
	})
}

func TestEventJSON(t *testing.T) {
	var e session.Event
	if err := json.Unmarshal([]byte(`{"id":"e1","timestamp":1772355601.5,"invocationId":"i1","nodeInfo":{},"actions":{"stateDelta":{}}}`), &e); err != nil {
		t.Fatal(err)
	}
	if e.NodeInfo != nil || !e.Timestamp.Equal(time.UnixMilli(1772355601500)) || e.InvocationID != "i1" {
		t.Errorf("event %+v", e)
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	// Nil maps are left out, empty ones are kept: adk-python refuses null.
	if want := `{"id":"e1","timestamp":"2026-03-01T09:00:01.5Z","invocationId":"i1","author":"","actions":{"stateDelta":{}}}`; string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	if err := json.Unmarshal([]byte(`{"timestamp":"soon"}`), &e); err == nil {
		t.Error("a bad time was read")
	}
}

func TestIsFinalResponse(t *testing.T) {
	parts := func(parts ...*genai.Part) session.Event {
		var e session.Event
		e.Content = &genai.Content{Parts: parts}
		return e
	}
	call := parts(&genai.Part{FunctionCall: &genai.FunctionCall{}})
	long := call
	long.LongRunningToolIDs = []string{"a"}
	skip := parts(&genai.Part{FunctionResponse: &genai.FunctionResponse{}})
	skip.Actions.SkipSummarization = true
	partial := parts(&genai.Part{Text: "he"})
	partial.Partial = true
	record := parts()
	record.Actions.Compaction = wireRecord
	for name, tc := range map[string]struct {
		e    session.Event
		want bool
	}{
		"text":              {parts(&genai.Part{Text: "hello"}), true},
		"nothing":           {session.Event{}, true},
		"call":              {call, false},
		"response":          {parts(&genai.Part{FunctionResponse: &genai.FunctionResponse{}}), false},
		"long-running call": {long, true},
		"shown response":    {skip, true},
		"partial":           {partial, false},
		"code result":       {parts(&genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{}}), false},
		"compaction":        {record, false},
	} {
		if got := tc.e.IsFinalResponse(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestStateIsSplitAndMerged(t *testing.T) {
	state := map[string]any{"a": 1, "app:b": 2, "user:c": 3, "temp:d": 4}
	app, user, own := session.SplitState(state)
	delete(state, "temp:d")
	if diff := cmp.Diff(state, session.MergeState(app, user, own)); diff != "" {
		t.Error(diff)
	}
}

// TestSnapshotKeepsOrder: appends that overlapped may arrive in either order.
func TestSnapshotKeepsOrder(t *testing.T) {
	s := session.NewSnapshot(session.SnapshotData{ID: "s1"})
	at := func(n int) *session.Event {
		return &session.Event{ID: string(rune('0' + n)), Timestamp: time.Unix(int64(n), 0)}
	}
	s.Append(at(1))
	s.Append(at(3))
	before := s.Events()
	s.Append(at(2))
	if before.Len() != 2 || before.At(1).ID != "3" {
		t.Error("a list that was handed out changed")
	}
	var ids string
	for e := range s.Events().All() {
		ids += e.ID
	}
	if ids != "123" || !s.LastUpdateTime().Equal(time.Unix(3, 0)) {
		t.Errorf("order %s, updated %v", ids, s.LastUpdateTime())
	}
	if err := s.State().Set("k", 1); err != nil {
		t.Fatal(err)
	}
	for key, value := range s.State().All() {
		if key != "k" || value != 1 {
			t.Errorf("%s=%v", key, value)
		}
	}
}

func FuzzUnmarshalRecord(f *testing.F) {
	f.Add([]byte(`{"startTimestamp":1.5,"endTimestamp":"2026-03-01T09:00:12.5Z","compactedContent":{"parts":[{"text":"S"}]}}`))
	f.Add([]byte(`{"start_timestamp":1772355601623,"excluded_events":[{"timestamp":1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var record session.EventCompaction
		if json.Unmarshal(data, &record) != nil {
			return
		}
		out, err := json.Marshal(&record)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		var again session.EventCompaction
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if record.Valid() != again.Valid() || record.Valid() && (record.StartTimestamp != again.StartTimestamp || record.EndTimestamp != again.EndTimestamp) {
			t.Fatalf("%s became %s", data, out)
		}
	})
}

func FuzzUnmarshalEvent(f *testing.F) {
	f.Add([]byte(`{"id":"e","timestamp":1772355601.5,"content":{"parts":[{"text":"x"}]},"actions":{"stateDelta":{"a":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e session.Event
		if json.Unmarshal(data, &e) == nil {
			_ = e.IsFinalResponse()
			_ = e.Clone()
		}
	})
}
