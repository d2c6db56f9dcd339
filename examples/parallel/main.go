// Parallel shows agents that work at the same time, each on a branch of its own
// where it sees nothing of the others, and one that puts their results together
// afterwards.
//
//	GOOGLE_API_KEY=... go run ./examples/parallel -streaming_mode none
//
// Name a city. With streaming, the pieces of the answers come mixed.
package main

import (
	"context"
	"log"
	"os"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/agent/workflowagents/parallelagent"
	"github.com/recap-adk/recap/agent/workflowagents/sequentialagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/full"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/gemini"
)

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	research, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{
		Name: "research",
		SubAgents: []agent.Agent{
			researcher(llm, "museums"),
			researcher(llm, "food"),
			researcher(llm, "parks"),
		},
	}})
	check(err)
	planner, err := llmagent.New(llmagent.Config{
		Name:            "planner",
		Model:           llm,
		Instruction:     "Plan a day of these.\nMuseums: {museums}\nFood: {food}\nParks: {parks}",
		IncludeContents: llmagent.IncludeContentsNone,
	})
	check(err)
	trip, err := sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{
		Name:      "trip",
		SubAgents: []agent.Agent{research, planner},
	}})
	check(err)
	check(full.NewLauncher().Execute(ctx, &launcher.Config{AgentLoader: agent.NewSingleLoader(trip)}, os.Args[1:]))
}

// researcher puts what it finds into the state, under the name of its subject.
func researcher(llm model.LLM, subject string) agent.Agent {
	a, err := llmagent.New(llmagent.Config{
		Name:        subject,
		Model:       llm,
		Instruction: "Name the best " + subject + " of the city that the user names, in one sentence.",
		OutputKey:   subject,
	})
	check(err)
	return a
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
