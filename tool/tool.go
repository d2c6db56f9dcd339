// Package tool defines what an agent can call.
//
// Most tools are Go functions, which package functiontool makes into tools. A
// tool written by hand is a Function:
//
//	type clock struct{}
//
//	func (clock) Name() string        { return "clock" }
//	func (clock) Description() string { return "Tells the time." }
//	func (clock) IsLongRunning() bool { return false }
//	func (clock) Declaration() *genai.FunctionDeclaration {
//		return &genai.FunctionDeclaration{Name: "clock", Description: "Tells the time."}
//	}
//	func (clock) Run(ctx agent.Context, args map[string]any) (map[string]any, error) {
//		return map[string]any{"time": time.Now().Format(time.Kitchen)}, nil
//	}
package tool

import (
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/model"
)

// Context is the context a tool runs in.
type Context = agent.Context

// Tool is something that a model may use. To have an effect it is a Function,
// or a RequestProcessor, or both.
type Tool interface {
	// Name is unique among the tools of an agent.
	Name() string
	// Description tells the model what the tool is for.
	Description() string
	// IsLongRunning reports whether the answer may come after the run.
	IsLongRunning() bool
}

// Function is a tool that the agent runs when the model calls it.
type Function interface {
	Tool
	// Declaration tells the model how to call the tool.
	Declaration() *genai.FunctionDeclaration
	// Run answers a call. An error is told to the model as the answer. The
	// calls of one model response run at the same time. A long-running tool
	// may return nil: then the call stays open.
	Run(ctx agent.Context, args map[string]any) (map[string]any, error)
}

// RequestProcessor is a tool that has a part in making the request, such as a
// tool of the provider's own.
type RequestProcessor interface {
	Tool
	// ProcessRequest may change req, which is this call's alone. The flow does
	// not add the declaration of a tool that has this method.
	ProcessRequest(ctx agent.Context, req *model.LLMRequest) error
}

// Toolset is a changing set of tools.
type Toolset interface {
	Name() string
	// Tools are the tools as of now. It is called before every model call.
	Tools(ctx agent.ReadonlyContext) ([]Tool, error)
}
