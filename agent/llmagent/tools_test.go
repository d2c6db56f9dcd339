package llmagent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// set is a toolset that is a function.
type set struct {
	name  string
	tools func(agent.ReadonlyContext) ([]tool.Tool, error)
}

func (s set) Name() string                                         { return s.name }
func (s set) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) { return s.tools(ctx) }

func named(names ...string) (tools []tool.Tool) {
	for _, name := range names {
		tools = append(tools, answers(name, map[string]any{"from": name}, nil))
	}
	return tools
}

// declared are the tools that a call of the model was told of.
func declared(req *model.LLMRequest) (names []string) {
	for _, t := range req.Config.Tools {
		for _, declaration := range t.FunctionDeclarations {
			names = append(names, declaration.Name)
		}
		if t.GoogleSearch != nil {
			names = append(names, "(google search)")
		}
	}
	return names
}

// TestToolsets: the tools of a set are asked for before each call of the model,
// and all are declared in the order in which they were given.
func TestToolsets(t *testing.T) {
	asked := 0
	growing := set{"growing", func(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
		if ctx.UserID() != "ada" || ctx.AgentName() != "agent" {
			t.Errorf("asked for %s by %s", ctx.UserID(), ctx.AgentName())
		}
		asked++
		return named("m", "n", "o")[:asked], nil
	}}
	fixed := set{"fixed", func(agent.ReadonlyContext) ([]tool.Tool, error) { return named("d", "b"), nil }}
	llm := modeltest.NewScript(calls("n"), calls("n"), modeltest.Text("done"))
	got, _, err := play(t, llmagent.Config{Model: llm, Tools: named("z", "c", "a"), Toolsets: []tool.Toolset{growing, fixed}}, agent.RunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "events", got, "call n", `n=map[error:there is no tool "n"; there are: a, b, c, d, m, z]`, "call n", "n=map[from:n]", "done")
	for i, want := range []string{"z c a m d b", "z c a m n d b", "z c a m n o d b"} {
		if names := strings.Join(declared(llm.Requests()[i]), " "); names != want {
			t.Errorf("call %d is told of %s, want %s", i, names, want)
		}
	}
}

func TestUnfitToolsets(t *testing.T) {
	down := errors.New("down")
	for want, tools := range map[string]func(agent.ReadonlyContext) ([]tool.Tool, error){
		`toolset "s": down`:                      func(agent.ReadonlyContext) ([]tool.Tool, error) { return nil, down },
		`agent "agent": two tools are named "a"`: func(agent.ReadonlyContext) ([]tool.Tool, error) { return named("a"), nil },
		`agent "agent": tool 1 is nil`:           func(agent.ReadonlyContext) ([]tool.Tool, error) { return []tool.Tool{nil}, nil },
	} {
		llm := modeltest.NewScript()
		_, _, err := play(t, llmagent.Config{Model: llm, Tools: named("a"), Toolsets: []tool.Toolset{set{"s", tools}}}, agent.RunConfig{})
		if err == nil || !strings.Contains(err.Error(), want) || len(llm.Requests()) != 0 {
			t.Errorf("error %v after %d calls of the model, want %q", err, len(llm.Requests()), want)
		}
	}
}

// search is a tool of the provider's own.
type search struct{ err error }

func (search) Name() string        { return "search" }
func (search) Description() string { return "searches" }
func (search) IsLongRunning() bool { return false }
func (s search) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	req.Config.Tools = append(req.Config.Tools, &genai.Tool{GoogleSearch: &genai.GoogleSearch{}})
	return s.err
}

// both has a part in the request, and answers calls.
type both struct {
	search
	fn
}

func (both) Name() string        { return "both" }
func (both) Description() string { return "does both" }
func (both) IsLongRunning() bool { return false }

func TestToolsThatMakeTheRequest(t *testing.T) {
	llm := modeltest.NewScript(calls("search", "both"), modeltest.Text("done"))
	tools := append(named("a"), search{}, both{fn: answers("both", map[string]any{"r": 1}, nil)})
	got, _, err := play(t, llmagent.Config{Model: llm, Tools: tools}, agent.RunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "events", got, "call search | call both", `search=map[error:there is no tool "search"; there are: a, both, search] | both=map[r:1]`, "done")
	// Such a tool declares itself, if it wants to.
	if names := declared(llm.Requests()[1]); !slices.Equal(names, []string{"(google search)", "(google search)", "a"}) {
		t.Errorf("told of %q", names)
	}

	down := errors.New("down")
	if _, _, err := play(t, llmagent.Config{Model: modeltest.NewScript(), Tools: []tool.Tool{search{down}}}, agent.RunConfig{}); !errors.Is(err, down) || !strings.Contains(err.Error(), `tool "search"`) {
		t.Errorf("error %v", err)
	}
}

// TestArgumentsAreTheToolsOwn: whoever was yielded the call may go on reading
// it while the tool runs.
func TestArgumentsAreTheToolsOwn(t *testing.T) {
	spoil := fn{name: "spoil", run: func(_ agent.Context, args map[string]any) (map[string]any, error) {
		args["list"].([]any)[0] = "changed"
		args["more"] = "changed"
		return nil, nil
	}}
	llm := modeltest.NewScript(modeltest.Call("c1", "spoil", map[string]any{"list": []any{"as called"}}), modeltest.Text("done"))
	r, service := newRunner(t, llmagent.Config{Name: "agent", Model: llm, Tools: []tool.Tool{spoil}})
	var yielded *session.Event
	for event, err := range r.Run(t.Context(), "ada", "s1", question(), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
		if yielded == nil {
			yielded = event
		}
	}
	for what, event := range map[string]*session.Event{"yielded": yielded, "stored": load(t, service).Events().At(1)} {
		if args := fmt.Sprint(event.Content.Parts[0].FunctionCall.Args); args != "map[list:[as called]]" {
			t.Errorf("%s: called with %s", what, args)
		}
	}
}

// TestActionsOfTools: what tools ask for, all together, is in the event of
// their results, also where the answer of a tool comes later.
func TestActionsOfTools(t *testing.T) {
	acts := func(name string, long bool, act func(*session.EventActions)) fn {
		return fn{name: name, long: long, run: func(ctx agent.Context, _ map[string]any) (map[string]any, error) {
			if act != nil {
				act(ctx.Actions())
			}
			return nil, ctx.State().Set("by:"+name, ctx.FunctionCallID() != "")
		}}
	}
	tools := []tool.Tool{
		acts("saves", false, func(a *session.EventActions) { a.ArtifactDelta = map[string]int64{"ticket.pdf": 2} }),
		acts("escalates", false, func(a *session.EventActions) { a.Escalate = true }),
		acts("waits", true, func(a *session.EventActions) {
			a.RequestedAuthConfigs = map[string]any{"c1": "oauth"}
			a.TransferToAgent = "booker"
		}),
	}
	for _, names := range [][]string{{"saves", "escalates", "waits"}, {"waits"}} {
		llm := modeltest.NewScript(calls(names...), modeltest.Text("done"))
		_, stored, err := play(t, llmagent.Config{Model: llm, Tools: tools, SubAgents: []agent.Agent{silent(t, "booker")}}, agent.RunConfig{})
		if err != nil {
			t.Fatal(err)
		}
		got := stored.Events().At(2).Actions
		if got.Escalate != slices.Contains(names, "escalates") || got.TransferToAgent != "booker" ||
			len(got.ArtifactDelta) != len(names)/3 || len(got.RequestedAuthConfigs) != 1 || len(got.StateDelta) != len(names) {
			t.Errorf("%v: %+v", names, got)
		}
		for _, name := range names {
			if v, err := stored.State().Get("by:" + name); v != true || err != nil {
				t.Errorf("%v: state of %s: %v, %v", names, name, v, err)
			}
		}
	}
}

// silent is an agent that says nothing.
func silent(t *testing.T, name string) agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{Name: name, Run: func(agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(func(*session.Event, error) bool) {}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestActionsWithoutResults: each of them alone is an event without content.
// Where a tool asked for nothing there is no event.
func TestActionsWithoutResults(t *testing.T) {
	for name, act := range map[string]func(*session.EventActions){
		"nothing":   func(*session.EventActions) {},
		"state":     func(a *session.EventActions) { a.StateDelta = map[string]any{"k": 1} },
		"artifacts": func(a *session.EventActions) { a.ArtifactDelta = map[string]int64{"f": 1} },
		"confirmation": func(a *session.EventActions) {
			a.RequestedToolConfirmations = map[string]toolconfirmation.ToolConfirmation{"c1": {}}
		},
		"credentials": func(a *session.EventActions) { a.RequestedAuthConfigs = map[string]any{"c1": 1} },
		"the answer":  func(a *session.EventActions) { a.SkipSummarization = true },
		"escalation":  func(a *session.EventActions) { a.Escalate = true },
		"transfer":    func(a *session.EventActions) { a.TransferToAgent = "booker" },
	} {
		job := fn{name: "job", long: true, run: func(ctx agent.Context, _ map[string]any) (map[string]any, error) {
			act(ctx.Actions())
			return nil, nil
		}}
		_, stored, err := play(t, llmagent.Config{Model: modeltest.NewScript(calls("job")), Tools: []tool.Tool{job}, SubAgents: []agent.Agent{silent(t, "booker")}}, agent.RunConfig{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		events := slices.Collect(stored.Events().All())[2:]
		if name == "nothing" {
			if len(events) != 0 {
				t.Errorf("%s: an event %+v", name, events[0])
			}
			continue
		}
		want := session.EventActions{StateDelta: map[string]any{}, ArtifactDelta: map[string]int64{}}
		act(&want)
		if len(events) != 1 || events[0].Content != nil {
			t.Errorf("%s: %d events", name, len(events))
		} else if diff := cmp.Diff(want, events[0].Actions); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestEndsWithTools: a tool may show its result as the answer, or end the run.
func TestEndsWithTools(t *testing.T) {
	for name, end := range map[string]func(agent.Context){
		"its result is the answer": func(ctx agent.Context) { ctx.Actions().SkipSummarization = true },
		"it ends the invocation":   func(ctx agent.Context) { ctx.EndInvocation() },
	} {
		llm := modeltest.NewScript(calls("last"))
		last := fn{name: "last", run: func(ctx agent.Context, _ map[string]any) (map[string]any, error) {
			end(ctx)
			return map[string]any{"r": 1}, nil
		}}
		got, _, err := play(t, llmagent.Config{Model: llm, Tools: []tool.Tool{last}}, agent.RunConfig{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		expect(t, name, got, "call last", "last=map[r:1]")
	}
}

// TestToolThatEndsItsGoroutine, as a failing assertion in it does.
func TestToolThatEndsItsGoroutine(t *testing.T) {
	exits := fn{name: "exits", run: func(agent.Context, map[string]any) (map[string]any, error) {
		runtime.Goexit()
		return nil, nil
	}}
	got, _, err := play(t, llmagent.Config{Model: modeltest.NewScript(calls("exits"), modeltest.Text("I see")), Tools: []tool.Tool{exits}}, agent.RunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "events", got, "call exits", `exits=map[error:tool "exits" did not return]`, "I see")
}

// TestCancelledInATool: the run ends with the error of the context; the call
// stays in the log, and the next run is not held up by it.
func TestCancelledInATool(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waits := fn{name: "waits", run: func(ctx agent.Context, _ map[string]any) (map[string]any, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	llm := modeltest.NewScript(calls("waits"), modeltest.Text("and on"))
	r, service := newRunner(t, llmagent.Config{Name: "agent", Model: llm, Tools: []tool.Tool{waits}})
	var last error
	for _, err := range r.Run(ctx, "ada", "s1", question(), agent.RunConfig{}) {
		last = err
	}
	if fmt.Sprint(last) != context.Canceled.Error() || len(llm.Requests()) != 1 {
		t.Errorf("error %v after %d calls of the model", last, len(llm.Requests()))
	}
	expect(t, "stored", log(load(t, service)), "the question", "call waits")

	for _, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("go on", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "stored", log(load(t, service)), "the question", "call waits", "go on", "and on")
	open := map[string]bool{}
	for _, content := range llm.Requests()[1].Contents {
		for _, part := range content.Parts {
			if part.FunctionCall != nil {
				open[part.FunctionCall.ID] = true
			}
			if part.FunctionResponse != nil {
				delete(open, part.FunctionResponse.ID)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("the model is sent calls without an answer: %v", open)
	}
}

// TestToolTimeout: a tool that hangs is an answer that the model can act on, and
// what the tool did before is kept. Tools beside it are not touched.
func TestToolTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := fn{name: "hangs", run: func(ctx agent.Context, _ map[string]any) (map[string]any, error) {
			if err := ctx.State().Set("asked", true); err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		slow := fn{name: "slow", run: func(agent.Context, map[string]any) (map[string]any, error) {
			time.Sleep(29 * time.Second)
			return map[string]any{"r": 1}, nil
		}}
		llm := modeltest.NewScript(calls("hangs", "slow"), modeltest.Text("I see"))
		got, stored, err := play(t, llmagent.Config{Model: llm, Tools: []tool.Tool{hangs, slow}, ToolTimeout: 30 * time.Second}, agent.RunConfig{})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "events", got, "call hangs | call slow",
			`hangs=map[error:tool "hangs" was stopped after 30s: context deadline exceeded] | slow=map[r:1]`, "I see")
		if asked, err := stored.State().Get("asked"); asked != true || err != nil {
			t.Errorf("state: %v, %v", asked, err)
		}
	})
}

// TestTaskRunner: what runs tools that are called together can be injected.
func TestTaskRunner(t *testing.T) {
	ran := 0
	ctx := platform.WithTaskRunner(t.Context(), func(ctx context.Context, tasks []func(context.Context)) {
		ran += len(tasks)
		for _, task := range slices.Backward(tasks) {
			task(context.WithValue(ctx, taskKey{}, true))
		}
	})
	var order []string
	notes := func(name string) fn {
		return fn{name: name, run: func(ctx agent.Context, _ map[string]any) (map[string]any, error) {
			order = append(order, fmt.Sprint(name, ctx.Value(taskKey{})))
			return map[string]any{}, nil
		}}
	}
	llm := modeltest.NewScript(calls("a", "b"), modeltest.Text("done"))
	r, service := newRunner(t, llmagent.Config{Name: "agent", Model: llm, Tools: []tool.Tool{notes("a"), notes("b")}})
	for _, err := range r.Run(ctx, "ada", "s1", question(), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if ran != 2 || fmt.Sprint(order) != "[btrue atrue]" {
		t.Errorf("%d tasks, %v", ran, order)
	}
	expect(t, "stored", log(load(t, service)), "the question", "call a | call b", "a=map[] | b=map[]", "done")
}

type taskKey struct{}

// TestCancelledAfterTheAnswer: there is nothing left that could fail.
func TestCancelledAfterTheAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, service := newRunner(t, llmagent.Config{Name: "agent", Model: modeltest.NewScript(modeltest.Text("done"))})
	for event, err := range r.Run(ctx, "ada", "s1", question(), agent.RunConfig{}) {
		if err != nil {
			t.Errorf("after the answer: %v", err)
		} else if event.IsFinalResponse() {
			cancel()
		}
	}
	expect(t, "stored", log(load(t, service)), "the question", "done")
}
