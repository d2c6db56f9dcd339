// Package geminitool has the tools that Gemini runs itself, such as its search.
//
//	a, err := llmagent.New(llmagent.Config{
//		Name:  "reporter",
//		Model: llm,
//		Tools: []tool.Tool{
//			geminitool.GoogleSearch{},
//			geminitool.New("code", "Runs code.", &genai.Tool{CodeExecution: &genai.ToolCodeExecution{}}),
//		},
//	})
//
// Such a tool is only declared in the request. Its calls are not seen by the
// agent, so neither callbacks nor confirmations apply to it. Which of them may
// be used together, and beside functions, depends on the model.
package geminitool

import (
	"errors"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/tool"
)

// New returns a tool, a tool.RequestProcessor, that declares t in each request.
// A nil t is an error of the run. name and description are for the application:
// the model knows its own tools.
func New(name, description string, t *genai.Tool) tool.Tool {
	return &providers{name: name, description: description, tool: clone.Of(t)}
}

type providers struct {
	name, description string
	tool              *genai.Tool
}

func (p *providers) Name() string        { return p.name }
func (p *providers) Description() string { return p.description }
func (p *providers) IsLongRunning() bool { return false }

func (p *providers) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	if p.tool == nil {
		return errors.New("geminitool: the tool is nil")
	}
	declare(req, clone.Of(p.tool)) // callbacks may change the request
	return nil
}

func declare(req *model.LLMRequest, t *genai.Tool) {
	if req.Config == nil {
		req.Config = &genai.GenerateContentConfig{}
	}
	req.Config.Tools = append(req.Config.Tools, t)
}

// GoogleSearch lets Gemini search the web.
type GoogleSearch struct{}

// Name is google_search.
func (s GoogleSearch) Name() string { return "google_search" }

// Description says what the tool is for.
func (s GoogleSearch) Description() string { return "Searches the web with Google Search." }

// IsLongRunning is false: the model has the answer before it replies.
func (s GoogleSearch) IsLongRunning() bool { return false }

// ProcessRequest declares the search in req.
func (s GoogleSearch) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	declare(req, &genai.Tool{GoogleSearch: &genai.GoogleSearch{}})
	return nil
}
