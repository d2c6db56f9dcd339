// Quickstart is the smallest agent with a terminal around it: a model, an
// instruction, a tool, and one line that lets a person talk to it.
//
//	GOOGLE_API_KEY=... go run ./examples/quickstart
//
// Flags of the launcher, such as -session and -streaming_mode, follow the
// command.
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
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/geminitool"
)

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	guide, err := llmagent.New(llmagent.Config{
		Name:        "guide",
		Model:       llm,
		Description: "Answers questions about places.",
		Instruction: "You answer questions of travelers. Look up what may have changed.",
		Tools:       []tool.Tool{geminitool.GoogleSearch{}},
	})
	if err != nil {
		log.Fatal(err)
	}
	config := &launcher.Config{
		AgentLoader:      agent.NewSingleLoader(guide),
		CompactionConfig: compaction.DefaultConfig(), // however long the conversation gets
	}
	l := full.NewLauncher()
	if err := l.Execute(ctx, config, os.Args[1:]); err != nil {
		log.Fatalf("%v\n\n%s", err, l.CommandLineSyntax())
	}
}
