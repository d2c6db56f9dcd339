package loadmemorytool_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/memory"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/loadmemorytool"
)

// remembering is a memory in which ada once said something.
func remembering(texts ...string) memory.Service {
	var events []*session.Event
	for i, text := range texts {
		events = append(events, &session.Event{
			ID: fmt.Sprint(i), Author: "user", Timestamp: time.Date(2026, 3, 1, 9, i, 0, 0, time.UTC),
			LLMResponse: model.LLMResponse{Content: genai.NewContentFromText(text, genai.RoleUser)},
		})
	}
	service := memory.InMemoryService()
	if err := service.AddSessionToMemory(context.Background(), session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: "ada", ID: "s0", Events: events})); err != nil {
		panic(err)
	}
	return service
}

func Example() {
	llm := modeltest.NewScript(
		modeltest.Call("c1", "load_memory", map[string]any{"query": "hotel"}),
		modeltest.Text("It is the Avenida."),
	)
	a, err := llmagent.New(llmagent.Config{Name: "guide", Model: llm, Tools: []tool.Tool{loadmemorytool.New()}})
	if err != nil {
		panic(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true,
		MemoryService: remembering("My hotel is the Avenida."),
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("Where do I stay?", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		for _, part := range event.Content.Parts {
			if part.FunctionResponse != nil {
				fmt.Println(part.FunctionResponse.Response["memories"])
			}
		}
	}
	// Output: [map[author:user text:My hotel is the Avenida. time:2026-03-01T09:00:00Z]]
}

func newContext(service memory.Service, user string) agent.Context {
	return agent.NewContext(agent.NewInvocationContext(context.Background(), agent.InvocationParams{
		Session: session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: user, ID: "s1"}), MemoryService: service,
	}))
}

func TestCalls(t *testing.T) {
	service := remembering("My hotel is the Avenida.", "And a hotel in Rome.")
	for _, test := range []struct {
		name    string
		service memory.Service
		user    string
		args    map[string]any
		found   int
		err     error
	}{
		{"found", service, "ada", map[string]any{"query": "hotel"}, 2, nil},
		{"not found", service, "ada", map[string]any{"query": "train"}, 0, nil},
		{"of another user", service, "bob", map[string]any{"query": "hotel"}, 0, nil},
		{"no service", nil, "ada", map[string]any{"query": "hotel"}, -1, agent.ErrNoMemoryService},
		{"no query", service, "ada", nil, -1, nil},
		{"not a text", service, "ada", map[string]any{"query": 7}, -1, nil},
	} {
		got, err := loadmemorytool.New().Run(newContext(test.service, test.user), test.args)
		memories, ok := got["memories"].([]any)
		if ok != (test.found >= 0) || ok && len(memories) != test.found || (err == nil) != ok || !errors.Is(err, test.err) && test.err != nil {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
}

// TestRequest: the model is told of the tool, and when to use it.
func TestRequest(t *testing.T) {
	load := loadmemorytool.New()
	req := &model.LLMRequest{}
	if err := load.(tool.RequestProcessor).ProcessRequest(nil, req); err != nil {
		t.Fatal(err)
	}
	if d := req.Config.Tools[0].FunctionDeclarations[0]; d.Name != "load_memory" || req.Config.SystemInstruction == nil || load.IsLongRunning() {
		t.Errorf("declared %s, instruction %v", d.Name, req.Config.SystemInstruction)
	}
	if err := load.(tool.RequestProcessor).ProcessRequest(nil, req); err == nil {
		t.Error("declared twice")
	}
}
