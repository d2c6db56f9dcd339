package openaimodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/openaimodel"
	"github.com/recap-adk/recap/platform"
)

const no = `{"model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "No."}, "finish_reason": "stop"}]}`

// body is the request body that a call with req sends.
func body(t *testing.T, req *model.LLMRequest) (map[string]any, error) {
	t.Helper()
	var sent map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, no)
	}))
	defer server.Close()
	_, err := collect(newModel(t, server), t.Context(), req, false)
	return sent, err
}

func collect(llm model.LLM, ctx context.Context, req *model.LLMRequest, stream bool) ([]*model.LLMResponse, error) {
	var responses []*model.LLMResponse
	for response, err := range llm.GenerateContent(ctx, req, stream) {
		if err != nil {
			return responses, err
		}
		responses = append(responses, response)
	}
	return responses, nil
}

func ask(config *genai.GenerateContentConfig, parts ...*genai.Part) *model.LLMRequest {
	if len(parts) == 0 {
		parts = []*genai.Part{{Text: "Will it rain?"}}
	}
	return &model.LLMRequest{Contents: []*genai.Content{{Role: genai.RoleUser, Parts: parts}}, Config: config}
}

func data(mimeType string) *genai.Part {
	return &genai.Part{InlineData: &genai.Blob{MIMEType: mimeType, Data: []byte("x"), DisplayName: "a.x"}}
}

func TestFieldsOfTheRequest(t *testing.T) {
	closed := map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"a"},
		"properties": map[string]any{"a": map[string]any{"type": "string"}},
	}
	open := &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"a": {Type: genai.TypeString}}}
	tools := []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "f"}, {Name: "g"}}}}
	const f = `{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}`
	calling := func(mode genai.FunctionCallingConfigMode, names ...string) *genai.ToolConfig {
		return &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: mode, AllowedFunctionNames: names}}
	}
	tests := []struct {
		name   string
		config genai.GenerateContentConfig
		want   string // beside model and messages
	}{
		{"nothing", genai.GenerateContentConfig{}, `{}`},
		{"numbers", genai.GenerateContentConfig{
			Seed: genai.Ptr[int32](7), PresencePenalty: genai.Ptr[float32](0.1), FrequencyPenalty: genai.Ptr[float32](-0.3), CandidateCount: 1,
		}, `{"seed": 7, "presence_penalty": 0.1, "frequency_penalty": -0.3}`},
		{"JSON", genai.GenerateContentConfig{ResponseMIMEType: "application/json"}, `{"response_format": {"type": "json_object"}}`},
		{"plain text", genai.GenerateContentConfig{ResponseMIMEType: "text/plain"}, `{}`},
		{"a schema", genai.GenerateContentConfig{ResponseSchema: open},
			`{"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object", "properties": {"a": {"type": "string"}}}}}}`},
		{"a closed schema is enforced", genai.GenerateContentConfig{ResponseJsonSchema: closed},
			`{"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": true,
				"schema": {"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": {"type": "string"}}}}}}`},
		{"one tool, which must be called", genai.GenerateContentConfig{Tools: tools, ToolConfig: calling(genai.FunctionCallingConfigModeAny, "f")},
			`{"tools": [` + f + `], "tool_choice": "required"}`},
		{"tools, which must not", genai.GenerateContentConfig{Tools: tools, ToolConfig: calling(genai.FunctionCallingConfigModeNone, "f")},
			`{"tools": [` + f + `], "tool_choice": "none"}`},
		{"tools, which may", genai.GenerateContentConfig{Tools: tools, ToolConfig: calling(genai.FunctionCallingConfigModeAuto, "f")},
			`{"tools": [` + f + `]}`},
		{"a level of thinking", genai.GenerateContentConfig{ThinkingConfig: &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevelHigh, IncludeThoughts: true}},
			`{"reasoning_effort": "high"}`},
		{"no thinking", genai.GenerateContentConfig{ThinkingConfig: &genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](0)}}, `{"reasoning_effort": "none"}`},
		{"as much thinking as it takes", genai.GenerateContentConfig{ThinkingConfig: &genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](-1)}}, `{}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := body(t, ask(&test.config))
			if err != nil {
				t.Fatal(err)
			}
			delete(got, "model")
			delete(got, "messages")
			if diff := cmp.Diff(parse(t, test.want), any(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMessagesOfTheRequest(t *testing.T) {
	call := func(id string) *genai.Part {
		return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "f"}, ThoughtSignature: []byte("x")}
	}
	result := func(id string) *genai.Part {
		return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "f"}}
	}
	long := strings.Repeat("x", 41)
	tests := []struct {
		name     string
		contents []*genai.Content
		want     string
	}{
		{"texts are one", []*genai.Content{{Role: "user", Parts: []*genai.Part{{Text: "a"}, data("text/plain")}}},
			`[{"role": "user", "content": "a\n\nx"}]`},
		{"image by address", []*genai.Content{{Parts: []*genai.Part{{FileData: &genai.FileData{FileURI: "https://example.org/a.png", MIMEType: "image/png"}}}}},
			`[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}]`},
		{"sound", []*genai.Content{{Parts: []*genai.Part{data("audio/wav"), data("audio/mpeg")}}},
			`[{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "eA==", "format": "wav"}},
				{"type": "input_audio", "input_audio": {"data": "eA==", "format": "mp3"}}]}]`},
		{"PDF", []*genai.Content{{Parts: []*genai.Part{data("application/pdf")}}},
			`[{"role": "user", "content": [{"type": "file", "file": {"file_data": "data:application/pdf;base64,eA==", "filename": "a.x"}}]}]`},
		{"thoughts stay here", []*genai.Content{
			{Role: "user", Parts: []*genai.Part{{Text: "a"}}}, {Role: "model", Parts: []*genai.Part{{Text: "hm", Thought: true}, call("c1")}},
			{Role: "user", Parts: []*genai.Part{{Text: "b"}, result("c1")}},
		}, `[{"role": "user", "content": "a"},
			{"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": "c1", "content": "{}"}, {"role": "user", "content": "b"}]`},
		{"long IDs are replaced", []*genai.Content{
			{Role: "user", Parts: []*genai.Part{{Text: "a"}}}, {Role: "model", Parts: []*genai.Part{call(long)}}, {Role: "user", Parts: []*genai.Part{result(long)}},
		}, `[{"role": "user", "content": "a"},
			{"role": "assistant", "tool_calls": [{"id": "call-1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": "call-1", "content": "{}"}]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := body(t, &model.LLMRequest{Contents: test.contents})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, test.want), got["messages"]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTheLimitGoesByTheNameThatTheServerKnows(t *testing.T) {
	tests := []struct{ baseURL, environment, want string }{
		{"", "", "max_completion_tokens"},
		{"https://api.openai.com/v1", "", "max_completion_tokens"},
		{"https://x.openai.azure.com/openai/v1", "", "max_completion_tokens"},
		{"http://localhost:11434/v1", "", "max_tokens"},
		{"https://notopenai.com/v1", "", "max_tokens"},
		{"", "http://localhost:8000/v1", "max_tokens"},
		{"https://api.openai.com/v1", "http://localhost:8000/v1", "max_completion_tokens"},
	}
	for _, test := range tests {
		t.Run(test.baseURL+"|"+test.environment, func(t *testing.T) {
			t.Setenv("OPENAI_BASE_URL", test.environment)
			var sent map[string]any
			llm, err := openaimodel.NewModel(t.Context(), "m", &openaimodel.ClientConfig{
				APIKey: "k", BaseURL: test.baseURL, HTTPClient: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
					if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
						t.Error(err)
					}
					return nil, io.ErrUnexpectedEOF
				})}, Options: []option.RequestOption{option.WithMaxRetries(0)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := collect(llm, t.Context(), ask(&genai.GenerateContentConfig{MaxOutputTokens: 9}), false); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error is %v", err)
			}
			if sent[test.want] != 9.0 {
				t.Errorf("the request is %v, want %s", sent, test.want)
			}
		})
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequestsThatCannotBeSent(t *testing.T) {
	config := func(c genai.GenerateContentConfig) *model.LLMRequest { return ask(&c) }
	model1 := func(part *genai.Part) *model.LLMRequest {
		req := ask(nil)
		req.Contents = append(req.Contents, &genai.Content{Role: "model", Parts: []*genai.Part{part}})
		return req
	}
	tests := []struct {
		name string
		req  *model.LLMRequest
		want error
		says string
	}{
		{"no request", nil, openaimodel.ErrRequestNil, ""},
		{"nothing to say", &model.LLMRequest{Config: &genai.GenerateContentConfig{}}, openaimodel.ErrNoContents, ""},
		{"top-k", config(genai.GenerateContentConfig{TopK: genai.Ptr[float32](3)}), openaimodel.ErrTopKNotSupported, ""},
		{"labels", config(genai.GenerateContentConfig{Labels: map[string]string{"a": "b"}}), openaimodel.ErrLabelsNotSupported, ""},
		{"safety", config(genai.GenerateContentConfig{SafetySettings: []*genai.SafetySetting{{}}}), openaimodel.ErrSafetySettingsNotSupported, ""},
		{"candidates", config(genai.GenerateContentConfig{CandidateCount: 2}), openaimodel.ErrMultipleCandidatesNotSupported, ""},
		{"another field", config(genai.GenerateContentConfig{CachedContent: "x"}), nil, "CachedContent"},
		{"a budget", config(genai.GenerateContentConfig{ThinkingConfig: &genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](5)}}), nil, "a thinking budget of 5 tokens"},
		{"an empty schema", config(genai.GenerateContentConfig{ResponseJsonSchema: map[string]any{}}), openaimodel.ErrEmptyJSONSchema, "the schema of the answer"},
		{"an empty schema of a tool", config(genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
			{Name: "f", ParametersJsonSchema: map[string]any{}},
		}}}}), openaimodel.ErrEmptyJSONSchema, `the function "f"`},
		{"another answer", config(genai.GenerateContentConfig{ResponseMIMEType: "text/x.enum"}), openaimodel.ErrUnsupportedMIMEType, "text/x.enum"},
		{"video", ask(nil, &genai.Part{Text: "a"}, data("video/mp4")), openaimodel.ErrUnsupportedMIMEType, `contents[0].parts[1]: the MIME type is not supported: inline data of type "video/mp4"`},
		{"a file elsewhere", ask(nil, &genai.Part{FileData: &genai.FileData{FileURI: "gs://a", MIMEType: "image/png"}}), openaimodel.ErrUnsupportedMIMEType, "gs://a"},
		{"an image of the model", model1(data("image/png")), openaimodel.ErrUnsupportedMIMEType, "contents[1].parts[0]"},
		{"another part", ask(nil, &genai.Part{VideoMetadata: &genai.VideoMetadata{FPS: genai.Ptr(1.0)}}), openaimodel.ErrUnsupportedMessageContentType, "VideoMetadata"},
		{"a call without a result", model1(&genai.Part{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "f"}}), nil, `the call of "f" (ID "c1") has no response`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sent, err := body(t, test.req)
			if sent != nil {
				t.Errorf("sent: %v", sent)
			}
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Provider != "openai" || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %v with %q", err, test.want, test.says)
			}
		})
	}
}

// answers are answers that only some servers give, and what becomes of them.
func TestAnswers(t *testing.T) {
	call := func(id, name, args string) string {
		return fmt.Sprintf(`{"id": %q, "type": "function", "function": {"name": %q, "arguments": %q}}`, id, name, args)
	}
	message := func(message, finish string) string {
		return fmt.Sprintf(`{"model": "m-1", "choices": [{"index": 0, "message": %s, "finish_reason": %q}]}`, message, finish)
	}
	content := func(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: genai.RoleModel, Parts: parts} }
	tests := []struct {
		name string
		body string
		want model.LLMResponse
		err  error
		says string
	}{
		{"reasoning by its other name", message(`{"content": "No.", "reasoning": "Hm."}`, "stop"), model.LLMResponse{
			Content: content(&genai.Part{Text: "Hm.", Thought: true}, &genai.Part{Text: "No."}), FinishReason: genai.FinishReasonStop,
		}, nil, ""},
		{"a call without an ID", message(`{"tool_calls": [`+call("", "f", "{}")+`]}`, "tool_calls"), model.LLMResponse{
			Content:      content(&genai.Part{FunctionCall: &genai.FunctionCall{ID: "adk-an-id", Name: "f", Args: map[string]any{}}}),
			FinishReason: genai.FinishReasonStop,
		}, nil, ""},
		{"a call without arguments", message(`{"tool_calls": [`+call("c1", "f", "")+`]}`, "stop"), model.LLMResponse{
			Content:      content(&genai.Part{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "f", Args: map[string]any{}}}),
			FinishReason: genai.FinishReasonStop,
		}, nil, ""},
		{"a call cut at the limit", message(`{"content": "I look.", "tool_calls": [`+call("c1", "f", `{"a":1}`)+`, `+call("c2", "g", `{"a`)+`]}`, "length"), model.LLMResponse{
			Content:      content(&genai.Part{Text: "I look."}, &genai.Part{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "f", Args: map[string]any{"a": 1.0}}}),
			FinishReason: genai.FinishReasonMaxTokens, ErrorCode: "MAX_TOKENS", ErrorMessage: `the answer was cut within call 2, of "g"`,
		}, nil, ""},
		{"a refusal", message(`{"content": null, "refusal": "I must not."}`, "stop"), model.LLMResponse{
			Content: content(), FinishReason: genai.FinishReasonSafety, ErrorCode: "SAFETY", ErrorMessage: "I must not.",
		}, nil, ""},
		{"an unknown end", message(`{"content": "It m"}`, "insufficient_resource"), model.LLMResponse{
			Content: content(&genai.Part{Text: "It m"}), FinishReason: genai.FinishReasonOther, ErrorCode: "OTHER", ErrorMessage: "the answer was broken off: insufficient_resource",
		}, nil, ""},
		{"no choice", `{"model": "m-1", "choices": []}`, model.LLMResponse{}, openaimodel.ErrEmptyResponse, ""},
		{"arguments that are no JSON", message(`{"tool_calls": [`+call("c1", "f", `{"a`)+`]}`, "tool_calls"), model.LLMResponse{}, openaimodel.ErrFunctionCallArgs, `call 1 of the answer: the arguments of a call are not valid: of "f" (ID "c1"): "{\"a"`},
		{"arguments that are no object", message(`{"tool_calls": [`+call("c1", "f", `[]`)+`]}`, "tool_calls"), model.LLMResponse{}, openaimodel.ErrFunctionCallArgs, "[]"},
		{"a call of nothing", message(`{"tool_calls": [`+call("c1", "", `{}`)+`]}`, "tool_calls"), model.LLMResponse{}, openaimodel.ErrFunctionCallMissingName, "call 1"},
		{"no JSON", `{"choices": [`, model.LLMResponse{}, io.ErrUnexpectedEOF, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := answering(t, 200, "application/json", test.body)
			ctx := platform.WithUUIDProvider(t.Context(), func() string { return "an-id" })
			got, err := collect(newModel(t, server), ctx, ask(nil), false)
			if test.err != nil || err != nil {
				if !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.says) || len(got) > 0 {
					t.Errorf("error is %v, want %v with %q", err, test.err, test.says)
				}
				return
			}
			test.want.ModelVersion = "m-1"
			if diff := cmp.Diff([]*model.LLMResponse{&test.want}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestStreams(t *testing.T) {
	delta := func(delta string) string { return `{"choices": [{"index": 0, "delta": ` + delta + `}]}` }
	call := func(fields, name, args string) string {
		return delta(fmt.Sprintf(`{"tool_calls": [{%s, "function": {"name": %q, "arguments": %q}}]}`, fields, name, args))
	}
	const stop = `{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}`
	tests := []struct {
		name   string
		chunks []string
		want   string // the whole, thoughts in parentheses, calls as ID name args
		err    error
		says   string
	}{
		{"calls by index", []string{call(`"index": 0, "id": "a"`, "f", ""), call(`"index": 1, "id": "b"`, "g", ""), call(`"index": 0`, "", `{"x":1}`), call(`"index": 1`, "", `{}`), stop}, "a f map[x:1], b g map[]", nil, ""},
		{"calls that are all number 0", []string{call(`"index": 0, "id": "a"`, "f", `{"x":`), call(`"index": 0, "id": "a"`, "f", `1}`), call(`"index": 0, "id": "b"`, "f", `{}`), stop}, "a f map[x:1], b f map[]", nil, ""},
		{"reasoning", []string{delta(`{"reasoning": "H"}`), delta(`{"reasoning": "m"}`), delta(`{"content": "No."}`), stop}, "(Hm), No.", nil, ""},
		{"a second choice", []string{`{"choices": [{"index": 1, "delta": {"content": "x"}, "finish_reason": "stop"}]}`, delta(`{"content": "No."}`), stop, "[DONE]"}, "No.", nil, ""},
		{"no mark at the end", []string{delta(`{"content": "No."}`), stop}, "No.", nil, ""},
		{"a mark and no reason", []string{delta(`{"content": "No."}`), "[DONE]"}, "", io.ErrUnexpectedEOF, "the stream ended before the answer did"},
		{"nothing", nil, "", io.ErrUnexpectedEOF, ""},
		{"arguments that are no JSON", []string{call(`"index": 0, "id": "a"`, "f", `{"x":`), stop}, "", openaimodel.ErrFunctionCallArgs, `"f" (ID "a")`},
		{"an error", []string{delta(`{"content": "N"}`), `{"error": {"message": "slow down", "code": 429}}`}, "", model.ErrRateLimit, "openai (status 429): rate limit reached: slow down"},
		{"an error by code", []string{`{"error": {"message": "too much", "code": "context_length_exceeded"}}`}, "", model.ErrTooLong, "openai: prompt too long for the model: too much"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var events strings.Builder
			for _, chunk := range test.chunks {
				fmt.Fprintf(&events, "data: %s\n\n", chunk)
			}
			server := answering(t, 200, "text/event-stream", events.String())
			got, err := collect(newModel(t, server), t.Context(), ask(nil), true)
			if test.err != nil || err != nil {
				if !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("error is %v, want %v with %q", err, test.err, test.says)
				}
				return
			}
			var parts []string
			for _, part := range got[len(got)-1].Content.Parts {
				switch {
				case part.FunctionCall != nil:
					parts = append(parts, fmt.Sprintf("%s %s %v", part.FunctionCall.ID, part.FunctionCall.Name, part.FunctionCall.Args))
				case part.Thought:
					parts = append(parts, "("+part.Text+")")
				default:
					parts = append(parts, part.Text)
				}
			}
			if show := strings.Join(parts, ", "); show != test.want {
				t.Errorf("the whole is %q, want %q", show, test.want)
			}
		})
	}
}

func TestErrorsOfServers(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		kind   error
		says   string
	}{
		{"OpenAI", 400, `{"error": {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}}`, model.ErrTooLong, "8192"},
		{"vLLM", 400, `{"error": {"message": "This model's maximum context length is 8192 tokens. However, you requested 9000", "type": "BadRequestError", "code": 400}}`, model.ErrTooLong, "9000"},
		{"vLLM without a wrapper", 400, `{"object": "error", "message": "This model's maximum context length is 8192 tokens.", "code": 400}`, model.ErrTooLong, "8192"},
		{"llama.cpp", 400, `{"error": {"code": 400, "message": "request (2075 tokens) exceeds the available context size (2048 tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 2075, "n_ctx": 2048}}`, model.ErrTooLong, "2075"},
		{"more than a minute's tokens", 429, `{"error": {"message": "Request too large for gpt-x: Limit 30000, Requested 40000.", "code": "rate_limit_exceeded"}}`, model.ErrTooLong, "Limit"},
		{"a body that is too large", 413, `{"error": {"message": "big"}}`, model.ErrTooLong, "big"},
		{"quota", 429, `{"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}`, model.ErrRateLimit, "quota"},
		{"a filter", 400, `{"error": {"message": "filtered", "code": "content_filter"}}`, model.ErrBlocked, "filtered"},
		{"not allowed", 403, `{"error": "no access"}`, model.ErrAuth, "no access"},
		{"validation", 422, `{"detail": [{"loc": ["body"]}]}`, nil, "loc"},
		{"no such model", 404, `{"error": {"message": "model not found"}}`, nil, "model not found"},
		{"a proxy", 502, `<html>Bad gateway</html>`, nil, "Bad gateway"},
		{"nothing", 500, ``, nil, "500"},
	}
	for _, test := range tests {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", test.name, stream), func(t *testing.T) {
				_, err := collect(newModel(t, answering(t, test.status, "application/json", test.body)), t.Context(), ask(nil), stream)
				var failed *model.Error
				if !errors.As(err, &failed) {
					t.Fatalf("error is %v", err)
				}
				if failed.Status != test.status || failed.Kind != test.kind || !strings.Contains(err.Error(), test.says) {
					t.Errorf("error is %v with status %d, kind %v; want %d, %v and %q", err, failed.Status, failed.Kind, test.status, test.kind, test.says)
				}
				var cause *openai.Error
				if !errors.As(err, &cause) {
					t.Errorf("the client's error is not in %v", err)
				}
				if strings.Contains(err.Error(), "test-key") {
					t.Errorf("error %q tells the key", err)
				}
			})
		}
	}
}

func TestNewModel(t *testing.T) {
	if _, err := openaimodel.NewModel(t.Context(), "", nil); !errors.Is(err, openaimodel.ErrModelNameRequired) {
		t.Errorf("error is %v", err)
	}
	for _, name := range []string{"gpt-5-mini", "o3", "o4-mini", "chatgpt-4o-latest"} {
		llm, err := model.NewLLM(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if llm.Name() != name {
			t.Errorf("name is %q, want %q", llm.Name(), name)
		}
	}
	if _, err := model.NewLLM(t.Context(), "ollama"); err == nil {
		t.Error("a name is taken that only looks like one of OpenAI's")
	}
}

func TestAnotherModelAndOptions(t *testing.T) {
	var sent map[string]any
	var header string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Get("X-Test")
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, no)
	}))
	defer server.Close()
	llm, err := openaimodel.NewModel(t.Context(), "m", &openaimodel.ClientConfig{
		BaseURL: server.URL, HTTPClient: server.Client(),
		Options: []option.RequestOption{option.WithHeader("X-Test", "yes"), option.WithJSONSet("top_k", 3)},
	})
	if err != nil {
		t.Fatal(err)
	}
	req := ask(nil)
	req.Model = "another"
	if _, err := collect(llm, t.Context(), req, false); err != nil {
		t.Fatal(err)
	}
	if sent["model"] != "another" || sent["top_k"] != 3.0 || header != "yes" {
		t.Errorf("sent %v, header %q", sent, header)
	}
}

// answering is a server that gives one answer to everything.
func answering(t *testing.T, status int, contentType, body string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// A transport may have words of its own for a call that was given up.
func TestCancellationInOtherWords(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	llm, err := openaimodel.NewModel(t.Context(), "m", &openaimodel.ClientConfig{
		APIKey: "k", BaseURL: "http://localhost/v1", HTTPClient: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, Body: io.NopCloser(reader(func([]byte) (int, error) {
				cancel()
				return 0, errors.New("connection closed")
			}))}, nil
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collect(llm, ctx, ask(nil), true); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "connection closed") {
		t.Errorf("error is %v", err)
	}
}

type reader func([]byte) (int, error)

func (f reader) Read(p []byte) (int, error) { return f(p) }
