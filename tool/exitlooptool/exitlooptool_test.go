package exitlooptool_test

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
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
	// The model is called once: nothing comes after the exit.
	llm := modeltest.NewScript(modeltest.Call("c1", "exit_loop", nil))
	critic, err := llmagent.New(llmagent.Config{Name: "critic", Model: llm, Tools: []tool.Tool{exit}})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("app", critic)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("Is the draft good?", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		fmt.Println("ends the loop:", event.Actions.Escalate)
	}
	// Output:
	// ends the loop: false
	// ends the loop: true
}
