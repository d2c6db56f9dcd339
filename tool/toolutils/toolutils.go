// Package toolutils helps tools that make their part of a request themselves.
//
//	func (t recall) ProcessRequest(ctx agent.Context, req *model.LLMRequest) error {
//		if noted(ctx) == 0 {
//			return nil // nothing to recall yet: the model is not told of the tool
//		}
//		return toolutils.PackTool(req, t)
//	}
//
// AppendInstruction tells the model something that holds for one request.
package toolutils

import (
	"errors"
	"fmt"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
)

// Tool is what can be declared: every tool.Function can.
type Tool interface {
	Name() string
	Declaration() *genai.FunctionDeclaration
}

// PackTool declares t in req, beside the functions that are there, and makes
// it callable. A tool without a declaration is made callable only. That
// another function of the name is declared is an error.
func PackTool(req *model.LLMRequest, t Tool) error {
	if t.Name() == "" {
		return errors.New("a tool without a name cannot be declared")
	}
	if req.Tools == nil {
		req.Tools = map[string]any{}
	}
	req.Tools[t.Name()] = t
	declaration := t.Declaration()
	if declaration == nil {
		return nil
	}
	config := configOf(req)
	var functions *genai.Tool
	for _, other := range config.Tools {
		if other == nil || len(other.FunctionDeclarations) == 0 {
			continue
		}
		functions = other
		for _, d := range other.FunctionDeclarations {
			if d.Name == declaration.Name {
				return fmt.Errorf("a function %q is declared already", d.Name)
			}
		}
	}
	if functions == nil {
		functions = &genai.Tool{}
		config.Tools = append(config.Tools, functions)
	}
	functions.FunctionDeclarations = append(functions.FunctionDeclarations, declaration)
	return nil
}

// AppendInstruction adds text to the system instruction of req.
func AppendInstruction(req *model.LLMRequest, text string) {
	config := configOf(req)
	if config.SystemInstruction == nil {
		config.SystemInstruction = &genai.Content{Role: genai.RoleUser}
	}
	config.SystemInstruction.Parts = append(config.SystemInstruction.Parts, &genai.Part{Text: text})
}

func configOf(req *model.LLMRequest) *genai.GenerateContentConfig {
	if req.Config == nil {
		req.Config = &genai.GenerateContentConfig{}
	}
	return req.Config
}
