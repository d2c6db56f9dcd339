package anthropicmodel_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/anthropicmodel"
	"github.com/recap-adk/recap/model/modeltest"
)

func TestMain(m *testing.M) {
	// What the environment says about the service must not reach the tests.
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "ANTHROPIC_") {
			os.Unsetenv(name)
		}
	}
	// The dependencies of genai start this one when the program does.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestAdapter(t *testing.T) {
	modeltest.RunAdapter(t, modeltest.Adapter{New: newModel, Read: readRequest, Answer: writeAnswer, Refuse: refuse})
}

func newModel(t *testing.T, server *httptest.Server) model.LLM {
	t.Helper()
	llm, err := anthropicmodel.NewModel(t.Context(), "claude-test", &anthropicmodel.ClientConfig{
		APIKey: "test-key", BaseURL: server.URL, HTTPClient: server.Client(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return llm
}

type wireRequest struct {
	Model    string
	Stream   bool
	System   []struct{ Type, Text string }
	Messages []struct {
		Role    string
		Content []wireBlock
	}
	Tools []struct {
		Name, Description string
		InputSchema       any `json:"input_schema"`
	}
}

type wireBlock struct {
	Type, Text, ID, Name string
	Input                any
	ToolUseID            string `json:"tool_use_id"`
	Content              []wireBlock
	Source               struct {
		Type      string
		MediaType string `json:"media_type"`
		Data      []byte
	}
}

func readRequest(r *http.Request, body []byte) (modeltest.Asked, error) {
	var request wireRequest
	var fields map[string]any
	if err := errors.Join(json.Unmarshal(body, &request), json.Unmarshal(body, &fields)); err != nil {
		return modeltest.Asked{}, err
	}
	if r.URL.Path != "/v1/messages" || r.Header.Get("Authorization") != "Bearer test-key" {
		return modeltest.Asked{}, fmt.Errorf("the path is %q, the credential %q", r.URL.Path, r.Header.Get("Authorization"))
	}
	asked := modeltest.Asked{Stream: request.Stream, Lines: []string{modeltest.ModelLine(request.Model)}}
	add := func(line string) { asked.Lines = append(asked.Lines, line) }
	for _, block := range request.System {
		add(modeltest.SystemLine(block.Text))
	}
	for _, parameter := range []struct{ here, name string }{
		{"temperature", "temperature"}, {"top_p", "topP"}, {"max_tokens", "maxOutputTokens"}, {"stop_sequences", "stopSequences"},
	} {
		// The default of max_tokens is no parameter of the request.
		if value, ok := fields[parameter.here]; ok && value != 16384.0 {
			add(modeltest.ParameterLine(parameter.name, value))
		}
	}
	for _, tool := range request.Tools {
		if tool.Description != "" { // else it is there for the sake of earlier calls
			add(modeltest.ToolLine(tool.Name, tool.Description, tool.InputSchema))
		}
	}
	for _, message := range request.Messages {
		role := map[string]string{"user": "user", "assistant": "model"}[message.Role]
		for _, block := range message.Content {
			line, err := block.line(role)
			if err != nil {
				return asked, err
			}
			add(line)
		}
	}
	return asked, nil
}

func (b wireBlock) line(role string) (string, error) {
	switch b.Type {
	case "text":
		return modeltest.TextLine(role, b.Text), nil
	case "image":
		return modeltest.DataLine(b.Source.MediaType, b.Source.Data), nil
	case "tool_use":
		return modeltest.CallLine(b.ID, b.Name, b.Input), nil
	case "tool_result":
		var result any
		err := json.Unmarshal([]byte(b.Content[0].Text), &result)
		return modeltest.ResultLine(b.ToolUseID, result), err
	}
	return "", fmt.Errorf("a block of type %q", b.Type)
}

// object is a JSON object to be written.
type object = map[string]any

// event is an event of a stream.
func event(kind string, fields object) string {
	fields["type"] = kind
	text, err := json.Marshal(fields)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", kind, text)
}

// block are the events of a block; its last one is what ends it.
func block(index int, start object, deltas ...object) []string {
	events := []string{event("content_block_start", object{"index": index, "content_block": start})}
	for _, delta := range deltas {
		events = append(events, event("content_block_delta", object{"index": index, "delta": delta}))
	}
	return append(events, event("content_block_stop", object{"index": index}))
}

func begin(usage object) string {
	return event("message_start", object{"message": object{
		"id": "m", "type": "message", "role": "assistant", "model": "claude-test-001", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}})
}

func end(reason string, usage object) []string {
	return []string{
		event("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage}),
		event("message_stop", object{}),
	}
}

func writeAnswer(answer modeltest.Answer) modeltest.Written {
	reason := map[genai.FinishReason]string{
		genai.FinishReasonStop: "end_turn", genai.FinishReasonMaxTokens: "max_tokens", genai.FinishReasonSafety: "refusal",
	}[answer.Finish]
	u := answer.Usage
	prompt := object{"input_tokens": u.Prompt - u.Cached, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": 0, "output_tokens": 1}
	events := []string{begin(prompt), event("ping", object{})}
	index := 0
	add := func(start object, deltas ...object) {
		events = append(events, block(index, start, deltas...)...)
		index++
	}
	if len(answer.Thoughts) > 0 {
		deltas := texts("thinking", answer.Thoughts)
		add(object{"type": "thinking", "thinking": "", "signature": ""}, append(deltas, object{"type": "signature_delta", "signature": "c2lnbmVk"})...)
	}
	if len(answer.Text) > 0 {
		add(object{"type": "text", "text": ""}, texts("text", answer.Text)...)
	}
	for _, call := range answer.Calls {
		reason = "tool_use"
		args, err := json.Marshal(call.Args)
		if err != nil {
			args = []byte(err.Error())
		}
		add(object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": ""},
			object{"type": "input_json_delta", "partial_json": string(args[:3])},
			object{"type": "input_json_delta", "partial_json": string(args[3:])})
	}
	usage := object{"output_tokens": u.Answer + u.Thoughts, "output_tokens_details": object{"thinking_tokens": u.Thoughts}}
	return modeltest.Written{Begin: events, End: end(reason, usage)}
}

// texts are the deltas of a block of that kind.
func texts(kind string, pieces []string) []object {
	var deltas []object
	for _, piece := range pieces {
		deltas = append(deltas, object{"type": kind + "_delta", kind: piece})
	}
	return deltas
}

func refuse(kind error) (int, string) {
	status, name, message := 0, "", ""
	switch {
	case errors.Is(kind, model.ErrTooLong):
		status, name, message = 400, "invalid_request_error", "prompt is too long: 215000 tokens > 200000 maximum"
	case errors.Is(kind, model.ErrRateLimit):
		status, name, message = 429, "rate_limit_error", "This request would exceed your organization's rate limit."
	case errors.Is(kind, model.ErrAuth):
		status, name, message = 401, "authentication_error", "invalid x-api-key"
	default:
		status, name, message = 400, "invalid_request_error", "Output blocked by content filtering policy"
	}
	return status, fmt.Sprintf(`{"type": "error", "error": {"type": %q, "message": %q}, "request_id": "r"}`, name, message)
}
