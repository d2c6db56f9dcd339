package agenttool_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/memory"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/agenttool"
	"github.com/recap-adk/recap/tool/functiontool"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func Example() {
	translator, err := llmagent.New(llmagent.Config{
		Name: "translator", Description: "Translates a text to French.",
		Model: modeltest.NewScript(modeltest.Text("Bonjour")),
	})
	if err != nil {
		panic(err)
	}
	writer, err := llmagent.New(llmagent.Config{
		Name: "writer",
		Model: modeltest.NewScript(
			modeltest.Call("c1", "translator", map[string]any{"request": "Hello"}),
			modeltest.Text("In French that is: Bonjour"),
		),
		Tools: []tool.Tool{agenttool.New(translator, nil)},
	})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("app", writer)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("What is Hello in French?", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		for _, part := range event.Content.Parts {
			if part.FunctionResponse != nil {
				fmt.Println(part.FunctionResponse.Response)
			} else {
				fmt.Println(part.Text)
			}
		}
	}
	// Output:
	//
	// map[result:Bonjour]
	// In French that is: Bonjour
}

// runs is an agent that is a function.
func runs(t *testing.T, run func(agent.InvocationContext, func(*session.Event, error) bool)) agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{
		Name: "helper", Description: "helps",
		Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) { run(ctx, yield) }
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// says is an event of an agent.
func says(ctx agent.InvocationContext, parts ...*genai.Part) *session.Event {
	event := session.NewEvent(ctx, ctx.InvocationID())
	event.Content = &genai.Content{Role: genai.RoleModel, Parts: parts}
	return event
}

// caller is the context of the agent that calls.
func caller(ctx context.Context) agent.Context {
	return agent.NewToolContext(agent.NewInvocationContext(ctx, agent.InvocationParams{
		Session: session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: "ada", ID: "s1", State: map[string]any{
			"city": "Rome", "user:lang": "it", "list": []any{"a"},
		}}),
		RunConfig:       agent.RunConfig{StreamingMode: agent.StreamingModeSSE},
		ArtifactService: artifact.InMemoryService(), MemoryService: memory.InMemoryService(),
	}), "c1", &session.EventActions{}, nil)
}

func call(ctx agent.Context, a agent.Agent, args map[string]any) (map[string]any, error) {
	return agenttool.New(a, nil).(tool.Function).Run(ctx, args)
}

func request(text string) map[string]any { return map[string]any{"request": text} }

// TestAnswers: the answer is what the agent said last.
func TestAnswers(t *testing.T) {
	text := func(s string) *genai.Part { return &genai.Part{Text: s} }
	partial := func(e *session.Event) *session.Event { e.Partial = true; return e }
	failed := func(e *session.Event) *session.Event {
		e.ErrorCode, e.ErrorMessage = "SAFETY", "the answer was withheld"
		return e
	}
	asks := func(e *session.Event) *session.Event {
		agent.NewToolContext(agent.NewInvocationContext(t.Context(), agent.InvocationParams{}), "c2", &e.Actions, nil).RequestConfirmation("May I?", nil)
		return e
	}
	down := errors.New("down")
	tests := []struct {
		name string
		run  func(agent.InvocationContext, func(*session.Event, error) bool)
		want map[string]any
		err  string
	}{
		{"a text", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
			yield(says(ctx, text("one "), nil, text("two")), nil)
		}, map[string]any{"result": "one two"}, ""},
		{"the last text, without thoughts and pieces", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
			_ = yield(says(ctx, text("first")), nil) && yield(nil, nil) &&
				yield(says(ctx, &genai.Part{Text: "hm", Thought: true}, text("last")), nil) && yield(partial(says(ctx, text("la"))), nil)
		}, map[string]any{"result": "last"}, ""},
		{"the result of its tool", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
			yield(says(ctx, genai.NewPartFromFunctionResponse("f", map[string]any{"n": 1})), nil)
		}, map[string]any{"n": 1}, ""},
		{"nothing", func(agent.InvocationContext, func(*session.Event, error) bool) {}, nil, `agent "helper": it did not answer`},
		{"an error", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
			if yield(says(ctx, text("so far")), nil) && yield(nil, down) {
				t.Error("asked for more after an error")
			}
		}, nil, `agent "helper": down`},
		{"an error of the model", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
			yield(failed(says(ctx)), nil)
		}, nil, `agent "helper": SAFETY: the answer was withheld`},
		{"a question", func(ctx agent.InvocationContext, yield func(*session.Event, error) bool) {
			yield(asks(says(ctx)), nil)
		}, nil, `agent "helper": it asked the user something, which an agent that is called as a tool cannot`},
	}
	for _, test := range tests {
		got, err := call(caller(t.Context()), runs(t, test.run), request("help"))
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil && err.Error() != test.err || err == nil && test.err != "" {
			t.Errorf("%s: error %v\n%s", test.name, err, diff)
		}
	}
}

// TestWhatTheAgentSees: a session of its own, with the request and a copy of
// the state.
func TestWhatTheAgentSees(t *testing.T) {
	ctx := caller(t.Context())
	if err := ctx.State().Set("fresh", true); err != nil { // of this very call
		t.Fatal(err)
	}
	a := runs(t, func(run agent.InvocationContext, yield func(*session.Event, error) bool) {
		s := run.Session()
		if s.AppName() != "app" || s.UserID() != "ada" || s.ID() == "s1" || run.InvocationID() == ctx.InvocationID() {
			t.Errorf("session %s of %s in %s", s.ID(), s.UserID(), s.AppName())
		}
		for key, want := range map[string]any{"city": "Rome", "user:lang": "it", "fresh": true} {
			if got, err := s.State().Get(key); got != want || err != nil {
				t.Errorf("state %s: %v, %v", key, got, err)
			}
		}
		if list, err := s.State().Get("list"); err == nil {
			list.([]any)[0] = "changed"
		}
		if s.Events().Len() != 1 || s.Events().At(0).Author != "user" || s.Events().At(0).Content.Parts[0].Text != "help" || run.UserContent().Parts[0].Text != "help" {
			t.Errorf("%d events", s.Events().Len())
		}
		if run.RunConfig().StreamingMode != agent.StreamingModeNone || run.Agent().Name() != "helper" || run.Branch() != "" {
			t.Errorf("run %+v", run.RunConfig())
		}
		run.EndInvocation() // ends this one
		yield(says(run, &genai.Part{Text: "done"}), nil)
	})
	if _, err := call(ctx, a, request("help")); err != nil {
		t.Fatal(err)
	}
	if list, err := ctx.State().Get("list"); fmt.Sprint(list) != "[a]" || err != nil || ctx.Ended() {
		t.Errorf("the caller's list is %v, its run ended %v", list, ctx.Ended())
	}
}

// TestEffects: state and artifacts are the caller's; what else the agent's
// events ask for is not.
func TestEffects(t *testing.T) {
	ctx := caller(t.Context())
	if _, err := ctx.Artifacts().Save(ctx, "given", genai.NewPartFromText("of the caller")); err != nil {
		t.Fatal(err)
	}
	a := runs(t, func(run agent.InvocationContext, yield func(*session.Event, error) bool) {
		event := says(run, &genai.Part{Text: "done"})
		event.Actions.Escalate = true
		event.Actions.TransferToAgent = "nobody"
		event.Actions.Compaction = &session.EventCompaction{}
		inside := agent.NewCallbackContext(run, &event.Actions)
		given, err := inside.Artifacts().Load(run, "given")
		if err != nil || given.Part.Text != "of the caller" {
			t.Errorf("given: %v, %v", given, err)
		}
		if _, err := inside.Artifacts().Save(run, "made", genai.NewPartFromText("of the agent")); err != nil {
			t.Error(err)
		}
		if listed, err := inside.Artifacts().List(run); err != nil || len(listed.FileNames) != 2 {
			t.Errorf("listed: %v, %v", listed, err)
		}
		if err := inside.Memory().AddSessionToMemory(run, run.Session()); err != nil {
			t.Error(err)
		}
		if found, err := inside.SearchMemory(run, "help"); err != nil || len(found.Memories) != 1 {
			t.Errorf("found: %v, %v", found, err)
		}
		_ = inside.State().Set("city", "Oslo")
		_ = inside.State().Set("app:seen", 1)
		_ = inside.State().Set("temp:x", 1)
		if !yield(event, nil) {
			return
		}
		if got, err := run.Session().State().Get("city"); got != "Oslo" || err != nil {
			t.Errorf("the agent's own state: %v, %v", got, err)
		}
		yield(says(run, &genai.Part{Text: "done"}), nil)
	})
	if _, err := call(ctx, a, request("help")); err != nil {
		t.Fatal(err)
	}
	want := &session.EventActions{
		StateDelta:    map[string]any{"city": "Oslo", "app:seen": 1, "temp:x": 1},
		ArtifactDelta: map[string]int64{"given": 1, "made": 1},
	}
	if diff := cmp.Diff(want, ctx.Actions()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if made, err := ctx.Artifacts().Load(ctx, "made"); err != nil || made.Part.Text != "of the agent" {
		t.Errorf("made: %v, %v", made, err)
	}
}

// typed is an agent with schemas.
type typed struct {
	agent.Agent
	in, out *genai.Schema
}

func (a typed) InputSchema() *genai.Schema  { return a.in }
func (a typed) OutputSchema() *genai.Schema { return a.out }

func TestSchemas(t *testing.T) {
	object := &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"city": {Type: genai.TypeString}, "n": {Type: genai.TypeInteger}}, Required: []string{"city"}}
	list := &genai.Schema{Type: genai.TypeArray, Items: &genai.Schema{Type: genai.TypeString}}
	echo := runs(t, func(run agent.InvocationContext, yield func(*session.Event, error) bool) {
		yield(says(run, &genai.Part{Text: run.UserContent().Parts[0].Text}), nil)
	})
	tests := []struct {
		name    string
		in, out *genai.Schema
		args    map[string]any
		want    map[string]any
		err     string
	}{
		{"none", nil, nil, request("hi"), map[string]any{"result": "hi"}, ""},
		{"none, no request", nil, nil, nil, nil, `the argument "request", a text, is missing`},
		{"none, an empty request", nil, nil, request(""), nil, `the argument "request", a text, is missing`},
		{"input", object, nil, map[string]any{"city": "Rome", "n": 2}, map[string]any{"result": `{"city":"Rome","n":2}`}, ""},
		{"input, incomplete", object, nil, map[string]any{"n": 2}, nil, `the arguments do not fit: required: missing properties: ["city"]`},
		{"input, of another type", object, nil, map[string]any{"city": 7}, nil, "/properties/city"},
		{"input that is no JSON", object, nil, map[string]any{"city": func() {}}, nil, "func()"},
		{"output", nil, object, request(`{"city":"Rome"}`), map[string]any{"city": "Rome"}, ""},
		{"output that is a list", nil, list, request(`["a"]`), map[string]any{"result": []any{"a"}}, ""},
		{"output that is no JSON", nil, object, request("Rome"), nil, "its answer does not fit its OutputSchema: it is not JSON"},
		{"output that does not fit", nil, object, request(`{"n":1}`), nil, `missing properties: ["city"]`},
		{"no schemas at all", &genai.Schema{Type: "CITY"}, nil, nil, nil, `InputSchema: there is no type "CITY"`},
		{"no schemas at all", nil, &genai.Schema{Type: "CITY"}, request("hi"), nil, `OutputSchema: there is no type "CITY"`},
		{"both", object, object, map[string]any{"city": "Rome"}, map[string]any{"city": "Rome"}, ""},
	}
	for _, test := range tests {
		a := typed{echo, test.in, test.out}
		got, err := call(caller(t.Context()), a, test.args)
		if diff := cmp.Diff(test.want, got); diff != "" || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v\n%s", test.name, err, diff)
		}
		declaration := agenttool.New(a, nil).(tool.Function).Declaration()
		if want := test.in; want != nil && cmp.Diff(want, declaration.Parameters) != "" || want == nil && declaration.Parameters.Properties["request"] == nil {
			t.Errorf("%s: declared with %v", test.name, declaration.Parameters)
		}
		if cmp.Diff(test.out, declaration.Response) != "" || declaration.Name != "helper" || declaration.Description != "helps" {
			t.Errorf("%s: declared as %s with %v", test.name, declaration.Name, declaration.Response)
		}
	}
}

// TestSkipSummarization: the answer of the agent is the last word, but an error
// is not.
func TestSkipSummarization(t *testing.T) {
	for _, test := range []struct {
		skip  bool
		err   error
		calls int // of the caller's model
	}{
		{false, nil, 2}, {true, nil, 1}, {true, errors.New("down"), 2},
	} {
		llm := modeltest.NewScript(modeltest.Call("c1", "helper", request("help")), modeltest.Text("It helped."))
		helper := runs(t, func(run agent.InvocationContext, yield func(*session.Event, error) bool) {
			yield(says(run, &genai.Part{Text: "done"}), test.err)
		})
		a, err := llmagent.New(llmagent.Config{Name: "boss", Model: llm, Tools: []tool.Tool{agenttool.New(helper, &agenttool.Config{SkipSummarization: test.skip})}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range run(t, a) {
			if err != nil {
				t.Error(err)
			}
		}
		if got := len(llm.Requests()); got != test.calls {
			t.Errorf("%+v: the model was called %d times", test, got)
		}
	}
}

func run(t *testing.T, a agent.Agent) iter.Seq2[*session.Event, error] {
	t.Helper()
	r, err := runner.NewInMemory("app", a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{})
}

// TestSideBySide: calls of one response run at the same time, each in a session
// of its own, and what all of them set arrives.
func TestSideBySide(t *testing.T) {
	const many = 8
	here := make(chan struct{}, many)
	all := make(chan struct{})
	helper := runs(t, func(run agent.InvocationContext, yield func(*session.Event, error) bool) {
		if here <- struct{}{}; len(here) == many {
			close(all)
		}
		<-all
		text := run.UserContent().Parts[0].Text
		event := says(run, &genai.Part{Text: "did " + text})
		event.Actions.StateDelta = map[string]any{"did:" + text: true}
		yield(event, nil)
	})
	var parts []*genai.Part
	for i := range many {
		parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: fmt.Sprint("c", i), Name: "helper", Args: request(fmt.Sprint(i))}})
	}
	a, err := llmagent.New(llmagent.Config{Name: "boss", Model: modeltest.NewScript(modeltest.Reply(parts...), modeltest.Text("all done")), Tools: []tool.Tool{agenttool.New(helper, nil)}})
	if err != nil {
		t.Fatal(err)
	}
	answers, set := 0, 0
	for event, err := range run(t, a) {
		if err != nil {
			t.Fatal(err)
		}
		set += len(event.Actions.StateDelta)
		for i, part := range event.Content.Parts {
			if part.FunctionResponse != nil && part.FunctionResponse.Response["result"] == fmt.Sprint("did ", i) {
				answers++
			}
		}
	}
	if answers != many || set != many {
		t.Errorf("%d answers, %d values in the state", answers, set)
	}
}

// TestCancelled: the agent is cancelled with its caller.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	waits, err := functiontool.New(functiontool.Config{Name: "wait"}, func(ctx agent.Context, _ struct{}) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	llm := modeltest.NewScript(modeltest.Call("c1", "wait", nil))
	helper, err := llmagent.New(llmagent.Config{Name: "helper", Model: llm, Tools: []tool.Tool{waits}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := call(caller(ctx), helper, request("help")); !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("%v, %v", got, err)
	}

	// One that does not heed it has not answered.
	deaf := runs(t, func(run agent.InvocationContext, yield func(*session.Event, error) bool) {
		yield(says(run, &genai.Part{Text: "done"}), nil)
	})
	if got, err := call(caller(ctx), deaf, request("help")); !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNested: an agent that is a tool has one itself, to which the artifacts of
// the first caller are handed down.
func TestNested(t *testing.T) {
	inner := runs(t, func(run agent.InvocationContext, yield func(*session.Event, error) bool) {
		event := says(run, &genai.Part{Text: "inner"})
		event.Actions.StateDelta = map[string]any{"by": "inner"}
		if _, err := run.Artifacts().Save(run, "deep", genai.NewPartFromText("x")); err != nil {
			t.Error(err)
		}
		yield(event, nil)
	})
	outer, err := llmagent.New(llmagent.Config{
		Name: "outer", Model: modeltest.NewScript(modeltest.Call("c1", "helper", request("help")), modeltest.Text("outer")),
		Tools: []tool.Tool{agenttool.New(inner, nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := caller(t.Context())
	got, err := call(ctx, outer, request("help"))
	if err != nil || got["result"] != "outer" {
		t.Errorf("%v, %v", got, err)
	}
	if ctx.Actions().StateDelta["by"] != "inner" || ctx.Actions().ArtifactDelta["deep"] != 1 {
		t.Errorf("actions %+v", ctx.Actions())
	}
}

// TestSchemasOfModelAgents: agents of package llmagent have schemas that the
// tool knows.
func TestSchemasOfModelAgents(t *testing.T) {
	in := &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"city": {Type: genai.TypeString}}}
	out := &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"sky": {Type: genai.TypeString}}}
	llm := modeltest.NewScript(modeltest.Text(`{"sky":"clear"}`))
	a, err := llmagent.New(llmagent.Config{Name: "weather", Model: llm, InputSchema: in, OutputSchema: out})
	if err != nil {
		t.Fatal(err)
	}
	declaration := agenttool.New(a, nil).(tool.Function).Declaration()
	if cmp.Diff(in, declaration.Parameters) != "" || cmp.Diff(out, declaration.Response) != "" {
		t.Errorf("declared as %v to %v", declaration.Parameters, declaration.Response)
	}
	got, err := call(caller(t.Context()), a, map[string]any{"city": "Rome"})
	if err != nil || got["sky"] != "clear" || llm.Requests()[0].Contents[0].Parts[0].Text != `{"city":"Rome"}` {
		t.Errorf("%v, %v", got, err)
	}
}

// TestCompacted: a long loop of tools inside an agent that is called as a tool
// is compacted as the caller's own would be.
func TestCompacted(t *testing.T) {
	llm := modeltest.NewScript()
	for i := range 8 {
		llm.Add(modeltest.Call(fmt.Sprintf("c%d", i), "look", nil))
	}
	llm.Add(modeltest.Text("seen"))
	look, err := functiontool.New(functiontool.Config{Name: "look", Description: "Looks."}, func(agent.Context, struct{}) (string, error) {
		return strings.Repeat("what there is to see, ", 40), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := llmagent.New(llmagent.Config{Name: "inner", Model: llm, Tools: []tool.Tool{look}})
	if err != nil {
		t.Fatal(err)
	}
	outer, err := llmagent.New(llmagent.Config{
		Name: "outer", Tools: []tool.Tool{agenttool.New(inner, nil)},
		Model: modeltest.NewScript(modeltest.Call("o1", "inner", request("go")), modeltest.Text("done")),
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: outer, SessionService: session.InMemoryService(), AutoCreateSession: true,
		CompactionConfig: &compaction.Config{TokenThreshold: 600, EventRetentionSize: 2, Summarizer: compaction.ExtractiveSummarizer{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	for _, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("please", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	requests := llm.Requests()
	if last := requests[len(requests)-1]; len(requests) != 9 || len(last.Contents) > 8 {
		t.Errorf("%d calls, the last with %d contents", len(requests), len(last.Contents))
	}
}
