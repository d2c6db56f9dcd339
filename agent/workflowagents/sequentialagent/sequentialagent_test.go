package sequentialagent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/agent/workflowagents/sequentialagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
)

func Example() {
	writer, err := llmagent.New(llmagent.Config{
		Name: "writer", Model: modeltest.NewScript(modeltest.Text("Lisbon is sunny.")), OutputKey: "draft",
	})
	if err != nil {
		panic(err)
	}
	checks := modeltest.NewScript(modeltest.Text("It is true."))
	checker, err := llmagent.New(llmagent.Config{Name: "checker", Model: checks, Instruction: "Check this: {draft}"})
	if err != nil {
		panic(err)
	}
	report, err := sequentialagent.New(sequentialagent.Config{
		AgentConfig: agent.Config{Name: "report", SubAgents: []agent.Agent{writer, checker}},
	})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("travel", report)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("Write about Lisbon.", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s\n", event.Author, event.Content.Parts[0].Text)
	}
	fmt.Println(checks.Requests()[0].Config.SystemInstruction.Parts[0].Text)
	// Output:
	// writer: Lisbon is sunny.
	// checker: It is true.
	// Check this: Lisbon is sunny.
}

// does is an agent that says its name, and then does what act says.
func does(t *testing.T, name string, act func(agent.InvocationContext) error) agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{Name: name, Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			event := session.NewEvent(ctx, ctx.InvocationID())
			event.Content = genai.NewContentFromText(name, genai.RoleModel)
			if !yield(event, nil) || act == nil {
				return
			}
			if err := act(ctx); err != nil {
				yield(nil, err)
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestHowItEnds(t *testing.T) {
	down := errors.New("down")
	for name, test := range map[string]struct {
		second func(agent.InvocationContext) error
		stop   int // after so many events
		want   string
		err    error
	}{
		"all run":                 {nil, 9, "a b c", nil},
		"one fails":               {func(agent.InvocationContext) error { return down }, 9, "a b", down},
		"one ends the run":        {func(ctx agent.InvocationContext) error { ctx.EndInvocation(); return nil }, 9, "a b", nil},
		"the consumer has enough": {nil, 2, "a b", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{
				Name: "all", SubAgents: []agent.Agent{does(t, "a", nil), does(t, "b", test.second), does(t, "c", nil)},
			}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for event, e := range a.Run(agent.NewInvocationContext(t.Context(), agent.InvocationParams{Agent: a})) {
				if err = e; e != nil {
					break
				}
				if got = append(got, event.Author); len(got) == test.stop {
					break
				}
			}
			if strings.Join(got, " ") != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestUnfit(t *testing.T) {
	run := func(agent.InvocationContext) iter.Seq2[*session.Event, error] { return nil }
	for want, cfg := range map[string]agent.Config{
		`sequentialagent "a": Run must be nil`: {Name: "a", Run: run},
		"Name must be set":                     {},
	} {
		if _, err := sequentialagent.New(sequentialagent.Config{AgentConfig: cfg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
