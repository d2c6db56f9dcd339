package anthropicmodel_test

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

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/anthropicmodel"
	"github.com/recap-adk/recap/platform"
)

// stream is a stream of an answer with the given blocks.
func stream(reason string, blocks ...[]string) string {
	events := []string{begin(object{"input_tokens": 1, "output_tokens": 1})}
	for _, block := range blocks {
		events = append(events, block...)
	}
	return strings.Join(append(events, end(reason, object{"output_tokens": 1})...), "")
}

func textBlock(index int, text string) []string {
	return block(index, object{"type": "text", "text": ""}, texts("text", []string{text})...)
}

func callBlock(index int, id, args string) []string {
	return block(index, object{"type": "tool_use", "id": id, "name": "f", "input": object{}}, object{"type": "input_json_delta", "partial_json": args})
}

// body is the request body that a call with req sends.
func body(t *testing.T, cfg anthropicmodel.ClientConfig, req *model.LLMRequest) (map[string]any, error) {
	t.Helper()
	var sent map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, stream("end_turn", textBlock(0, "No.")))
	}))
	defer server.Close()
	cfg.APIKey, cfg.BaseURL, cfg.HTTPClient = "test-key", server.URL, server.Client()
	llm, err := anthropicmodel.NewModel(t.Context(), "claude-test", &cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = collect(llm, t.Context(), req, false)
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
	schema := &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"a": {Type: genai.TypeString}}}
	tools := []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "f"}}}}
	const f = `{"name": "f", "input_schema": {"type": "object", "properties": {}}}`
	calling := func(mode genai.FunctionCallingConfigMode) *genai.ToolConfig {
		return &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: mode}}
	}
	thinking := func(c genai.ThinkingConfig) genai.GenerateContentConfig {
		return genai.GenerateContentConfig{ThinkingConfig: &c}
	}
	tests := []struct {
		name   string
		cfg    anthropicmodel.ClientConfig
		config genai.GenerateContentConfig
		want   string // beside model, messages and stream; max_tokens if it is not the default
	}{
		{"nothing", anthropicmodel.ClientConfig{}, genai.GenerateContentConfig{CandidateCount: 1, ResponseMIMEType: "text/plain"}, `{}`},
		{"top-k", anthropicmodel.ClientConfig{}, genai.GenerateContentConfig{TopK: genai.Ptr[float32](3)}, `{"top_k": 3}`},
		{"caching", anthropicmodel.ClientConfig{CachePrompt: true}, genai.GenerateContentConfig{}, `{"cache_control": {"type": "ephemeral"}}`},
		{"options", anthropicmodel.ClientConfig{Options: []option.RequestOption{option.WithJSONSet("speed", "fast")}}, genai.GenerateContentConfig{}, `{"speed": "fast"}`},
		{"objects of a schema are closed", anthropicmodel.ClientConfig{}, genai.GenerateContentConfig{ResponseSchema: schema, ResponseMIMEType: "application/json"},
			`{"output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "additionalProperties": false, "properties": {"a": {"type": "string"}}}}}}`},
		{"a tool that must be called", anthropicmodel.ClientConfig{}, genai.GenerateContentConfig{Tools: tools, ToolConfig: calling(genai.FunctionCallingConfigModeAny)},
			`{"tools": [` + f + `], "tool_choice": {"type": "any"}}`},
		{"a tool that must not", anthropicmodel.ClientConfig{}, genai.GenerateContentConfig{Tools: tools, ToolConfig: calling(genai.FunctionCallingConfigModeNone)},
			`{"tools": [` + f + `], "tool_choice": {"type": "none"}}`},
		{"a budget", anthropicmodel.ClientConfig{}, thinking(genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](2048), IncludeThoughts: true}),
			`{"thinking": {"type": "enabled", "budget_tokens": 2048, "display": "summarized"}, "max_tokens": 18432}`},
		{"no thinking", anthropicmodel.ClientConfig{}, thinking(genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](0)}), `{"thinking": {"type": "disabled"}}`},
		{"as much thinking as it takes", anthropicmodel.ClientConfig{}, thinking(genai.ThinkingConfig{ThinkingBudget: genai.Ptr[int32](-1)}), `{"thinking": {"type": "adaptive"}}`},
		{"a level", anthropicmodel.ClientConfig{}, thinking(genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevelMedium}),
			`{"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}}`},
		{"the lowest level", anthropicmodel.ClientConfig{}, thinking(genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevelMinimal}),
			`{"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}`},
		{"thoughts", anthropicmodel.ClientConfig{}, thinking(genai.ThinkingConfig{IncludeThoughts: true}), `{"thinking": {"type": "adaptive", "display": "summarized"}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := body(t, test.cfg, ask(&test.config))
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range []string{"model", "messages", "stream"} {
				delete(got, field)
			}
			if got["max_tokens"] == 16384.0 {
				delete(got, "max_tokens")
			}
			if diff := cmp.Diff(parse(t, test.want), any(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMessagesOfTheRequest(t *testing.T) {
	call := func(id string) *genai.Part {
		return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "f"}, ThoughtSignature: []byte("\xff")}
	}
	result := func(id string, response map[string]any, parts ...*genai.FunctionResponsePart) *genai.Part {
		return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "f", Response: response, Parts: parts}}
	}
	user := func(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: "user", Parts: parts} }
	said := func(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: "model", Parts: parts} }
	hello := &genai.Part{Text: "a"}
	const a = `{"role": "user", "content": [{"type": "text", "text": "a"}]}`
	const c1 = `{"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]}`
	tests := []struct {
		name     string
		contents []*genai.Content
		want     string
	}{
		{"blank texts are left out", []*genai.Content{user(hello, &genai.Part{Text: " \n"}), said(&genai.Part{Text: " "}), user()}, `[` + a + `]`},
		{"a PDF", []*genai.Content{user(data("application/pdf"))},
			`[{"role": "user", "content": [{"type": "document", "title": "a.x", "source": {"type": "base64", "media_type": "application/pdf", "data": "eA=="}}]}]`},
		{"files by address", []*genai.Content{user(
			&genai.Part{FileData: &genai.FileData{FileURI: "https://example.org/a.png", MIMEType: "image/png"}},
			&genai.Part{FileData: &genai.FileData{FileURI: "https://example.org/a.pdf", MIMEType: "application/pdf"}},
		)}, `[{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
			{"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}]}]`},
		{"thoughts that are signed are sent, others not", []*genai.Content{user(hello), said(
			&genai.Part{Thought: true, Text: "hm", ThoughtSignature: []byte("c2ln")},
			&genai.Part{Thought: true, ThoughtSignature: []byte("c2Vj"), PartMetadata: map[string]any{"anthropic.redacted_thinking": true}},
			&genai.Part{Thought: true, Text: "unsigned"},
			&genai.Part{Thought: true, Text: "another's", ThoughtSignature: []byte("\x0a\xff")},
			&genai.Part{Text: "b"},
		), user(hello)}, `[` + a + `, {"role": "assistant", "content": [
			{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "c2Vj"}, {"type": "text", "text": "b"}
		]}, ` + a + `]`},
		{"results stand first", []*genai.Content{user(hello), said(call("c1")), user(hello, result("c1", map[string]any{"x": 1}))},
			`[` + a + `, ` + c1 + `, {"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "{\"x\":1}"}]}, {"type": "text", "text": "a"}]}]`},
		{"a result that is an error", []*genai.Content{user(hello), said(call("c1")), user(result("c1", map[string]any{"error": "no city"}))},
			`[` + a + `, ` + c1 + `, {"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "c1", "is_error": true, "content": [{"type": "text", "text": "{\"error\":\"no city\"}"}]}]}]`},
		{"a result that is an image and a text", []*genai.Content{user(hello), said(call("c1")), user(result("c1", nil,
			&genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{MIMEType: "image/png", Data: []byte("x")}},
			&genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{MIMEType: "text/plain", Data: []byte("y")}},
			&genai.FunctionResponsePart{FileData: &genai.FunctionResponseFileData{MIMEType: "application/pdf", FileURI: "https://example.org/a.pdf"}},
		))}, `[` + a + `, ` + c1 + `, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [
			{"type": "text", "text": "{}"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}, {"type": "text", "text": "y"},
			{"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}]}]}]`},
		{"IDs of other models", []*genai.Content{user(hello), said(call("functions.f:0")), user(result("functions.f:0", nil))},
			`[` + a + `, {"role": "assistant", "content": [{"type": "tool_use", "id": "call-1", "name": "f", "input": {}}]},
			{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call-1", "content": [{"type": "text", "text": "{}"}]}]}]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := body(t, anthropicmodel.ClientConfig{}, &model.LLMRequest{Contents: test.contents})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, test.want), got["messages"]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestToolsOfEarlierCallsAreDeclared(t *testing.T) {
	req := ask(nil)
	for _, name := range []string{"g", "f", "g"} {
		req.Contents = append(req.Contents,
			&genai.Content{Role: "model", Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{Name: name}}}},
			&genai.Content{Role: "user", Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{Name: name}}}})
	}
	got, err := body(t, anthropicmodel.ClientConfig{}, req)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"name": "g", "input_schema": {"type": "object", "properties": {}}}, {"name": "f", "input_schema": {"type": "object", "properties": {}}}]`
	if diff := cmp.Diff(parse(t, want), got["tools"]); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(parse(t, `{"type": "none"}`), got["tool_choice"]); diff != "" {
		t.Errorf("tool choice (-want +got):\n%s", diff)
	}
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	config := func(c genai.GenerateContentConfig) *model.LLMRequest { return ask(&c) }
	said := func(part *genai.Part) *model.LLMRequest {
		req := ask(nil)
		req.Contents = append(req.Contents, &genai.Content{Role: "model", Parts: []*genai.Part{part}})
		return req
	}
	withResult := said(&genai.Part{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "f"}})
	withResult.Contents = append(withResult.Contents, &genai.Content{Role: "user", Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
		ID: "c1", Name: "f", Parts: []*genai.FunctionResponsePart{{InlineData: &genai.FunctionResponseBlob{MIMEType: "audio/wav", Data: []byte("x")}}},
	}}}})
	tests := []struct {
		name string
		req  *model.LLMRequest
		want error
		says string
	}{
		{"no request", nil, anthropicmodel.ErrRequestNil, ""},
		{"nothing to say", &model.LLMRequest{}, anthropicmodel.ErrNoContents, ""},
		{"a seed", config(genai.GenerateContentConfig{Seed: genai.Ptr[int32](3)}), anthropicmodel.ErrFieldNotSupported, "Seed"},
		{"candidates", config(genai.GenerateContentConfig{CandidateCount: 2}), anthropicmodel.ErrFieldNotSupported, "CandidateCount"},
		{"an empty schema", config(genai.GenerateContentConfig{ResponseJsonSchema: map[string]any{}}), anthropicmodel.ErrEmptyJSONSchema, "the schema of the answer"},
		{"an empty schema of a tool", config(genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
			{Name: "f", ParametersJsonSchema: map[string]any{}},
		}}}}), anthropicmodel.ErrEmptyJSONSchema, `the function "f"`},
		{"a search", config(genai.GenerateContentConfig{Tools: []*genai.Tool{{GoogleSearch: &genai.GoogleSearch{}}}}), nil, "tools[0]"},
		{"JSON without a schema", config(genai.GenerateContentConfig{ResponseMIMEType: "application/json"}), anthropicmodel.ErrUnsupportedMIMEType, "JSON without a schema"},
		{"another answer", config(genai.GenerateContentConfig{ResponseMIMEType: "text/x.enum"}), anthropicmodel.ErrUnsupportedMIMEType, "text/x.enum"},
		{"sound", ask(nil, &genai.Part{Text: "a"}, data("audio/wav")), anthropicmodel.ErrUnsupportedMIMEType, `contents[0].parts[1]: the MIME type is not supported: inline data of type "audio/wav"`},
		{"sound of a tool", withResult, anthropicmodel.ErrUnsupportedMIMEType, `contents[2].parts[0].parts[0]`},
		{"a file elsewhere", ask(nil, &genai.Part{FileData: &genai.FileData{FileURI: "gs://a", MIMEType: "image/png"}}), anthropicmodel.ErrUnsupportedMIMEType, "gs://a"},
		{"an image of the model", said(data("image/png")), anthropicmodel.ErrUnsupportedMIMEType, "contents[1].parts[0]"},
		{"another part", ask(nil, &genai.Part{VideoMetadata: &genai.VideoMetadata{FPS: genai.Ptr(1.0)}}), anthropicmodel.ErrUnsupportedMessageContentType, "VideoMetadata"},
		{"a call without a result", said(&genai.Part{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "f"}}), nil, `the call of "f" (ID "c1") has no response`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sent, err := body(t, anthropicmodel.ClientConfig{}, test.req)
			if sent != nil {
				t.Errorf("sent: %v", sent)
			}
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Provider != "anthropic" || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error is %v, want %v with %q", err, test.want, test.says)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	content := func(parts ...*genai.Part) *genai.Content { return &genai.Content{Role: genai.RoleModel, Parts: parts} }
	signed := &genai.Part{Text: "Hm.", Thought: true, ThoughtSignature: []byte("c2ln")}
	secret := &genai.Part{Thought: true, ThoughtSignature: []byte("c2Vj"), PartMetadata: map[string]any{"anthropic.redacted_thinking": true}}
	call := func(id string, args map[string]any) *genai.Part {
		return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "f", Args: args}}
	}
	refusal := begin(object{"input_tokens": 1, "output_tokens": 1}) +
		event("message_delta", object{"delta": object{"stop_reason": "refusal", "stop_details": object{"type": "refusal", "explanation": "It is dangerous."}}, "usage": object{"output_tokens": 1}}) +
		event("message_stop", object{})
	tests := []struct {
		name string
		body string
		want model.LLMResponse
		err  error
		says string
	}{
		{"thoughts keep their signatures", stream("end_turn",
			block(0, object{"type": "thinking", "thinking": "", "signature": ""}, object{"type": "thinking_delta", "thinking": "Hm."}, object{"type": "signature_delta", "signature": "c2ln"}),
			block(1, object{"type": "redacted_thinking", "data": "c2Vj"}), textBlock(2, "No.")),
			model.LLMResponse{Content: content(signed, secret, &genai.Part{Text: "No."}), FinishReason: genai.FinishReasonStop}, nil, ""},
		{"a call without arguments", stream("tool_use", callBlock(0, "c1", "")),
			model.LLMResponse{Content: content(call("c1", map[string]any{})), FinishReason: genai.FinishReasonStop}, nil, ""},
		{"a call that comes whole", stream("tool_use", block(0, object{"type": "tool_use", "id": "c1", "name": "f", "input": object{"a": 1}})),
			model.LLMResponse{Content: content(call("c1", map[string]any{"a": 1.0})), FinishReason: genai.FinishReasonStop}, nil, ""},
		{"a call without an ID", stream("tool_use", callBlock(0, "", "{}")),
			model.LLMResponse{Content: content(call("adk-an-id", map[string]any{})), FinishReason: genai.FinishReasonStop}, nil, ""},
		{"a call cut at the limit", stream("max_tokens", textBlock(0, "I look."), callBlock(1, "c1", `{"a`)), model.LLMResponse{
			Content: content(&genai.Part{Text: "I look."}), FinishReason: genai.FinishReasonMaxTokens,
			ErrorCode: "MAX_TOKENS", ErrorMessage: `the answer was cut within the call of "f"`,
		}, nil, ""},
		{"the end of the window", stream("model_context_window_exceeded", textBlock(0, "It m")),
			model.LLMResponse{Content: content(&genai.Part{Text: "It m"}), FinishReason: genai.FinishReasonMaxTokens}, nil, ""},
		{"a stop sequence", stream("stop_sequence", textBlock(0, "It")),
			model.LLMResponse{Content: content(&genai.Part{Text: "It"}), FinishReason: genai.FinishReasonStop}, nil, ""},
		{"a pause", stream("pause_turn", textBlock(0, "It")), model.LLMResponse{
			Content: content(&genai.Part{Text: "It"}), FinishReason: genai.FinishReasonOther, ErrorCode: "OTHER", ErrorMessage: "the answer was broken off: pause_turn",
		}, nil, ""},
		{"a refusal with a reason", refusal, model.LLMResponse{
			Content: content(), FinishReason: genai.FinishReasonSafety, ErrorCode: "SAFETY", ErrorMessage: "It is dangerous.",
		}, nil, ""},
		{"arguments that are no JSON", stream("tool_use", textBlock(0, "I look."), callBlock(1, "c1", `{"a`)), model.LLMResponse{},
			anthropicmodel.ErrFunctionCallArgs, `block 2 of the answer: the arguments of a call are not valid: of "f" (ID "c1"): "{\"a"`},
		{"a block of another type", stream("end_turn", block(0, object{"type": "server_tool_use", "id": "s", "name": "web_search", "input": object{}})), model.LLMResponse{},
			anthropicmodel.ErrUnsupportedContentBlockType, "server_tool_use"},
		{"a piece of a block that did not begin", begin(object{}) + event("content_block_delta", object{"index": 3, "delta": object{"type": "text_delta", "text": "x"}}), model.LLMResponse{},
			nil, "index 3"},
		{"an end without a reason", begin(object{}) + event("message_stop", object{}), model.LLMResponse{}, io.ErrUnexpectedEOF, ""},
		{"overload", begin(object{}) + event("error", object{"error": object{"type": "overloaded_error", "message": "Overloaded"}}), model.LLMResponse{}, nil, "anthropic (status 529): Overloaded"},
		{"a limit", begin(object{}) + event("error", object{"error": object{"type": "rate_limit_error", "message": "Slow down"}}), model.LLMResponse{}, model.ErrRateLimit, "anthropic (status 429): rate limit reached: Slow down"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := answering(t, 200, test.body)
			ctx := platform.WithUUIDProvider(t.Context(), func() string { return "an-id" })
			got, err := collect(newModel(t, server), ctx, ask(nil), false)
			if test.want.Content == nil {
				if err == nil || test.err != nil && !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.says) || len(got) > 0 {
					t.Errorf("error is %v, want %v with %q", err, test.err, test.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			test.want.ModelVersion, test.want.UsageMetadata = "claude-test-001", got[0].UsageMetadata
			if diff := cmp.Diff([]*model.LLMResponse{&test.want}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCachedPartsOfThePromptCount(t *testing.T) {
	usage := object{"input_tokens": 5, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 25, "output_tokens": 1}
	events := begin(usage) + strings.Join(end("end_turn", object{"output_tokens": 9, "output_tokens_details": object{"thinking_tokens": 4}}), "")
	got, err := collect(newModel(t, answering(t, 200, events)), t.Context(), ask(nil), true)
	if err != nil {
		t.Fatal(err)
	}
	want := &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount: 100, CachedContentTokenCount: 70, CandidatesTokenCount: 5, ThoughtsTokenCount: 4, TotalTokenCount: 109,
	}
	if diff := cmp.Diff(want, got[0].UsageMetadata); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What the model thought goes back to it as it came, or the next call of a turn
// with tools is refused.
func TestThoughtsRoundTrip(t *testing.T) {
	answer := stream("tool_use",
		block(0, object{"type": "thinking", "thinking": "", "signature": ""}, object{"type": "thinking_delta", "thinking": "Hm."}, object{"type": "signature_delta", "signature": "c2ln"}),
		block(1, object{"type": "redacted_thinking", "data": "c2Vj"}), callBlock(2, "c1", `{"city": "Rome"}`))
	responses, err := collect(newModel(t, answering(t, 200, answer)), t.Context(), ask(nil), true)
	if err != nil {
		t.Fatal(err)
	}
	// As a session stores it.
	text, err := json.Marshal(responses[len(responses)-1].Content)
	if err != nil {
		t.Fatal(err)
	}
	var stored *genai.Content
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	req := ask(nil)
	req.Contents = append(req.Contents, stored, &genai.Content{Role: "user", Parts: []*genai.Part{
		{FunctionResponse: &genai.FunctionResponse{ID: "c1", Name: "f", Response: map[string]any{"sky": "clear"}}},
	}})
	sent, err := body(t, anthropicmodel.ClientConfig{}, req)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "c2Vj"},
		{"type": "tool_use", "id": "c1", "name": "f", "input": {"city": "Rome"}}]`
	got := sent["messages"].([]any)[1].(map[string]any)["content"]
	if diff := cmp.Diff(parse(t, want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestErrorsOfTheService(t *testing.T) {
	tests := []struct {
		name          string
		status        int
		kind, message string
		want          error
	}{
		{"a long prompt", 400, "invalid_request_error", "prompt is too long: 215000 tokens > 200000 maximum", model.ErrTooLong},
		{"a prompt with its answer", 400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000", model.ErrTooLong},
		{"a body that is too large", 413, "request_too_large", "Request exceeds the maximum size", model.ErrTooLong},
		{"another bad request", 400, "invalid_request_error", "messages: at least one message is required", nil},
		{"not allowed", 403, "permission_error", "Your API key does not have permission", model.ErrAuth},
		{"no such model", 404, "not_found_error", "model: claude-test", nil},
		{"overload", 529, "overloaded_error", "Overloaded", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			body := fmt.Sprintf(`{"type": "error", "error": {"type": %q, "message": %q}}`, test.kind, test.message)
			_, err := collect(newModel(t, answering(t, test.status, body)), t.Context(), ask(nil), false)
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Status != test.status || failed.Kind != test.want || !strings.Contains(err.Error(), test.message) {
				t.Errorf("error is %v, want status %d, kind %v", err, test.status, test.want)
			}
			var cause *anthropic.Error
			if !errors.As(err, &cause) {
				t.Errorf("the client's error is not in %v", err)
			}
			if strings.Contains(err.Error(), "test-key") {
				t.Errorf("error %q tells the key", err)
			}
		})
	}
	t.Run("a proxy", func(t *testing.T) {
		_, err := collect(newModel(t, answering(t, 502, "<html>Bad gateway</html>")), t.Context(), ask(nil), false)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Status != 502 || failed.Kind != nil || !strings.Contains(err.Error(), "Bad gateway") {
			t.Errorf("error is %v", err)
		}
	})
}

func TestNoCredentials(t *testing.T) {
	t.Setenv("HOME", t.TempDir()) // where a profile could be
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	llm, err := anthropicmodel.NewModel(t.Context(), "claude-test", &anthropicmodel.ClientConfig{
		Options: []option.RequestOption{option.WithMaxRetries(0)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collect(llm, t.Context(), ask(nil), false); !errors.Is(err, model.ErrAuth) {
		t.Errorf("error is %v", err)
	}
}

func TestNewModel(t *testing.T) {
	if _, err := anthropicmodel.NewModel(t.Context(), "", nil); !errors.Is(err, anthropicmodel.ErrModelNameRequired) {
		t.Errorf("error is %v", err)
	}
	llm, err := model.NewLLM(t.Context(), "claude-opus-4-5")
	if err != nil {
		t.Fatal(err)
	}
	if llm.Name() != "claude-opus-4-5" {
		t.Errorf("name is %q", llm.Name())
	}
}

// answering is a server that gives one answer to everything.
func answering(t *testing.T, status int, body string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	llm, err := anthropicmodel.NewModel(t.Context(), "m", &anthropicmodel.ClientConfig{
		APIKey: "k", BaseURL: "http://localhost", HTTPClient: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
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

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type reader func([]byte) (int, error)

func (f reader) Read(p []byte) (int, error) { return f(p) }

func TestACompleteAnswerDoesNotWaitForTheConnection(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, stream("end_turn", textBlock(0, "No.")))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	got, err := collect(newModel(t, server), t.Context(), ask(nil), false)
	if err != nil || len(got) != 1 {
		t.Errorf("responses are %v, error %v", got, err)
	}
}
