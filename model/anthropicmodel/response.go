package anthropicmodel

import (
	"cmp"
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/dialog"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/platform"
)

// redacted marks, in the metadata of a part, a thought that the service shows
// in encrypted form only, which is its signature.
const redacted = "anthropic.redacted_thinking"

// answer is a message so far. inputs are the arguments of its calls as they
// came, by the index of the block: the client empties those that are not valid.
type answer struct {
	message anthropic.Message
	inputs  map[int64]string
	ended   bool
}

// add takes in the next event. It returns what there is to show of it, or nil.
func (a *answer) add(event anthropic.MessageStreamEventUnion) (*model.LLMResponse, error) {
	if err := a.message.Accumulate(event); err != nil {
		return nil, err
	}
	part := &genai.Part{}
	switch event.Type {
	case "message_stop":
		a.ended = a.message.StopReason != ""
	case "content_block_start":
		part.Text = event.ContentBlock.Text
	case "content_block_delta":
		switch event.Delta.Type {
		case "text_delta":
			part.Text = event.Delta.Text
		case "thinking_delta":
			part.Text, part.Thought = event.Delta.Thinking, true
		case "input_json_delta":
			a.inputs[event.Index] += event.Delta.PartialJSON
		}
	}
	if part.Text == "" {
		return nil, nil
	}
	return &model.LLMResponse{
		Content:      &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{part}},
		ModelVersion: a.message.Model, Partial: true,
	}, nil
}

// response is the whole answer.
func (a *answer) response(ctx context.Context) (*model.LLMResponse, error) {
	content := &genai.Content{Role: genai.RoleModel}
	whole := &model.LLMResponse{
		Content: content, FinishReason: finishReason(a.message.StopReason),
		UsageMetadata: usage(a.message.Usage), ModelVersion: a.message.Model,
	}
	for i, block := range a.message.Content {
		part, err := a.part(ctx, i, block)
		if err != nil && block.Type == "tool_use" && whole.FinishReason == genai.FinishReasonMaxTokens {
			whole.ErrorCode = string(whole.FinishReason)
			whole.ErrorMessage = fmt.Sprintf("the answer was cut within the call of %q", block.Name)
			break
		}
		if err != nil {
			return nil, fmt.Errorf("block %d of the answer: %w", i+1, err)
		}
		if part != nil {
			content.Parts = append(content.Parts, part)
		}
	}
	a.explain(whole)
	return whole, nil
}

// part is a block as a part, or nil if it says nothing.
func (a *answer) part(ctx context.Context, index int, block anthropic.ContentBlockUnion) (*genai.Part, error) {
	switch block.Type {
	case "text":
		if block.Text == "" {
			return nil, nil
		}
		return &genai.Part{Text: block.Text}, nil
	case "thinking":
		return &genai.Part{Text: block.Thinking, Thought: true, ThoughtSignature: []byte(block.Signature)}, nil
	case "redacted_thinking":
		return &genai.Part{Thought: true, ThoughtSignature: []byte(block.Data), PartMetadata: map[string]any{redacted: true}}, nil
	case "tool_use":
		input, streamed := a.inputs[int64(index)]
		if !streamed {
			input = string(block.Input)
		}
		args, err := dialog.Args(input)
		if err != nil {
			return nil, fmt.Errorf("%w: of %q (ID %q): %w", ErrFunctionCallArgs, block.Name, block.ID, err)
		}
		id := block.ID
		if id == "" {
			id = "adk-" + platform.NewUUID(ctx)
		}
		return &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: block.Name, Args: args}}, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnsupportedContentBlockType, block.Type)
}

// explain says what is wrong with an answer that the model did not mean to
// give. One that ran into the token limit is an answer, as far as it goes.
func (a *answer) explain(whole *model.LLMResponse) {
	reason := ""
	switch {
	case whole.FinishReason == genai.FinishReasonSafety:
		reason = cmp.Or(a.message.StopDetails.Explanation, "the model refused to answer")
	case whole.FinishReason == genai.FinishReasonMaxTokens && len(whole.Content.Parts) == 0:
		reason = "the answer was cut before its first word"
	case whole.FinishReason == genai.FinishReasonOther:
		reason = fmt.Sprintf("the answer was broken off: %s", a.message.StopReason)
	}
	if reason != "" && whole.ErrorCode == "" {
		whole.ErrorCode, whole.ErrorMessage = string(whole.FinishReason), reason
	}
}

// finishReason maps the end of the window, too, to the limit of tokens: the
// answer is cut either way.
func finishReason(reason anthropic.StopReason) genai.FinishReason {
	switch reason {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence, anthropic.StopReasonToolUse:
		return genai.FinishReasonStop
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return genai.FinishReasonMaxTokens
	case anthropic.StopReasonRefusal:
		return genai.FinishReasonSafety
	}
	return genai.FinishReasonOther
}

// usage counts as Gemini does: the cached part of a prompt is part of it, and
// thoughts are apart from the answer.
func usage(u anthropic.Usage) *genai.GenerateContentResponseUsageMetadata {
	prompt := u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
	thoughts := min(u.OutputTokensDetails.ThinkingTokens, u.OutputTokens)
	return &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount:        int32(prompt),
		CachedContentTokenCount: int32(u.CacheReadInputTokens),
		CandidatesTokenCount:    int32(u.OutputTokens - thoughts),
		ThoughtsTokenCount:      int32(thoughts),
		TotalTokenCount:         int32(prompt + u.OutputTokens),
	}
}
