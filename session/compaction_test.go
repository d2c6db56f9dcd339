package session_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/recap-adk/recap/session"
)

// TestRecordWithoutExclusions has the very bytes of the two ADKs, which know no
// exclusions.
func TestRecordWithoutExclusions(t *testing.T) {
	record := *wireRecord
	record.ExcludedEvents = []session.EventRef{}
	python, err := json.Marshal(&record)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"startTimestamp":1772355601.623456,"endTimestamp":1772355612.5,"compactedContent":{"parts":[{"text":"S"}],"role":"model"}}`; string(python) != want {
		t.Errorf("got  %s\nwant %s", python, want)
	}
	goStyle, err := record.MarshalADKGo()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"startTimestamp":"2026-03-01T09:00:01.623456Z","endTimestamp":"2026-03-01T09:00:12.5Z","compactedContent":{"parts":[{"text":"S"}],"role":"model"}}`; string(goStyle) != want {
		t.Errorf("got  %s\nwant %s", goStyle, want)
	}
}

// TestIncompleteRecordsAreRead, as they are in real logs, and count for nothing.
func TestIncompleteRecordsAreRead(t *testing.T) {
	const content = `"compactedContent":{"parts":[{"text":"S"}]}`
	for name, text := range map[string]string{
		"nothing":             `{}`,
		"no times":            `{` + content + `}`,
		"null times":          `{"startTimestamp":null,"endTimestamp":null,` + content + `}`,
		"no end":              `{"startTimestamp":1772355601,` + content + `}`,
		"no start":            `{"endTimestamp":1772355601,` + content + `}`,
		"times at zero":       `{"startTimestamp":0,"endTimestamp":0,` + content + `}`,
		"Go's zero time":      `{"startTimestamp":"0001-01-01T00:00:00Z","endTimestamp":"2026-03-01T09:00:01Z",` + content + `}`,
		"before the epoch":    `{"startTimestamp":-5,"endTimestamp":1772355601,` + content + `}`,
		"after the year 5138": `{"startTimestamp":1772355601,"endTimestamp":"9999-01-01T00:00:00Z",` + content + `}`,
		"no content":          `{"startTimestamp":1,"endTimestamp":2}`,
		"null content":        `{"startTimestamp":1,"endTimestamp":2,"compactedContent":null}`,
		"null part":           `{"startTimestamp":1,"endTimestamp":2,"compactedContent":{"parts":[null]}}`,
	} {
		record := session.EventCompaction{StartTimestamp: 7, EndTimestamp: 8, CompactedContent: genai.NewContentFromText("old", "model")}
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if record.Valid() {
			t.Errorf("%s: valid: %+v", name, record)
		}
	}
}

func TestRangesThatAreNone(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, ends := range [][2]float64{{1, nan}, {nan, nan}, {inf, inf}, {-inf, 2}, {-2, -1}, {0, 2}, {2, 1.999999}, {1, 1e11}} {
		record := &session.EventCompaction{StartTimestamp: ends[0], EndTimestamp: ends[1], CompactedContent: genai.NewContentFromText("S", "model")}
		if record.Valid() {
			t.Errorf("from %v to %v is valid", ends[0], ends[1])
		}
	}
}

// TestBadRecordLeavesWhatWasThere: half a record must not pass for one.
func TestBadRecordLeavesWhatWasThere(t *testing.T) {
	for _, text := range []string{`{"startTimestamp":3,"compactedContent":7}`, `{"startTimestamp":3,"excludedEvents":{}}`, `{"startTimestamp":3,"end_timestamp":[]}`} {
		record := *wireRecord
		if err := json.Unmarshal([]byte(text), &record); err == nil {
			t.Errorf("%s was read", text)
		}
		if diff := cmp.Diff(wireRecord, &record); diff != "" {
			t.Errorf("%s left half of itself:\n%s", text, diff)
		}
	}
}

func TestText(t *testing.T) {
	record := &session.EventCompaction{CompactedContent: &genai.Content{Parts: []*genai.Part{
		{Text: "one"}, {Text: "hm", Thought: true}, nil, {}, {Text: "two"},
	}}}
	if got := record.Text(); got != "one\ntwo" {
		t.Errorf("text %q", got)
	}
	if got := (*session.EventCompaction)(nil).Text(); got != "" {
		t.Errorf("of nil: %q", got)
	}
}

// TestCovers at both ends, which are in the range, and at microseconds.
func TestCovers(t *testing.T) {
	start := time.UnixMicro(1772355601623456)
	end := start.Add(time.Hour)
	middle := start.Add(time.Minute)
	record := session.NewEventCompaction(start, end, genai.NewContentFromText("S", "model"),
		[]session.EventRef{{InvocationID: "open", Timestamp: middle}})
	for name, tc := range map[string]struct {
		invocation         string
		at                 time.Time
		covered, exclusion bool
	}{
		"a microsecond before":        {"i", start.Add(-time.Microsecond), false, false},
		"a nanosecond before":         {"i", start.Add(-time.Nanosecond), false, false},
		"the start":                   {"i", start, true, false},
		"nanoseconds into the start":  {"i", start.Add(999), true, false},
		"in another zone":             {"i", middle.In(time.FixedZone("", 3600)), true, false},
		"the end":                     {"i", end, true, false},
		"nanoseconds into the end":    {"i", end.Add(999), true, false},
		"a microsecond after":         {"i", end.Add(time.Microsecond), false, false},
		"excluded":                    {"open", middle, false, true},
		"excluded, with nanoseconds":  {"open", middle.Add(999), false, true},
		"excluded at another time":    {"open", middle.Add(time.Microsecond), true, false},
		"of another invocation there": {"i", middle, true, false},
	} {
		e := &session.Event{InvocationID: tc.invocation, Timestamp: tc.at}
		if record.Covers(e) != tc.covered || record.Excludes(e) != tc.exclusion {
			t.Errorf("%s: covered %v, excluded %v", name, record.Covers(e), record.Excludes(e))
		}
	}
}

func TestEventRefIsWhatEveryStoreKeeps(t *testing.T) {
	at := time.Date(2026, 5, 1, 13, 0, 0, 1999, time.FixedZone("", 3600))
	want := session.EventRef{InvocationID: "i1", Timestamp: time.Date(2026, 5, 1, 12, 0, 0, 1000, time.UTC)}
	if got := session.NewEventRef(&session.Event{ID: "e1", InvocationID: "i1", Timestamp: at}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCloneOfARecord(t *testing.T) {
	record := wireRecord.Clone()
	if diff := cmp.Diff(wireRecord, record); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	record.CompactedContent.Parts[0].Text = "changed"
	record.ExcludedEvents[0].InvocationID = "changed"
	if wireRecord.Text() != "S" || wireRecord.ExcludedEvents[0].InvocationID != "i2" {
		t.Error("a change of the clone changed the record")
	}
	if (*session.EventCompaction)(nil).Clone() != nil {
		t.Error("the clone of nothing is something")
	}
}

// TestRecordsRoundTrip: a record, exclusions and all, goes through both forms
// and is the same, at every microsecond of the years 1971 to 2199.
func TestRecordsRoundTrip(t *testing.T) {
	micros := rapid.Int64Range(time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()-1)
	times := rapid.Map(micros, func(us int64) time.Time { return time.UnixMicro(us).UTC() })
	refs := rapid.Custom(func(t *rapid.T) session.EventRef {
		return session.EventRef{InvocationID: rapid.String().Draw(t, "invocation"), Timestamp: times.Draw(t, "time")}
	})
	rapid.Check(t, func(t *rapid.T) {
		excluded := rapid.SliceOfN(refs, 1, 4).Draw(t, "excluded")
		record := session.NewEventCompaction(times.Draw(t, "start"), times.Draw(t, "end"), genai.NewContentFromText("S", "model"), excluded)
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
			if diff := cmp.Diff(record, &got); diff != "" {
				t.Fatalf("%s:\n%s", text, diff)
			}
		}
	})
}

// FuzzUnmarshalCompaction: a record that can be read has a finite range, can be
// written in both forms, and is the same then.
func FuzzUnmarshalCompaction(f *testing.F) {
	f.Add([]byte(`{"startTimestamp":1.5,"endTimestamp":"2026-03-01T09:00:12.5Z","compactedContent":{"parts":[null,{"text":"S"}]}}`))
	f.Add([]byte(`{"start_timestamp":1772355601623,"excluded_events":[{"timestamp":1}],"excludedEvents":[{}]}`))
	f.Add([]byte(`{"startTimestamp":-99999999999,"endTimestamp":99999999999}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var record session.EventCompaction
		if json.Unmarshal(data, &record) != nil {
			return
		}
		for _, seconds := range []float64{record.StartTimestamp, record.EndTimestamp} {
			if math.IsNaN(seconds) || math.IsInf(seconds, 0) {
				t.Fatalf("%s has the end %v", data, seconds)
			}
		}
		record.Covers(&session.Event{})
		python, err := json.Marshal(&record)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		goStyle, err := record.MarshalADKGo()
		if err != nil {
			t.Fatalf("what was read cannot be written for adk-go: %v", err)
		}
		for _, text := range [][]byte{python, goStyle} {
			var again session.EventCompaction
			if err := json.Unmarshal(text, &again); err != nil {
				t.Fatalf("what was written cannot be read: %v\n%s", err, text)
			}
			if again.Valid() != record.Valid() || again.Valid() && (again.StartTimestamp != record.StartTimestamp || again.EndTimestamp != record.EndTimestamp || again.Text() != record.Text()) {
				t.Fatalf("%s became %s", data, text)
			}
		}
	})
}

// A record reads the same whichever ADK wrote it.
func ExampleEventCompaction() {
	for _, written := range []string{
		`{"startTimestamp":1777636800.5,"endTimestamp":1777637100,"compactedContent":{"parts":[{"text":"Ada books a flight."}]}}`,
		`{"startTimestamp":"2026-05-01T12:00:00.5Z","endTimestamp":"2026-05-01T12:05:00Z","compactedContent":{"parts":[{"text":"Ada books a flight."}]}}`,
	} {
		var record session.EventCompaction
		if err := json.Unmarshal([]byte(written), &record); err != nil {
			panic(err)
		}
		fmt.Println(record.Valid(), record.Start().Format(time.TimeOnly), record.End().Format(time.TimeOnly), record.Text())
	}
	// Output:
	// true 12:00:00 12:05:00 Ada books a flight.
	// true 12:00:00 12:05:00 Ada books a flight.
}
