package logview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
)

// Kind is what a Line tells of.
type Kind string

// The kinds.
const (
	Text     Kind = "text"
	Thought  Kind = "thought"
	Call     Kind = "call"
	Response Kind = "response"
	Media    Kind = "media"
	Failure  Kind = "failure"
	Effect   Kind = "effect"
)

// Line is one thing that an event says or does. Its text may have several lines.
type Line struct {
	Kind Kind
	// Name is that of a tool, for a Call and a Response.
	Name string
	// Text is what was said, or JSON for a Call and a Response.
	Text string
}

// String is the line as a log shows it.
func (l Line) String() string {
	switch l.Kind {
	case Thought:
		return "(thought) " + l.Text
	case Call:
		return "calls " + l.Name + " " + l.Text
	case Response:
		return l.Name + " returns " + l.Text
	case Media, Effect:
		return "[" + l.Text + "]"
	case Failure:
		return "error: " + l.Text
	}
	return l.Text
}

// Lines are what an event says and does, in order. Of a summary it is the text.
func Lines(e *session.Event) []Line {
	var lines []Line
	if e.Actions.Compaction != nil {
		lines = append(lines, Line{Kind: Text, Text: e.Actions.Compaction.Text()})
	}
	lines = append(lines, ContentLines(e.Content)...)
	if e.ErrorCode != "" || e.ErrorMessage != "" {
		lines = append(lines, Line{Kind: Failure, Text: strings.TrimSpace(e.ErrorCode + " " + e.ErrorMessage)})
	}
	if len(e.Actions.StateDelta) > 0 {
		lines = append(lines, Line{Kind: Effect, Text: "sets " + toJSON(e.Actions.StateDelta)})
	}
	if e.Actions.TransferToAgent != "" {
		lines = append(lines, Line{Kind: Effect, Text: "hands over to " + e.Actions.TransferToAgent})
	}
	if e.Actions.RewindBeforeInvocationID != "" {
		lines = append(lines, Line{Kind: Effect, Text: "takes back all from invocation " + e.Actions.RewindBeforeInvocationID + " on"})
	}
	return lines
}

// ContentLines are the parts of a content, which may be nil.
func ContentLines(content *genai.Content) []Line {
	if content == nil {
		return nil
	}
	var lines []Line
	for _, part := range content.Parts {
		if line, ok := partLine(part); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

func partLine(part *genai.Part) (Line, bool) {
	switch {
	case part == nil:
		return Line{}, false
	case part.FunctionCall != nil:
		return Line{Kind: Call, Name: part.FunctionCall.Name, Text: toJSON(part.FunctionCall.Args)}, true
	case part.FunctionResponse != nil:
		return Line{Kind: Response, Name: part.FunctionResponse.Name, Text: toJSON(part.FunctionResponse.Response)}, true
	case part.InlineData != nil:
		return Line{Kind: Media, Text: fmt.Sprintf("%s, %d bytes", part.InlineData.MIMEType, len(part.InlineData.Data))}, true
	case part.FileData != nil:
		return Line{Kind: Media, Text: strings.TrimSpace(part.FileData.MIMEType + " " + part.FileData.FileURI)}, true
	case part.ExecutableCode != nil:
		return Line{Kind: Text, Text: part.ExecutableCode.Code}, true
	case part.CodeExecutionResult != nil:
		return Line{Kind: Text, Text: part.CodeExecutionResult.Output}, true
	case part.Text == "":
		return Line{}, false
	case part.Thought:
		return Line{Kind: Thought, Text: part.Text}, true
	}
	return Line{Kind: Text, Text: part.Text}, true
}

func toJSON(object map[string]any) string {
	if object == nil {
		return "{}"
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return fmt.Sprint(object) // no JSON, but somebody's value all the same
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// Said is what an event says, without names of tools and of fields: the text in
// which to look for values.
func Said(e *session.Event) string {
	if e.Content == nil {
		return ""
	}
	var said []string
	for _, part := range e.Content.Parts {
		switch {
		case part == nil || part.Thought:
		case part.FunctionCall != nil:
			said = leaves(said, part.FunctionCall.Args)
		case part.FunctionResponse != nil:
			said = leaves(said, part.FunctionResponse.Response)
		case part.Text != "":
			said = append(said, part.Text)
		}
	}
	return strings.Join(said, "\n")
}

// leaves appends the texts and numbers in a value, in order of their keys.
func leaves(list []string, value any) []string {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			list = leaves(list, value[key])
		}
	case []any:
		for _, item := range value {
			list = leaves(list, item)
		}
	case string:
		// Tools often write JSON as a text.
		var inner map[string]any
		if strings.HasPrefix(value, "{") && json.Unmarshal([]byte(value), &inner) == nil {
			return leaves(list, inner)
		}
		list = append(list, value)
	case float64:
		list = append(list, strconv.FormatFloat(value, 'f', -1, 64))
	case int, int64, json.Number:
		list = append(list, fmt.Sprint(value))
	}
	return list
}
