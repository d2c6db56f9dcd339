// Package exampletool shows a model how to answer.
//
//	shown, err := exampletool.New(exampletool.ExampleToolConfig{Examples: []*exampletool.Example{{
//		Input:  genai.NewContentFromText("Is the museum open on Monday?", genai.RoleUser),
//		Output: []*genai.Content{genai.NewContentFromText("No. Next opening: Tuesday 9:00.", genai.RoleModel)},
//	}}})
//	a, err := llmagent.New(llmagent.Config{Name: "guide", Model: llm, Tools: []tool.Tool{shown}})
//
// The examples stand in the instruction of every request, not in the
// conversation: the model knows that they did not happen. They are the same
// text each time, so providers can cache it.
package exampletool

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/toolutils"
)

// Example is something a user said, and how to answer.
type Example struct {
	Input *genai.Content `json:"input"`
	// Output is the answer: texts, and calls of functions with their results.
	Output []*genai.Content `json:"output"`
}

// ExampleToolConfig has the examples, of which there must be one at least.
type ExampleToolConfig struct {
	Examples []*Example
}

// New returns a tool, a tool.RequestProcessor, that shows the examples. An
// example without input or output is an error. Later changes of the examples
// have no effect.
func New(config ExampleToolConfig) (tool.Tool, error) {
	if len(config.Examples) == 0 {
		return nil, fmt.Errorf("exampletool: no examples")
	}
	var b strings.Builder
	b.WriteString("Answer in the manner of these examples. They are no part of the conversation.\n")
	for i, example := range config.Examples {
		if example == nil {
			return nil, fmt.Errorf("exampletool: example %d is nil", i)
		}
		input, output := "", ""
		if err := write(&input, "user", example.Input); err != nil {
			return nil, fmt.Errorf("exampletool: input of example %d: %w", i, err)
		}
		for _, content := range example.Output {
			if err := write(&output, "model", content); err != nil {
				return nil, fmt.Errorf("exampletool: output of example %d: %w", i, err)
			}
		}
		if input == "" || output == "" {
			return nil, fmt.Errorf("exampletool: example %d has no input or no output", i)
		}
		fmt.Fprintf(&b, "\nExample %d\n%s%s", i+1, input, output)
	}
	return &examples{b.String()}, nil
}

// write adds the parts of content to text, one a line.
func write(text *string, who string, content *genai.Content) error {
	if content == nil {
		return nil
	}
	for _, part := range content.Parts {
		switch {
		case part == nil || part.Thought:
		case part.FunctionCall != nil:
			args, err := json.Marshal(part.FunctionCall.Args)
			if err != nil {
				return err
			}
			*text += fmt.Sprintf("[%s calls %s with %s]\n", who, part.FunctionCall.Name, args)
		case part.FunctionResponse != nil:
			result, err := json.Marshal(part.FunctionResponse.Response)
			if err != nil {
				return err
			}
			*text += fmt.Sprintf("[%s returns %s]\n", part.FunctionResponse.Name, result)
		case part.Text != "":
			*text += fmt.Sprintf("[%s] %s\n", who, part.Text)
		}
	}
	return nil
}

type examples struct{ text string }

func (e *examples) Name() string        { return "example_tool" }
func (e *examples) Description() string { return "Shows examples of good answers." }
func (e *examples) IsLongRunning() bool { return false }

func (e *examples) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	toolutils.AppendInstruction(req, e.text)
	return nil
}
