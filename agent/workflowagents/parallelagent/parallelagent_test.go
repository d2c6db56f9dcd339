package parallelagent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/agent/workflowagents/parallelagent"
	"github.com/recap-adk/recap/agent/workflowagents/sequentialagent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // agents panic, on purpose
	// Importing genai starts this one for good.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func Example() {
	researcher := func(topic, finding string) agent.Agent {
		a, err := llmagent.New(llmagent.Config{
			Name: topic, Model: modeltest.NewScript(modeltest.Text(finding)), OutputKey: topic,
		})
		if err != nil {
			panic(err)
		}
		return a
	}
	research, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{
		Name: "research", SubAgents: []agent.Agent{researcher("weather", "It is sunny."), researcher("food", "There is fish.")},
	}})
	if err != nil {
		panic(err)
	}
	llm := modeltest.NewScript(modeltest.Text("Go there."))
	writer, err := llmagent.New(llmagent.Config{Name: "writer", Model: llm, Instruction: "Sum up: {weather} {food}"})
	if err != nil {
		panic(err)
	}
	report, err := sequentialagent.New(sequentialagent.Config{
		AgentConfig: agent.Config{Name: "report", SubAgents: []agent.Agent{research, writer}},
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
	var branches []string
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("Lisbon?", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		branches = append(branches, fmt.Sprintf("%s on branch %q", event.Author, event.Branch))
	}
	slices.Sort(branches) // the researchers run at the same time
	fmt.Println(strings.Join(branches, "\n"))
	fmt.Println(llm.Requests()[0].Config.SystemInstruction.Parts[0].Text)
	// Output:
	// food on branch "research.food"
	// weather on branch "research.weather"
	// writer on branch ""
	// Sum up: It is sunny. There is fish.
}

type runFunc = func(ctx agent.InvocationContext, say func(text string) bool) error

// does is an agent that does what run says.
func does(t *testing.T, name string, run runFunc) agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{Name: name, Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			err := run(ctx, func(text string) bool {
				event := session.NewEvent(ctx, ctx.InvocationID())
				event.Content = genai.NewContentFromText(text, genai.RoleModel)
				return yield(event, nil)
			})
			if err != nil {
				yield(nil, err)
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func parallel(t *testing.T, name string, subs ...agent.Agent) agent.Agent {
	t.Helper()
	a, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: name, SubAgents: subs}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// play runs one message through a root agent.
func play(t *testing.T, root agent.Agent, each func(*session.Event) bool) (session.Session, error) {
	t.Helper()
	service := session.InMemoryService()
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: root, SessionService: service, ArtifactService: artifact.InMemoryService(), AutoCreateSession: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	for event, e := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}) {
		if err = e; e == nil && each != nil && !each(event) {
			break
		}
	}
	got, getErr := service.Get(context.Background(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if getErr != nil {
		t.Fatal(getErr)
	}
	return got.Session, err
}

// TestTheyRunAtTheSameTime: each waits for the others.
func TestTheyRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started atomic.Int32
		all := make(chan struct{})
		waits := func(ctx agent.InvocationContext, say func(string) bool) error {
			if started.Add(1) == 3 {
				close(all)
			}
			<-all
			say("done")
			return nil
		}
		stored, err := play(t, parallel(t, "p", does(t, "a", waits), does(t, "b", waits), does(t, "c", waits)), nil)
		if err != nil || stored.Events().Len() != 4 {
			t.Errorf("%d events, %v", stored.Events().Len(), err)
		}
	})
}

// TestStoredBeforeItGoesOn: an agent finds its own event in the session, and
// its state, as soon as it goes on.
func TestStoredBeforeItGoesOn(t *testing.T) {
	counts := func(ctx agent.InvocationContext, say func(string) bool) error {
		for i := range 20 {
			if !say(fmt.Sprint(i)) {
				return nil
			}
			own := 0
			for e := range ctx.Session().Events().All() {
				if e.Author == ctx.Agent().Name() {
					own++
				}
			}
			if own != i+1 {
				t.Errorf("%s finds %d of its %d events", ctx.Agent().Name(), own, i+1)
			}
		}
		return nil
	}
	stored, err := play(t, parallel(t, "p", does(t, "a", counts), does(t, "b", counts), does(t, "c", counts)), nil)
	if err != nil || stored.Events().Len() != 61 {
		t.Errorf("%d events, %v", stored.Events().Len(), err)
	}
}

// TestHowItEnds: whatever ends it, the others end with it, and nobody runs on.
func TestHowItEnds(t *testing.T) {
	down := errors.New("down")
	for name, test := range map[string]struct {
		first runFunc
		stop  bool // the consumer stops at the first event
		want  string
	}{
		"one fails":               {func(agent.InvocationContext, func(string) bool) error { return down }, false, "down"},
		"one panics":              {func(agent.InvocationContext, func(string) bool) error { panic("oh") }, false, `agent "first" panicked: oh`},
		"the consumer has enough": {func(_ agent.InvocationContext, say func(string) bool) error { say("x"); return nil }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var ended atomic.Int32
			waits := func(ctx agent.InvocationContext, say func(string) bool) error {
				defer ended.Add(1)
				<-ctx.Done()
				return ctx.Err()
			}
			root := parallel(t, "p", does(t, "b", waits), does(t, "first", test.first), parallel(t, "inner", does(t, "c", waits), does(t, "d", waits)))
			_, err := play(t, root, func(*session.Event) bool { return !test.stop })
			if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if ended.Load() != 3 {
				t.Errorf("%d agents have ended", ended.Load())
			}
		})
	}
}

// TestTheContextEnds: all agents end, and the run with the error of the
// context.
func TestTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	waits := func(ctx agent.InvocationContext, say func(string) bool) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	a := parallel(t, "p", does(t, "a", waits), does(t, "b", waits))
	var err error
	for _, err = range a.Run(agent.NewInvocationContext(ctx, agent.InvocationParams{Agent: a})) {
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestAnAgentThatEndsItsGoroutine, as a failing assertion in it does.
func TestAnAgentThatEndsItsGoroutine(t *testing.T) {
	exits := func(agent.InvocationContext, func(string) bool) error { runtime.Goexit(); return nil }
	stored, err := play(t, parallel(t, "p", does(t, "a", exits)), nil)
	if err != nil || stored.Events().Len() != 1 {
		t.Errorf("%d events, %v", stored.Events().Len(), err)
	}
}

// callsTwice is a model that calls the tool "note" twice at once, and then is
// done.
type callsTwice struct{}

func (callsTwice) Name() string { return "model" }
func (callsTwice) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	turn := modeltest.Reply(
		&genai.Part{FunctionCall: &genai.FunctionCall{Name: "note", Args: map[string]any{"n": 1}}},
		&genai.Part{FunctionCall: &genai.FunctionCall{Name: "note", Args: map[string]any{"n": 2}}},
	)
	if len(req.Contents) > 1 {
		turn = modeltest.Text("done")
	}
	return modeltest.NewScript(turn).GenerateContent(context.Background(), req, false)
}

// TestNested: parallel tools of parallel agents in parallel agents write state
// and artifacts; nothing is lost, and each is on its branch.
func TestNested(t *testing.T) {
	type args struct {
		N int `json:"n"`
	}
	note, err := functiontool.New(functiontool.Config{Name: "note"}, func(ctx agent.Context, in args) (string, error) {
		key := fmt.Sprintf("%s-%d", ctx.AgentName(), in.N)
		if _, err := ctx.Artifacts().Save(ctx, "user:notes", genai.NewPartFromText(key)); err != nil {
			return "", err
		}
		return "ok", ctx.State().Set(key, ctx.Branch())
	})
	if err != nil {
		t.Fatal(err)
	}
	leaf := func(name string) agent.Agent {
		a, err := llmagent.New(llmagent.Config{Name: name, Model: callsTwice{}, Tools: []tool.Tool{note}, OutputKey: "of " + name})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	root := parallel(t, "p", parallel(t, "q", leaf("a"), leaf("b")), parallel(t, "r", leaf("c"), leaf("d")))
	stored, err := play(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	for name, branch := range map[string]string{"a": "p.q.q.a", "b": "p.q.q.b", "c": "p.r.r.c", "d": "p.r.r.d"} {
		want[name+"-1"], want[name+"-2"], want["of "+name] = branch, branch, "done"
	}
	if got := maps.Collect(stored.State().All()); !maps.Equal(got, want) {
		t.Errorf("state %v, want %v", got, want)
	}
	versions, events := []int64{}, map[string]int{}
	for e := range stored.Events().All() {
		events[e.Branch]++
		if v := e.Actions.ArtifactDelta["user:notes"]; v > 0 {
			versions = append(versions, v)
		}
	}
	if events["p.q.q.a"] != 3 || events["p.r.r.d"] != 3 || events[""] != 1 || len(versions) != 4 || slices.Max(versions) != 8 {
		t.Errorf("events %v, artifact versions %v", events, versions)
	}
}

func TestUnfit(t *testing.T) {
	run := func(agent.InvocationContext) iter.Seq2[*session.Event, error] { return nil }
	for want, cfg := range map[string]agent.Config{
		`parallelagent "a": Run must be nil`: {Name: "a", Run: run},
		"Name must be set":                   {},
	} {
		if _, err := parallelagent.New(parallelagent.Config{AgentConfig: cfg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
