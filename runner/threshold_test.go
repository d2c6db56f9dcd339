package runner_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/testdb"
	"github.com/recap-adk/recap/memory"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

// counted is a turn whose prompt the model counts as so many tokens.
func counted(turn modeltest.Turn, tokens int32) modeltest.Turn {
	turn.Responses[0].UsageMetadata = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: tokens}
	return turn
}

// looking is an agent with a tool, on a scripted model.
func looking(t testing.TB, llm model.LLM) agent.Agent {
	t.Helper()
	look, err := functiontool.New(functiontool.Config{Name: "look", Description: "Looks."}, func(agent.Context, struct{}) (string, error) {
		return strings.Repeat("what there is to see, ", 20), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := llmagent.New(llmagent.Config{Name: "agent", Model: llm, Tools: []tool.Tool{look}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestThresholdOnATurn has case 48, 65 and 96 of the ADK family: the threshold
// is looked at before each prompt is built, inside one long run as well, and
// the live question and the open round stay in it.
func TestThresholdOnATurn(t *testing.T) {
	llm := modeltest.NewScript()
	for i := range 6 {
		llm.Add(counted(modeltest.Call(fmt.Sprintf("c%d", i), "look", nil), int32(100*(i+1))))
	}
	llm.Add(modeltest.Text("done"))
	r := newRunner(t, runner.Config{Agent: looking(t, llm), CompactionConfig: &compaction.Config{
		TokenThreshold: 450, EventRetentionSize: 2, Summarizer: &counting{},
	}})
	events := 0
	for _, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("the question", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
		events++
	}
	if events != 13 {
		t.Errorf("%d events", events)
	}
	requests := llm.Requests()
	for i, req := range requests {
		prompt := fmt.Sprint(texts(req))
		if !strings.Contains(prompt, "the question") {
			t.Errorf("call %d: the question is gone: %s", i, prompt)
		}
		if last := req.Contents[len(req.Contents)-1].Parts[0]; i > 0 && (last.FunctionResponse == nil || last.FunctionResponse.ID != fmt.Sprintf("c%d", i-1)) {
			t.Errorf("call %d: the open round is gone", i)
		}
	}
	if first := fmt.Sprint(texts(requests[3])); strings.Contains(first, "S1") {
		t.Errorf("compacted below the threshold: %s", first)
	}
	if last := requests[6]; !strings.Contains(fmt.Sprint(texts(last)), "S") || len(last.Contents) >= 13 {
		t.Errorf("the last prompt has %d contents: %s", len(last.Contents), texts(last))
	}
}

// TestCompactionBetweenAgents has case 67 of the ADK family: of two agents that
// run one after the other, the first has its prompt compacted. What the second
// says is stored all the same: the handle of the run is not stale.
func TestCompactionBetweenAgents(t *testing.T) {
	first := modeltest.NewScript(counted(modeltest.Call("c1", "look", nil), 500), counted(modeltest.Call("c2", "look", nil), 600), modeltest.Text("seen"))
	second := modeltest.NewScript(modeltest.Text("the end"))
	looks := looking(t, first)
	ends, err := llmagent.New(llmagent.Config{Name: "ends", Model: second})
	if err != nil {
		t.Fatal(err)
	}
	both, err := agent.New(agent.Config{Name: "both", SubAgents: []agent.Agent{looks, ends}, Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			for _, a := range []agent.Agent{looks, ends} {
				for event, err := range a.Run(ctx) {
					if !yield(event, err) {
						return
					}
				}
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	service := testdb.Open(t, testdb.SQLite)
	r := newRunner(t, runner.Config{Agent: both, SessionService: service, CompactionConfig: &compaction.Config{
		TokenThreshold: 450, EventRetentionSize: 1, Summarizer: &counting{},
	}})
	for _, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("the question", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := service.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	for e := range got.Session.Events().All() {
		what := e.Author
		if e.Actions.Compaction != nil {
			what = "summary"
		}
		log = append(log, what)
	}
	if want := "user agent agent agent agent summary agent ends"; strings.Join(log, " ") != want {
		t.Errorf("the log is %q, want %q", strings.Join(log, " "), want)
	}
}

// TestTooLongPrompt: a prompt that its model refuses is shortened and sent
// again, twice at the most, and the run goes on as if nothing had been.
func TestTooLongPrompt(t *testing.T) {
	tooLong := func() modeltest.Turn {
		return modeltest.Fail(&model.Error{Provider: "test", Status: 400, Kind: model.ErrTooLong, Err: errors.New("no")})
	}
	for _, tc := range []struct {
		name    string
		refused int
		off     bool
		fails   bool
	}{
		{"refused once", 1, false, false},
		{"refused twice", 2, false, false},
		{"refused for good", 3, false, true},
		{"compaction off", 1, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			llm, service := modeltest.NewScript(), session.InMemoryService()
			for i := range 12 {
				llm.Add(modeltest.Text(fmt.Sprintf("answer %d, which is long enough to be worth a summary", i)))
			}
			for range tc.refused {
				llm.Add(tooLong())
			}
			llm.Add(modeltest.Text("at last"))
			cfg := runner.Config{Agent: looking(t, llm), SessionService: service}
			if !tc.off {
				cfg.CompactionConfig = &compaction.Config{CompactionInterval: 1000, Summarizer: &counting{}}
			}
			r := newRunner(t, cfg)
			for i := range 12 {
				run(t, r, fmt.Sprint("question ", i))
			}
			var last error
			var got []string
			for event, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("the question", genai.RoleUser), agent.RunConfig{}) {
				if last = err; err == nil {
					got = append(got, show(event))
				}
			}
			if tc.fails {
				if !errors.Is(last, model.ErrTooLong) {
					t.Errorf("error %v", last)
				}
				return
			}
			if last != nil || len(got) != 1 || got[0] != "agent: at last" {
				t.Errorf("events %q, error %v", got, last)
			}
			requests := llm.Requests()
			sizes := []int{}
			for _, req := range requests[12:] {
				sizes = append(sizes, len(req.Contents))
			}
			for i := 1; i < len(sizes); i++ {
				if sizes[i] >= sizes[i-1] {
					t.Errorf("the prompt does not get shorter: %v contents", sizes)
				}
			}
		})
	}
}

func TestCompactOnRequest(t *testing.T) {
	service := session.InMemoryService()
	r := newRunner(t, runner.Config{
		Agent: says(t, "an answer that is long enough to be worth a summary"), SessionService: service,
		CompactionConfig: &compaction.Config{CompactionInterval: 100, Summarizer: &counting{}},
	})
	run(t, r, "one")
	run(t, r, "two")

	window, ok, err := r.Plan(t.Context(), "ada", "s1")
	if err != nil || !ok || len(window.Events) != 4 || window.Trigger != compaction.TriggerManual {
		t.Fatalf("plan: %+v, %v, %v", window, ok, err)
	}
	if n := len(logOf(t, service)); n != 4 {
		t.Errorf("Plan stored something: %d events", n)
	}
	outcome, err := r.Compact(t.Context(), "ada", "s1")
	if err != nil || outcome.Kind != compaction.Applied || outcome.Events != 4 || outcome.Trigger != compaction.TriggerManual {
		t.Errorf("outcome %+v, %v", outcome, err)
	}
	if _, ok, err := r.Plan(t.Context(), "ada", "s1"); ok || err != nil {
		t.Errorf("plan after it: %v, %v", ok, err)
	}
	if again, err := r.Compact(t.Context(), "ada", "s1"); err != nil || again.Kind != compaction.NothingToDo {
		t.Errorf("again: %v, %v", again, err)
	}
	if _, err := r.Compact(t.Context(), "ada", "nowhere"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("no session: %v", err)
	}
	off := newRunner(t, runner.Config{Agent: says(t, "hi")})
	if _, err := off.Compact(t.Context(), "ada", "s1"); !errors.Is(err, runner.ErrCompactionOff) {
		t.Errorf("off: %v", err)
	}
	if _, _, err := off.Plan(t.Context(), "ada", "s1"); !errors.Is(err, runner.ErrCompactionOff) {
		t.Errorf("off: %v", err)
	}
}

// TestWholeSessionsAreRemembered: with compaction on, the session of a run has
// what the run needs, and still all of it goes to memory.
func TestWholeSessionsAreRemembered(t *testing.T) {
	memories := memory.InMemoryService()
	remember := func(ctx agent.Context) (*genai.Content, error) {
		return nil, ctx.Memory().AddSessionToMemory(ctx, ctx.Session())
	}
	a, err := llmagent.New(llmagent.Config{Name: "agent", Model: modeltest.Echo{}, AfterAgentCallbacks: []agent.AfterAgentCallback{remember}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, runner.Config{Agent: a, MemoryService: memories, CompactionConfig: &compaction.Config{
		CompactionInterval: 1, Blocking: true, Summarizer: &counting{},
	}})
	run(t, r, "the elephant is grey, as everybody knows, and it has been for as long as anybody can remember")
	for i := range 8 {
		run(t, r, fmt.Sprintf("turn %d is about something else, which takes a few more words than its summary does", i))
	}
	found, err := memories.SearchMemory(t.Context(), &memory.SearchRequest{AppName: "app", UserID: "ada", Query: "elephant"})
	if err != nil || len(found.Memories) != 2 {
		t.Errorf("%d memories, %v", len(found.Memories), err)
	}
}
