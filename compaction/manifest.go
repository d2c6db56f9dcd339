package compaction

import (
	"github.com/recap-adk/recap/session"
)

// metadataKey is the key of an event's custom metadata that is reserved for
// this module.
const metadataKey = "recap"

// manifest is what a compaction event tells of itself besides its record. It is
// in the event's custom metadata, as the ADKs refuse keys of ours in the record.
type manifest struct {
	// level is 0 for a summary of events, and one more than that of what it
	// merges for a summary of summaries.
	level int
}

// manifestOf reads the manifest of a compaction event. An event without one,
// which another runtime wrote, has level 0.
func manifestOf(e *session.Event) manifest {
	values, _ := e.CustomMetadata[metadataKey].(map[string]any)
	var m manifest
	switch level := values["level"].(type) {
	case int:
		m.level = level
	case float64: // read from JSON
		m.level = int(level)
	}
	return m
}

func (m manifest) put(e *session.Event) {
	if e.CustomMetadata == nil {
		e.CustomMetadata = map[string]any{}
	}
	e.CustomMetadata[metadataKey] = map[string]any{"level": m.level}
}
