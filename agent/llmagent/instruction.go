package llmagent

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/session"
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
			text, err = fill(text, ctx)
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

// placeholder is {key} or {key?}, where key may have a scope or be
// "artifact." and the name of a file. Other braces are text.
var placeholder = regexp.MustCompile(`\{(artifact\.[^{}?]+|(?:app:|user:|temp:)?[A-Za-z_][A-Za-z0-9_]*)(\?)?\}`)

// fill puts values of the state, and texts of artifacts, in the places of a
// template.
func fill(template string, ctx agent.Context) (string, error) {
	var b strings.Builder
	rest := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(template, -1) {
		b.WriteString(template[rest:at[0]])
		rest = at[1]
		key, optional := template[at[2]:at[3]], at[4] >= 0
		value, err := valueOf(ctx, key)
		switch {
		case optional && (errors.Is(err, session.ErrStateKeyNotExist) || errors.Is(err, artifact.ErrNotFound)):
		case err != nil:
			return "", fmt.Errorf("{%s}: %w", key, err)
		case value != nil:
			fmt.Fprint(&b, value)
		}
	}
	b.WriteString(template[rest:])
	return b.String(), nil
}

func valueOf(ctx agent.Context, key string) (any, error) {
	name, isArtifact := strings.CutPrefix(key, "artifact.")
	if !isArtifact {
		return ctx.State().Get(key)
	}
	loaded, err := ctx.Artifacts().Load(ctx, name)
	if err != nil {
		return nil, err
	}
	if data := loaded.Part.InlineData; data != nil {
		if !strings.HasPrefix(data.MIMEType, "text/") {
			return nil, fmt.Errorf("the artifact is no text but %s", data.MIMEType)
		}
		return string(data.Data), nil
	}
	return loaded.Part.Text, nil
}
