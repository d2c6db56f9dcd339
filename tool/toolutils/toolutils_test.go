package toolutils_test

import (
	"fmt"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/tool/toolutils"
)

type declared struct {
	name        string
	declaration *genai.FunctionDeclaration
}

func (d declared) Name() string                            { return d.name }
func (d declared) Declaration() *genai.FunctionDeclaration { return d.declaration }

func named(name string) declared { return declared{name, &genai.FunctionDeclaration{Name: name}} }

func ExamplePackTool() {
	req := &model.LLMRequest{}
	for _, name := range []string{"read", "write", "read"} {
		if err := toolutils.PackTool(req, named(name)); err != nil {
			fmt.Println(err)
		}
	}
	for _, d := range req.Config.Tools[0].FunctionDeclarations {
		fmt.Println(d.Name)
	}
	// Output:
	// a function "read" is declared already
	// read
	// write
}

func TestPackTool(t *testing.T) {
	search := &genai.Tool{GoogleSearch: &genai.GoogleSearch{}}
	req := &model.LLMRequest{Config: &genai.GenerateContentConfig{Tools: []*genai.Tool{nil, search}}}
	for _, each := range []declared{named("a"), named("b"), {name: "undeclared"}} {
		if err := toolutils.PackTool(req, each); err != nil {
			t.Error(err)
		}
	}
	if tools := req.Config.Tools; len(tools) != 3 || tools[1] != search || len(search.FunctionDeclarations) != 0 || len(tools[2].FunctionDeclarations) != 2 {
		t.Errorf("declared %v", tools)
	}
	for _, name := range []string{"a", "b", "undeclared"} {
		if req.Tools[name] == nil {
			t.Errorf("%s cannot be called", name)
		}
	}
	if err := toolutils.PackTool(req, declared{}); err == nil {
		t.Error("a tool without a name was taken")
	}
}

func TestAppendInstruction(t *testing.T) {
	req := &model.LLMRequest{}
	toolutils.AppendInstruction(req, "one")
	toolutils.AppendInstruction(req, "two")
	if parts := req.Config.SystemInstruction.Parts; len(parts) != 2 || parts[0].Text != "one" || parts[1].Text != "two" {
		t.Errorf("instruction %v", req.Config.SystemInstruction)
	}
}
