// Package instructionutil fills instructions with the state of a session.
//
//	llmagent.Config{
//		InstructionProvider: func(ctx agent.ReadonlyContext) (string, error) {
//			return instructionutil.InjectSessionState(ctx, chosen(ctx))
//		},
//	}
//
// In a template {key} stands for the value of that key, which may begin with
// "app:", "user:" or "temp:"; {artifact.name} for the text of that file; and
// {key?} for nothing if there is none. All other braces are text.
package instructionutil

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/session"
)

// placeholder is {key} or {key?}, where key may have a scope or be
// "artifact." and the name of a file. Other braces are text.
var placeholder = regexp.MustCompile(`\{(artifact\.[^{}?]+|(?:app:|user:|temp:)?[A-Za-z_][A-Za-z0-9_]*)(\?)?\}`)

// InjectSessionState puts values of the state, and texts of artifacts, in the
// places of a template. It fails on a place for which there is neither, unless
// that is marked as optional. Values are no templates themselves.
//
// Artifacts are found where ctx is an agent.Context, as it is for instruction
// providers.
func InjectSessionState(ctx agent.ReadonlyContext, template string) (string, error) {
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

func valueOf(ctx agent.ReadonlyContext, key string) (any, error) {
	name, isArtifact := strings.CutPrefix(key, "artifact.")
	if !isArtifact {
		return ctx.ReadonlyState().Get(key)
	}
	files, ok := ctx.(interface{ Artifacts() agent.Artifacts })
	if !ok {
		return nil, agent.ErrNoArtifactService
	}
	loaded, err := files.Artifacts().Load(ctx, name)
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
