package exampletool_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/exampletool"
)

func Example() {
	shown, err := exampletool.New(exampletool.ExampleToolConfig{Examples: []*exampletool.Example{{
		Input: genai.NewContentFromText("Is the museum open on Monday?", genai.RoleUser),
		Output: []*genai.Content{
			genai.NewContentFromFunctionCall("hours", map[string]any{"day": "Monday"}, genai.RoleModel),
			genai.NewContentFromFunctionResponse("hours", map[string]any{"open": false}, genai.RoleUser),
			genai.NewContentFromText("No. Next opening: Tuesday 9:00.", genai.RoleModel),
		},
	}}})
	if err != nil {
		panic(err)
	}
	// An agent does this before it calls its model.
	req := &model.LLMRequest{}
	if err := shown.(tool.RequestProcessor).ProcessRequest(nil, req); err != nil {
		panic(err)
	}
	fmt.Println(req.Config.SystemInstruction.Parts[0].Text)
	// Output:
	// Answer in the manner of these examples. They are no part of the conversation.
	//
	// Example 1
	// [user] Is the museum open on Monday?
	// [model calls hours with {"day":"Monday"}]
	// [hours returns {"open":false}]
	// [model] No. Next opening: Tuesday 9:00.
}

func TestUnfitExamples(t *testing.T) {
	text := genai.NewContentFromText("text", genai.RoleUser)
	nan := map[string]any{"n": math.NaN()}
	for want, examples := range map[string][]*exampletool.Example{
		"no examples":               nil,
		"example 1 is nil":          {{Input: text, Output: []*genai.Content{text}}, nil},
		"example 0 has no input":    {{Output: []*genai.Content{text}}},
		"has no input or no output": {{Input: text, Output: []*genai.Content{nil, {Parts: []*genai.Part{nil, {Text: "hm", Thought: true}}}}}},
		"input of example 0":        {{Input: genai.NewContentFromFunctionCall("f", nan, genai.RoleUser)}},
		"output of example 0":       {{Input: text, Output: []*genai.Content{genai.NewContentFromFunctionResponse("f", nan, genai.RoleUser)}}},
	} {
		if _, err := exampletool.New(exampletool.ExampleToolConfig{Examples: examples}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
