package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/memory"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

func silent(agent.InvocationContext) iter.Seq2[*session.Event, error] {
	return func(func(*session.Event, error) bool) {}
}

func named(t testing.TB, name string, subs ...agent.Agent) agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{Name: name, Description: "is " + name, SubAgents: subs, Run: silent})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func invocation(state map[string]any) agent.InvocationContext {
	return agent.NewInvocationContext(context.Background(), agent.InvocationParams{
		Session:      session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: "ada", ID: "s1", State: state}),
		InvocationID: "i1", Branch: "root", UserContent: genai.NewContentFromText("hello", genai.RoleUser),
	})
}

func TestNew(t *testing.T) {
	sub := named(t, "sub")
	for want, cfg := range map[string]agent.Config{
		"Name must be set":             {Run: silent},
		`the name "user" is the user'`: {Name: "user", Run: silent},
		"Run must be set":              {Name: "a"},
		"SubAgents[0] is nil":          {Name: "a", Run: silent, SubAgents: []agent.Agent{nil}},
		`two agents are named "sub"`:   {Name: "a", Run: silent, SubAgents: []agent.Agent{sub, sub}},
		`two agents are named "a"`:     {Name: "a", Run: silent, SubAgents: []agent.Agent{named(t, "b", named(t, "a"))}},
		`two agents are named "leaf"`:  {Name: "a", Run: silent, SubAgents: []agent.Agent{named(t, "b", named(t, "leaf")), named(t, "c", named(t, "leaf"))}},
	} {
		if _, err := agent.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestFindAgent(t *testing.T) {
	leaf := named(t, "leaf")
	root := named(t, "root", named(t, "left"), named(t, "right", leaf))
	if root.FindAgent("leaf") != leaf || root.FindAgent("root") != root || root.FindAgent("nobody") != nil {
		t.Error("FindAgent")
	}
	if root.FindSubAgent("root") != nil || root.FindSubAgent("leaf") != leaf {
		t.Error("FindSubAgent")
	}
	if root.Description() != "is root" || len(root.SubAgents()) != 2 {
		t.Error("description or sub-agents")
	}

	// An agent does not change after New.
	subs := []agent.Agent{leaf}
	parent := named(t, "parent", subs...)
	subs[0] = nil
	parent.SubAgents()[0] = nil
	if parent.FindAgent("leaf") != leaf {
		t.Error("who holds the list of sub-agents can change it")
	}
}

// TestRun: callbacks around the agent, and what is completed in its events.
func TestRun(t *testing.T) {
	text := func(text string) func(agent.Context) (*genai.Content, error) {
		return func(agent.Context) (*genai.Content, error) {
			return genai.NewContentFromText(text, genai.RoleModel), nil
		}
	}
	says := func(events ...string) func(agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				for _, e := range events {
					if e == "error" {
						yield(nil, errors.New("boom"))
						return
					}
					if e == "end" {
						ctx.EndInvocation()
						return
					}
					if !yield(&session.Event{LLMResponse: model.LLMResponse{Content: genai.NewContentFromText(e, genai.RoleModel)}}, nil) {
						return
					}
				}
			}
		}
	}
	setsState := func(ctx agent.Context) (*genai.Content, error) { return nil, ctx.State().Set("k", 1) }
	fails := func(agent.Context) (*genai.Content, error) { return nil, errors.New("boom") }
	for _, tc := range []struct {
		name string
		cfg  agent.Config
		want string
	}{
		{"runs", agent.Config{Run: says("one", "two")}, "one, two"},
		{"an error ends it", agent.Config{Run: says("one", "error", "two"), AfterAgentCallbacks: []agent.AfterAgentCallback{text("after")}}, "one, boom"},
		{"before answers", agent.Config{Run: says("one"), BeforeAgentCallbacks: []agent.BeforeAgentCallback{text("before"), text("never")}, AfterAgentCallbacks: []agent.AfterAgentCallback{text("after")}}, "before"},
		{"before sets state", agent.Config{Run: says("one"), BeforeAgentCallbacks: []agent.BeforeAgentCallback{setsState}}, "map[k:1], one"},
		{"before fails", agent.Config{Run: says("one"), BeforeAgentCallbacks: []agent.BeforeAgentCallback{fails}}, `agent "a": callback: boom`},
		{"before fails after the state was set", agent.Config{Run: says("one"), BeforeAgentCallbacks: []agent.BeforeAgentCallback{setsState, fails}}, `agent "a": callback: boom`},
		{"after fails", agent.Config{Run: says("one"), AfterAgentCallbacks: []agent.AfterAgentCallback{fails, text("never")}}, `one, agent "a": callback: boom`},
		{"after sets state", agent.Config{Run: says("one"), AfterAgentCallbacks: []agent.AfterAgentCallback{setsState}}, "one, map[k:1]"},
		{"after adds", agent.Config{Run: says("one"), AfterAgentCallbacks: []agent.AfterAgentCallback{setsState, text("after")}}, "one, after"},
		{"no after once ended", agent.Config{Run: says("one", "end"), AfterAgentCallbacks: []agent.AfterAgentCallback{text("after")}}, "one"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.cfg.Name = "a"
			a, err := agent.New(tc.cfg)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for e, err := range a.Run(invocation(nil)) {
				if err != nil {
					got = append(got, err.Error())
					continue
				}
				if e.Author != "a" || e.Branch != "root" || e.InvocationID != "i1" {
					t.Errorf("event %+v", e)
				}
				if e.Content == nil {
					got = append(got, fmt.Sprint(e.Actions.StateDelta))
					continue
				}
				got = append(got, e.Content.Parts[0].Text)
			}
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
}

// TestConsumerStops at each event in turn: nothing runs after it.
func TestConsumerStops(t *testing.T) {
	speak := func(log *[]string, text string) func(agent.Context) (*genai.Content, error) {
		return func(agent.Context) (*genai.Content, error) {
			*log = append(*log, text)
			return genai.NewContentFromText(text, genai.RoleModel), nil
		}
	}
	for stop := 1; stop <= 4; stop++ {
		var log []string
		a, err := agent.New(agent.Config{
			Name: "a",
			BeforeAgentCallbacks: []agent.BeforeAgentCallback{func(ctx agent.Context) (*genai.Content, error) {
				log = append(log, "before")
				return nil, ctx.State().Set("k", 1)
			}},
			Run: func(agent.InvocationContext) iter.Seq2[*session.Event, error] {
				return func(yield func(*session.Event, error) bool) {
					for _, text := range []string{"one", "two"} {
						log = append(log, text)
						if !yield(&session.Event{}, nil) {
							return
						}
					}
				}
			},
			AfterAgentCallbacks: []agent.AfterAgentCallback{speak(&log, "after")},
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for range a.Run(invocation(nil)) {
			if seen++; seen == stop {
				break
			}
		}
		if diff := cmp.Diff([]string{"before", "one", "two", "after"}[:stop], log); diff != "" {
			t.Errorf("stopped at %d: -want +got:\n%s", stop, diff)
		}
	}
}

// TestOwnFieldsAreKept: what an agent's logic sets in its events stays.
func TestOwnFieldsAreKept(t *testing.T) {
	scope, branch := "task", "root.a"
	for want, event := range map[string]*session.Event{
		"a root.a i1 task":   {},
		"b root.b i2 errand": {Author: "b", Branch: "root.b", InvocationID: "i2", IsolationScope: "errand"},
	} {
		a, err := agent.New(agent.Config{Name: "a", Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
			if ctx.Agent().Name() != "a" {
				t.Errorf("the context has the agent %q", ctx.Agent().Name())
			}
			return func(yield func(*session.Event, error) bool) { yield(event, nil) }
		}})
		if err != nil {
			t.Fatal(err)
		}
		caller := named(t, "caller")
		delta := &agent.InvocationContextDelta{Agent: &caller, Branch: &branch, IsolationScope: &scope}
		for e := range a.Run(invocation(nil).WithICDelta(delta)) {
			if got := strings.Join([]string{e.Author, e.Branch, e.InvocationID, e.IsolationScope}, " "); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}

func TestContexts(t *testing.T) {
	parent := invocation(map[string]any{"city": "Lisbon", "n": 1})
	me := named(t, "me")
	branch, scope, content := "root.me", "task", genai.NewContentFromText("other", genai.RoleUser)
	type keyType struct{}
	key := keyType{}
	derived := parent.WithICDelta(&agent.InvocationContextDelta{Agent: &me, Branch: &branch, IsolationScope: &scope, UserContent: &content}).
		WithContext(context.WithValue(parent, key, "value"))
	if parent.Agent() != nil || parent.Branch() != "root" || parent.IsolationScope() != "" || parent.UserContent() == content {
		t.Error("the parent changed")
	}
	if derived.Agent() != me || derived.Branch() != branch || derived.IsolationScope() != scope || derived.UserContent() != content || derived.Value(key) != "value" {
		t.Error("the derived context lacks something")
	}
	if parent.Ended() {
		t.Error("ended from the start")
	}
	derived.EndInvocation()
	if !parent.Ended() || parent.Invocation() != derived.Invocation() || parent.Invocation().Compactor() != nil {
		t.Error("the invocation is not shared")
	}

	var actions session.EventActions
	answer := &toolconfirmation.ToolConfirmation{Confirmed: true}
	ctx := agent.NewToolContext(derived, "c1", &actions, answer)
	if ctx.AgentName() != "me" || ctx.AppName() != "app" || ctx.UserID() != "ada" || ctx.SessionID() != "s1" || ctx.FunctionCallID() != "c1" || ctx.ToolConfirmation() != answer || ctx.Actions() != &actions {
		t.Error("the tool context lacks something")
	}
	if agent.NewContext(parent).AgentName() != "" {
		t.Error("a name without an agent")
	}

	// State set in a context is on top of the session's, and in the delta only.
	if err := ctx.State().Set("n", 2); err != nil {
		t.Fatal(err)
	}
	if n, err := ctx.ReadonlyState().Get("n"); n != 2 || err != nil {
		t.Errorf("n is %v, %v", n, err)
	}
	if city, _ := ctx.State().Get("city"); city != "Lisbon" {
		t.Errorf("city is %v", city)
	}
	if _, err := ctx.State().Get("nothing"); !errors.Is(err, session.ErrStateKeyNotExist) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(map[string]any{"city": "Lisbon", "n": 2}, maps.Collect(ctx.State().All())); diff != "" {
		t.Error(diff)
	}
	for range ctx.State().All() {
		break
	}
	if n, _ := parent.Session().State().Get("n"); n != 1 {
		t.Errorf("the session's n is %v", n)
	}
}

// TestStateOfManyGoroutines: a tool may set state from goroutines of its own.
func TestStateOfManyGoroutines(t *testing.T) {
	var actions session.EventActions
	ctx := agent.NewCallbackContext(invocation(nil), &actions)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := ctx.State().Set(fmt.Sprint(i), i); err != nil {
				t.Error(err)
			}
			for range ctx.State().All() {
			}
		})
	}
	wg.Wait()
	if len(actions.StateDelta) != 20 {
		t.Errorf("%d values", len(actions.StateDelta))
	}
}

func TestCountLLMCall(t *testing.T) {
	for limit, want := range map[int]int{0: 500, 2: 2, -1: 1000} {
		ctx := agent.NewInvocationContext(context.Background(), agent.InvocationParams{RunConfig: agent.RunConfig{MaxLLMCalls: limit}})
		allowed := 0
		for range 1000 {
			if err := agent.CountLLMCall(ctx); err == nil {
				allowed++
			} else if !errors.Is(err, agent.ErrMaxLLMCalls) {
				t.Fatal(err)
			}
			ctx = ctx.WithContext(ctx) // one count for all contexts of the run
		}
		if allowed != want {
			t.Errorf("limit %d: %d calls", limit, allowed)
		}
	}
}

// TestArtifacts: versions that are saved through a context are in the delta of
// its actions, and of no others.
func TestArtifacts(t *testing.T) {
	ic := agent.NewInvocationContext(t.Context(), agent.InvocationParams{
		Session:         session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: "ada", ID: "s1"}),
		ArtifactService: artifact.InMemoryService(),
	})
	part := genai.NewPartFromText("x")
	var outer, inner session.EventActions
	outerContext := agent.NewToolContext(ic, "c1", &outer, nil)
	derived, cancel := outerContext.WithAgentTimeout(time.Hour)
	defer cancel()
	for _, ctx := range []agent.InvocationContext{ic, outerContext, derived, agent.NewCallbackContext(outerContext, &inner)} {
		if _, err := ctx.Artifacts().Save(ctx, "f", part); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]int64{"f": 3}, outer.ArtifactDelta); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int64{"f": 4}, inner.ArtifactDelta); diff != "" {
		t.Error(diff)
	}
	loaded, err := outerContext.Artifacts().LoadVersion(ic, "f", 4)
	if err != nil || loaded.Part.Text != "x" {
		t.Errorf("loaded %v, %v", loaded, err)
	}
	if listed, err := ic.Artifacts().List(ic); err != nil || len(listed.FileNames) != 1 {
		t.Errorf("listed %v, %v", listed, err)
	}
	if _, err := outerContext.Artifacts().Save(ic, "a/b", part); err == nil || len(outer.ArtifactDelta) != 1 {
		t.Errorf("error %v, delta %v", err, outer.ArtifactDelta)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := outerContext.Artifacts().Save(ic, "g", part); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if outer.ArtifactDelta["g"] != 20 {
		t.Errorf("version %d", outer.ArtifactDelta["g"])
	}
}

func TestWithoutServices(t *testing.T) {
	ctx := agent.NewContext(invocation(nil))
	for _, err := range []error{
		second(ctx.Artifacts().Save(ctx, "f", genai.NewPartFromText("x"))), second(ctx.Artifacts().Load(ctx, "f")), second(ctx.Artifacts().List(ctx)),
	} {
		if !errors.Is(err, agent.ErrNoArtifactService) {
			t.Errorf("error %v", err)
		}
	}
	for _, err := range []error{second(ctx.SearchMemory(ctx, "q")), ctx.Memory().AddSessionToMemory(ctx, ctx.Session())} {
		if !errors.Is(err, agent.ErrNoMemoryService) {
			t.Errorf("error %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestMemory(t *testing.T) {
	said := &session.Event{Author: "user", LLMResponse: model.LLMResponse{Content: genai.NewContentFromText("the hotel", genai.RoleUser)}}
	ctx := agent.NewContext(agent.NewInvocationContext(t.Context(), agent.InvocationParams{
		Session:       session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: "ada", ID: "s1", Events: []*session.Event{said}}),
		MemoryService: memory.InMemoryService(),
	}))
	if err := ctx.Memory().AddSessionToMemory(ctx, ctx.Session()); err != nil {
		t.Fatal(err)
	}
	if found, err := ctx.SearchMemory(ctx, "hotel"); err != nil || len(found.Memories) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestRequestConfirmation(t *testing.T) {
	var actions session.EventActions
	ic := invocation(nil)
	if err := agent.NewCallbackContext(ic, &actions).RequestConfirmation("sure?", nil); err == nil {
		t.Error("a callback may ask")
	}
	if err := agent.NewToolContext(ic, "c1", &actions, nil).RequestConfirmation("sure?", 5); err != nil {
		t.Fatal(err)
	}
	want := session.EventActions{
		RequestedToolConfirmations: map[string]toolconfirmation.ToolConfirmation{"c1": {Hint: "sure?", Payload: 5}},
		SkipSummarization:          true,
	}
	if diff := cmp.Diff(want, actions); diff != "" {
		t.Error(diff)
	}
}

// TestNodeContext: what a workflow tells the contexts of its nodes.
func TestNodeContext(t *testing.T) {
	path, runID, branch := "flow/node", "r1", "b"
	answers, ancestors := map[string]any{"q": "yes"}, []string{"flow"}
	plain := agent.NewContext(invocation(nil))
	ctx := agent.PromoteWithDelta(plain, &agent.CommonContextDelta{
		Path: &path, RunID: &runID, ResumeInputs: &answers, OutputForAncestors: &ancestors,
		InvocationContextDelta: &agent.InvocationContextDelta{Branch: &branch},
	})
	derived, cancel := ctx.WithAgentCancel()
	inner := agent.NewCallbackContext(derived, &session.EventActions{})
	for _, c := range []agent.Context{ctx, derived, inner, agent.Promote(ctx.WithContext(ctx))} {
		answer, ok := c.ResumedInput("q")
		if c.Path() != path || c.RunID() != runID || c.Branch() != branch || answer != "yes" || !ok || len(c.OutputForAncestors()) != 1 || c.SubScheduler() != nil {
			t.Errorf("the context lacks something: %v", c)
		}
	}
	cancel()
	if derived.Err() == nil || inner.Err() == nil || ctx.Err() != nil {
		t.Error("the wrong context ended")
	}
	if _, ok := plain.ResumedInput("q"); ok || plain.Path() != "" || plain.WithDelta(nil).Branch() != "root" {
		t.Error("the parent changed")
	}
	if _, ok := invocation(nil).ResumedInput("q"); ok {
		t.Error("an answer from nowhere")
	}
}

// TestMocks: a test defines what it needs around them.
func TestMocks(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), t, 1))
	strict := agent.NewStrictContextMock(ctx)
	for _, c := range []agent.Context{
		struct{ *agent.StrictContextMock }{&strict},
		struct{ *agent.ContextMock }{},
	} {
		if _, ok := c.Deadline(); ok || c.Err() != nil {
			t.Error("it has ended")
		}
	}
	cancel()
	<-strict.Done()
	if strict.Err() == nil || strict.Value(t) != 1 {
		t.Error("it is not its context")
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	strict.UserID()
}

func TestLoaders(t *testing.T) {
	a, b := named(t, "a"), named(t, "b")
	multi, err := agent.NewMultiLoader(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		loader agent.Loader
		name   string
		want   agent.Agent
	}{
		{agent.NewSingleLoader(a), "", a}, {agent.NewSingleLoader(a), "a", a}, {agent.NewSingleLoader(a), "b", nil},
		{multi, "", a}, {multi, "a", a}, {multi, "b", b}, {multi, "c", nil},
	} {
		got, err := test.loader.LoadAgent(test.name)
		if got != test.want || (err == nil) != (test.want != nil) || test.loader.RootAgent() != a {
			t.Errorf("%q: %v, %v", test.name, got, err)
		}
	}
	if _, err := multi.LoadAgent("c"); err.Error() != `agent: there is no agent "c"; there are: a, b` {
		t.Errorf("error %v", err)
	}
	if got := strings.Join(multi.ListAgents(), " "); got != "a b" {
		t.Errorf("agents %s", got)
	}
	for want, agents := range map[string][]agent.Agent{
		`two agents to load are named "a"`: {b, named(t, "a")},
		"an agent to load is nil":          {nil},
	} {
		if _, err := agent.NewMultiLoader(a, agents...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
