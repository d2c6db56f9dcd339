// Transfer shows several agents in one conversation: the desk hands over to the
// agent whose description fits, and that one goes on with the user until it
// hands over itself.
//
//	GOOGLE_API_KEY=... go run ./examples/transfer
//
// Ask to book a table, then complain about the last visit.
package main

import (
	"context"
	"log"
	"os"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/full"
	"github.com/recap-adk/recap/model/gemini"
)

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	booking, err := llmagent.New(llmagent.Config{
		Name:        "booking",
		Model:       llm,
		Description: "Books tables, and changes bookings.",
		Instruction: "You book tables. Ask for the day, the time and the number of guests.",
	})
	check(err)
	complaints, err := llmagent.New(llmagent.Config{
		Name:        "complaints",
		Model:       llm,
		Description: "Listens to guests who are not content.",
		Instruction: "You apologize, find out what happened, and offer a dessert.",
	})
	check(err)
	desk, err := llmagent.New(llmagent.Config{
		Name:        "desk",
		Model:       llm,
		Description: "Answers the telephone of the restaurant.",
		Instruction: "You greet guests and find out what they want.",
		SubAgents:   []agent.Agent{booking, complaints},
	})
	check(err)
	check(full.NewLauncher().Execute(ctx, &launcher.Config{AgentLoader: agent.NewSingleLoader(desk)}, os.Args[1:]))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
