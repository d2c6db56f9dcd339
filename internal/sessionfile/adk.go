package sessionfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/session"
)

// writeADK writes a session with an event a line, so that a difference between
// two files can be read.
func writeADK(w io.Writer, s session.Session) error {
	head, err := toJSON(struct {
		ID      string         `json:"id"`
		AppName string         `json:"appName"`
		UserID  string         `json:"userId"`
		State   map[string]any `json:"state"`
		Updated float64        `json:"lastUpdateTime"`
	}{s.ID(), s.AppName(), s.UserID(), maps.Collect(s.State().All()), float64(s.LastUpdateTime().UnixMicro()) / 1e6})
	if err != nil {
		return fmt.Errorf("the state: %w", err)
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s,\"events\":[", bytes.TrimSuffix(head, []byte("}")))
	separator := "\n"
	for e := range s.Events().All() {
		line, err := toJSON(e)
		if err != nil {
			return fmt.Errorf("event %s: %w", e.ID, err)
		}
		fmt.Fprintf(out, "%s%s", separator, line)
		separator = ",\n"
	}
	fmt.Fprint(out, "\n]}\n")
	return out.Flush()
}

func readADK(name string, data []byte, trust bool) (*File, error) {
	var wire struct {
		ID           string            `json:"id"`
		AppName      string            `json:"appName"`
		AppNameSnake string            `json:"app_name"`
		UserID       string            `json:"userId"`
		UserIDSnake  string            `json:"user_id"`
		State        map[string]any    `json:"state"`
		Events       []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &wire); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	file := &File{
		Format: conversation.ADKSession, ID: wire.ID,
		AppName: wire.AppName + wire.AppNameSnake, UserID: wire.UserID + wire.UserIDSnake,
	}
	_, _, file.State = session.SplitState(wire.State)
	var last time.Time
	for i, raw := range wire.Events {
		e, err := readEvent(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: event %d: %w", name, i+1, err)
		}
		if e.Partial {
			continue // the whole follows
		}
		if e.Timestamp.IsZero() {
			e.Timestamp = last.Add(time.Microsecond)
		}
		last = e.Timestamp
		if e.Actions.Compaction != nil && !trust {
			file.Cleared++
			if isRecordOnly(e) {
				continue
			}
			e.Actions.Compaction = nil
		}
		file.Events = append(file.Events, e)
	}
	return file, nil
}

func readEvent(raw json.RawMessage) (*session.Event, error) {
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil, fmt.Errorf("it is null")
	}
	e := &session.Event{}
	if err := json.Unmarshal(conversation.CamelCaseEvent(raw), e); err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if e.Author == "" {
		return nil, fmt.Errorf("an event without an author")
	}
	return e, nil
}

// isRecordOnly reports whether an event says and does nothing besides its
// record. Without it, it would be a message of the user that says nothing.
func isRecordOnly(e *session.Event) bool {
	return e.Content == nil && len(e.Actions.StateDelta) == 0 && len(e.Actions.ArtifactDelta) == 0
}
