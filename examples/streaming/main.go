// Streaming shows an answer while the model is still writing it: partial events
// carry the pieces, and the whole answer follows as the event that is stored.
//
//	GOOGLE_API_KEY=... go run ./examples/streaming
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/runner"
)

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	teller, err := llmagent.New(llmagent.Config{Name: "teller", Model: llm, Instruction: "You tell stories."})
	check(err)
	r, err := runner.NewInMemory("stories", teller)
	check(err)
	defer r.Close(ctx)

	config := agent.RunConfig{StreamingMode: agent.StreamingModeSSE}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		message := genai.NewContentFromText(in.Text(), genai.RoleUser)
		pieces := 0
		for event, err := range r.Run(ctx, "user-1", "session-1", message, config) {
			check(err)
			if event.Partial {
				fmt.Print(text(event.Content)) // a piece; it is not stored
				pieces++
				continue
			}
			// The whole text is here again, with what came last.
			fmt.Printf("\n(pieces: %d, characters: %d, finish reason: %s)\n", pieces, utf8.RuneCountInString(text(event.Content)), event.FinishReason)
		}
	}
}

// text is what is said in a content, without the model's thoughts.
func text(content *genai.Content) string {
	if content == nil {
		return ""
	}
	var said string
	for _, part := range content.Parts {
		if !part.Thought {
			said += part.Text
		}
	}
	return said
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
