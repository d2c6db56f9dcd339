package anthropicmodel_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/anthropicmodel"
)

func Example() {
	// A local server in place of the service. Without BaseURL the model talks to
	// Anthropic.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"type": "message_start", "message": {"role": "assistant", "content": []}}`,
			`{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}`,
			`{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Rhine, "}}`,
			`{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Nile, Po"}}`,
			`{"type": "content_block_stop", "index": 0}`,
			`{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}`,
			`{"type": "message_stop"}`,
		} {
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", event)
		}
	}))
	defer server.Close()

	ctx := context.Background()
	llm, err := anthropicmodel.NewModel(ctx, "claude-sonnet-4-5", &anthropicmodel.ClientConfig{
		APIKey: "my-key", BaseURL: server.URL, CachePrompt: true,
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
