// Package functioncallmodifier has a plugin that has the model give arguments
// that the tools themselves do not have, such as why it calls them, and keeps
// these in the state.
//
//	p, err := functioncallmodifier.NewPlugin(functioncallmodifier.FunctionCallModifierConfig{
//		Predicate: func(toolName string) bool { return toolName == "pay" },
//		Args:      map[string]*genai.Schema{"reason": {Type: genai.TypeString, Description: "why"}},
//	})
//
// The model is shown the tool pay with one more argument, reason. What it gives
// for it is taken out of the call and put into the state under the ID of the
// call, a slash and the name, which the tool can read:
//
//	reason, err := ctx.State().Get(ctx.FunctionCallID() + "/reason")
package functioncallmodifier

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/internal/schema"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/plugin"
)

// FunctionCallModifierConfig says which tools get which arguments.
type FunctionCallModifierConfig struct {
	// Predicate picks the tools. It must be set.
	Predicate func(toolName string) bool
	// Args are the arguments to add, by name.
	Args map[string]*genai.Schema
	// OverrideDescription, if set, makes the description that the model is
	// shown of the tool's own.
	OverrideDescription func(originalDescription string) string
}

// NewPlugin returns the plugin.
func NewPlugin(cfg FunctionCallModifierConfig) (*plugin.Plugin, error) {
	if cfg.Predicate == nil {
		return nil, errors.New("functioncallmodifier: Predicate must be set")
	}
	for name, arg := range cfg.Args {
		if _, err := schema.Compile(arg); err != nil {
			return nil, fmt.Errorf("functioncallmodifier: argument %q: %w", name, err)
		}
	}
	return plugin.New(plugin.Config{
		Name:                "FunctionCallModifierPlugin",
		BeforeModelCallback: cfg.beforeModel,
		AfterModelCallback:  cfg.afterModel,
	})
}

// MustNewPlugin is NewPlugin that panics where NewPlugin fails.
func MustNewPlugin(cfg FunctionCallModifierConfig) *plugin.Plugin {
	p, err := NewPlugin(cfg)
	if err != nil {
		panic(err)
	}
	return p
}

// beforeModel adds the arguments to what the model is shown. Declarations may
// be shared with the tools, and are replaced.
func (cfg FunctionCallModifierConfig) beforeModel(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
	if req.Config == nil {
		return nil, nil
	}
	for _, t := range req.Config.Tools {
		for i, declaration := range t.FunctionDeclarations {
			if req.Tools[declaration.Name] == nil || !cfg.Predicate(declaration.Name) {
				continue
			}
			extended, err := cfg.extend(*declaration)
			if err != nil {
				return nil, fmt.Errorf("functioncallmodifier: tool %q: %w", declaration.Name, err)
			}
			t.FunctionDeclarations[i] = extended
		}
	}
	return nil, nil
}

func (cfg FunctionCallModifierConfig) extend(declaration genai.FunctionDeclaration) (*genai.FunctionDeclaration, error) {
	if cfg.OverrideDescription != nil {
		declaration.Description = cfg.OverrideDescription(declaration.Description)
	}
	if declaration.ParametersJsonSchema != nil {
		parameters, err := cfg.extendJSON(declaration.ParametersJsonSchema)
		declaration.ParametersJsonSchema = parameters
		return &declaration, err
	}
	declaration.Parameters = clone.Of(declaration.Parameters)
	if declaration.Parameters == nil {
		declaration.Parameters = &genai.Schema{Type: genai.TypeObject}
	}
	if declaration.Parameters.Properties == nil {
		declaration.Parameters.Properties = map[string]*genai.Schema{}
	}
	for name, arg := range cfg.Args {
		declaration.Parameters.Properties[name] = arg
	}
	return &declaration, nil
}

// extendJSON adds the arguments to a JSON Schema of any Go type.
func (cfg FunctionCallModifierConfig) extendJSON(parameters any) (map[string]any, error) {
	data, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	var extended map[string]any
	if err := json.Unmarshal(data, &extended); err != nil {
		return nil, err
	}
	properties, ok := extended["properties"].(map[string]any)
	if !ok {
		properties = map[string]any{}
		extended["properties"] = properties
	}
	for name, arg := range cfg.Args {
		if properties[name], err = schema.JSON(arg); err != nil {
			return nil, err
		}
	}
	return extended, nil
}

// afterModel moves the arguments from the calls to the state.
func (cfg FunctionCallModifierConfig) afterModel(ctx agent.Context, response *model.LLMResponse, err error) (*model.LLMResponse, error) {
	if err != nil || response == nil || response.Content == nil || response.Partial {
		return nil, nil
	}
	for _, part := range response.Content.Parts {
		if part == nil || part.FunctionCall == nil || !cfg.Predicate(part.FunctionCall.Name) {
			continue
		}
		call := part.FunctionCall
		if call.ID == "" {
			call.ID = "adk-" + platform.NewUUID(ctx)
		}
		for name := range cfg.Args {
			value, given := call.Args[name]
			if !given {
				continue
			}
			delete(call.Args, name)
			if err := ctx.State().Set(call.ID+"/"+name, value); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}
