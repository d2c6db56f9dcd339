package runner_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/plugin"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

func newPlugin(t testing.TB, cfg plugin.Config) *plugin.Plugin {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "plugin"
	}
	p, err := plugin.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func withPlugins(plugins ...*plugin.Plugin) runner.PluginConfig {
	return runner.PluginConfig{Plugins: plugins}
}

// journal notes what happens, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// noting is a plugin that notes each callback.
func (j *journal) noting(t testing.TB, name string) *plugin.Plugin {
	return newPlugin(t, plugin.Config{
		Name: name,
		OnUserMessageCallback: func(_ agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
			j.note("%s: user message %s", name, msg.Parts[0].Text)
			return nil, nil
		},
		BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) {
			j.note("%s: before run", name)
			return nil, nil
		},
		AfterRunCallback: func(agent.InvocationContext) { j.note("%s: after run", name) },
		OnEventCallback: func(_ agent.InvocationContext, e *session.Event) (*session.Event, error) {
			j.note("%s: event", name)
			return nil, nil
		},
		BeforeAgentCallback: func(ctx agent.Context) (*genai.Content, error) {
			j.note("%s: before agent %s", name, ctx.AgentName())
			return nil, nil
		},
		AfterAgentCallback: func(ctx agent.Context) (*genai.Content, error) {
			j.note("%s: after agent %s", name, ctx.AgentName())
			return nil, nil
		},
		BeforeModelCallback: func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
			j.note("%s: before model", name)
			return nil, nil
		},
		AfterModelCallback: func(agent.Context, *model.LLMResponse, error) (*model.LLMResponse, error) {
			j.note("%s: after model", name)
			return nil, nil
		},
		OnModelErrorCallback: func(_ agent.Context, _ *model.LLMRequest, err error) (*model.LLMResponse, error) {
			j.note("%s: model error %v", name, err)
			return nil, nil
		},
		BeforeToolCallback: func(_ agent.Context, t tool.Tool, _ map[string]any) (map[string]any, error) {
			j.note("%s: before tool %s", name, t.Name())
			return nil, nil
		},
		AfterToolCallback: func(_ agent.Context, t tool.Tool, _, result map[string]any, err error) (map[string]any, error) {
			j.note("%s: after tool %s %v %v", name, t.Name(), result, err)
			return nil, nil
		},
		OnToolErrorCallback: func(_ agent.Context, t tool.Tool, _ map[string]any, err error) (map[string]any, error) {
			j.note("%s: tool error %s %v", name, t.Name(), err)
			return nil, nil
		},
		CloseFunc: func() error { j.note("%s: close", name); return nil },
	})
}

// TestOrderOfPlugins: every callback, of two plugins and of the agent, where
// all of them let everything pass.
func TestOrderOfPlugins(t *testing.T) {
	var j journal
	failing, err := functiontool.New(functiontool.Config{Name: "t"}, func(agent.Context, struct{}) (string, error) {
		return "", errors.New("down")
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := llmagent.New(llmagent.Config{
		Name: "agent", Tools: []tool.Tool{failing},
		Model: modeltest.NewScript(modeltest.Call("c1", "t", nil), modeltest.Fail(errors.New("offline"))),
		BeforeAgentCallbacks: []agent.BeforeAgentCallback{func(agent.Context) (*genai.Content, error) {
			j.note("agent: before")
			return nil, nil
		}},
		BeforeToolCallbacks: []llmagent.BeforeToolCallback{func(agent.Context, tool.Tool, map[string]any) (map[string]any, error) {
			j.note("agent: before tool")
			return nil, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, runner.Config{Agent: a, PluginConfig: withPlugins(j.noting(t, "a"), j.noting(t, "b"))})
	for _, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("hi", genai.RoleUser), agent.RunConfig{}) {
		if err != nil && err.Error() != "offline" {
			t.Fatal(err)
		}
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `
		a: user message hi
		b: user message hi
		a: before run
		b: before run
		a: before agent agent
		b: before agent agent
		agent: before
		a: before model
		b: before model
		a: after model
		b: after model
		a: event
		b: event
		a: before tool t
		b: before tool t
		agent: before tool
		a: tool error t down
		b: tool error t down
		a: after tool t map[] down
		b: after tool t map[] down
		a: event
		b: event
		a: before model
		b: before model
		a: model error offline
		b: model error offline
		a: after model
		b: after model
		a: after run
		b: after run
		a: close
		b: close`
	if got := strings.Join(j.lines, "\n"); got != strings.ReplaceAll(strings.TrimSpace(want), "\t", "") {
		t.Errorf("got\n%s", got)
	}
}

// TestThePluginThatDecides: the first that returns something has decided, and
// nobody after it is asked.
func TestThePluginThatDecides(t *testing.T) {
	content := func(text string) *genai.Content { return genai.NewContentFromText(text, genai.RoleModel) }
	response := func(text string) *model.LLMResponse { return &model.LLMResponse{Content: content(text)} }
	echo, err := functiontool.New(functiontool.Config{Name: "t"}, func(agent.Context, struct{}) (map[string]any, error) {
		return map[string]any{"from": "tool"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		first plugin.Config
		want  []string
	}{
		"none": {plugin.Config{}, []string{"agent: call t", "agent: map[from:tool]", "agent: asked hi"}},
		"OnUserMessage": {plugin.Config{OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
			return genai.NewContentFromText("bye", genai.RoleUser), nil
		}}, []string{"agent: call t", "agent: map[from:tool]", "agent: asked bye"}},
		"BeforeRun": {plugin.Config{BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) {
			return content("closed"), nil
		}}, []string{"agent: closed"}},
		"BeforeAgent": {plugin.Config{BeforeAgentCallback: func(agent.Context) (*genai.Content, error) {
			return content("no"), nil
		}}, []string{"agent: no"}},
		"BeforeModel": {plugin.Config{BeforeModelCallback: func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
			return response("cached"), nil
		}}, []string{"agent: cached"}},
		"AfterModel": {plugin.Config{AfterModelCallback: func(agent.Context, *model.LLMResponse, error) (*model.LLMResponse, error) {
			return response("better"), nil
		}}, []string{"agent: better"}},
		"BeforeTool": {plugin.Config{BeforeToolCallback: func(agent.Context, tool.Tool, map[string]any) (map[string]any, error) {
			return map[string]any{"from": "plugin"}, nil
		}}, []string{"agent: call t", "agent: map[from:plugin]", "agent: asked hi"}},
		"AfterTool": {plugin.Config{AfterToolCallback: func(agent.Context, tool.Tool, map[string]any, map[string]any, error) (map[string]any, error) {
			return map[string]any{"after": "plugin"}, nil
		}}, []string{"agent: call t", "agent: map[after:plugin]", "agent: asked hi"}},
		"OnEvent": {plugin.Config{OnEventCallback: func(_ agent.InvocationContext, e *session.Event) (*session.Event, error) {
			return &session.Event{Author: "censor", LLMResponse: model.LLMResponse{Content: content("...")}}, nil
		}}, []string{"censor: ..."}},
	} {
		t.Run(name, func(t *testing.T) {
			service := session.InMemoryService()
			a, err := llmagent.New(llmagent.Config{Name: "agent", Tools: []tool.Tool{echo}, Model: callThenAnswer{}})
			if err != nil {
				t.Fatal(err)
			}
			test.first.Name = "first"
			nobody := plugin.Config{Name: "second"} // is asked where the first has decided
			if test.first.OnEventCallback != nil {
				nobody.OnEventCallback = func(agent.InvocationContext, *session.Event) (*session.Event, error) {
					t.Error("the second plugin is asked")
					return nil, nil
				}
			}
			r := newRunner(t, runner.Config{Agent: a, SessionService: service, PluginConfig: withPlugins(newPlugin(t, test.first), newPlugin(t, nobody))})
			var got []string
			for e, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("hi", genai.RoleUser), agent.RunConfig{}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.Author+": "+textOf(e))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			stored := events(t, service, "s1")[1:]
			if len(stored) != len(got) || textOf(stored[len(stored)-1]) != strings.SplitN(got[len(got)-1], ": ", 2)[1] {
				t.Errorf("%d events are stored", len(stored))
			}
		})
	}
}

// callThenAnswer calls the tool t, and then says what the user said.
type callThenAnswer struct{}

func (callThenAnswer) Name() string { return "model" }
func (callThenAnswer) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	part := &genai.Part{Text: "asked " + req.Contents[0].Parts[0].Text}
	if len(req.Contents) == 1 {
		part = &genai.Part{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "t"}}
	}
	return func(yield func(*model.LLMResponse, error) bool) {
		yield(&model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{part}}}, nil)
	}
}

func textOf(e *session.Event) string {
	switch part := e.Content.Parts[0]; {
	case part.FunctionCall != nil:
		return "call " + part.FunctionCall.Name
	case part.FunctionResponse != nil:
		return fmt.Sprint(part.FunctionResponse.Response)
	default:
		return part.Text
	}
}

func events(t testing.TB, service session.Service, id string) []*session.Event {
	t.Helper()
	got, err := service.Get(context.Background(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(got.Session.Events().All())
}

// TestPluginsThatFail: a run ends with the error, which names the plugin, and
// what was stored before it stays.
func TestPluginsThatFail(t *testing.T) {
	down := errors.New("down")
	for name, test := range map[string]struct {
		cfg    plugin.Config
		stored int
		after  int // calls of AfterRun
	}{
		"OnUserMessage": {plugin.Config{OnUserMessageCallback: func(agent.InvocationContext, *genai.Content) (*genai.Content, error) { return nil, down }}, 0, 0},
		"BeforeRun":     {plugin.Config{BeforeRunCallback: func(agent.InvocationContext) (*genai.Content, error) { return nil, down }}, 1, 1},
		"BeforeAgent":   {plugin.Config{BeforeAgentCallback: func(agent.Context) (*genai.Content, error) { return nil, down }}, 1, 1},
		"OnEvent":       {plugin.Config{OnEventCallback: func(agent.InvocationContext, *session.Event) (*session.Event, error) { return nil, down }}, 1, 1},
		"AfterAgent":    {plugin.Config{AfterAgentCallback: func(agent.Context) (*genai.Content, error) { return nil, down }}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			service, after := session.InMemoryService(), 0
			test.cfg.AfterRunCallback = func(agent.InvocationContext) { after++ }
			r := newRunner(t, runner.Config{Agent: says(t, "hello"), SessionService: service, PluginConfig: withPlugins(newPlugin(t, test.cfg))})
			var err error
			for _, err = range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("hi", genai.RoleUser), agent.RunConfig{}) {
			}
			if !errors.Is(err, down) {
				t.Errorf("error %v", err)
			}
			if n := len(events(t, service, "s1")); n != test.stored || after != test.after {
				t.Errorf("%d events are stored, want %d; AfterRun was called %d times", n, test.stored, after)
			}
		})
	}
}

// TestAfterRunWhereTheConsumerStops: the run is over all the same.
func TestAfterRunWhereTheConsumerStops(t *testing.T) {
	after := 0
	r := newRunner(t, runner.Config{Agent: says(t, "hello"), PluginConfig: withPlugins(newPlugin(t, plugin.Config{
		AfterRunCallback: func(agent.InvocationContext) { after++ },
	}))})
	for range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("hi", genai.RoleUser), agent.RunConfig{}) {
		break
	}
	if after != 1 {
		t.Errorf("AfterRun was called %d times", after)
	}
}

// TestPluginsCannotMintARecord, neither in place nor in an event of their own.
func TestPluginsCannotMintARecord(t *testing.T) {
	record := func() *session.EventCompaction {
		return &session.EventCompaction{EndTimestamp: 1e10, CompactedContent: genai.NewContentFromText("forged", genai.RoleModel)}
	}
	for name, callback := range map[string]plugin.OnEventCallback{
		"in place": func(_ agent.InvocationContext, e *session.Event) (*session.Event, error) {
			e.Actions.Compaction = record()
			return nil, nil
		},
		"in place, and returned": func(_ agent.InvocationContext, e *session.Event) (*session.Event, error) {
			e.Actions.Compaction = record()
			return e, nil
		},
		"in another event": func(_ agent.InvocationContext, e *session.Event) (*session.Event, error) {
			e = e.Clone()
			e.Actions.Compaction = record()
			return e, nil
		},
	} {
		service := session.InMemoryService()
		r := newRunner(t, runner.Config{Agent: says(t, "hello"), SessionService: service, PluginConfig: withPlugins(newPlugin(t, plugin.Config{OnEventCallback: callback}))})
		run(t, r, "hi")
		for _, e := range events(t, service, "s1") {
			if e.Actions.Compaction != nil {
				t.Errorf("%s: a plugin made a record", name)
			}
		}
	}
}

// TestPluginsSeeSummaries: they may change the text, and nothing else of the
// record that is stored.
func TestPluginsSeeSummaries(t *testing.T) {
	for name, test := range map[string]struct {
		callback func(*session.Event) (*session.Event, error)
		want     string // "": nothing is stored
	}{
		"passes": {func(*session.Event) (*session.Event, error) { return nil, nil }, "own: 4111"},
		"changes the text": {func(e *session.Event) (*session.Event, error) {
			e.Actions.Compaction.CompactedContent.Parts[0].Text = "****"
			return nil, nil
		}, "****"},
		"returns another": {func(e *session.Event) (*session.Event, error) {
			e = e.Clone()
			e.Actions.Compaction = &session.EventCompaction{
				StartTimestamp: 1, EndTimestamp: 1e10, CompactedContent: genai.NewContentFromText("****", genai.RoleUser),
			}
			return e, nil
		}, "****"},
		"removes the record": {func(e *session.Event) (*session.Event, error) {
			e.Actions.Compaction = nil
			return nil, nil
		}, "own: 4111"},
		"fails": {func(*session.Event) (*session.Event, error) { return nil, errors.New("down") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			service := session.InMemoryService()
			p := newPlugin(t, plugin.Config{OnEventCallback: func(ctx agent.InvocationContext, e *session.Event) (*session.Event, error) {
				if e.Actions.Compaction == nil {
					return nil, nil
				}
				if ctx.Session().ID() != "s1" || e.Author != "user" || e.InvocationID != ctx.InvocationID() {
					t.Errorf("a summary of %s by %s", ctx.Session().ID(), e.Author)
				}
				return test.callback(e)
			}})
			var outcome compaction.Outcome
			r := newRunner(t, runner.Config{
				Agent: says(t, strings.Repeat("hello ", 100)), SessionService: service, PluginConfig: withPlugins(p),
				CompactionConfig: &compaction.Config{
					CompactionInterval: 2, Blocking: true, Summarizer: fixed("4111"),
					RewriteSummary: func(_ context.Context, text string) (string, error) { return "own: " + text, nil },
					OnOutcome:      func(o compaction.Outcome) { outcome = o },
				},
			})
			run(t, r, "one")
			run(t, r, "two")
			all := events(t, service, "s1")
			record := all[len(all)-1].Actions.Compaction
			if test.want == "" {
				if record != nil || outcome.Kind != compaction.Failed || !strings.Contains(outcome.Err.Error(), `plugin "plugin": down`) {
					t.Errorf("record %v, outcome %v", record, outcome)
				}
				return
			}
			if record == nil {
				t.Fatalf("no summary is stored: %v", outcome)
			}
			if got := record.CompactedContent.Parts[0].Text; got != test.want {
				t.Errorf("the summary is %q, want %q", got, test.want)
			}
			first, last := all[0].Timestamp, all[len(all)-2].Timestamp
			if record.StartTimestamp != float64(first.UnixMicro())/1e6 || record.EndTimestamp != float64(last.UnixMicro())/1e6 {
				t.Errorf("the range is %f to %f, want %v to %v", record.StartTimestamp, record.EndTimestamp, first, last)
			}
		})
	}
}

// fixed is a summarizer that always says the same.
type fixed string

func (f fixed) SummarizeEvents(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
	return compaction.SummarizeResult{Content: genai.NewContentFromText(string(f), genai.RoleModel)}, nil
}

func TestUnfitPlugins(t *testing.T) {
	if _, err := plugin.New(plugin.Config{}); err == nil {
		t.Error("a plugin without a name")
	}
	p := newPlugin(t, plugin.Config{})
	for want, cfg := range map[string]runner.PluginConfig{
		"Plugins[1] is nil":              withPlugins(p, nil),
		`two plugins are named "plugin"`: withPlugins(p, p),
		"CloseTimeout is negative (-1s)": {CloseTimeout: -time.Second},
	} {
		_, err := runner.New(runner.Config{AppName: "app", Agent: says(t, "hello"), SessionService: session.InMemoryService(), PluginConfig: cfg})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestClosePlugins: each is closed once, whatever the others do, and those that
// hang do not hold up Close for longer than they may.
func TestClosePlugins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, release := 0, make(chan struct{})
		defer close(release)
		down := errors.New("down")
		r, err := runner.New(runner.Config{
			AppName: "app", Agent: says(t, "hello"), SessionService: session.InMemoryService(),
			PluginConfig: runner.PluginConfig{CloseTimeout: time.Minute, Plugins: []*plugin.Plugin{
				newPlugin(t, plugin.Config{Name: "silent"}),
				newPlugin(t, plugin.Config{Name: "failing", CloseFunc: func() error { closed++; return down }}),
				newPlugin(t, plugin.Config{Name: "hanging", CloseFunc: func() error { <-release; return nil }}),
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Close(t.Context())
		if !errors.Is(err, down) || !strings.Contains(err.Error(), `"hanging": it was not closed in time`) {
			t.Errorf("error %v", err)
		}
		if err := r.Close(t.Context()); err != nil || closed != 1 {
			t.Errorf("closed %d times, error %v", closed, err)
		}
	})
}

// TestEverybodyWrites: two plugins, the agent's callbacks and its tool add to
// one value of the state, and save one artifact, in one turn. Each sees what
// those before it wrote, and what was written is in the delta of the event that
// it led to.
func TestEverybodyWrites(t *testing.T) {
	writes := func(ctx agent.Context, who, where string) error {
		trail, err := ctx.State().Get("trail")
		if errors.Is(err, session.ErrStateKeyNotExist) {
			trail, err = "", nil
		}
		if err == nil {
			err = ctx.State().Set("trail", fmt.Sprintf("%v%s %s\n", trail, who, where))
		}
		if err == nil {
			_, err = ctx.Artifacts().Save(ctx, "log", genai.NewPartFromText(who))
		}
		return err
	}
	aroundAgent := func(who, where string) func(agent.Context) (*genai.Content, error) {
		return func(ctx agent.Context) (*genai.Content, error) { return nil, writes(ctx, who, where) }
	}
	beforeModel := func(who string) llmagent.BeforeModelCallback {
		return func(ctx agent.Context, _ *model.LLMRequest) (*model.LLMResponse, error) {
			return nil, writes(ctx, who, "before model")
		}
	}
	afterModel := func(who string) llmagent.AfterModelCallback {
		return func(ctx agent.Context, _ *model.LLMResponse, _ error) (*model.LLMResponse, error) {
			return nil, writes(ctx, who, "after model")
		}
	}
	beforeTool := func(who string) llmagent.BeforeToolCallback {
		return func(ctx agent.Context, _ tool.Tool, _ map[string]any) (map[string]any, error) {
			return nil, writes(ctx, who, "before tool")
		}
	}
	afterTool := func(who string) llmagent.AfterToolCallback {
		return func(ctx agent.Context, _ tool.Tool, _, _ map[string]any, _ error) (map[string]any, error) {
			return nil, writes(ctx, who, "after tool")
		}
	}
	var plugins []*plugin.Plugin
	for _, who := range []string{"p", "q"} {
		plugins = append(plugins, newPlugin(t, plugin.Config{
			Name: who, BeforeAgentCallback: aroundAgent(who, "before agent"), AfterAgentCallback: aroundAgent(who, "after agent"),
			BeforeModelCallback: beforeModel(who), AfterModelCallback: afterModel(who),
			BeforeToolCallback: beforeTool(who), AfterToolCallback: afterTool(who),
		}))
	}
	works, err := functiontool.New(functiontool.Config{Name: "t"}, func(ctx agent.Context, _ struct{}) (string, error) {
		return "ok", writes(ctx, "t", "")
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := llmagent.New(llmagent.Config{
		Name: "agent", Model: callThenAnswer{}, Tools: []tool.Tool{works},
		BeforeAgentCallbacks: []agent.BeforeAgentCallback{aroundAgent("a", "before agent")},
		AfterAgentCallbacks:  []agent.AfterAgentCallback{aroundAgent("a", "after agent")},
		BeforeModelCallbacks: []llmagent.BeforeModelCallback{beforeModel("a")},
		AfterModelCallbacks:  []llmagent.AfterModelCallback{afterModel("a")},
		BeforeToolCallbacks:  []llmagent.BeforeToolCallback{beforeTool("a")},
		AfterToolCallbacks:   []llmagent.AfterToolCallback{afterTool("a")},
	})
	if err != nil {
		t.Fatal(err)
	}
	service := session.InMemoryService()
	r := newRunner(t, runner.Config{
		Agent: a, SessionService: service, ArtifactService: artifact.InMemoryService(), PluginConfig: withPlugins(plugins...),
	})
	for _, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("hi", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var before string
	var got []string
	for _, e := range events(t, service, "s1")[1:] {
		trail := fmt.Sprint(e.Actions.StateDelta["trail"])
		added := strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(trail, before)), "\n", ", ")
		got = append(got, fmt.Sprintf("%s; version %d", added, e.Actions.ArtifactDelta["log"]))
		before = trail
	}
	equal(t, "what each event adds", got,
		"p before agent, q before agent, a before agent; version 3",
		"p before model, q before model, a before model, p after model, q after model, a after model; version 9",
		"p before tool, q before tool, a before tool, t , p after tool, q after tool, a after tool; version 16",
		"p before model, q before model, a before model, p after model, q after model, a after model; version 22",
		"p after agent, q after agent, a after agent; version 25",
	)
}
