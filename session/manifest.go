package session

import (
	"time"
)

// metadataKey is the key of an event's custom metadata that is reserved for
// this module.
const metadataKey = "recap"

// Manifest is what a compaction event tells of itself besides its record: above
// all, which events a reader needs who does not want those that summaries stand
// in for. It is in the event's custom metadata, as the ADKs refuse keys of ours
// in the record. A Service reads it for GetRequest.OmitCompacted.
type Manifest struct {
	// Level is 0 for a summary of events, and one more than that of what it
	// merges for a summary of summaries.
	Level int
	// TokensBefore and TokensAfter estimate what the summary replaces, and the
	// summary.
	TokensBefore, TokensAfter int
	// Releases, if not zero, makes the event no summary: it takes back the
	// compaction event of that time, and what that stood in for is shown again.
	Releases time.Time
	// From is the time from which on all events are needed, at microseconds.
	// If it is zero, all events of the log are.
	From time.Time
	// Older are the times of the events before From that are needed too: other
	// summaries, and events that no summary stands in for. An index by time
	// finds them, whatever statistics a database has.
	Older []time.Time
	// Seen is the time of the newest event that was known when the manifest
	// was made. What it says holds of the log up to there.
	Seen time.Time
}

// Manifest is that of a compaction event. An event that is none, or that
// another runtime wrote, has the zero Manifest.
func (e *Event) Manifest() Manifest {
	values, ok := e.CustomMetadata[metadataKey].(map[string]any)
	if !ok || e.Actions.Compaction == nil {
		return Manifest{}
	}
	m := Manifest{
		Level:        numberIn(values["level"]),
		TokensBefore: numberIn(values["tokensBefore"]),
		TokensAfter:  numberIn(values["tokensAfter"]),
	}
	if at, ok := timeIn(values["releases"]); ok {
		m.Releases = at
	}
	from, fromOK := timeIn(values["from"])
	seen, seenOK := timeIn(values["seen"])
	older, olderOK := timesIn(values["older"])
	if fromOK && seenOK && olderOK {
		m.From, m.Seen, m.Older = from, seen, older
	}
	return m
}

// Put sets the manifest of a compaction event.
func (m Manifest) Put(e *Event) {
	values := map[string]any{"level": m.Level}
	if m.TokensBefore > 0 {
		values["tokensBefore"], values["tokensAfter"] = m.TokensBefore, m.TokensAfter
	}
	if !m.Releases.IsZero() {
		values["releases"] = textOf(m.Releases)
	}
	if !m.From.IsZero() {
		older := make([]any, len(m.Older))
		for i, at := range m.Older {
			older[i] = textOf(at)
		}
		values["from"], values["seen"], values["older"] = textOf(m.From), textOf(m.Seen), older
	}
	if e.CustomMetadata == nil {
		e.CustomMetadata = map[string]any{}
	}
	e.CustomMetadata[metadataKey] = values
}

// Metadata is as it was set, or as it was read from JSON.

func numberIn(value any) int {
	switch n := value.(type) {
	case int:
		return n
	case float64:
		return int(n)
	}
	return 0
}

func textOf(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func timeIn(value any) (time.Time, bool) {
	text, _ := value.(string)
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil
}

func timesIn(value any) ([]time.Time, bool) {
	values, ok := value.([]any)
	if !ok {
		return nil, false
	}
	list := make([]time.Time, len(values))
	for i, v := range values {
		if list[i], ok = timeIn(v); !ok {
			return nil, false
		}
	}
	return list, true
}
