package model_test

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
)

func Example() {
	var llm model.LLM = modeltest.Echo{} // any model will do
	req := &model.LLMRequest{Contents: genai.Text("Hello out there")}
	for response, err := range llm.GenerateContent(context.Background(), req, true) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("partial=%v %q\n", response.Partial, response.Content.Parts[0].Text)
	}
	// Output:
	// partial=true "Hello "
	// partial=true "out "
	// partial=true "there"
	// partial=false "Hello out there"
}

func ExampleError() {
	llm := modeltest.NewScript(modeltest.Fail(&model.Error{
		Provider: "gemini", Status: 400, Kind: model.ErrTooLong, Err: errors.New("1200000 tokens"),
	}))
	req := &model.LLMRequest{Contents: genai.Text("A very long question")}
	for _, err := range llm.GenerateContent(context.Background(), req, false) {
		if errors.Is(err, model.ErrTooLong) {
			fmt.Println("make the prompt smaller:", err)
		}
	}
	// Output: make the prompt smaller: gemini (status 400): prompt too long for the model: 1200000 tokens
}

func ExampleNewLLM() {
	// Adapters do this when they are imported; so can an application.
	model.Register(`echo(-.*)?`, func(ctx context.Context, name string) (model.LLM, error) {
		return modeltest.Echo{}, nil
	})
	llm, err := model.NewLLM(context.Background(), "echo-large")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(llm.Name())
	// Output: echo
}
