package tokens_test

import (
	"fmt"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/tokens"
)

func Example() {
	counter := tokens.New()
	prompt := []*genai.Content{
		genai.NewContentFromText("A window seat to Seattle, please.", genai.RoleUser),
		genai.NewContentFromFunctionCall("seats", map[string]any{"kind": "window"}, genai.RoleModel),
	}
	fmt.Println(counter.Request(prompt, nil), "tokens of", tokens.Name)
	// Output:
	// 23 tokens of o200k
}
