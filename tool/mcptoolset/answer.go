package mcptoolset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxOutput is how many bytes of a result the model is given.
const maxOutput = 256 << 10

// answerOf is a result as the model is told it.
func answerOf(result *mcp.CallToolResult) (map[string]any, error) {
	if result == nil {
		return nil, errors.New("the server sent no result")
	}
	if result.NeedsInput() {
		return nil, errors.New("the server asks for input that it cannot be given")
	}
	text, attachments := contentsOf(result.Content)
	if result.IsError {
		if text == "" {
			text = "the server does not say why"
		}
		text, _ = start(text)
		return nil, errors.New(text)
	}
	var output any = text
	if result.StructuredContent != nil {
		output = result.StructuredContent
		encoded, err := json.Marshal(output)
		if err != nil {
			return nil, fmt.Errorf("structured content: %w", err)
		}
		text = string(encoded)
	}
	answer := map[string]any{"output": output}
	if short, cut := start(text); cut {
		answer["output"] = short
		answer["note"] = fmt.Sprintf("This is the start of an output of %d bytes. Ask for less at a time.", len(text))
	}
	if len(attachments) > 0 {
		answer["attachments"] = attachments
	}
	return answer, nil
}

// start is as much of text as the model is given, and whether that is less.
func start(text string) (string, bool) {
	if len(text) <= maxOutput {
		return text, false
	}
	return strings.ToValidUTF8(text[:maxOutput], ""), true // a character may be cut
}

// contentsOf is the text of contents, and what the rest is.
func contentsOf(contents []mcp.Content) (string, []any) {
	var texts []string
	var attachments []any
	attach := func(kind, mimeType string, size int, rest map[string]any) {
		attachment := map[string]any{"type": kind}
		if mimeType != "" {
			attachment["mimeType"] = mimeType
		}
		if size >= 0 {
			attachment["bytes"] = size
		}
		for key, value := range rest {
			if value != "" {
				attachment[key] = value
			}
		}
		attachments = append(attachments, attachment)
	}
	for _, content := range contents {
		switch c := content.(type) {
		case *mcp.TextContent:
			texts = append(texts, c.Text)
		case *mcp.ImageContent:
			attach("image", c.MIMEType, len(c.Data), nil)
		case *mcp.AudioContent:
			attach("audio", c.MIMEType, len(c.Data), nil)
		case *mcp.ResourceLink:
			attach("link", c.MIMEType, -1, map[string]any{"uri": c.URI, "name": c.Name, "description": c.Description})
		case *mcp.EmbeddedResource:
			if c.Resource == nil {
				continue
			}
			if c.Resource.Text != "" {
				texts = append(texts, c.Resource.URI+":\n"+c.Resource.Text)
				continue
			}
			attach("resource", c.Resource.MIMEType, len(c.Resource.Blob), map[string]any{"uri": c.Resource.URI})
		default:
			attach(fmt.Sprintf("%T", content), "", -1, nil)
		}
	}
	return strings.Join(texts, "\n"), attachments
}
