// Package loadartifactstool lets a model look into artifacts.
//
//	a, err := llmagent.New(llmagent.Config{
//		Name:  "analyst",
//		Model: llm,
//		Tools: []tool.Tool{loadartifactstool.New()},
//	})
//	r, err := runner.New(runner.Config{AppName: "app", Agent: a, SessionService: sessions, ArtifactService: artifact.InMemoryService()})
//
// The model is told the names of the session's artifacts. Those that it asks
// for are in the prompt of its next call, and in that one only: the session
// holds the names, so files do not fill the history.
package loadartifactstool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/toolutils"
)

const (
	name = "load_artifacts"
	arg  = "artifact_names"
	// maxText is how many bytes of a text the model is shown.
	maxText = 256 << 10
)

// New returns the tool, whose name is load_artifacts. It is a tool.Function and
// a tool.RequestProcessor.
func New() tool.Tool { return loadArtifacts{} }

type loadArtifacts struct{}

func (loadArtifacts) Name() string        { return name }
func (loadArtifacts) IsLongRunning() bool { return false }
func (loadArtifacts) Description() string {
	return "Shows artifacts: what they hold is shown next to the answer, once."
}

func (t loadArtifacts) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: name, Description: t.Description(),
		ParametersJsonSchema: map[string]any{
			"type": "object",
			"properties": map[string]any{arg: map[string]any{
				"type": "array", "items": map[string]any{"type": "string"}, "description": "names of artifacts",
			}},
			"required": []string{arg},
		},
	}
}

// Run answers with the names: ProcessRequest of the next call has the rest.
func (loadArtifacts) Run(_ agent.Context, args map[string]any) (map[string]any, error) {
	names, err := namesIn(args)
	if err != nil {
		return nil, err
	}
	return map[string]any{arg: names}, nil
}

// namesIn are the names in a call, or in the answer to one.
func namesIn(args map[string]any) ([]any, error) {
	switch list := args[arg].(type) {
	case []any:
		for _, each := range list {
			if _, ok := each.(string); !ok {
				return nil, fmt.Errorf("%s: %s holds something that is no text: %v", name, arg, each)
			}
		}
		return list, nil
	case []string:
		names := make([]any, len(list))
		for i := range list {
			names[i] = list[i]
		}
		return names, nil
	}
	return nil, fmt.Errorf("%s: the argument %s, a list of texts, is missing", name, arg)
}

func (t loadArtifacts) ProcessRequest(ctx agent.Context, req *model.LLMRequest) error {
	if err := toolutils.PackTool(req, t); err != nil {
		return err
	}
	listed, err := ctx.Artifacts().List(ctx)
	if err != nil {
		return err
	}
	if len(listed.FileNames) == 0 {
		return nil
	}
	// As JSON, in which a name can be nothing but a name.
	names, err := json.Marshal(listed.FileNames)
	if err != nil {
		return err
	}
	toolutils.AppendInstruction(req, fmt.Sprintf("These artifacts exist: %s. Where an answer depends on what is in one, "+
		"call %s to see it. What was shown before is not shown again: call it anew.", names, name))
	return show(ctx, req)
}

// show adds the artifacts that the model has just asked for.
func show(ctx agent.Context, req *model.LLMRequest) error {
	if len(req.Contents) == 0 {
		return nil
	}
	shown := map[string]bool{}
	for _, part := range req.Contents[len(req.Contents)-1].Parts {
		if part == nil || part.FunctionResponse == nil || part.FunctionResponse.Name != name {
			continue
		}
		asked, err := namesIn(part.FunctionResponse.Response)
		if err != nil {
			continue // the call failed
		}
		for _, each := range asked {
			file := each.(string)
			if shown[file] {
				continue
			}
			shown[file] = true
			parts, err := partsOf(ctx, file)
			if err != nil {
				return err
			}
			req.Contents = append(req.Contents, &genai.Content{Role: genai.RoleUser, Parts: parts})
		}
	}
	return nil
}

// partsOf is an artifact as the model is shown it.
func partsOf(ctx agent.Context, file string) ([]*genai.Part, error) {
	loaded, err := ctx.Artifacts().Load(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return []*genai.Part{{Text: fmt.Sprintf("There is no artifact %q.", file)}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("artifact %q: %w", file, err)
	}
	part := loaded.Part
	if part == nil {
		return []*genai.Part{{Text: fmt.Sprintf("The artifact %q is empty.", file)}}, nil
	}
	title := fmt.Sprintf("Artifact %q:", file)
	if blob := part.InlineData; blob != nil {
		if !isText(blob) {
			return []*genai.Part{{Text: title}, {InlineData: blob}}, nil
		}
		part = &genai.Part{Text: string(blob.Data)}
	}
	if size := len(part.Text); size > maxText {
		title = fmt.Sprintf("Artifact %q, the first %d of %d bytes:", file, maxText, size)
		part = &genai.Part{Text: strings.ToValidUTF8(part.Text[:maxText], "")}
	}
	return []*genai.Part{{Text: title}, part}, nil
}

// isText reports whether a model reads the blob best as text: few of them take
// tables or JSON as files.
func isText(blob *genai.Blob) bool {
	kind, _, _ := strings.Cut(blob.MIMEType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	textual := strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "xml") || strings.HasSuffix(kind, "yaml")
	return textual && utf8.Valid(blob.Data)
}
