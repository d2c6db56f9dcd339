package llmagent

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/session"
)

// instructions are the texts of the system instruction for this call.
func instructions(ctx agent.Context, cfg *Config) ([]string, error) {
	var texts []string
	for _, given := range []struct {
		text     string
		provider InstructionProvider
	}{
		{cfg.GlobalInstruction, cfg.GlobalInstructionProvider},
		{cfg.Instruction, cfg.InstructionProvider},
	} {
		text, err := given.text, error(nil)
		if given.provider != nil {
			text, err = given.provider(ctx)
		} else {
			text, err = fill(text, ctx.State())
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

// placeholder is {key} or {key?}, where key may have a scope. Other braces are
// text.
var placeholder = regexp.MustCompile(`\{((?:app:|user:|temp:)?[A-Za-z_][A-Za-z0-9_]*)(\?)?\}`)

// fill puts values of the state in the places of a template.
func fill(template string, state session.ReadonlyState) (string, error) {
	var b strings.Builder
	rest := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(template, -1) {
		b.WriteString(template[rest:at[0]])
		rest = at[1]
		key, optional := template[at[2]:at[3]], at[4] >= 0
		value, err := state.Get(key)
		switch {
		case errors.Is(err, session.ErrStateKeyNotExist) && optional:
		case err != nil:
			return "", fmt.Errorf("{%s}: %w", key, err)
		case value != nil:
			fmt.Fprint(&b, value)
		}
	}
	b.WriteString(template[rest:])
	return b.String(), nil
}
