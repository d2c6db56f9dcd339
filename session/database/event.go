package database

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/recap-adk/recap/session"
)

// eventRow is an event's values for eventColumns.
type eventRow []any

func (r eventRow) set(column string, value any) { r[slices.Index(eventColumns, column)] = value }

// encodeEvent returns the row of an event, without its ID and time.
func encodeEvent(e *session.Event, texts *texts) (eventRow, error) {
	row := make(eventRow, len(eventColumns))
	text := func(s string) any {
		if s == "" {
			return nil // NULL
		}
		return texts.text(s)
	}
	row.set("invocation_id", texts.text(e.InvocationID))
	row.set("author", texts.text(e.Author))
	row.set("branch", text(e.Branch))
	row.set("isolation_scope", text(e.IsolationScope))
	row.set("partial", e.Partial)
	row.set("turn_complete", e.TurnComplete)
	row.set("error_code", text(e.ErrorCode))
	row.set("error_message", text(e.ErrorMessage))
	row.set("interrupted", e.Interrupted)

	actions, err := e.Actions.MarshalADKGo()
	if err != nil {
		return nil, fmt.Errorf("event %q: column actions: %w", e.ID, err)
	}
	row.set("actions", actions)

	for _, column := range []struct {
		name  string
		there bool
		value func() ([]byte, error)
	}{
		{"long_running_tool_ids_json", len(e.LongRunningToolIDs) > 0, encode(e.LongRunningToolIDs)},
		{"routes_json", len(e.Routes) > 0, encode(e.Routes)},
		{"output_json", e.Output != nil, encode(e.Output)},
		{"node_info_json", e.NodeInfo != nil, encode(e.NodeInfo)},
		{"requested_input_json", e.RequestedInput != nil, encode(e.RequestedInput)},
		{"content", e.Content != nil, encode(e.Content)},
		{"grounding_metadata", e.GroundingMetadata != nil, encode(e.GroundingMetadata)},
		{"custom_metadata", len(e.CustomMetadata) > 0 || hasExtras(e), func() ([]byte, error) { return encodeMetadata(e) }},
		{"usage_metadata", e.UsageMetadata != nil, encode(e.UsageMetadata)},
		{"citation_metadata", e.CitationMetadata != nil, encode(e.CitationMetadata)},
	} {
		if !column.there {
			continue
		}
		data, err := column.value()
		if err != nil {
			return nil, fmt.Errorf("event %q: column %s: %w", e.ID, column.name, err)
		}
		row.set(column.name, string(texts.stored(data)))
	}
	return row, nil
}

func encode(v any) func() ([]byte, error) {
	return func() ([]byte, error) { return json.Marshal(v) }
}

func queryEvents(ctx context.Context, tx transaction, texts *texts, query string, args []any) ([]*session.Event, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var events []*session.Event
	last := &session.Event{}
	values := make([]sql.RawBytes, len(eventColumns))
	scan := make([]any, len(values))
	for i := range values {
		scan[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(scan...); err != nil {
			return nil, err
		}
		event, err := decodeEvent(values, texts, last)
		if err != nil {
			return nil, fmt.Errorf("event %q: %w", values[0], err)
		}
		events = append(events, event)
		last = event
	}
	return events, rows.Err()
}

// decodeEvent makes an event of the values of eventColumns. It shares with
// last, the event before it, the strings that are the same in many events.
func decodeEvent(values []sql.RawBytes, texts *texts, last *session.Event) (*session.Event, error) {
	e := &session.Event{}
	for i, value := range values {
		if value == nil {
			continue
		}
		var err error
		switch column := eventColumns[i]; column {
		case "id":
			e.ID = string(value)
		case "invocation_id":
			e.InvocationID = texts.original(share(last.InvocationID, value))
		case "author":
			e.Author = texts.original(share(last.Author, value))
		case "branch":
			e.Branch = texts.original(share(last.Branch, value))
		case "isolation_scope":
			e.IsolationScope = texts.original(share(last.IsolationScope, value))
		case "error_code":
			e.ErrorCode = texts.original(string(value))
		case "error_message":
			e.ErrorMessage = texts.original(string(value))
		case "partial":
			e.Partial = isTrue(value)
		case "turn_complete":
			e.TurnComplete = isTrue(value)
		case "interrupted":
			e.Interrupted = isTrue(value)
		case "timestamp":
			e.Timestamp, err = parseTime(value)
		case "actions":
			err = decodeActions(value, &e.Actions)
		case "custom_metadata":
			err = decodeMetadata(texts.read(value), e)
		case "requested_input_json":
			err = decodeJSON(compacted(texts.read(value)), &e.RequestedInput)
		default:
			err = decodeJSON(texts.read(value), jsonField(e, column))
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", eventColumns[i], err)
		}
	}
	return e, nil
}

func share(known string, value []byte) string {
	if known == string(value) {
		return known
	}
	return string(value)
}

// jsonField is where the JSON of a column goes.
func jsonField(e *session.Event, column string) any {
	switch column {
	case "long_running_tool_ids_json":
		return &e.LongRunningToolIDs
	case "routes_json":
		return &e.Routes
	case "output_json":
		return &e.Output
	case "node_info_json":
		return &e.NodeInfo
	case "content":
		return &e.Content
	case "grounding_metadata":
		return &e.GroundingMetadata
	case "usage_metadata":
		return &e.UsageMetadata
	case "citation_metadata":
		return &e.CitationMetadata
	}
	panic("no field for column " + column)
}

func decodeJSON(data []byte, to any) error {
	if len(data) == 0 {
		return nil
	}
	return json.Unmarshal(data, to)
}

// compacted is JSON without the spaces that a database adds, which are not lost
// where a schema has JSON in it as it is.
func compacted(data []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return data
	}
	return b.Bytes()
}

// noActions is what most events have.
var noActions = []byte(`{"stateDelta":{},"artifactDelta":{}}`)

func decodeActions(data []byte, to *session.EventActions) error {
	if bytes.Equal(data, noActions) {
		to.StateDelta, to.ArtifactDelta = map[string]any{}, map[string]int64{}
		return nil
	}
	return decodeJSON(data, to)
}

func isTrue(value []byte) bool { return len(value) > 0 && (value[0] == '1' || value[0] == 't') }

// optionalTime is zero for NULL.
func optionalTime(text []byte) (time.Time, error) {
	if text == nil {
		return time.Time{}, nil
	}
	return parseTime(text)
}
