package loopagent_test

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
	"github.com/recap-adk/recap/agent/workflowagents/loopagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

func Example() {
	approve, err := functiontool.New(functiontool.Config{Name: "approve"}, func(ctx agent.Context, _ struct{}) (string, error) {
		ctx.Actions().Escalate = true
		ctx.Actions().SkipSummarization = true
		return "approved", nil
	})
	if err != nil {
		panic(err)
	}
	writer, err := llmagent.New(llmagent.Config{
		Name: "writer", Model: modeltest.NewScript(modeltest.Text("Lisbon."), modeltest.Text("Lisbon is sunny.")),
	})
	if err != nil {
		panic(err)
	}
	critic, err := llmagent.New(llmagent.Config{
		Name: "critic", Model: modeltest.NewScript(modeltest.Text("Say more."), modeltest.Call("c1", "approve", nil)),
		Tools: []tool.Tool{approve},
	})
	if err != nil {
		panic(err)
	}
	refine, err := loopagent.New(loopagent.Config{
		AgentConfig:   agent.Config{Name: "refine", SubAgents: []agent.Agent{writer, critic}},
		MaxIterations: 5,
	})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("travel", refine)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("Write about Lisbon.", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		if text := event.Content.Parts[0].Text; text != "" {
			fmt.Printf("%s: %s\n", event.Author, text)
		}
	}
	// Output:
	// writer: Lisbon.
	// critic: Say more.
	// writer: Lisbon is sunny.
}

// does is an agent that says its name, with what act sets in the event.
func does(t *testing.T, name string, act func(agent.InvocationContext, *session.Event) error) agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{Name: name, Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			event := session.NewEvent(ctx, ctx.InvocationID())
			if act != nil {
				if err := act(ctx, event); err != nil {
					yield(nil, err)
					return
				}
			}
			yield(event, nil)
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
		max  uint
		act  func(ctx agent.InvocationContext, round int, e *session.Event) error // of b
		stop int
		want string
		err  error
	}{
		"at its limit": {2, nil, 99, "a b c a b c", nil},
		"one escalates": {0, func(_ agent.InvocationContext, round int, e *session.Event) error {
			e.Actions.Escalate = round == 2
			return nil
		}, 99, "a b c a b", nil},
		"one fails":               {0, func(_ agent.InvocationContext, _ int, e *session.Event) error { return down }, 99, "a", down},
		"one ends the run":        {0, func(ctx agent.InvocationContext, _ int, _ *session.Event) error { ctx.EndInvocation(); return nil }, 99, "a b", nil},
		"the consumer has enough": {0, nil, 4, "a b c a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			round := 0
			b := does(t, "b", func(ctx agent.InvocationContext, e *session.Event) error {
				if round++; test.act != nil {
					return test.act(ctx, round, e)
				}
				return nil
			})
			a, err := loopagent.New(loopagent.Config{MaxIterations: test.max, AgentConfig: agent.Config{
				Name: "all", SubAgents: []agent.Agent{does(t, "a", nil), b, does(t, "c", nil)},
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

// TestLoopsOfNothing: one without sub-agents ends, and one whose sub-agents
// say nothing ends with its context.
func TestLoopsOfNothing(t *testing.T) {
	empty, err := loopagent.New(loopagent.Config{AgentConfig: agent.Config{Name: "empty"}})
	if err != nil {
		t.Fatal(err)
	}
	for range empty.Run(agent.NewInvocationContext(t.Context(), agent.InvocationParams{Agent: empty})) {
		t.Error("an event of nobody")
	}

	ctx, cancel := context.WithCancel(t.Context())
	rounds := 0
	silent, err := agent.New(agent.Config{Name: "silent", Run: func(agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(func(*session.Event, error) bool) {
			if rounds++; rounds == 3 {
				cancel()
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	loop, err := loopagent.New(loopagent.Config{AgentConfig: agent.Config{Name: "loop", SubAgents: []agent.Agent{silent}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range loop.Run(agent.NewInvocationContext(ctx, agent.InvocationParams{Agent: loop})) {
	}
	if !errors.Is(err, context.Canceled) || rounds != 3 {
		t.Errorf("error %v after %d rounds", err, rounds)
	}
}

func TestUnfit(t *testing.T) {
	run := func(agent.InvocationContext) iter.Seq2[*session.Event, error] { return nil }
	for want, cfg := range map[string]agent.Config{
		`loopagent "a": Run must be nil`: {Name: "a", Run: run},
		"Name must be set":               {},
	} {
		if _, err := loopagent.New(loopagent.Config{AgentConfig: cfg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
