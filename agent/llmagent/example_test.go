package llmagent_test

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

func Example() {
	type args struct {
		City string `json:"city"`
	}
	weather, err := functiontool.New(functiontool.Config{
		Name: "weather", Description: "Tells the weather in a city.",
	}, func(_ agent.Context, in args) (string, error) {
		return "sunny in " + in.City, nil
	})
	if err != nil {
		panic(err)
	}
	// The model says what it would say.
	llm := modeltest.NewScript(
		modeltest.Call("call-1", "weather", map[string]any{"city": "Lisbon"}),
		modeltest.Text("Take sunglasses."),
	)
	guide, err := llmagent.New(llmagent.Config{
		Name:        "guide",
		Model:       llm,
		Instruction: "You guide visitors{greeting?}.",
		Tools:       []tool.Tool{weather},
	})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("travel", guide)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("What is it like in Lisbon?", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		part := event.Content.Parts[0]
		switch {
		case part.FunctionCall != nil:
			fmt.Println("calls", part.FunctionCall.Name, part.FunctionCall.Args)
		case part.FunctionResponse != nil:
			fmt.Println("gets", part.FunctionResponse.Response)
		default:
			fmt.Println("says", part.Text)
		}
	}
	// Output:
	// calls weather map[city:Lisbon]
	// gets map[result:sunny in Lisbon]
	// says Take sunglasses.
}

// An instruction is filled with the session's state, in which the answers of
// earlier agents and turns can be kept.
func ExampleConfig() {
	llm := modeltest.NewScript(modeltest.Text("Lisbon"), modeltest.Text("Lisbon is sunny."))
	guide, err := llmagent.New(llmagent.Config{
		Name:        "guide",
		Model:       llm,
		Instruction: "You guide {user:name}. The last answer was: {answer?}.",
		OutputKey:   "answer",
	})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("travel", guide)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for _, question := range []string{"Where shall I go?", "And the weather there?"} {
		message := genai.NewContentFromText(question, genai.RoleUser)
		for _, err := range r.Run(ctx, "ada", "s1", message, agent.RunConfig{}, runner.WithStateDelta(map[string]any{"user:name": "Ada"})) {
			if err != nil {
				panic(err)
			}
		}
	}
	for _, request := range llm.Requests() {
		fmt.Println(request.Config.SystemInstruction.Parts[0].Text)
	}
	// Output:
	// You guide Ada. The last answer was: .
	// You guide Ada. The last answer was: Lisbon.
}
