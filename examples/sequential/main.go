// Sequential shows agents that work one after the other, on a fixed path: each
// sees what those before it said, and takes what it needs from the state, where
// OutputKey has put it.
//
//	GOOGLE_API_KEY=... go run ./examples/sequential
//
// Name a thing that should be sold.
package main

import (
	"context"
	"log"
	"os"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/agent/workflowagents/sequentialagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/full"
	"github.com/recap-adk/recap/model/gemini"
)

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	facts, err := llmagent.New(llmagent.Config{
		Name:        "facts",
		Model:       llm,
		Instruction: "List what a buyer wants to know about the thing that the user names.",
		OutputKey:   "facts",
	})
	check(err)
	writer, err := llmagent.New(llmagent.Config{
		Name:        "writer",
		Model:       llm,
		Instruction: "Write an advertisement of two sentences from these facts:\n{facts}",
		OutputKey:   "advertisement",
	})
	check(err)
	translator, err := llmagent.New(llmagent.Config{
		Name:            "translator",
		Model:           llm,
		Instruction:     "Translate into German:\n{advertisement}",
		IncludeContents: llmagent.IncludeContentsNone, // all it needs is in the instruction
	})
	check(err)
	pipeline, err := sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{
		Name:      "pipeline",
		SubAgents: []agent.Agent{facts, writer, translator},
	}})
	check(err)
	check(full.NewLauncher().Execute(ctx, &launcher.Config{AgentLoader: agent.NewSingleLoader(pipeline)}, os.Args[1:]))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
