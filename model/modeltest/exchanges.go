package modeltest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
)

// exchange is one request, what is sent for it, what the service answers, and
// what becomes of it.
type exchange struct {
	name   string
	req    *model.LLMRequest
	sent   []string // lines of Asked, without the model's name; nil: not checked
	answer Answer
	want   string   // the whole answer, as show has it
	pieces []string // the partial ones, if there are any
	usage  *genai.GenerateContentResponseUsageMetadata
	failed bool // whether the answer has an ErrorCode
}

var (
	forecast = &genai.FunctionDeclaration{
		Name: "forecast", Description: "Tells the weather.",
		ParametersJsonSchema: map[string]any{
			"type": "object", "required": []any{"city"},
			"properties": map[string]any{"city": map[string]any{"type": "string"}},
		},
	}
	rome = &genai.FunctionCall{ID: "c-1", Name: "forecast", Args: map[string]any{"city": "Rome"}}
	oslo = &genai.FunctionCall{ID: "c-2", Name: "forecast", Args: map[string]any{"city": "Oslo"}}
)

var exchanges = []exchange{
	{
		name: "text", req: question(),
		sent:   []string{TextLine("user", "Will it rain?")},
		answer: Answer{Text: []string{"It is ", "sunny."}, Finish: genai.FinishReasonStop},
		want:   "It is sunny.", pieces: []string{"It is ", "sunny."},
	},
	{
		name: "instruction, parameters and tools", req: everything(),
		sent: []string{
			SystemLine("Be brief."),
			ParameterLine("temperature", 0.7), ParameterLine("topP", 0.9),
			ParameterLine("maxOutputTokens", 100), ParameterLine("stopSequences", []string{"END"}),
			ToolLine("forecast", "Tells the weather.", forecast.ParametersJsonSchema),
			TextLine("user", "Will it rain?"),
		},
		answer: Answer{Text: []string{"No."}, Finish: genai.FinishReasonStop},
		want:   "No.", pieces: []string{"No."},
	},
	{
		name: "conversation", req: ask(
			genai.NewContentFromText("Hello", genai.RoleUser), genai.NewContentFromText("Hi!", genai.RoleModel),
			genai.NewContentFromText("Will it rain?", genai.RoleUser),
		),
		sent:   []string{TextLine("user", "Hello"), TextLine("model", "Hi!"), TextLine("user", "Will it rain?")},
		answer: Answer{Text: []string{"No."}, Finish: genai.FinishReasonStop},
		want:   "No.", pieces: []string{"No."},
	},
	{
		name: "image", req: ask(&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
			{Text: "What is this?"}, {InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("\x89PNG")}},
		}}),
		sent:   []string{TextLine("user", "What is this?"), DataLine("image/png", []byte("\x89PNG"))},
		answer: Answer{Text: []string{"A cat."}, Finish: genai.FinishReasonStop},
		want:   "A cat.", pieces: []string{"A cat."},
	},
	{
		name: "call", req: question(),
		answer: Answer{Calls: []*genai.FunctionCall{rome}, Finish: genai.FinishReasonStop},
		want:   CallLine("c-1", "forecast", rome.Args),
	},
	{
		name: "parallel calls after a text", req: question(),
		answer: Answer{Text: []string{"I look."}, Calls: []*genai.FunctionCall{rome, oslo}, Finish: genai.FinishReasonStop},
		want:   "I look. | " + CallLine("c-1", "forecast", rome.Args) + " | " + CallLine("c-2", "forecast", oslo.Args),
	},
	{
		name: "results of parallel calls", req: ask(
			question().Contents[0],
			&genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{Text: "I look."}, {FunctionCall: rome}, {FunctionCall: oslo}}},
			&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{
				result("c-1", map[string]any{"sky": "clear"}), result("c-2", map[string]any{"sky": "grey", "mm": []any{1.5, 2.0}}),
			}},
		),
		sent: []string{
			TextLine("user", "Will it rain?"), TextLine("model", "I look."),
			CallLine("c-1", "forecast", rome.Args), CallLine("c-2", "forecast", oslo.Args),
			ResultLine("c-1", map[string]any{"sky": "clear"}), ResultLine("c-2", map[string]any{"sky": "grey", "mm": []any{1.5, 2.0}}),
		},
		answer: Answer{Text: []string{"In Oslo."}, Finish: genai.FinishReasonStop},
		want:   "In Oslo.", pieces: []string{"In Oslo."},
	},
	{
		name: "thoughts", req: question(),
		answer: Answer{Thoughts: []string{"Hm", "m."}, Text: []string{"No."}, Finish: genai.FinishReasonStop},
		want:   "(Hmm.) | No.", pieces: []string{"(Hm)", "(m.)", "No."},
	},
	{
		name: "usage", req: question(),
		answer: Answer{Text: []string{"No."}, Finish: genai.FinishReasonStop, Usage: Usage{Prompt: 12, Cached: 8, Answer: 2, Thoughts: 5}},
		want:   "No.", pieces: []string{"No."},
		usage: &genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount: 12, CachedContentTokenCount: 8, CandidatesTokenCount: 2, ThoughtsTokenCount: 5, TotalTokenCount: 19,
		},
	},
	{
		name: "cut at the token limit", req: question(),
		answer: Answer{Text: []string{"It m"}, Finish: genai.FinishReasonMaxTokens},
		want:   "It m", pieces: []string{"It m"},
	},
	{
		name: "all tokens spent before the first word", req: question(),
		answer: Answer{Finish: genai.FinishReasonMaxTokens}, failed: true,
	},
	{
		name: "refused", req: question(),
		answer: Answer{Finish: genai.FinishReasonSafety}, failed: true,
	},
	{
		name: "nothing to say", req: question(),
		answer: Answer{Finish: genai.FinishReasonStop},
	},
}

func (c exchange) run(t *testing.T, adapter Adapter, stream bool) {
	s := serve(t, adapter, func(s *service, w http.ResponseWriter, r *http.Request, asked Asked) { s.write(w, asked, c.answer) })
	llm := adapter.New(t, s.Server)
	responses, err := all(t, llm, c.req, stream)
	if err != nil {
		t.Fatal(err)
	}
	c.checkSent(t, llm.Name(), s.requests())
	last := responses[len(responses)-1]
	if got := show([]*model.LLMResponse{last})[0]; got != c.want {
		t.Errorf("answer is %q, want %q", got, c.want)
	}
	if last.FinishReason != c.answer.Finish || (last.ErrorCode != "") != c.failed {
		t.Errorf("finish reason is %q, error code %q; want %q and an error: %v", last.FinishReason, last.ErrorCode, c.answer.Finish, c.failed)
	}
	if last.Content == nil || last.Content.Role != genai.RoleModel {
		t.Errorf("content is %+v, want one of the model", last.Content)
	}
	if c.usage != nil {
		if diff := cmp.Diff(c.usage, last.UsageMetadata); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
	}
	if c.pieces != nil && stream {
		var got []string
		for _, line := range show(responses[:len(responses)-1]) {
			if piece := strings.TrimPrefix(line, "partial: "); piece != "" {
				got = append(got, piece)
			}
		}
		if diff := cmp.Diff(c.pieces, got); diff != "" {
			t.Errorf("partial responses (-want +got):\n%s", diff)
		}
	}
}

func (c exchange) checkSent(t *testing.T, name string, requests []Asked) {
	t.Helper()
	if len(requests) != 1 {
		t.Fatalf("there were %d requests, want 1", len(requests))
	}
	if c.sent == nil {
		return
	}
	want := append([]string{ModelLine(name)}, c.sent...)
	if diff := cmp.Diff(want, requests[0].Lines); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func ask(contents ...*genai.Content) *model.LLMRequest {
	return &model.LLMRequest{Contents: contents}
}

func question() *model.LLMRequest {
	return ask(genai.NewContentFromText("Will it rain?", genai.RoleUser))
}

// everything is a question with all that any service takes.
func everything() *model.LLMRequest {
	req := question()
	req.Config = &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be brief."}}},
		Temperature:       genai.Ptr[float32](0.7), TopP: genai.Ptr[float32](0.9),
		MaxOutputTokens: 100, StopSequences: []string{"END"},
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{forecast}}},
	}
	return req
}

func result(id string, response map[string]any) *genai.Part {
	return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "forecast", Response: response}}
}
