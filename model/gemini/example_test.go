package gemini_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/gemini"
)

func Example() {
	// A local server in place of the service. Without HTTPOptions the model
	// talks to Google.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `data: {"candidates": [{"content": {"parts": [{"text": "Rhine, "}]}}]}`, "\n\n")
		fmt.Fprint(w, `data: {"candidates": [{"content": {"parts": [{"text": "Nile, Po"}]}, "finishReason": "STOP"}]}`, "\n\n")
	}))
	defer server.Close()

	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", &genai.ClientConfig{
		APIKey:      "my-key",
		HTTPOptions: genai.HTTPOptions{BaseURL: server.URL},
	})
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
