package sessionfile

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"google.golang.org/genai"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // a text, a list of parts, or null
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// writeOpenAI writes messages in the form that providers take: every call with
// its result behind it. Without compacted it is what all agents said, on all
// branches.
func writeOpenAI(w io.Writer, events []*session.Event, compacted bool) error {
	if !compacted {
		events = flat(events)
	}
	contents := icontext.Normalize(icontext.Contents(events, icontext.Options{Compacted: compacted}))
	m := &messages{list: []message{}}
	for i, content := range contents {
		var err error
		if content.Role == genai.RoleModel {
			err = m.assistant(content.Parts)
		} else {
			err = m.user(content.Parts)
		}
		if err != nil {
			return fmt.Errorf("content %d: %w", i+1, err)
		}
	}
	out := bufio.NewWriter(w)
	fmt.Fprint(out, `{"messages":[`)
	for i, message := range m.list {
		line, err := toJSON(message)
		if err != nil {
			return err
		}
		separator := ",\n"
		if i == 0 {
			separator = "\n"
		}
		fmt.Fprintf(out, "%s%s", separator, line)
	}
	fmt.Fprint(out, "\n]}\n")
	return out.Flush()
}

// flat are the events as if all were of one branch and scope.
func flat(events []*session.Event) []*session.Event {
	list := make([]*session.Event, len(events))
	for i, e := range events {
		shallow := *e
		shallow.Branch, shallow.IsolationScope = "", ""
		list[i] = &shallow
	}
	return list
}

// messages are collected; calls are those without an ID that wait for their
// result, by name.
type messages struct {
	list  []message
	named int
	open  map[string][]string
}

func (m *messages) assistant(parts []*genai.Part) error {
	var texts []string
	var calls []toolCall
	for _, part := range parts {
		switch {
		case part.FunctionCall != nil:
			arguments, err := argumentsOf(part.FunctionCall)
			if err != nil {
				return err
			}
			calls = append(calls, toolCall{m.callID(part.FunctionCall), "function", function{part.FunctionCall.Name, arguments}})
		default:
			texts = append(texts, textOf(part))
		}
	}
	reply := message{Role: "assistant", ToolCalls: calls}
	if len(texts) > 0 {
		reply.Content = strings.Join(texts, "\n")
	}
	m.list = append(m.list, reply)
	return nil
}

// user writes the results first: they must stand behind their calls.
func (m *messages) user(parts []*genai.Part) error {
	var said []any
	var texts []string
	media := false
	for _, part := range parts {
		if part.FunctionResponse != nil {
			text, err := resultOf(part.FunctionResponse)
			if err != nil {
				return err
			}
			m.list = append(m.list, message{Role: "tool", ToolCallID: m.answered(part.FunctionResponse), Content: text})
			continue
		}
		object, isMedia := mediaOf(part)
		if !isMedia {
			texts = append(texts, textOf(part))
			object = map[string]any{"type": "text", "text": textOf(part)}
		}
		media = media || isMedia
		said = append(said, object)
	}
	switch {
	case media:
		m.list = append(m.list, message{Role: "user", Content: said})
	case len(texts) > 0:
		m.list = append(m.list, message{Role: "user", Content: strings.Join(texts, "\n")})
	}
	return nil
}

func (m *messages) callID(call *genai.FunctionCall) string {
	if call.ID != "" {
		return call.ID
	}
	m.named++
	id := fmt.Sprintf("call_%d", m.named)
	if m.open == nil {
		m.open = map[string][]string{}
	}
	m.open[call.Name] = append(m.open[call.Name], id)
	return id
}

func (m *messages) answered(response *genai.FunctionResponse) string {
	open := m.open[response.Name]
	if response.ID != "" || len(open) == 0 {
		return response.ID
	}
	m.open[response.Name] = open[1:]
	return open[0]
}

// argumentsOf and resultOf are the inverse of how package conversation keeps
// what is no JSON object: verbatim, under one key.

func argumentsOf(call *genai.FunctionCall) (string, error) {
	if text, ok := only(call.Args, "arguments"); ok {
		return text, nil
	}
	if call.Args == nil {
		return "{}", nil
	}
	data, err := toJSON(call.Args)
	return string(data), err
}

func resultOf(response *genai.FunctionResponse) (string, error) {
	if text, ok := only(response.Response, "output"); ok {
		return text, nil
	}
	if response.Response == nil {
		return "{}", nil
	}
	data, err := toJSON(response.Response)
	return string(data), err
}

func only(object map[string]any, key string) (string, bool) {
	text, ok := object[key].(string)
	return text, ok && len(object) == 1
}

func textOf(part *genai.Part) string {
	switch {
	case part.ExecutableCode != nil:
		return "```\n" + part.ExecutableCode.Code + "\n```"
	case part.CodeExecutionResult != nil:
		return "```\n" + part.CodeExecutionResult.Output + "\n```"
	case part.FileData != nil:
		return "[" + part.FileData.FileURI + "]"
	case part.InlineData != nil:
		return "[" + part.InlineData.MIMEType + "]"
	}
	return part.Text
}

// mediaOf is the part of a message for an image, a sound or another file.
func mediaOf(part *genai.Part) (map[string]any, bool) {
	if file := part.FileData; file != nil && strings.HasPrefix(file.MIMEType, "image/") {
		return map[string]any{"type": "image_url", "image_url": map[string]any{"url": file.FileURI}}, true
	}
	blob := part.InlineData
	if blob == nil {
		return nil, false
	}
	encoded := base64.StdEncoding.EncodeToString(blob.Data)
	url := "data:" + blob.MIMEType + ";base64," + encoded
	switch {
	case strings.HasPrefix(blob.MIMEType, "image/"):
		return map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}}, true
	case blob.MIMEType == "audio/wav":
		return map[string]any{"type": "input_audio", "input_audio": map[string]any{"data": encoded, "format": "wav"}}, true
	case blob.MIMEType == "audio/mpeg", blob.MIMEType == "audio/mp3":
		return map[string]any{"type": "input_audio", "input_audio": map[string]any{"data": encoded, "format": "mp3"}}, true
	}
	return map[string]any{"type": "file", "file": map[string]any{"file_data": url}}, true
}
