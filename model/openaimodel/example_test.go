package openaimodel_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/openaimodel"
)

func Example() {
	// A local server in place of a real one. Without BaseURL the model talks to
	// OpenAI.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices": [{"index": 0, "delta": {"content": "Rhine, "}}]}`, "\n\n")
		fmt.Fprint(w, `data: {"choices": [{"index": 0, "delta": {"content": "Nile, Po"}, "finish_reason": "stop"}]}`, "\n\n")
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer server.Close()

	ctx := context.Background()
	llm, err := openaimodel.NewModel(ctx, "qwen3", &openaimodel.ClientConfig{BaseURL: server.URL + "/v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &model.LLMRequest{Contents: genai.Text("Name three rivers.")}
	for response, err := range llm.GenerateContent(ctx, req, true) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("partial=%v %q\n", response.Partial, response.Content.Parts[0].Text)
	}
	// Output:
	// partial=true "Rhine, "
	// partial=true "Nile, Po"
	// partial=false "Rhine, Nile, Po"
}
