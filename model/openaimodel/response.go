package openaimodel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/dialog"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/platform"
)

// answer is the first choice of a completion, or of a stream so far.
type answer struct {
	choices  bool // whether there is any
	thoughts string
	text     string
	refusal  string
	calls    []*toolCall
	finish   string
	version  string
	usage    *genai.GenerateContentResponseUsageMetadata
}

type toolCall struct {
	index          int64
	id, name, args string
}

func completionAnswer(completion *openai.ChatCompletion) *answer {
	a := &answer{version: completion.Model}
	if completion.JSON.Usage.Valid() {
		a.usage = usage(completion.Usage)
	}
	for _, choice := range completion.Choices {
		if choice.Index != 0 {
			continue
		}
		message := choice.Message
		a.choices, a.finish = true, choice.FinishReason
		a.text, a.refusal, a.thoughts = message.Content, message.Refusal, reasoning(message.JSON.ExtraFields)
		for _, call := range message.ToolCalls {
			a.calls = append(a.calls, &toolCall{id: call.ID, name: call.Function.Name, args: call.Function.Arguments})
		}
	}
	return a
}

// add takes in the next piece of a stream. It returns what there is to show of
// it, or nil.
func (a *answer) add(chunk openai.ChatCompletionChunk) *model.LLMResponse {
	a.version = cmp.Or(chunk.Model, a.version)
	if chunk.JSON.Usage.Valid() {
		a.usage = usage(chunk.Usage)
	}
	var parts []*genai.Part
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.choices, a.finish = true, cmp.Or(choice.FinishReason, a.finish)
		delta := choice.Delta
		thought := reasoning(delta.JSON.ExtraFields)
		a.thoughts, a.text, a.refusal = a.thoughts+thought, a.text+delta.Content, a.refusal+delta.Refusal
		parts = appendText(parts, thought, true)
		parts = appendText(parts, delta.Content, false)
		for _, piece := range delta.ToolCalls {
			a.addCall(piece)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return &model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}, ModelVersion: a.version, Partial: true}
}

// addCall takes in a piece of a call. Its index says which, but some servers
// number all calls 0: there, another ID with a name begins another call.
func (a *answer) addCall(piece openai.ChatCompletionChunkChoiceDeltaToolCall) {
	var call *toolCall
	for _, begun := range a.calls {
		if begun.index == piece.Index {
			call = begun // the last one of that index
		}
	}
	if call == nil || piece.ID != "" && call.id != "" && piece.ID != call.id && piece.Function.Name != "" {
		call = &toolCall{index: piece.Index}
		a.calls = append(a.calls, call)
	}
	call.id = cmp.Or(call.id, piece.ID)
	call.name = cmp.Or(call.name, piece.Function.Name)
	call.args += piece.Function.Arguments
}

// reasoning is what a server shows of the model's reasoning, for which the
// protocol has no field.
func reasoning(fields map[string]respjson.Field) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if field, ok := fields[name]; ok && json.Unmarshal([]byte(field.Raw()), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

func appendText(parts []*genai.Part, text string, thought bool) []*genai.Part {
	if text == "" {
		return parts
	}
	return append(parts, &genai.Part{Text: text, Thought: thought})
}

// response is the whole answer.
func (a *answer) response(ctx context.Context) (*model.LLMResponse, error) {
	if !a.choices {
		return nil, ErrEmptyResponse
	}
	content := &genai.Content{Role: genai.RoleModel}
	content.Parts = appendText(content.Parts, a.thoughts, true)
	content.Parts = appendText(content.Parts, a.text, false)
	whole := &model.LLMResponse{Content: content, FinishReason: finishReason(a.finish), UsageMetadata: a.usage, ModelVersion: a.version}
	for i, call := range a.calls {
		part, err := call.part(ctx)
		if whole.FinishReason == genai.FinishReasonMaxTokens && (err != nil || call.args == "") {
			whole.ErrorCode = string(whole.FinishReason)
			whole.ErrorMessage = fmt.Sprintf("the answer was cut within call %d, of %q", i+1, call.name)
			break
		}
		if err != nil {
			return nil, fmt.Errorf("call %d of the answer: %w", i+1, err)
		}
		content.Parts = append(content.Parts, part)
	}
	a.explain(whole)
	return whole, nil
}

// explain says what is wrong with an answer that the model did not mean to
// give. One that ran into the token limit is an answer, as far as it goes.
func (a *answer) explain(whole *model.LLMResponse) {
	reason := ""
	switch {
	case a.refusal != "":
		whole.FinishReason, reason = genai.FinishReasonSafety, a.refusal
	case whole.FinishReason == genai.FinishReasonSafety:
		reason = "a content filter stopped the answer"
	case whole.FinishReason == genai.FinishReasonMaxTokens && len(whole.Content.Parts) == 0:
		reason = "the answer was cut before its first word"
	case whole.FinishReason == genai.FinishReasonOther:
		reason = fmt.Sprintf("the answer was broken off: %s", a.finish)
	}
	if reason != "" && whole.ErrorCode == "" {
		whole.ErrorCode, whole.ErrorMessage = string(whole.FinishReason), reason
	}
}

func (c *toolCall) part(ctx context.Context) (*genai.Part, error) {
	if c.name == "" {
		return nil, ErrFunctionCallMissingName
	}
	args, err := dialog.Args(c.args)
	if err != nil {
		return nil, fmt.Errorf("%w: of %q (ID %q): %w", ErrFunctionCallArgs, c.name, c.id, err)
	}
	id := c.id
	if id == "" {
		id = "adk-" + platform.NewUUID(ctx)
	}
	return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: c.name, Args: args}}, nil
}

func finishReason(reason string) genai.FinishReason {
	switch reason {
	case "stop", "tool_calls", "function_call", "":
		return genai.FinishReasonStop
	case "length":
		return genai.FinishReasonMaxTokens
	case "content_filter":
		return genai.FinishReasonSafety
	}
	return genai.FinishReasonOther
}

// usage counts thoughts apart from the answer, as Gemini does.
func usage(u openai.CompletionUsage) *genai.GenerateContentResponseUsageMetadata {
	thoughts := min(u.CompletionTokensDetails.ReasoningTokens, u.CompletionTokens)
	return &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount:        int32(u.PromptTokens),
		CachedContentTokenCount: int32(u.PromptTokensDetails.CachedTokens),
		CandidatesTokenCount:    int32(u.CompletionTokens - thoughts),
		ThoughtsTokenCount:      int32(thoughts),
		TotalTokenCount:         int32(cmp.Or(u.TotalTokens, u.PromptTokens+u.CompletionTokens)),
	}
}
