package adkpython

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/recap-adk/recap/session"
)

// adk-python stores an event as JSON with the names of its fields in Python,
// those of the contents in it included; this module's JSON has the names of
// ADK's interfaces. What people and tools put in keeps its names.

// opaque are the fields whose values are not ours, by their camelCase names.
var opaque = map[string]bool{
	"args": true, "response": true, "stateDelta": true, "artifactDelta": true, "customMetadata": true,
	"output": true, "payload": true, "requestedAuthConfigs": true, "agentState": true, "partMetadata": true,
	"responseSchema": true, "labels": true,
}

// byID are the fields that are maps by an ID.
var byID = map[string]bool{"requestedToolConfirmations": true}

// binary are the fields of bytes. adk-python writes base64 for URLs, Go's JSON
// the other alphabet.
var binary = map[string]bool{"thoughtSignature": true, "data": true, "sdkBlob": true}

// renamed is a decoded JSON value with the names of its fields changed by name,
// and the strings of bytes by text. Both are given camelCase names.
func renamed(value any, toCamel bool) any {
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = renamed(v[i], toCamel)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for key, field := range v {
			camel, name := key, snake(key)
			if toCamel {
				camel, name = camelCase(key), camelCase(key)
			}
			fields[name] = renamedField(camel, field, toCamel)
		}
		return fields
	}
	return value
}

func renamedField(camel string, field any, toCamel bool) any {
	text, isText := field.(string)
	switch {
	case opaque[camel]:
		return field
	case byID[camel]:
		entries, ok := field.(map[string]any)
		if !ok {
			return field
		}
		list := make(map[string]any, len(entries))
		for id, entry := range entries {
			list[id] = renamed(entry, toCamel)
		}
		return list
	case binary[camel] && isText:
		if toCamel {
			return strings.NewReplacer("-", "+", "_", "/").Replace(text)
		}
		return strings.NewReplacer("+", "-", "/", "_").Replace(text)
	}
	return renamed(field, toCamel)
}

func snake(camel string) string {
	var b strings.Builder
	for i, r := range camel {
		if unicode.IsUpper(r) {
			if i > 0 {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func camelCase(snake string) string {
	words := strings.Split(snake, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// encode is an event as adk-python stores it.
func encode(e *session.Event) ([]byte, error) {
	e = e.Clone()
	if record := e.Actions.Compaction; record != nil && len(record.ExcludedEvents) > 0 {
		// adk-python refuses an event that has a field of ours in its actions.
		if err := putExcluded(e, record); err != nil {
			return nil, err
		}
		record.ExcludedEvents = nil
	}
	if e.Actions.StateDelta == nil {
		e.Actions.StateDelta = map[string]any{}
	}
	if e.Actions.ArtifactDelta == nil {
		e.Actions.ArtifactDelta = map[string]int64{}
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	fields, err := object(data)
	if err != nil {
		return nil, err
	}
	fields["timestamp"] = json.Number(seconds(e.Timestamp))
	for key, value := range fields {
		if value == nil {
			delete(fields, key) // as it leaves out what is None
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(renamed(fields, false)); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// decode reads an event that adk-python, or this package, stored. The ID and the
// invocation come from their columns; at is the time in the column, for an
// event that does not have its own.
func decode(data []byte, id, invocation string, at time.Time) (*session.Event, error) {
	fields, err := object(data)
	if err != nil {
		return nil, err
	}
	camel, _ := renamed(fields, true).(map[string]any)
	camel["id"], camel["invocationId"] = id, invocation
	if number, ok := camel["timestamp"].(json.Number); ok {
		if at, err = timeOf(string(number)); err != nil {
			return nil, err
		}
	}
	camel["timestamp"] = at.UTC().Format(time.RFC3339Nano)
	again, err := json.Marshal(camel)
	if err != nil {
		return nil, err
	}
	e := &session.Event{}
	if err := json.Unmarshal(again, e); err != nil {
		return nil, err
	}
	return e, takeExcluded(e)
}

func object(data []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	if fields == nil {
		return nil, fmt.Errorf("not an object: %.40q", data)
	}
	return fields, nil
}

// seconds writes a time as Python writes a float of seconds.
func seconds(t time.Time) string {
	text := strconv.FormatFloat(float64(t.UnixMicro())/1e6, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func timeOf(text string) (time.Time, error) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || math.Abs(number) > 1e11 {
		return time.Time{}, fmt.Errorf("timestamp %q", text)
	}
	whole, fraction := math.Modf(number) // exact: number*1e6 would be rounded once more
	return time.UnixMicro(int64(whole)*1e6 + int64(math.Round(fraction*1e6))).UTC(), nil
}

// Where the events that a record excludes are kept.
const metadataKey, excludedKey = "recap", "excludedEvents"

func putExcluded(e *session.Event, record *session.EventCompaction) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	fields, err := object(data)
	if err != nil {
		return err
	}
	if e.CustomMetadata == nil {
		e.CustomMetadata = map[string]any{}
	}
	ours, ok := e.CustomMetadata[metadataKey].(map[string]any)
	if !ok {
		if e.CustomMetadata[metadataKey] != nil {
			return fmt.Errorf("custom metadata %q is not an object", metadataKey)
		}
		ours = map[string]any{}
		e.CustomMetadata[metadataKey] = ours
	}
	ours[excludedKey] = fields[excludedKey]
	return nil
}

func takeExcluded(e *session.Event) error {
	ours, ok := e.CustomMetadata[metadataKey].(map[string]any)
	if !ok || ours[excludedKey] == nil || e.Actions.Compaction == nil {
		return nil
	}
	data, err := json.Marshal(map[string]any{excludedKey: ours[excludedKey], "startTimestamp": 0, "endTimestamp": 0})
	if err != nil {
		return err
	}
	var record session.EventCompaction
	if err := json.Unmarshal(data, &record); err != nil {
		return fmt.Errorf("custom metadata %s.%s: %w", metadataKey, excludedKey, err)
	}
	e.Actions.Compaction.ExcludedEvents = record.ExcludedEvents
	if delete(ours, excludedKey); len(ours) == 0 {
		delete(e.CustomMetadata, metadataKey)
	}
	if len(e.CustomMetadata) == 0 {
		e.CustomMetadata = nil
	}
	return nil
}
