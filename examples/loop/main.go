// Loop shows two agents that take turns until one of them is content: a writer,
// and a critic that ends the loop with the tool exit_loop.
//
//	GOOGLE_API_KEY=... go run ./examples/loop
//
// Name a subject for a haiku.
package main

import (
	"context"
	"log"
	"os"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/agent/workflowagents/loopagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/full"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/exitlooptool"
)

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	writer, err := llmagent.New(llmagent.Config{
		Name:        "writer",
		Model:       llm,
		Instruction: "Write a haiku on the user's subject. Heed the critic. Answer with the haiku only.",
	})
	check(err)
	exit, err := exitlooptool.New()
	check(err)
	critic, err := llmagent.New(llmagent.Config{
		Name:        "critic",
		Model:       llm,
		Instruction: "Say in one sentence what is wrong with the haiku. If nothing is, call exit_loop.",
		Tools:       []tool.Tool{exit},
	})
	check(err)
	poets, err := loopagent.New(loopagent.Config{
		AgentConfig:   agent.Config{Name: "poets", SubAgents: []agent.Agent{writer, critic}},
		MaxIterations: 4, // critics may never be content
	})
	check(err)
	check(full.NewLauncher().Execute(ctx, &launcher.Config{AgentLoader: agent.NewSingleLoader(poets)}, os.Args[1:]))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
