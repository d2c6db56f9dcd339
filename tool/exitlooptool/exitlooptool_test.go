package exitlooptool_test

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/agent/workflowagents/loopagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/exitlooptool"
)

func Example() {
	exit, err := exitlooptool.New()
	if err != nil {
		panic(err)
	}
	critic, err := llmagent.New(llmagent.Config{
		Name: "critic",
		// Nothing comes after the exit: the model is not called again.
		Model: modeltest.NewScript(modeltest.Text("Too short."), modeltest.Call("c1", "exit_loop", nil)),
		Tools: []tool.Tool{exit},
	})
	if err != nil {
		panic(err)
	}
	loop, err := loopagent.New(loopagent.Config{AgentConfig: agent.Config{Name: "loop", SubAgents: []agent.Agent{critic}}})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("app", loop)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("Is the draft good?", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		for _, part := range event.Content.Parts {
			switch {
			case part.FunctionCall != nil:
				fmt.Println("calls", part.FunctionCall.Name)
			case part.Text != "":
				fmt.Println(part.Text)
			}
		}
	}
	// Output:
	// Too short.
	// calls exit_loop
}
