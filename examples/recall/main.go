// Recall shows how an agent gets back, in its exact words, what a summary left
// out: old turns are summarized, the log keeps them, and the tool recall finds
// them there.
//
//	GOOGLE_API_KEY=... go run ./examples/recall
//
// Dictate a recipe, talk of two other things, and ask for a detail of it.
package main

import (
	"context"
	"log"
	"os"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/full"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/recalltool"
)

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	sessions := session.InMemoryService() // or package database: the tool reads either
	recall, err := recalltool.New(recalltool.Config{SessionService: sessions})
	check(err)
	cook, err := llmagent.New(llmagent.Config{
		Name:        "cook",
		Model:       llm,
		Instruction: "You collect the recipes of the family. Never guess a quantity.",
		Tools:       []tool.Tool{recall},
	})
	check(err)
	check(full.NewLauncher().Execute(ctx, &launcher.Config{
		AgentLoader:    agent.NewSingleLoader(cook),
		SessionService: sessions, // the same one
		CompactionConfig: &compaction.Config{
			CompactionInterval: 2,
			Blocking:           true, // so that the third turn has a summary already
		},
	}, os.Args[1:]))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
