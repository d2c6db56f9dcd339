package llmagent

import (
	"fmt"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/util/instructionutil"
)

// instructions are the texts of the system instruction for this call. The
// global one is that of the root agent.
func instructions(ctx agent.Context, cfg *Config) ([]string, error) {
	root := cfg
	if a := ctx.Invocation().Root(); a != nil && a.Name() != cfg.Name {
		if root = &(Config{}); asLLM(a) != nil {
			root = &asLLM(a).cfg
		}
	}
	var texts []string
	for _, given := range []struct {
		text     string
		provider InstructionProvider
	}{
		{root.GlobalInstruction, root.GlobalInstructionProvider},
		{cfg.Instruction, cfg.InstructionProvider},
	} {
		text, err := given.text, error(nil)
		if given.provider != nil {
			text, err = given.provider(ctx)
		} else {
			text, err = instructionutil.InjectSessionState(ctx, text)
		}
		if err != nil {
			return nil, fmt.Errorf("instruction of agent %q: %w", cfg.Name, err)
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return texts, nil
}
