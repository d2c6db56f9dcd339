package tool_test

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/tool"
)

// clock is a tool written by hand.
type clock struct{}

func (clock) Name() string        { return "clock" }
func (clock) Description() string { return "Tells the time." }
func (clock) IsLongRunning() bool { return false }

func (clock) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: "clock", Description: "Tells the time."}
}

func (clock) Run(agent.Context, map[string]any) (map[string]any, error) {
	return map[string]any{"time": "noon"}, nil
}

func Example() {
	var t tool.Function = clock{}
	llm := modeltest.NewScript(modeltest.Call("c1", "clock", nil), modeltest.Text("It is noon."))
	a, err := llmagent.New(llmagent.Config{Name: "agent", Model: llm, Tools: []tool.Tool{t}})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("app", a)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("What time is it?", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		if event.IsFinalResponse() {
			fmt.Println(event.Content.Parts[0].Text)
		}
	}
	// Output: It is noon.
}
