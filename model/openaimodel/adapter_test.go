package openaimodel_test

import (
	"encoding/base64"
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
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/model/openaimodel"
)

func TestMain(m *testing.M) {
	// What the environment says about the service must not reach the tests.
	for _, name := range []string{
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_CUSTOM_HEADERS",
	} {
		os.Unsetenv(name)
	}
	// The dependencies of genai start this one when the program does.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestAdapter(t *testing.T) {
	modeltest.RunAdapter(t, modeltest.Adapter{New: newModel, Read: readRequest, Answer: writeAnswer, Refuse: refuse})
}

func newModel(t *testing.T, server *httptest.Server) model.LLM {
	t.Helper()
	llm, err := openaimodel.NewModel(t.Context(), "test-model", &openaimodel.ClientConfig{
		APIKey: "test-key", BaseURL: server.URL + "/v1", HTTPClient: server.Client(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return llm
}

// wireRequest is the body of a request, as far as tests look at it.
type wireRequest struct {
	Model         string
	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Temperature, MaxTokens, TopP, Stop any
	Messages                           []wireMessage
	Tools                              []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        any
		}
	}
}

type wireMessage struct {
	Role       string
	Content    json.RawMessage
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID, Type string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func readRequest(r *http.Request, body []byte) (modeltest.Asked, error) {
	var request wireRequest
	var fields map[string]any
	if err := errors.Join(json.Unmarshal(body, &request), json.Unmarshal(body, &fields)); err != nil {
		return modeltest.Asked{}, err
	}
	if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer test-key" {
		return modeltest.Asked{}, fmt.Errorf("the path is %q, the credential %q", r.URL.Path, r.Header.Get("Authorization"))
	}
	if request.Stream != request.StreamOptions.IncludeUsage {
		return modeltest.Asked{}, errors.New("a stream must have its usage")
	}
	asked := modeltest.Asked{Stream: request.Stream, Lines: []string{modeltest.ModelLine(request.Model)}}
	var conversation []string
	for _, message := range request.Messages {
		lines, err := message.lines()
		if err != nil {
			return asked, err
		}
		if message.Role == "system" {
			asked.Lines = append(asked.Lines, lines...)
			continue
		}
		conversation = append(conversation, lines...)
	}
	for _, parameter := range []struct{ here, name string }{
		{"temperature", "temperature"}, {"top_p", "topP"}, {"max_tokens", "maxOutputTokens"}, {"stop", "stopSequences"},
	} {
		if value, ok := fields[parameter.here]; ok {
			asked.Lines = append(asked.Lines, modeltest.ParameterLine(parameter.name, value))
		}
	}
	for _, tool := range request.Tools {
		asked.Lines = append(asked.Lines, modeltest.ToolLine(tool.Function.Name, tool.Function.Description, tool.Function.Parameters))
	}
	asked.Lines = append(asked.Lines, conversation...)
	return asked, nil
}

func (m wireMessage) lines() ([]string, error) {
	role := map[string]string{"user": "user", "assistant": "model"}[m.Role]
	var lines []string
	var text string
	var parts []struct {
		Type, Text string
		ImageURL   struct{ URL string } `json:"image_url"`
	}
	switch isText := json.Unmarshal(m.Content, &text) == nil; {
	case m.Role == "tool":
		var result any
		if err := json.Unmarshal([]byte(text), &result); err != nil {
			return nil, err
		}
		return []string{modeltest.ResultLine(m.ToolCallID, result)}, nil
	case m.Role == "system":
		return []string{modeltest.SystemLine(text)}, nil
	case isText:
		lines = append(lines, modeltest.TextLine(role, text))
	case m.Content != nil:
		if err := json.Unmarshal(m.Content, &parts); err != nil {
			return nil, err
		}
	}
	for _, part := range parts {
		if part.Type == "text" {
			lines = append(lines, modeltest.TextLine(role, part.Text))
			continue
		}
		kind, encoded, _ := strings.Cut(strings.TrimPrefix(part.ImageURL.URL, "data:"), ";base64,")
		data, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, err
		}
		lines = append(lines, modeltest.DataLine(kind, data))
	}
	for _, call := range m.ToolCalls {
		var args any
		if err := json.Unmarshal([]byte(call.Function.Arguments), &args); err != nil {
			return nil, err
		}
		lines = append(lines, modeltest.CallLine(call.ID, call.Function.Name, args))
	}
	return lines, nil
}

// object is a JSON object to be written.
type object = map[string]any

func writeAnswer(answer modeltest.Answer) modeltest.Written {
	finish := map[genai.FinishReason]string{
		genai.FinishReasonStop: "stop", genai.FinishReasonMaxTokens: "length", genai.FinishReasonSafety: "content_filter",
	}[answer.Finish]
	message := object{"role": "assistant", "content": nil}
	written := modeltest.Written{Begin: []string{chunk(object{"role": "assistant", "content": ""}, nil)}}
	for _, text := range answer.Thoughts {
		written.Begin = append(written.Begin, chunk(object{"reasoning_content": text}, nil))
		message["reasoning_content"] = strings.Join(answer.Thoughts, "")
	}
	for _, text := range answer.Text {
		written.Begin = append(written.Begin, chunk(object{"content": text}, nil))
		message["content"] = strings.Join(answer.Text, "")
	}
	var calls []any
	for i, call := range answer.Calls {
		finish = "tool_calls"
		args := marshal(call.Args)
		begin := object{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": args[:3]}}
		rest := object{"index": i, "function": object{"arguments": args[3:]}}
		written.Begin = append(written.Begin, chunk(object{"tool_calls": []any{begin}}, nil), chunk(object{"tool_calls": []any{rest}}, nil))
		calls = append(calls, object{"id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": args}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	usage := object{
		"prompt_tokens": answer.Usage.Prompt, "completion_tokens": answer.Usage.Answer + answer.Usage.Thoughts,
		"total_tokens":              answer.Usage.Prompt + answer.Usage.Answer + answer.Usage.Thoughts,
		"prompt_tokens_details":     object{"cached_tokens": answer.Usage.Cached},
		"completion_tokens_details": object{"reasoning_tokens": answer.Usage.Thoughts},
	}
	last := marshal(object{"id": "x", "object": "chat.completion.chunk", "model": "test-model-001", "choices": []any{}, "usage": usage})
	written.End = []string{chunk(object{}, finish), "data: " + last + "\n\n", "data: [DONE]\n\n"}
	written.Whole = marshal(object{
		"id": "x", "object": "chat.completion", "model": "test-model-001", "usage": usage,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": finish}},
	})
	return written
}

// chunk is an event of a stream.
func chunk(delta object, finish any) string {
	return "data: " + marshal(object{
		"id": "x", "object": "chat.completion.chunk", "model": "test-model-001", "usage": nil,
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
	}) + "\n\n"
}

func marshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func refuse(kind error) (int, string) {
	status, code, message := 0, "", ""
	switch {
	case errors.Is(kind, model.ErrTooLong):
		status, code, message = 400, "context_length_exceeded", "This model's maximum context length is 128000 tokens."
	case errors.Is(kind, model.ErrRateLimit):
		status, code, message = 429, "rate_limit_exceeded", "Rate limit reached."
	case errors.Is(kind, model.ErrAuth):
		status, code, message = 401, "invalid_api_key", "Incorrect API key provided."
	default:
		status, code, message = 400, "content_filter", "The prompt was filtered."
	}
	return status, marshal(object{"error": object{"message": message, "type": "some_error", "param": nil, "code": code}})
}
