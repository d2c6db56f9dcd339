package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// samples are values for the fields of an event, by type.
var samples = map[reflect.Type]reflect.Value{}

func sample[T any](value T) { samples[reflect.TypeFor[T]()] = reflect.ValueOf(&value).Elem() }

func init() {
	sample("text")
	sample(true)
	sample(-0.125)
	sample([]string{"a", "b"})
	sample[any](map[string]any{"list": []any{1.5, nil, true}})
	sample(map[string]any{"key": "value", "none": nil})
	sample(map[string]int64{"ticket.pdf": 3, "map.png": 0})
	sample(map[string]toolconfirmation.ToolConfirmation{"c1": {Hint: "Book it?", Confirmed: true, Payload: "p"}})
	sample(time.UnixMicro(1772355601623456).UTC())
	sample(wireRecord)
	sample(&jsonschema.Schema{Type: "object", Required: []string{"seats"}})
	sample(genai.FinishReasonMaxTokens)
	sample(&genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
		{Text: "hm", Thought: true, ThoughtSignature: []byte{0, 255}},
		{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "search", Args: map[string]any{"seats": 2.0}}},
		{InlineData: &genai.Blob{Data: []byte{1, 2}, MIMEType: "image/png"}},
	}})
	sample(&genai.CitationMetadata{Citations: []*genai.Citation{{StartIndex: 1, Title: "A title"}}})
	sample(&genai.GroundingMetadata{WebSearchQueries: []string{"flights"}})
	sample(&genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 321, TotalTokenCount: 346})
	sample(&genai.LogprobsResult{ChosenCandidates: []*genai.LogprobsResultCandidate{{Token: "a", LogProbability: -0.25}}})
	sample(&genai.Transcription{Text: "said", Finished: true})
}

// fill sets every field of v, down into the structs of this module.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	if value, ok := samples[v.Type()]; ok {
		v.Set(value)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("there is no sample of a %v", v.Type())
	}
}

func TestEveryFieldOfAnEventSurvivesJSON(t *testing.T) {
	var want, got session.Event
	fill(t, reflect.ValueOf(&want).Elem())
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for _, object := range []any{fields, fields["actions"], fields["nodeInfo"], fields["requestedInput"]} {
		for name := range object.(map[string]any) {
			if strings.Contains(name, "_") || strings.ToLower(name[:1]) != name[:1] {
				t.Errorf("%q is not camelCase", name)
			}
		}
	}
	if n := reflect.TypeFor[session.Event]().NumField() - 1 + reflect.TypeFor[model.LLMResponse]().NumField(); len(fields) != n {
		t.Errorf("%d of %d fields are written", len(fields), n)
	}
}

// TestTimesOfEvents: RFC 3339 of adk-go, seconds of adk-python, milliseconds of
// adk-java.
func TestTimesOfEvents(t *testing.T) {
	for text, want := range map[string]time.Time{
		`"2026-03-01T09:00:01.623456Z"`:      time.UnixMicro(1772355601623456),
		`"2026-03-01T10:00:01.623456+01:00"`: time.UnixMicro(1772355601623456),
		`1772355601.623456`:                  time.UnixMicro(1772355601623456),
		`1772355601`:                         time.Unix(1772355601, 0),
		`1772355601623`:                      time.UnixMilli(1772355601623),
		` 1.772355601e9 `:                    time.Unix(1772355601, 0),
		`99999999999`:                        time.Unix(99999999999, 0),
		`100000000000`:                       time.UnixMilli(100000000000),
		`-1.5`:                               time.UnixMilli(-1500),
		`0`:                                  time.Unix(0, 0),
		`null`:                               {},
	} {
		var e session.Event
		if err := json.Unmarshal([]byte(`{"timestamp":`+text+`}`), &e); err != nil || !e.Timestamp.Equal(want) {
			t.Errorf("%s: %v, %v; want %v", text, e.Timestamp, err, want)
		}
	}
	for _, text := range []string{`"soon"`, `""`, `true`, `{}`, `1e300`, `-1e300`, `1e14`, `-99999999999`} {
		var e session.Event
		if err := json.Unmarshal([]byte(`{"timestamp":`+text+`}`), &e); err == nil {
			t.Errorf("%s was read as %v", text, e.Timestamp)
		}
	}
}

func TestActionsJSON(t *testing.T) {
	for name, tc := range map[string]struct {
		actions session.EventActions
		want    string
	}{
		"nothing":    {session.EventActions{}, `{}`},
		"empty maps": {session.EventActions{StateDelta: map[string]any{}, ArtifactDelta: map[string]int64{}}, `{"stateDelta":{},"artifactDelta":{}}`},
		"values":     {session.EventActions{StateDelta: map[string]any{"k": nil}, Escalate: true}, `{"stateDelta":{"k":null},"escalate":true}`},
	} {
		plain, err := json.Marshal(tc.actions)
		if err != nil {
			t.Fatal(err)
		}
		goStyle, err := tc.actions.MarshalADKGo()
		if err != nil {
			t.Fatal(err)
		}
		if string(plain) != tc.want || string(goStyle) != tc.want {
			t.Errorf("%s: %s and, for adk-go, %s; want %s", name, plain, goStyle, tc.want)
		}
	}
	unwritable := session.EventActions{Compaction: &session.EventCompaction{CompactedContent: &genai.Content{Parts: []*genai.Part{{
		FunctionCall: &genai.FunctionCall{Args: map[string]any{"f": func() {}}},
	}}}}}
	if _, err := unwritable.MarshalADKGo(); err == nil {
		t.Error("a function was written as JSON")
	}
}

// TestFinalResponseWithEmptyParts: a part may be null in what a client sends.
func TestFinalResponseWithEmptyParts(t *testing.T) {
	for text, want := range map[string]bool{
		`[null]`:               true,
		`[{"text":"x"}, null]`: true,
		`[null, {"functionCall":{"name":"look"}}]`:                false,
		`[{"codeExecutionResult":{"output":"1"}}, {"text":"so"}]`: true,
		`[{"codeExecutionResult":{"output":"1"}}, null]`:          false,
	} {
		var e session.Event
		if err := json.Unmarshal([]byte(`{"content":{"parts":`+text+`}}`), &e); err != nil {
			t.Fatal(err)
		}
		if got := e.IsFinalResponse(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestCloneOfAnEventSharesNothing(t *testing.T) {
	var event session.Event
	fill(t, reflect.ValueOf(&event).Elem())
	before, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	c := event.Clone()
	c.Content.Parts[1].FunctionCall.Args["seats"] = 3.0
	c.Content.Parts[0].ThoughtSignature[0] = 1
	c.Actions.StateDelta["key"] = "changed"
	c.Actions.Compaction.CompactedContent.Parts[0].Text = "changed"
	c.Actions.Compaction.ExcludedEvents[0].InvocationID = "changed"
	c.Output.(map[string]any)["list"].([]any)[0] = "changed"
	c.LongRunningToolIDs[0] = "changed"
	c.NodeInfo.Path = "changed"
	c.RequestedInput.ResponseSchema.Required[0] = "changed"
	if after, _ := json.Marshal(event); string(after) != string(before) {
		t.Errorf("a change of the clone changed the event:\n%s\n%s", before, after)
	}
}

func TestNewEventIsStampedByItsContext(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ctx := platform.WithTimeProvider(t.Context(), func() time.Time { return noon })
	ctx = platform.WithUUIDProvider(ctx, func() string { return "id-1" })
	want := &session.Event{ID: "id-1", Timestamp: noon, InvocationID: "i1", Actions: session.EventActions{
		StateDelta: map[string]any{}, ArtifactDelta: map[string]int64{},
	}}
	if diff := cmp.Diff(want, session.NewEvent(ctx, "i1")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStamp(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ctx := platform.WithTimeProvider(t.Context(), func() time.Time { return noon })
	ctx = platform.WithUUIDProvider(ctx, func() string { return "fresh" })
	for name, tc := range map[string]struct{ at, last, want time.Time }{
		"no time":            {time.Time{}, time.Time{}, noon},
		"the first":          {noon.Add(-time.Hour), time.Time{}, noon.Add(-time.Hour)},
		"later":              {noon.Add(time.Second), noon, noon.Add(time.Second)},
		"the same time":      {noon, noon, noon.Add(time.Microsecond)},
		"earlier":            {noon.Add(-time.Hour), noon, noon.Add(time.Microsecond)},
		"nanoseconds":        {noon.Add(1999), time.Time{}, noon.Add(time.Microsecond)},
		"nanoseconds later":  {noon.Add(999), noon, noon.Add(time.Microsecond)},
		"last in nanosecond": {noon, noon.Add(999), noon.Add(time.Microsecond)},
		"another zone":       {noon.In(time.FixedZone("", 3600)), time.Time{}, noon},
	} {
		e := &session.Event{Timestamp: tc.at}
		session.Stamp(ctx, e, tc.last)
		if e.Timestamp != tc.want || e.ID != "fresh" {
			t.Errorf("%s: %q at %v, want %v", name, e.ID, e.Timestamp, tc.want)
		}
	}
	e := &session.Event{ID: "own"}
	if session.Stamp(ctx, e, noon); e.ID != "own" {
		t.Errorf("an ID became %q", e.ID)
	}
}

func TestSplitState(t *testing.T) {
	app, user, own := session.SplitState(map[string]any{"a": 1, "app:b": 2, "user:c": 3, "temp:d": 4, "other:e": 5, "app:": 6})
	want := []map[string]any{{"b": 2, "": 6}, {"c": 3}, {"a": 1, "other:e": 5}}
	if diff := cmp.Diff(want, []map[string]any{app, user, own}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLastCompactionID(t *testing.T) {
	record := session.EventActions{Compaction: wireRecord}
	events := []*session.Event{{ID: "a"}, {ID: "b", Actions: record}, {ID: "c", Actions: record}, {ID: "d"}}
	for n, want := range []string{"", "", "b", "c", "c"} {
		s := session.NewSnapshot(session.SnapshotData{Events: events[:n]})
		if got := session.LastCompactionID(s.Events()); got != want {
			t.Errorf("of %d events: %q, want %q", n, got, want)
		}
	}
}

func TestSortByUpdate(t *testing.T) {
	at := func(user, id string, second int64) session.Session {
		return session.NewSnapshot(session.SnapshotData{UserID: user, ID: id, LastUpdateTime: time.Unix(second, 0)})
	}
	sessions := []session.Session{at("u2", "a", 1), at("u1", "b", 1), at("u1", "a", 1), at("u3", "z", 2)}
	session.SortByUpdate(sessions)
	var got []string
	for _, s := range sessions {
		got = append(got, s.UserID()+s.ID())
	}
	if want := []string{"u3z", "u1a", "u1b", "u2a"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSnapshotState(t *testing.T) {
	s := session.NewSnapshot(session.SnapshotData{State: map[string]any{"a": 1}})
	s.Append(&session.Event{Actions: session.EventActions{StateDelta: map[string]any{"a": 2, "b": nil}}})
	if a, err := s.State().Get("a"); a != 2 || err != nil {
		t.Errorf("a is %v, %v", a, err)
	}
	if b, err := s.State().Get("b"); b != nil || err != nil {
		t.Errorf("b is %v, %v: a null is a value", b, err)
	}
	if _, err := s.State().Get("c"); err != session.ErrStateKeyNotExist {
		t.Errorf("c: error %v", err)
	}
	// Who reads all values may set some while at it.
	for key := range s.State().All() {
		if err := s.State().Set("copy of "+key, true); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]any{"a": 2, "b": nil, "copy of a": true, "copy of b": true}
	if diff := cmp.Diff(want, maps.Collect(s.State().All())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSnapshotOfManyGoroutines: whoever reads sees a list in order of time that
// does not change under them, whatever is appended meanwhile.
func TestSnapshotOfManyGoroutines(t *testing.T) {
	const writers, each = 4, 50
	s := session.NewSnapshot(session.SnapshotData{})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				s.Append(&session.Event{
					Timestamp: time.Unix(int64(i*writers+w+1), 0),
					Actions:   session.EventActions{StateDelta: map[string]any{fmt.Sprint(w): i}},
				})
			}
		})
		wg.Go(func() {
			for range each {
				events := s.Events()
				list := slices.Collect(events.All())
				if !slices.IsSortedFunc(list, func(a, b *session.Event) int { return a.Timestamp.Compare(b.Timestamp) }) || len(list) != events.Len() {
					t.Error("a list is out of order")
				}
				for i, e := range list {
					if events.At(i) != e {
						t.Error("a list changed")
					}
				}
				_ = s.LastUpdateTime()
				_ = maps.Collect(s.State().All())
			}
		})
	}
	wg.Wait()
	if n, last := s.Events().Len(), s.LastUpdateTime(); n != writers*each || last != time.Unix(writers*each, 0) {
		t.Errorf("%d events, the last at %v", n, last)
	}
	for w := range writers {
		if v, _ := s.State().Get(fmt.Sprint(w)); v != each-1 {
			t.Errorf("writer %d left %v", w, v)
		}
	}
}

// FuzzEventRoundTrip: what can be read can be written, and is the same then.
func FuzzEventRoundTrip(f *testing.F) {
	f.Add([]byte(`{"id":"e","timestamp":1772355601.5,"content":{"parts":[null,{"text":"x"}]},"actions":{"stateDelta":{"a":1}},"nodeInfo":{}}`))
	f.Add([]byte(`{"timestamp":"2026-03-01T10:00:01.623456+01:00","actions":{"compaction":{"start_timestamp":1772355601623}},"output":[1,null]}`))
	f.Add([]byte(`{"timestamp":-62135596801,"longRunningToolIds":[],"partial":true,"usageMetadata":{"totalTokenCount":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e, again session.Event
		if json.Unmarshal(data, &e) != nil {
			return
		}
		e.IsFinalResponse()
		if e.RequestedInput != nil {
			e.RequestedInput.ResponseSchema = nil // package jsonschema refuses to write some that it reads
		}
		out, err := json.Marshal(e.Clone())
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, out)
		}
		if diff := cmp.Diff(e, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s became %s:\n%s", data, out, diff)
		}
	})
}

// A stored event is stamped in place: its time is later than that of every
// event before it.
func ExampleStamp() {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	event := &session.Event{ID: "e2", Timestamp: noon}
	session.Stamp(context.Background(), event, noon)
	fmt.Println(event.Timestamp.Format(time.RFC3339Nano))
	// Output: 2026-05-01T12:00:00.000001Z
}
