// Compaction shows a long conversation whose prompt stays small. After every
// three turns a summary is made, and stored as an event; from then on the model
// is sent the summary in place of what it covers. The log keeps everything.
//
//	GOOGLE_API_KEY=... go run ./examples/compaction
//
// Plan something over six turns or more, and end with Ctrl-D, which prints the
// log.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
)

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	planner, err := llmagent.New(llmagent.Config{Name: "planner", Model: llm, Instruction: "You plan parties."})
	check(err)
	sessions := session.InMemoryService()
	r, err := runner.New(runner.Config{
		AppName:           "parties",
		Agent:             planner,
		SessionService:    sessions,
		AutoCreateSession: true,
		CompactionConfig: &compaction.Config{
			CompactionInterval: 3,
			OverlapSize:        1,
			Blocking:           true, // so that this terminal shows it in order; else nobody waits
			OnOutcome: func(o compaction.Outcome) {
				fmt.Printf("  [compaction %s: %d events, about %d tokens became %d]\n", o.Kind, o.Events, o.TokensBefore, o.TokensAfter)
			},
		},
	})
	check(err)
	defer r.Close(ctx)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		message := genai.NewContentFromText(in.Text(), genai.RoleUser)
		for event, err := range r.Run(ctx, "user-1", "session-1", message, agent.RunConfig{}) {
			check(err)
			fmt.Println(text(event.Content))
			if usage := event.UsageMetadata; usage != nil {
				fmt.Printf("  [prompt: %d tokens]\n", usage.PromptTokenCount)
			}
		}
	}
	stored, err := sessions.Get(ctx, &session.GetRequest{AppName: "parties", UserID: "user-1", SessionID: "session-1"})
	check(err)
	fmt.Println("The log:")
	for event := range stored.Session.Events().All() {
		if summary := event.Actions.Compaction; summary != nil {
			fmt.Println("  summary:", summary.Text())
			continue
		}
		fmt.Printf("  %s: %s\n", event.Author, text(event.Content))
	}
}

func text(content *genai.Content) string {
	if content == nil || len(content.Parts) == 0 {
		return ""
	}
	return content.Parts[0].Text
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
