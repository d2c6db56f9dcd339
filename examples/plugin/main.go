// Plugin shows callbacks that take part in every run, in all agents: this one
// keeps card numbers out of the log, refuses dear calls of a tool, and counts
// tokens. Whoever returns something has decided; nil goes on.
//
//	GOOGLE_API_KEY=... go run ./examples/plugin
//
// Tell your card's number, and order a pen and a piano.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"regexp"
	"sync/atomic"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/full"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/plugin"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

var card = regexp.MustCompile(`\b\d{4}([ -]?\d{4}){3}\b`)

// newGuard is safe for concurrent use, as plugins must be.
func newGuard(maxPrice float64) (*plugin.Plugin, error) {
	var tokens, refused atomic.Int64
	return plugin.New(plugin.Config{
		Name: "guard",
		OnUserMessageCallback: func(_ agent.InvocationContext, message *genai.Content) (*genai.Content, error) {
			for _, part := range message.Parts {
				part.Text = card.ReplaceAllString(part.Text, "[card]")
			}
			return nil, nil // changed in place, before it is stored
		},
		BeforeToolCallback: func(_ agent.Context, _ tool.Tool, args map[string]any) (map[string]any, error) {
			if price, ok := args["price"].(float64); ok && price > maxPrice {
				refused.Add(1)
				return map[string]any{"error": "too dear: ask somebody"}, nil // in place of the call
			}
			return nil, nil
		},
		AfterModelCallback: func(_ agent.Context, response *model.LLMResponse, _ error) (*model.LLMResponse, error) {
			if response != nil && !response.Partial && response.UsageMetadata != nil {
				tokens.Add(int64(response.UsageMetadata.PromptTokenCount))
			}
			return nil, nil
		},
		CloseFunc: func() error {
			fmt.Printf("guard: %d prompt tokens, refused calls: %d\n", tokens.Load(), refused.Load())
			return nil
		},
	})
}

type purchase struct {
	Item  string  `json:"item"`
	Price float64 `json:"price"`
}

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	buy, err := functiontool.New(functiontool.Config{Name: "buy", Description: "Buys something."},
		func(_ agent.Context, in purchase) (string, error) { return "bought: " + in.Item, nil })
	check(err)
	buyer, err := llmagent.New(llmagent.Config{
		Name: "buyer", Model: llm, Instruction: "You buy what the user wants, at your estimate of the price.", Tools: []tool.Tool{buy},
	})
	check(err)
	guard, err := newGuard(100)
	check(err)
	check(full.NewLauncher().Execute(ctx, &launcher.Config{
		AgentLoader:  agent.NewSingleLoader(buyer),
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{guard}},
	}, os.Args[1:]))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
