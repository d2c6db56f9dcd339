// Package loadmemorytool has the tool with which a model looks up what was
// said in the user's other sessions.
//
//	a, err := llmagent.New(llmagent.Config{
//		Name:  "assistant",
//		Model: llm,
//		Tools: []tool.Tool{loadmemorytool.New()},
//	})
//	r, err := runner.New(runner.Config{AppName: "app", Agent: a, SessionService: sessions, MemoryService: memory.InMemoryService()})
//
// The model decides when to look, and for what. Package preloadmemorytool looks
// by itself, for what the user says.
package loadmemorytool

import (
	"errors"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/toolutils"
)

// New returns the tool, whose name is load_memory. Its answer is {"memories":
// [{"text", "author", "time"}]}, as many as the memory service returns. It is
// also a tool.RequestProcessor, which tells the model of the memory.
func New() tool.Function { return loadMemory{} }

type loadMemory struct{}

func (loadMemory) Name() string        { return "load_memory" }
func (loadMemory) IsLongRunning() bool { return false }
func (loadMemory) Description() string {
	return "Searches the earlier conversations with the user."
}

func (t loadMemory) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: t.Name(), Description: t.Description(),
		ParametersJsonSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{"query": map[string]any{"type": "string", "description": "words to search for"}},
			"required":   []string{"query"},
		},
	}
}

const instruction = "There are earlier conversations with the user. Where an answer may depend on what was said in them, " +
	"search them with load_memory first."

func (t loadMemory) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	if err := toolutils.PackTool(req, t); err != nil {
		return err
	}
	toolutils.AppendInstruction(req, instruction)
	return nil
}

func (loadMemory) Run(ctx agent.Context, args map[string]any) (map[string]any, error) {
	query, ok := args["query"].(string)
	if !ok || query == "" {
		return nil, errors.New("load_memory: the argument query, a text, is missing")
	}
	found, err := ctx.SearchMemory(ctx, query)
	if err != nil {
		return nil, err
	}
	memories := []any{}
	for _, entry := range found.Memories {
		memories = append(memories, map[string]any{
			"text": entry.Text(), "author": entry.Author, "time": entry.Timestamp.UTC().Format(time.RFC3339),
		})
	}
	return map[string]any{"memories": memories}, nil
}
