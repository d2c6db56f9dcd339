package modeltest_test

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
)

func ExampleScript() {
	llm := modeltest.NewScript(
		modeltest.Call("call-1", "weather", map[string]any{"city": "Lisbon"}),
		modeltest.Text("It is sunny."),
	)
	// An agent calls the model; here it is the example.
	for _, prompt := range []string{"How is the weather?", "{sky: clear}", "And tomorrow?"} {
		for response, err := range llm.GenerateContent(context.Background(), &model.LLMRequest{Contents: genai.Text(prompt)}, false) {
			switch {
			case err != nil:
				fmt.Println("error:", err)
			case response.Content.Parts[0].FunctionCall != nil:
				fmt.Println("call:", response.Content.Parts[0].FunctionCall.Name)
			default:
				fmt.Println("text:", response.Content.Parts[0].Text)
			}
		}
	}
	fmt.Println(len(llm.Requests()), "requests")
	// Output:
	// call: weather
	// text: It is sunny.
	// error: modeltest: call 3 of the model is not in the script; the prompt ended with "And tomorrow?"
	// 3 requests
}

func ExampleEcho() {
	req := &model.LLMRequest{Contents: genai.Text("Is anybody there?")}
	for response := range (modeltest.Echo{}).GenerateContent(context.Background(), req, false) {
		fmt.Println(response.Content.Parts[0].Text)
	}
	// Output: Is anybody there?
}
