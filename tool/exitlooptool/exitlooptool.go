// Package exitlooptool has the tool with which a model ends the loop that its
// agent runs in.
//
//	exit, err := exitlooptool.New()
//	critic, err := llmagent.New(llmagent.Config{
//		Name:        "critic",
//		Model:       llm,
//		Instruction: "Criticize the draft. If nothing is left to say, call exit_loop.",
//		Tools:       []tool.Tool{exit},
//	})
//
// The call is the agent's last word: the model is not asked to comment on it.
// In an agent that is in no loop it only ends the run.
package exitlooptool

import (
	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

// New returns the tool, whose name is exit_loop. It is a tool.Function without
// arguments.
func New() (tool.Tool, error) {
	return functiontool.New(functiontool.Config{
		Name:        "exit_loop",
		Description: "Ends the loop that you work in. Call it only when your instructions say so.",
	}, func(ctx agent.Context, _ struct{}) (map[string]any, error) {
		ctx.Actions().Escalate = true
		ctx.Actions().SkipSummarization = true
		return map[string]any{}, nil
	})
}
