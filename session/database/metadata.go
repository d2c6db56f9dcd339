package database

import (
	"encoding/json"
	"maps"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
)

// metadataKey is the key in custom metadata that is reserved for this module.
// Its value is an object, to which others add what they need.
const metadataKey = "recap"

// extrasKey is the key in that object under which extras are.
const extrasKey = "event"

// extras are the fields of an event that have no column.
type extras struct {
	ModelVersion            string                `json:"modelVersion,omitempty"`
	FinishReason            genai.FinishReason    `json:"finishReason,omitempty"`
	InputTranscription      *genai.Transcription  `json:"inputTranscription,omitempty"`
	OutputTranscription     *genai.Transcription  `json:"outputTranscription,omitempty"`
	AvgLogprobs             float64               `json:"avgLogprobs,omitempty"`
	LogprobsResult          *genai.LogprobsResult `json:"logprobsResult,omitempty"`
	SessionResumptionHandle string                `json:"sessionResumptionHandle,omitempty"`
	// Displaced is what the event itself has under metadataKey where extras
	// cannot be added to that.
	Displaced *json.RawMessage `json:"displaced,omitempty"`
}

func extrasOf(e *session.Event) extras {
	return extras{
		ModelVersion:            e.ModelVersion,
		FinishReason:            e.FinishReason,
		InputTranscription:      e.InputTranscription,
		OutputTranscription:     e.OutputTranscription,
		AvgLogprobs:             e.AvgLogprobs,
		LogprobsResult:          e.LogprobsResult,
		SessionResumptionHandle: e.SessionResumptionHandle,
	}
}

func hasExtras(e *session.Event) bool { return extrasOf(e) != extras{} }

func (x extras) to(e *session.Event) {
	e.ModelVersion = x.ModelVersion
	e.FinishReason = x.FinishReason
	e.InputTranscription = x.InputTranscription
	e.OutputTranscription = x.OutputTranscription
	e.AvgLogprobs = x.AvgLogprobs
	e.LogprobsResult = x.LogprobsResult
	e.SessionResumptionHandle = x.SessionResumptionHandle
}

// encodeMetadata returns the custom metadata of an event with extras added.
func encodeMetadata(e *session.Event) ([]byte, error) {
	own, reserved := e.CustomMetadata[metadataKey]
	if !reserved && !hasExtras(e) {
		return json.Marshal(e.CustomMetadata)
	}
	x := extrasOf(e)
	object := map[string]json.RawMessage{}
	if reserved {
		data, err := json.Marshal(own)
		if err != nil {
			return nil, err
		}
		notObject := json.Unmarshal(data, &object) != nil
		if _, taken := object[extrasKey]; notObject || taken || len(object) == 0 {
			raw := json.RawMessage(data)
			x.Displaced, object = &raw, map[string]json.RawMessage{}
		}
	}
	if (x != extras{}) {
		data, err := json.Marshal(x)
		if err != nil {
			return nil, err
		}
		object[extrasKey] = data
	}
	metadata := maps.Clone(e.CustomMetadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata[metadataKey] = object
	return json.Marshal(metadata)
}

// decodeMetadata is the inverse of encodeMetadata.
func decodeMetadata(data []byte, e *session.Event) error {
	if err := decodeJSON(data, &e.CustomMetadata); err != nil {
		return err
	}
	object, _ := e.CustomMetadata[metadataKey].(map[string]any)
	event, ok := object[extrasKey].(map[string]any)
	if !ok {
		return nil
	}
	x, err := decodeExtras(data)
	if err != nil {
		return err
	}
	x.to(e)
	delete(object, extrasKey)
	if own, displaced := event["displaced"]; displaced {
		e.CustomMetadata[metadataKey] = own
	} else if len(object) == 0 {
		delete(e.CustomMetadata, metadataKey)
	}
	if len(e.CustomMetadata) == 0 {
		e.CustomMetadata = nil
	}
	return nil
}

// decodeExtras goes down by maps because names of struct fields would match
// keys of another case, too, which are the application's.
func decodeExtras(data []byte) (x extras, err error) {
	for _, name := range []string{metadataKey, extrasKey} {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(data, &object); err != nil {
			return x, err
		}
		data = object[name]
	}
	return x, json.Unmarshal(data, &x)
}
