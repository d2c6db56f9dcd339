package conversation

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"
)

type adkEvent struct {
	Author  string `json:"author"`
	Partial bool   `json:"partial"`
	Content *struct {
		Parts []*adkPart `json:"parts"`
	} `json:"content"`
	Actions struct {
		Compaction json.RawMessage `json:"compaction"`
	} `json:"actions"`
	ErrorCode     string                                      `json:"errorCode"`
	ErrorMessage  string                                      `json:"errorMessage"`
	UsageMetadata *genai.GenerateContentResponseUsageMetadata `json:"usageMetadata"`
}

// adkPart keeps what tools and models wrote as it is, where genai.Part would
// round numbers.
type adkPart struct {
	genai.Part
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// addADK adds one event of a session.
//
// Partial events, compaction events and those that only change state say
// nothing in the conversation. What the user wrote is a user message, function
// responses included: that is how the answer to a long-running call is sent.
// An agent's function response to a call of an earlier turn, as there is after
// a confirmation, also reached the model from outside and not by the call, so
// it is a user message too.
func addADK(b *builder, raw json.RawMessage) error {
	var e adkEvent
	if err := decode(camelCase(raw, adkDepth), &e); err != nil {
		return err
	}
	if e.Partial || len(e.Actions.Compaction) > 0 && string(e.Actions.Compaction) != "null" {
		return nil
	}
	if e.Author == "" {
		return fmt.Errorf("an event without an author")
	}
	var parts []*genai.Part
	if e.Content != nil {
		for _, p := range e.Content.Parts {
			if part := p.part(); part != nil {
				parts = append(parts, part)
			}
		}
	}
	if e.Author == "user" {
		return addADKUser(b, parts)
	}
	var said []*genai.Part
	for _, part := range parts {
		if part.FunctionResponse == nil {
			said = append(said, part)
		} else if err := addADKAnswer(b, part); err != nil {
			return err
		}
	}
	if len(said) > 0 || e.ErrorCode != "" || e.ErrorMessage != "" || len(parts) == 0 && e.UsageMetadata != nil {
		b.addStep(Step{ErrorCode: e.ErrorCode, ErrorMessage: e.ErrorMessage, Usage: e.UsageMetadata}, said)
	}
	return nil
}

func addADKUser(b *builder, parts []*genai.Part) error {
	for _, part := range parts {
		if fr := part.FunctionResponse; fr != nil && !b.wasCalled(fr.ID, fr.Name) {
			return fmt.Errorf("the user's tool result %q answers no call", cmp.Or(fr.ID, fr.Name))
		}
	}
	if len(parts) > 0 {
		b.addUser(parts)
	}
	return nil
}

func addADKAnswer(b *builder, part *genai.Part) error {
	fr := part.FunctionResponse
	err := b.addResult(fr.ID, fr.Name, fr.Response)
	if err != nil && b.wasCalled(fr.ID, fr.Name) && !b.inExchange(fr.ID, fr.Name) {
		b.addLate(part)
		return nil
	}
	return err
}

// part returns nil for a part that holds nothing.
func (p *adkPart) part() *genai.Part {
	if p == nil {
		return nil
	}
	part := p.Part
	switch {
	case p.FunctionCall != nil:
		part.FunctionCall = &genai.FunctionCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name,
			Args: arguments(string(p.FunctionCall.Args))}
	case p.FunctionResponse != nil:
		response := map[string]any{}
		if raw := string(p.FunctionResponse.Response); raw != "" && raw != "null" {
			response = objectOr("output", raw)
		}
		part.FunctionResponse = &genai.FunctionResponse{ID: p.FunctionResponse.ID, Name: p.FunctionResponse.Name,
			Response: response}
	case part.Text == "" && part.InlineData == nil && part.FileData == nil &&
		part.ExecutableCode == nil && part.CodeExecutionResult == nil:
		return nil
	}
	return &part
}

// eventDepth is how deep any key of an event is that is not somebody's value.
const eventDepth = 12

// CamelCaseEvent rewrites the JSON of an event as adk-python may write it, in
// snake_case and with base64 in the URL alphabet, as adk-go does. What tools,
// models and applications wrote is left alone. Other JSON is returned as it is.
func CamelCaseEvent(raw json.RawMessage) json.RawMessage {
	return camelCase(raw, eventDepth)
}

// adkDepth is how deep in an event the keys are that we read: the event, its
// content, the parts, one part, and what is in it.
const adkDepth = 5

// camelCase rewrites the keys of an event from snake_case, and base64 from the
// URL alphabet, both of which adk-python writes. What tools and models wrote is
// left alone.
func camelCase(raw json.RawMessage, depth int) json.RawMessage {
	if depth == 0 {
		return raw
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for i := range list {
			list[i] = camelCase(list[i], depth-1)
		}
		return toJSON(list)
	}
	object := fields(raw)
	if object == nil {
		return raw
	}
	out := make(map[string]json.RawMessage, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		camel, value := camelKey(key), object[key]
		if _, both := object[camel]; both && camel != key {
			continue
		}
		switch camel {
		case "args", "response", "stateDelta", "artifactDelta", "customMetadata", "output",
			"requestedAuthConfigs", "requestedToolConfirmations", "compaction":
		case "data", "thoughtSignature":
			standard, ok := standardBase64(value)
			if !ok && camel == "thoughtSignature" {
				continue // of no use to anyone
			}
			value = standard
		default:
			value = camelCase(value, depth-1)
		}
		out[camel] = value
	}
	return toJSON(out)
}

// standardBase64 returns the JSON string in the standard alphabet, and reports
// whether it is base64 at all.
func standardBase64(raw json.RawMessage) (json.RawMessage, bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw, false
	}
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return raw, false
	}
	return toJSON(data), true
}

// toJSON encodes what was JSON before and so always can be.
func toJSON(v any) json.RawMessage {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(buf.Bytes())
}

func camelKey(key string) string {
	head, rest, _ := strings.Cut(key, "_")
	for word := range strings.SplitSeq(rest, "_") {
		if word != "" {
			head += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return head
}
