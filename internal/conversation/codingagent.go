package conversation

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"

	"google.golang.org/genai"
)

type codingMessage struct {
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"`
	StopReason   string          `json:"stopReason"`
	ErrorMessage string          `json:"errorMessage"`
	Usage        codingUsage     `json:"usage"`
	ToolCallID   string          `json:"toolCallId"`
	ToolName     string          `json:"toolName"`
	IsError      bool            `json:"isError"`
}

type codingPart struct {
	Type              string          `json:"type"`
	Text              string          `json:"text"`
	Thinking          string          `json:"thinking"`
	ThinkingSignature string          `json:"thinkingSignature"`
	ID                string          `json:"id"`
	Name              string          `json:"name"`
	Arguments         json.RawMessage `json:"arguments"`
	Data              string          `json:"data"`
	MIMEType          string          `json:"mimeType"`
}

// addCodingAgent adds one line of the log. Lines that are no messages, such as
// a change of the model, are not part of the conversation.
func addCodingAgent(b *builder, raw json.RawMessage) error {
	var line struct {
		Type    *string         `json:"type"`
		Message json.RawMessage `json:"message"`
	}
	if err := decode(raw, &line); err != nil {
		return err
	}
	if line.Type == nil {
		return fmt.Errorf("a line without a type")
	}
	if *line.Type != "message" {
		return nil
	}
	var m codingMessage
	if err := decode(line.Message, &m); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	parts, err := codingContent(m.Content)
	if err != nil {
		return fmt.Errorf("content: %w", err)
	}
	switch m.Role {
	case "user":
		b.addUser(parts)
	case "assistant":
		step := Step{Usage: m.Usage.metadata()}
		if m.StopReason == "aborted" || m.StopReason == "error" {
			step.ErrorCode, step.ErrorMessage = m.StopReason, m.ErrorMessage
		}
		b.addStep(step, parts)
	case "toolResult":
		text := joinText(parts)
		response := map[string]any{"error": text}
		if !m.IsError {
			response = map[string]any{"output": text}
		}
		return b.addResult(m.ToolCallID, m.ToolName, response)
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	return nil
}

func codingContent(raw json.RawMessage) ([]*genai.Part, error) {
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		err := decode(raw, &text)
		return textParts(text), err
	}
	if len(raw) == 0 {
		return nil, nil
	}
	var list []codingPart
	if err := decode(raw, &list); err != nil {
		return nil, err
	}
	var parts []*genai.Part
	for i, p := range list {
		converted, err := p.parts()
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i+1, err)
		}
		parts = append(parts, converted...)
	}
	return parts, nil
}

func (p codingPart) parts() ([]*genai.Part, error) {
	switch p.Type {
	case "text":
		return textParts(p.Text), nil
	case "thinking":
		// Some providers' signatures are no base64, and those are of no use
		// to any other provider.
		signature, err := base64.StdEncoding.DecodeString(p.ThinkingSignature)
		if err != nil || len(signature) == 0 {
			signature = nil
		}
		return []*genai.Part{{Text: p.Thinking, Thought: true, ThoughtSignature: signature}}, nil
	case "toolCall":
		return []*genai.Part{{FunctionCall: &genai.FunctionCall{ID: p.ID, Name: p.Name, Args: arguments(string(p.Arguments))}}}, nil
	case "image":
		return blobPart(p.MIMEType, p.Data)
	}
	return nil, fmt.Errorf("unknown type %q", p.Type)
}

type codingUsage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
}

// metadata returns nil if nothing was recorded, as for a call that was aborted
// before it was answered.
func (u codingUsage) metadata() *genai.GenerateContentResponseUsageMetadata {
	if u == (codingUsage{}) {
		return nil
	}
	input, output, cacheRead, cacheWrite := bound(u.Input), bound(u.Output), bound(u.CacheRead), bound(u.CacheWrite)
	prompt := bound(input + cacheRead + cacheWrite)
	return &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount:        int32(prompt),
		CachedContentTokenCount: int32(cacheRead),
		CandidatesTokenCount:    int32(output),
		TotalTokenCount:         int32(bound(prompt + output)),
	}
}

// bound keeps a count in what the metadata can hold.
func bound(n int64) int64 {
	return min(max(n, 0), math.MaxInt32)
}
