package compaction

import (
	"encoding/json"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/estimate"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
)

// estimateTokens estimates the tokens of a text.
func estimateTokens(text string) int { return estimate.Tokens(text) }

// estimateEvents estimates the tokens that events take in a prompt.
func estimateEvents(events []*session.Event) int {
	total := 0
	for _, e := range events {
		total += estimateContent(e.Content)
		if record := e.Actions.Compaction; record != nil {
			total += estimateContent(record.CompactedContent)
		}
	}
	return total
}

// estimateRequest estimates the tokens of a whole request: instruction, tools
// and contents.
func estimateRequest(req *model.LLMRequest) int {
	if req == nil {
		return 0
	}
	total := 0
	for _, content := range req.Contents {
		total += estimateContent(content)
	}
	if req.Config != nil {
		total += estimateContent(req.Config.SystemInstruction)
		for _, t := range req.Config.Tools {
			total += estimateTokens(compactJSON(t))
		}
	}
	return total
}

func estimateContent(content *genai.Content) int {
	if content == nil {
		return 0
	}
	total := 0
	for _, part := range content.Parts {
		if part == nil || part.Thought {
			continue
		}
		total += estimateTokens(part.Text)
		if call := part.FunctionCall; call != nil {
			total += estimateTokens(call.Name) + estimateTokens(compactJSON(call.Args))
		}
		if response := part.FunctionResponse; response != nil {
			total += estimateTokens(response.Name) + estimateTokens(compactJSON(response.Response))
		}
		if part.InlineData != nil || part.FileData != nil {
			// What providers count for an image of common size.
			total += 258
		}
	}
	return total
}

func compactJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
