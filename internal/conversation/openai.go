package conversation

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"google.golang.org/genai"
)

type openAIMessage struct {
	Role             string           `json:"role"`
	Content          json.RawMessage  `json:"content"`
	ReasoningContent string           `json:"reasoning_content"`
	Refusal          string           `json:"refusal"`
	ToolCalls        []openAIToolCall `json:"tool_calls"`
	ToolCallID       string           `json:"tool_call_id"`
	Name             string           `json:"name"`
}

type openAIToolCall struct {
	ID       string `json:"id"`
	Function *struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Custom *struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

type openAIPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
	InputAudio struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
	File struct {
		Data string `json:"file_data"`
		ID   string `json:"file_id"`
		Name string `json:"filename"`
	} `json:"file"`
}

// addOpenAI adds one chat message.
func addOpenAI(b *builder, raw json.RawMessage) error {
	var m openAIMessage
	if err := decode(raw, &m); err != nil {
		return err
	}
	parts, err := openAIContent(m.Content)
	if err != nil {
		return fmt.Errorf("content: %w", err)
	}
	switch m.Role {
	case "system", "developer":
		b.addSystem(joinText(parts))
	case "user":
		b.addUser(parts)
	case "assistant":
		var thought []*genai.Part
		if m.ReasoningContent != "" {
			thought = append(thought, &genai.Part{Text: m.ReasoningContent, Thought: true})
		}
		parts = append(append(thought, parts...), textParts(m.Refusal)...)
		for i, toolCall := range m.ToolCalls {
			fc, err := toolCall.functionCall()
			if err != nil {
				return fmt.Errorf("tool call %d: %w", i+1, err)
			}
			parts = append(parts, &genai.Part{FunctionCall: fc})
		}
		b.addStep(Step{}, parts)
	case "tool":
		return b.addResult(m.ToolCallID, m.Name, map[string]any{"output": joinText(parts)})
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	return nil
}

func (c openAIToolCall) functionCall() (*genai.FunctionCall, error) {
	switch {
	case c.Function != nil:
		return &genai.FunctionCall{ID: c.ID, Name: c.Function.Name, Args: arguments(c.Function.Arguments)}, nil
	case c.Custom != nil:
		return &genai.FunctionCall{ID: c.ID, Name: c.Custom.Name, Args: map[string]any{"input": c.Custom.Input}}, nil
	}
	return nil, fmt.Errorf("neither a function nor a custom tool")
}

// openAIContent reads a message's content: a string, null, or an array.
func openAIContent(raw json.RawMessage) ([]*genai.Part, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] != '[' {
		var text string
		err := decode(raw, &text)
		return textParts(text), err
	}
	var list []openAIPart
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

func (p openAIPart) parts() ([]*genai.Part, error) {
	switch p.Type {
	case "text":
		return textParts(p.Text), nil
	case "refusal":
		return textParts(p.Refusal), nil
	case "image_url":
		return urlPart(p.ImageURL.URL, "image/*")
	case "input_audio":
		return blobPart("audio/"+p.InputAudio.Format, p.InputAudio.Data)
	case "file":
		if p.File.Data != "" {
			return urlPart(p.File.Data, "application/octet-stream")
		}
		return textParts(strings.TrimSpace("[file "+p.File.ID+" "+p.File.Name) + "]"), nil
	}
	return nil, fmt.Errorf("unknown type %q", p.Type)
}

// urlPart holds the data of a data URL, and for other URLs the URL.
func urlPart(address, mimeType string) ([]*genai.Part, error) {
	rest, isData := strings.CutPrefix(address, "data:")
	if !isData {
		switch path.Ext(address) {
		case ".png":
			mimeType = "image/png"
		case ".jpg", ".jpeg":
			mimeType = "image/jpeg"
		case ".gif":
			mimeType = "image/gif"
		case ".webp":
			mimeType = "image/webp"
		}
		return []*genai.Part{{FileData: &genai.FileData{FileURI: address, MIMEType: mimeType}}}, nil
	}
	header, body, _ := strings.Cut(rest, ",")
	mediaType, isBase64 := strings.CutSuffix(header, ";base64")
	mediaType, _, _ = strings.Cut(mediaType, ";")
	if mediaType == "" {
		mediaType = "text/plain"
	}
	if isBase64 {
		return blobPart(mediaType, body)
	}
	text, err := url.PathUnescape(body)
	if err != nil {
		return nil, fmt.Errorf("malformed data URL")
	}
	return []*genai.Part{{InlineData: &genai.Blob{MIMEType: mediaType, Data: []byte(text)}}}, nil
}

// blobPart holds data that is written in base64.
func blobPart(mimeType, data string) ([]*genai.Part, error) {
	decoded, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return nil, fmt.Errorf("%s is not base64", mimeType)
	}
	return []*genai.Part{{InlineData: &genai.Blob{MIMEType: mimeType, Data: decoded}}}, nil
}
