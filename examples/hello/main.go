// Hello is a chat in the terminal that never forgets and never grows: what was
// said is in chat.db, and old parts of it reach the model as summaries.
//
//	GOOGLE_API_KEY=... go run ./examples/hello
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/libtnb/sqlite"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
)

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	sessions, err := database.NewSessionService(sqlite.Open("chat.db"))
	check(err)
	check(database.AutoMigrate(sessions))
	assistant, err := llmagent.New(llmagent.Config{Name: "assistant", Model: llm, Instruction: "You are a helpful assistant."})
	check(err)
	r, err := runner.New(runner.Config{
		AppName:           "chat",
		Agent:             assistant,
		SessionService:    sessions,
		AutoCreateSession: true,
		CompactionConfig:  compaction.DefaultConfig(),
	})
	check(err)
	defer r.Close(ctx)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		message := genai.NewContentFromText(in.Text(), genai.RoleUser)
		for event, err := range r.Run(ctx, "user-1", "session-1", message, agent.RunConfig{}) {
			check(err)
			fmt.Println(text(event))
		}
	}
}

// text is what an event says, or why the model said nothing.
func text(event *session.Event) string {
	said := event.ErrorMessage
	if event.Content != nil {
		for _, part := range event.Content.Parts {
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
