package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/clone"
)

// EventCompaction says that its event is a summary that stands in for the
// older events of a range of time.
//
// The event that holds it has the author "user", an ID and an invocation ID of
// its own, no content, and the branch and isolation scope of the events it
// stands in for; it never stands in for events of another branch or scope, nor
// for events that are later in the log than itself.
type EventCompaction struct {
	// StartTimestamp and EndTimestamp are the ends of the range, both
	// included, in seconds since the epoch, exact at microseconds.
	StartTimestamp float64
	EndTimestamp   float64
	// CompactedContent is the summary: role "model", text parts only.
	CompactedContent *genai.Content
	// ExcludedEvents are events in the range for which the summary does not
	// stand in. Usually there are none.
	ExcludedEvents []EventRef
}

// EventRef names an event by what every store keeps, unlike its ID: the
// invocation, and the time at microseconds.
type EventRef struct {
	InvocationID string
	Timestamp    time.Time
}

// NewEventRef returns the reference to an event.
func NewEventRef(e *Event) EventRef {
	return EventRef{InvocationID: e.InvocationID, Timestamp: e.Timestamp.UTC().Truncate(time.Microsecond)}
}

// NewEventCompaction returns the record of a summary for the range from start
// to end, both included and taken at microseconds.
func NewEventCompaction(start, end time.Time, summary *genai.Content, excluded []EventRef) *EventCompaction {
	return &EventCompaction{
		StartTimestamp:   timeToSeconds(start),
		EndTimestamp:     timeToSeconds(end),
		CompactedContent: summary,
		ExcludedEvents:   excluded,
	}
}

// Start is StartTimestamp as a time.
func (c *EventCompaction) Start() time.Time { return secondsToTime(c.StartTimestamp) }

// End is EndTimestamp as a time.
func (c *EventCompaction) End() time.Time { return secondsToTime(c.EndTimestamp) }

// Text is the text of the summary without thoughts.
func (c *EventCompaction) Text() string {
	if c == nil || c.CompactedContent == nil {
		return ""
	}
	var texts []string
	for _, part := range c.CompactedContent.Parts {
		if part != nil && part.Text != "" && !part.Thought {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Valid reports whether the record has a range that is not inverted and a
// text that is not blank. A record that is not valid covers nothing and
// supersedes nothing.
func (c *EventCompaction) Valid() bool {
	if c == nil {
		return false
	}
	// The conditions are put so that NaN and infinity fail them.
	ordered := c.StartTimestamp > 0 && c.EndTimestamp >= c.StartTimestamp && c.EndTimestamp < millisecondsFrom
	return ordered && strings.TrimSpace(c.Text()) != ""
}

// Covers reports whether e is in the range, at microseconds, and not excluded.
// It does not look at branch, scope and place in the log, which belong to the
// event that holds the record.
func (c *EventCompaction) Covers(e *Event) bool {
	at := e.Timestamp.UnixMicro()
	return secondsToMicros(c.StartTimestamp) <= at && at <= secondsToMicros(c.EndTimestamp) && !c.Excludes(e)
}

// Excludes reports whether e is among ExcludedEvents.
func (c *EventCompaction) Excludes(e *Event) bool {
	at := e.Timestamp.UnixMicro()
	for _, ref := range c.ExcludedEvents {
		if ref.InvocationID == e.InvocationID && ref.Timestamp.UnixMicro() == at {
			return true
		}
	}
	return false
}

// Clone returns a deep copy.
func (c *EventCompaction) Clone() *EventCompaction {
	return clone.Of(c)
}

// MarshalJSON writes the record as adk-python does: camelCase, times as
// seconds. ExcludedEvents, which adk-python does not know, is written only
// where there are any.
func (c *EventCompaction) MarshalJSON() ([]byte, error) {
	wire := compactionWire[float64]{Start: c.StartTimestamp, End: c.EndTimestamp, Content: c.CompactedContent}
	for _, ref := range c.ExcludedEvents {
		wire.Excluded = append(wire.Excluded, refWire[float64]{ref.InvocationID, timeToSeconds(ref.Timestamp)})
	}
	return json.Marshal(wire)
}

// MarshalADKGo writes the record as adk-go does: camelCase, times in RFC 3339.
func (c *EventCompaction) MarshalADKGo() (json.RawMessage, error) {
	wire := compactionWire[time.Time]{Start: c.Start(), End: c.End(), Content: c.CompactedContent}
	for _, ref := range c.ExcludedEvents {
		wire.Excluded = append(wire.Excluded, refWire[time.Time]{ref.InvocationID, ref.Timestamp.UTC()})
	}
	return json.Marshal(wire)
}

type compactionWire[T float64 | time.Time] struct {
	Start    T              `json:"startTimestamp"`
	End      T              `json:"endTimestamp"`
	Content  *genai.Content `json:"compactedContent"`
	Excluded []refWire[T]   `json:"excludedEvents,omitempty"`
}

type refWire[T float64 | time.Time] struct {
	InvocationID string `json:"invocationId"`
	Timestamp    T      `json:"timestamp"`
}

// UnmarshalJSON reads what any ADK writes: camelCase and snake_case names;
// times in RFC 3339 (adk-go), seconds (adk-python) or milliseconds (adk-java).
// A missing time is zero, which makes the record invalid.
func (c *EventCompaction) UnmarshalJSON(data []byte) error {
	type ref struct {
		InvocationID      string   `json:"invocationId"`
		InvocationIDSnake string   `json:"invocation_id"`
		Timestamp         wireTime `json:"timestamp"`
	}
	var wire struct {
		Start         wireTime        `json:"startTimestamp"`
		StartSnake    wireTime        `json:"start_timestamp"`
		End           wireTime        `json:"endTimestamp"`
		EndSnake      wireTime        `json:"end_timestamp"`
		Content       json.RawMessage `json:"compactedContent"`
		ContentSnake  json.RawMessage `json:"compacted_content"`
		Excluded      []ref           `json:"excludedEvents"`
		ExcludedSnake []ref           `json:"excluded_events"`
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		return fmt.Errorf("compaction record: %w", err)
	}
	record := EventCompaction{
		StartTimestamp: wireSeconds(wire.Start, wire.StartSnake),
		EndTimestamp:   wireSeconds(wire.End, wire.EndSnake),
	}
	content := wire.Content
	if content == nil {
		content = wire.ContentSnake
	}
	if content != nil {
		if err := json.Unmarshal(content, &record.CompactedContent); err != nil {
			return fmt.Errorf("compaction record: content: %w", err)
		}
	}
	for _, r := range append(wire.Excluded, wire.ExcludedSnake...) {
		if r.InvocationID == "" {
			r.InvocationID = r.InvocationIDSnake
		}
		record.ExcludedEvents = append(record.ExcludedEvents, EventRef{r.InvocationID, time.Time(r.Timestamp).UTC()})
	}
	*c = record
	return nil
}

func wireSeconds(camel, snake wireTime) float64 {
	t := time.Time(camel)
	if t.IsZero() {
		t = time.Time(snake)
	}
	if t.IsZero() {
		return 0
	}
	return timeToSeconds(t)
}
