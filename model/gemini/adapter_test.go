package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/model/modeltest"
)

func TestAdapter(t *testing.T) {
	modeltest.RunAdapter(t, modeltest.Adapter{New: newForSuite, Read: readRequest, Answer: writeAnswer, Refuse: refuse})
}

func newForSuite(t *testing.T, server *httptest.Server) model.LLM {
	t.Helper()
	llm, err := gemini.NewModel(t.Context(), "gemini-test", &genai.ClientConfig{
		APIKey: "test-key", HTTPClient: server.Client(), HTTPOptions: genai.HTTPOptions{
			BaseURL: server.URL, RetryOptions: &genai.HTTPRetryOptions{
				Attempts: genai.Ptr[int32](3), InitialDelay: genai.Ptr(0.0), Jitter: genai.Ptr(0.0),
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return llm
}

// readRequest reads the body of generateContent.
func readRequest(r *http.Request, body []byte) (modeltest.Asked, error) {
	var request struct {
		Contents          []*genai.Content
		SystemInstruction *genai.Content
		GenerationConfig  map[string]any
		Tools             []*genai.Tool
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return modeltest.Asked{}, err
	}
	if key := r.Header.Get("x-goog-api-key"); key != "test-key" {
		return modeltest.Asked{}, fmt.Errorf("the key is %q", key)
	}
	name, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1beta/models/"), ":")
	asked := modeltest.Asked{Stream: method == "streamGenerateContent", Lines: []string{modeltest.ModelLine(name)}}
	add := func(line string) { asked.Lines = append(asked.Lines, line) }
	if request.SystemInstruction != nil {
		add(modeltest.SystemLine(request.SystemInstruction.Parts[0].Text))
	}
	for _, name := range []string{"temperature", "topP", "maxOutputTokens", "stopSequences"} {
		if value, ok := request.GenerationConfig[name]; ok {
			add(modeltest.ParameterLine(name, value))
		}
	}
	for _, tool := range request.Tools {
		for _, function := range tool.FunctionDeclarations {
			add(modeltest.ToolLine(function.Name, function.Description, function.ParametersJsonSchema))
		}
	}
	for _, content := range request.Contents {
		for _, part := range content.Parts {
			switch {
			case part.FunctionCall != nil:
				add(modeltest.CallLine(part.FunctionCall.ID, part.FunctionCall.Name, part.FunctionCall.Args))
			case part.FunctionResponse != nil:
				add(modeltest.ResultLine(part.FunctionResponse.ID, part.FunctionResponse.Response))
			case part.InlineData != nil:
				add(modeltest.DataLine(part.InlineData.MIMEType, part.InlineData.Data))
			default:
				add(modeltest.TextLine(content.Role, part.Text))
			}
		}
	}
	return asked, nil
}

func writeAnswer(answer modeltest.Answer) modeltest.Written {
	var parts []*genai.Part
	for _, text := range answer.Thoughts {
		parts = append(parts, &genai.Part{Text: text, Thought: true})
	}
	for _, text := range answer.Text {
		parts = append(parts, &genai.Part{Text: text})
	}
	for _, call := range answer.Calls {
		parts = append(parts, &genai.Part{FunctionCall: call})
	}
	usage := answer.Usage
	end := genai.GenerateContentResponse{
		Candidates: []*genai.Candidate{{Content: &genai.Content{Role: genai.RoleModel}, FinishReason: answer.Finish}},
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount: int32(usage.Prompt), CachedContentTokenCount: int32(usage.Cached),
			CandidatesTokenCount: int32(usage.Answer), ThoughtsTokenCount: int32(usage.Thoughts),
			TotalTokenCount: int32(usage.Prompt + usage.Answer + usage.Thoughts),
		},
	}
	written := modeltest.Written{End: []string{event(end)}}
	for _, part := range parts {
		written.Begin = append(written.Begin, event(genai.GenerateContentResponse{
			Candidates: []*genai.Candidate{{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{part}}}},
		}))
	}
	// Unstreamed, a text comes in one part.
	whole := end
	content := &genai.Content{Role: genai.RoleModel}
	if len(answer.Thoughts) > 0 {
		content.Parts = append(content.Parts, &genai.Part{Text: strings.Join(answer.Thoughts, ""), Thought: true})
	}
	if len(answer.Text) > 0 {
		content.Parts = append(content.Parts, &genai.Part{Text: strings.Join(answer.Text, "")})
	}
	content.Parts = append(content.Parts, parts[len(answer.Thoughts)+len(answer.Text):]...)
	whole.Candidates = []*genai.Candidate{{Content: content, FinishReason: answer.Finish}}
	written.Whole = marshal(whole)
	return written
}

func event(response genai.GenerateContentResponse) string {
	return "data: " + marshal(response) + "\n\n"
}

func marshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func refuse(kind error) (int, string) {
	status, message := 0, ""
	switch {
	case errors.Is(kind, model.ErrTooLong):
		status, message = 400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
	case errors.Is(kind, model.ErrRateLimit):
		status, message = 429, "Resource has been exhausted."
	case errors.Is(kind, model.ErrAuth):
		status, message = 403, "The caller does not have permission"
	default: // blocked
		return 200, `{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}`
	}
	return status, fmt.Sprintf(`{"error": {"code": %d, "message": %q, "status": "SOME_STATUS"}}`, status, message)
}
