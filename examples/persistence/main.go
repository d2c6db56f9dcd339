// Persistence shows a conversation that outlives the program: it is in
// diary.db, and a second run shows what was said and goes on. What a tool put
// into the state under "user:" is known in all sessions of the user.
//
//	GOOGLE_API_KEY=... go run ./examples/persistence monday
//
// The argument is the session's ID.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/libtnb/sqlite"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

type name struct {
	Name string `json:"name"`
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("give the ID of a session, such as monday")
	}
	ctx, id := context.Background(), os.Args[1]
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	sessions, err := database.NewSessionService(sqlite.Open("diary.db"))
	check(err)
	check(database.AutoMigrate(sessions))
	remember, err := functiontool.New(functiontool.Config{
		Name: "remember_name", Description: "Keeps the user's name for later.",
	}, func(ctx agent.Context, in name) (string, error) {
		return "kept", ctx.State().Set("user:name", in.Name)
	})
	check(err)
	diary, err := llmagent.New(llmagent.Config{
		Name:        "diary",
		Model:       llm,
		Instruction: "You keep a diary of what the user tells. The user's name: {user:name?}",
		Tools:       []tool.Tool{remember},
	})
	check(err)
	r, err := runner.New(runner.Config{AppName: "diary", Agent: diary, SessionService: sessions, AutoCreateSession: true})
	check(err)
	defer r.Close(ctx)

	stored, err := sessions.Get(ctx, &session.GetRequest{AppName: "diary", UserID: "user-1", SessionID: id})
	switch {
	case errors.Is(err, session.ErrNotFound):
		fmt.Println("This session is new.")
	case err != nil:
		log.Fatal(err)
	default:
		for event := range stored.Session.Events().All() {
			show(event)
		}
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		message := genai.NewContentFromText(in.Text(), genai.RoleUser)
		for event, err := range r.Run(ctx, "user-1", id, message, agent.RunConfig{}) {
			check(err)
			show(event)
		}
	}
}

func show(event *session.Event) {
	if event.Content == nil {
		return
	}
	for _, part := range event.Content.Parts {
		if part.Text != "" {
			fmt.Printf("%s: %s\n", event.Author, part.Text)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
