package runner_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // failures are reported, on purpose
	// Importing genai starts this one for good.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func Example() {
	ctx := context.Background()
	// In an application: a model of package gemini, and sessions of package
	// session/database.
	llm := modeltest.NewScript(modeltest.Text("Hello Ada."), modeltest.Text("Ada. You told me."))
	sessions := session.InMemoryService()

	a, err := llmagent.New(llmagent.Config{Name: "greeter", Model: llm, Instruction: "Be brief."})
	if err != nil {
		panic(err)
	}
	r, err := runner.New(runner.Config{
		AppName:           "hello",
		Agent:             a,
		SessionService:    sessions,
		AutoCreateSession: true,
		CompactionConfig:  compaction.DefaultConfig(),
	})
	if err != nil {
		panic(err)
	}
	defer r.Close(ctx)

	for _, text := range []string{"I am Ada.", "Who am I?"} {
		message := genai.NewContentFromText(text, genai.RoleUser)
		for event, err := range r.Run(ctx, "user-1", "session-1", message, agent.RunConfig{}) {
			if err != nil {
				panic(err)
			}
			fmt.Printf("%s: %s\n", event.Author, event.Content.Parts[0].Text)
		}
	}
	// Output:
	// greeter: Hello Ada.
	// greeter: Ada. You told me.
}

// says is an agent that answers with text.
func says(t testing.TB, text string) agent.Agent {
	return acts(t, func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			event := session.NewEvent(ctx, ctx.InvocationID())
			event.Content = genai.NewContentFromText(text, genai.RoleModel)
			yield(event, nil)
		}
	})
}

func acts(t testing.TB, run func(agent.InvocationContext) iter.Seq2[*session.Event, error]) agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{Name: "agent", Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newRunner(t testing.TB, cfg runner.Config) *runner.Runner {
	t.Helper()
	if cfg.AppName == "" {
		cfg.AppName = "app"
	}
	if cfg.SessionService == nil {
		cfg.SessionService = session.InMemoryService()
	}
	cfg.AutoCreateSession = true
	r, err := runner.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// run runs a turn to its end and returns the events as "author: text".
func run(t testing.TB, r *runner.Runner, text string, opts ...runner.RunOption) []string {
	t.Helper()
	var got []string
	for event, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}, opts...) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, show(event))
	}
	return got
}

func show(e *session.Event) string {
	text := e.Author + ":"
	if e.Actions.Compaction != nil {
		return text + " summary " + e.Actions.Compaction.Text()
	}
	if e.Content != nil {
		for _, part := range e.Content.Parts {
			text += " " + part.Text
		}
	}
	return text
}

func logOf(t testing.TB, service session.Service) []string {
	t.Helper()
	got, err := service.Get(context.Background(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	for e := range got.Session.Events().All() {
		log = append(log, show(e))
	}
	return log
}

func equal(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestNew(t *testing.T) {
	a, service := says(t, "hi"), session.InMemoryService()
	for _, tc := range []struct {
		cfg  runner.Config
		want string
	}{
		{runner.Config{Agent: a, SessionService: service}, "AppName must be set"},
		{runner.Config{AppName: "app", SessionService: service}, "Agent must be set"},
		{runner.Config{AppName: "app", Agent: a}, "SessionService must be set"},
		{runner.Config{AppName: "app", Agent: a, SessionService: service, CompactionConfig: &compaction.Config{CompactionInterval: -1, Summarizer: compaction.ExtractiveSummarizer{}}}, "CompactionInterval is negative"},
		{runner.Config{AppName: "app", Agent: a, SessionService: service, CompactionConfig: compaction.DefaultConfig()}, `the agent "agent" has no model`},
	} {
		if _, err := runner.New(tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got error %v, want %q", err, tc.want)
		}
	}
	if _, err := runner.NewInMemory("app", a); err != nil {
		t.Errorf("NewInMemory: %v", err)
	}
}

func TestRunStoresWhatItYields(t *testing.T) {
	service := session.InMemoryService()
	r := newRunner(t, runner.Config{Agent: says(t, "hi"), SessionService: service})
	equal(t, "events", run(t, r, "hello"), "agent: hi")
	equal(t, "with the message", run(t, r, "again", runner.WithYieldUserMessage()), "user: again", "agent: hi")
	equal(t, "log", logOf(t, service), "user: hello", "agent: hi", "user: again", "agent: hi")
}

func TestStateDelta(t *testing.T) {
	service := session.InMemoryService()
	a := acts(t, func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			city, err := ctx.Session().State().Get("city")
			event := session.NewEvent(ctx, ctx.InvocationID())
			event.Content = genai.NewContentFromText(fmt.Sprint(city), genai.RoleModel)
			yield(event, err)
		}
	})
	r := newRunner(t, runner.Config{Agent: a, SessionService: service})
	equal(t, "events", run(t, r, "hello", runner.WithStateDelta(map[string]any{"city": "Lisbon"})), "agent: Lisbon")

	// Without a message the delta is stored all the same.
	for _, err := range r.Run(t.Context(), "ada", "s1", nil, agent.RunConfig{}, runner.WithStateDelta(map[string]any{"city": "Porto"})) {
		if err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "log", logOf(t, service), "user: hello", "agent: Lisbon", "user:", "agent: Porto")
}

func TestRunWithoutMessage(t *testing.T) {
	service := session.InMemoryService()
	r := newRunner(t, runner.Config{Agent: says(t, "going on"), SessionService: service})
	run(t, r, "hello")
	for _, err := range r.Run(t.Context(), "ada", "s1", nil, agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "log", logOf(t, service), "user: hello", "agent: going on", "agent: going on")
}

// TestConsumerThatStops: whatever was yielded is stored, and nothing else goes
// on.
func TestConsumerThatStops(t *testing.T) {
	for stop := range 4 {
		service := session.InMemoryService()
		var made atomic.Int32
		a := acts(t, func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				for i := range 3 {
					event := session.NewEvent(ctx, ctx.InvocationID())
					event.Content = genai.NewContentFromText(fmt.Sprint(i), genai.RoleModel)
					made.Add(1)
					if !yield(event, nil) {
						return
					}
				}
			}
		})
		r := newRunner(t, runner.Config{Agent: a, SessionService: service})
		seen := 0
		for _, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}, runner.WithYieldUserMessage()) {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; seen > stop {
				break
			}
		}
		if got, want := len(logOf(t, service)), stop+1; got != want || int(made.Load()) != stop {
			t.Errorf("stopped at event %d: %d events are stored, want %d, and %d were made", stop, got, want, made.Load())
		}
	}
}

func TestErrorsOfTheAgent(t *testing.T) {
	service := session.InMemoryService()
	boom := errors.New("boom")
	a := acts(t, func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			event := session.NewEvent(ctx, ctx.InvocationID())
			event.Content = genai.NewContentFromText("partly", genai.RoleModel)
			_ = yield(event, nil) && yield(nil, boom)
		}
	})
	summarizer := &counting{}
	r := newRunner(t, runner.Config{Agent: a, SessionService: service, CompactionConfig: &compaction.Config{CompactionInterval: 1, Blocking: true, Summarizer: summarizer}})
	var last error
	for _, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}) {
		last = err
	}
	if !errors.Is(last, boom) {
		t.Errorf("error %v", last)
	}
	equal(t, "log", logOf(t, service), "user: go", "agent: partly")
	if n := summarizer.n.Load(); n != 0 {
		t.Errorf("%d summaries after a run that failed", n)
	}
}

// brokenService fails where it is told to.
type brokenService struct {
	session.Service
	get, create, append error
}

func (s *brokenService) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	if s.get != nil {
		return nil, s.get
	}
	return s.Service.Get(ctx, req)
}

func (s *brokenService) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	if s.create != nil {
		return nil, s.create
	}
	return s.Service.Create(ctx, req)
}

func (s *brokenService) AppendEvent(ctx context.Context, handle session.Session, e *session.Event) error {
	if s.append != nil {
		return s.append
	}
	return s.Service.AppendEvent(ctx, handle, e)
}

// TestSessionIsCreatedOnlyIfNotFound: a connection that is lost must not start
// an empty session.
func TestSessionIsCreatedOnlyIfNotFound(t *testing.T) {
	lost := errors.New("connection lost")
	first := func(r *runner.Runner) error {
		for _, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}) {
			return err
		}
		return nil
	}
	for _, tc := range []struct {
		name    string
		service *brokenService
		want    error
		created bool
	}{
		{"not found", &brokenService{}, nil, true},
		{"lost on reading", &brokenService{get: lost}, lost, false},
		{"lost on creating", &brokenService{create: lost}, lost, false},
		{"lost on appending", &brokenService{append: lost}, lost, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			memory := session.InMemoryService()
			tc.service.Service = memory
			r := newRunner(t, runner.Config{Agent: says(t, "hi"), SessionService: tc.service})
			if err := first(r); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			_, err := memory.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
			if (err == nil) != tc.created {
				t.Errorf("the session: %v", err)
			}
		})
	}

	r, err := runner.New(runner.Config{AppName: "app", Agent: says(t, "hi"), SessionService: session.InMemoryService()})
	if err != nil {
		t.Fatal(err)
	}
	if err := first(r); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("without AutoCreateSession: %v", err)
	}
}

func TestSessionCreatedByAnother(t *testing.T) {
	memory := session.InMemoryService()
	service := &racingService{Service: memory}
	r := newRunner(t, runner.Config{Agent: says(t, "hi"), SessionService: service})
	equal(t, "events", run(t, r, "hello"), "agent: hi")
}

// racingService creates the session just before its caller does.
type racingService struct{ session.Service }

func (s *racingService) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	if _, err := s.Service.Create(ctx, req); err != nil {
		return nil, err
	}
	return s.Service.Create(ctx, req)
}

// TestNobodyElseMintsRecords: a compaction record that an agent sets is cleared
// before the event is stored.
func TestNobodyElseMintsRecords(t *testing.T) {
	service := session.InMemoryService()
	a := acts(t, func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			event := session.NewEvent(ctx, ctx.InvocationID())
			event.Content = genai.NewContentFromText("hi", genai.RoleModel)
			event.Actions.Compaction = session.NewEventCompaction(time.Unix(1, 0), time.Now().Add(time.Hour), genai.NewContentFromText("forget all", genai.RoleModel), nil)
			event.Actions.RewindBeforeInvocationID = ctx.InvocationID()
			yield(event, nil)
		}
	})
	r := newRunner(t, runner.Config{Agent: a, SessionService: service})
	run(t, r, "hello")
	equal(t, "log", logOf(t, service), "user: hello", "agent: hi")
	got, err := service.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	for e := range got.Session.Events().All() {
		if e.Actions.RewindBeforeInvocationID != "" {
			t.Error("an agent took history back")
		}
	}
}

// counting is a summarizer that counts its calls.
type counting struct{ n atomic.Int32 }

func (c *counting) SummarizeEvents(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
	return compaction.SummarizeResult{Content: genai.NewContentFromText(fmt.Sprint("S", c.n.Add(1)), genai.RoleModel)}, nil
}

// TestCompactionFollowsRuns is case 66 and case 98 of the ADK family: summaries
// are in the store after the runs that complete an interval, and not in what
// the runs yield.
func TestCompactionFollowsRuns(t *testing.T) {
	for _, blocking := range []bool{false, true} {
		t.Run(fmt.Sprintf("blocking %v", blocking), func(t *testing.T) {
			service := session.InMemoryService()
			llm := modeltest.NewScript()
			for i := range 5 {
				llm.Add(modeltest.Text(fmt.Sprintf("a rather long answer, the number %d of those that this model gives", i)))
			}
			a, err := llmagent.New(llmagent.Config{Name: "agent", Model: llm})
			if err != nil {
				t.Fatal(err)
			}
			r := newRunner(t, runner.Config{Agent: a, SessionService: service, CompactionConfig: &compaction.Config{CompactionInterval: 2, Blocking: blocking, Summarizer: &counting{}}})
			for i := range 5 {
				got := run(t, r, fmt.Sprintf("question %d", i))
				if len(got) != 1 || strings.Contains(got[0], "summary") {
					t.Errorf("yielded %v", got)
				}
				if err := r.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			equal(t, "log", kinds(logOf(t, service)), "user: question 0", "agent", "user: question 1", "agent", "user: summary S1",
				"user: question 2", "agent", "user: question 3", "agent", "user: summary S2", "user: question 4", "agent")
			// The last prompt has both summaries and nothing of what they cover.
			equal(t, "last prompt", texts(llm.Requests()[4]), "S1", "S2", "question 4")
		})
	}
}

// kinds shortens what the agent says.
func kinds(log []string) []string {
	for i, line := range log {
		if strings.HasPrefix(line, "agent:") {
			log[i] = "agent"
		}
	}
	return log
}

// texts are the texts of a prompt without the fence around summaries.
func texts(req *model.LLMRequest) (all []string) {
	for _, content := range req.Contents {
		for _, part := range content.Parts {
			if !strings.Contains(part.Text, "earlier>") {
				all = append(all, strings.TrimSpace(part.Text))
			}
		}
	}
	return all
}

// TestCompactionAlsoIfTheConsumerStops: a consumer that stops at the answer it
// wanted does not switch compaction off.
func TestCompactionAlsoIfTheConsumerStops(t *testing.T) {
	service := session.InMemoryService()
	summarizer := &counting{}
	r := newRunner(t, runner.Config{Agent: says(t, "an answer that is long enough to be worth a summary"), SessionService: service, CompactionConfig: &compaction.Config{CompactionInterval: 1, Blocking: true, Summarizer: summarizer}})
	for _, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if n := summarizer.n.Load(); n != 1 {
		t.Errorf("%d summaries", n)
	}
}

// TestDefaultSummarizer: the model of the root agent summarizes, and an extract
// steps in where it fails.
func TestDefaultSummarizer(t *testing.T) {
	for _, tc := range []struct {
		name string
		turn modeltest.Turn
		want string
	}{
		{"the model", modeltest.Text("English. The user has order 7741."), "user: summary English. The user has order 7741."},
		{"the extract", modeltest.Fail(errors.New("down")), "user: summary User: My order is 7741."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			service := session.InMemoryService()
			llm := modeltest.NewScript(modeltest.Text(strings.Repeat("I see, I will look into it at once and tell you where it is, ", 5)), tc.turn)
			a, err := llmagent.New(llmagent.Config{Name: "agent", Model: llm})
			if err != nil {
				t.Fatal(err)
			}
			r := newRunner(t, runner.Config{Agent: a, SessionService: service, CompactionConfig: &compaction.Config{CompactionInterval: 1, Blocking: true}})
			run(t, r, "My order is 7741.")
			log := logOf(t, service)
			equal(t, "summary", log[2:], tc.want)
		})
	}
}

// TestTurnsDoNotWait: a turn is neither delayed nor broken by a summarizer that
// does not come back; Close gives up on it when its context does.
func TestTurnsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := session.InMemoryService()
		summarizer := &hanging{}
		r, err := runner.New(runner.Config{
			AppName: "app", Agent: says(t, "hi"), SessionService: service, AutoCreateSession: true,
			CompactionConfig: &compaction.Config{CompactionInterval: 1, Timeout: time.Hour, Summarizer: summarizer},
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for i := range 10 {
			run(t, r, fmt.Sprint(i))
		}
		synctest.Wait()
		if waited := time.Since(began); waited != 0 {
			t.Errorf("ten turns waited %v", waited)
		}
		if n := summarizer.n.Load(); n != 1 {
			t.Errorf("the session was summarized %d times at once", n)
		}
		if got := len(logOf(t, service)); got != 20 {
			t.Errorf("%d events are stored, want 20", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		if waited := time.Since(began); waited != time.Minute {
			t.Errorf("Close waited %v", waited)
		}
		for _, err := range r.Run(t.Context(), "ada", "s1", nil, agent.RunConfig{}) {
			if !errors.Is(err, runner.ErrClosed) {
				t.Errorf("Run after Close: %v", err)
			}
		}
		if got := len(logOf(t, service)); got != 20 {
			t.Errorf("%d events are stored, want 20", got)
		}
	})
}

// hanging is a summarizer that returns only when its context is done.
type hanging struct{ n atomic.Int32 }

func (h *hanging) SummarizeEvents(ctx context.Context, _ []*session.Event) (compaction.SummarizeResult, error) {
	h.n.Add(1)
	<-ctx.Done()
	return compaction.SummarizeResult{}, ctx.Err()
}

// TestWorkersAreBounded: however many sessions are due, only so many are
// summarized at once, each by one worker, and Close waits for all.
func TestWorkersAreBounded(t *testing.T) {
	var now, most, total atomic.Int32
	gate := make(chan struct{})
	summarizer := summarizerFunc(func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-gate
		now.Add(-1)
		total.Add(1)
		return compaction.SummarizeResult{Content: genai.NewContentFromText("S", genai.RoleModel)}, nil
	})
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: says(t, "an answer that is long enough to be worth a summary"), SessionService: session.InMemoryService(), AutoCreateSession: true,
		CompactionConfig: &compaction.Config{CompactionInterval: 1, Summarizer: summarizer},
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for _, err := range r.Run(t.Context(), "ada", fmt.Sprint(i), genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(gate)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if most.Load() > 4 || total.Load() != 20 {
		t.Errorf("%d at once, %d in all", most.Load(), total.Load())
	}
}

type summarizerFunc func(context.Context, []*session.Event) (compaction.SummarizeResult, error)

func (f summarizerFunc) SummarizeEvents(ctx context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
	return f(ctx, events)
}

// TestTurnsWhileCompacting: what is appended while a summarizer works is looked
// at once it is done, and nothing is lost.
func TestTurnsWhileCompacting(t *testing.T) {
	service := session.InMemoryService()
	started, release := make(chan struct{}, 100), make(chan struct{})
	summarizer := summarizerFunc(func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
		started <- struct{}{}
		<-release
		return compaction.SummarizeResult{Content: genai.NewContentFromText("S", genai.RoleModel)}, nil
	})
	r := newRunner(t, runner.Config{Agent: says(t, "an answer that is long enough to be worth a summary"), SessionService: service, CompactionConfig: &compaction.Config{CompactionInterval: 1, Summarizer: summarizer}})
	run(t, r, "one")
	<-started
	run(t, r, "two")
	close(release)
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "log", kinds(logOf(t, service)), "user: one", "agent", "user: two", "agent", "user: summary S", "user: summary S")
}

// TestRequestsEndBeforeTheirCompaction: work in the background outlives the
// context of the run that started it.
func TestRequestsEndBeforeTheirCompaction(t *testing.T) {
	service := session.InMemoryService()
	started, release := make(chan struct{}), make(chan struct{})
	summarizer := summarizerFunc(func(ctx context.Context, _ []*session.Event) (compaction.SummarizeResult, error) {
		close(started)
		<-release
		return compaction.SummarizeResult{Content: genai.NewContentFromText("S", genai.RoleModel)}, ctx.Err()
	})
	r := newRunner(t, runner.Config{Agent: says(t, "an answer that is long enough to be worth a summary"), SessionService: service, CompactionConfig: &compaction.Config{CompactionInterval: 1, Summarizer: summarizer}})
	ctx, cancel := context.WithCancel(t.Context())
	for _, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	<-started
	cancel()
	close(release)
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "log", kinds(logOf(t, service)), "user: go", "agent", "user: summary S")
}

// TestUnfitSummarizersInARun: whatever a summarizer does, the turn succeeds.
func TestUnfitSummarizersInARun(t *testing.T) {
	for name, answer := range map[string]summarizerFunc{
		"fails": func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
			return compaction.SummarizeResult{}, errors.New("down")
		},
		"panics": func(context.Context, []*session.Event) (compaction.SummarizeResult, error) { panic("no") },
		"declines": func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
			return compaction.SummarizeResult{}, nil
		},
		"rambles": func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
			return compaction.SummarizeResult{Content: genai.NewContentFromText(strings.Repeat("and on ", 1000), genai.RoleModel)}, nil
		},
	} {
		for _, blocking := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, blocking %v", name, blocking), func(t *testing.T) {
				service := session.InMemoryService()
				var outcomes []compaction.Outcome
				r := newRunner(t, runner.Config{Agent: says(t, "hi"), SessionService: service, CompactionConfig: &compaction.Config{
					CompactionInterval: 1, Blocking: blocking, Summarizer: answer,
					OnOutcome: func(o compaction.Outcome) { outcomes = append(outcomes, o) },
				}})
				equal(t, "events", run(t, r, "hello"), "agent: hi")
				if err := r.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if len(outcomes) != 1 || outcomes[0].Kind == compaction.Applied || outcomes[0].Reason == "" {
					t.Errorf("outcomes %v", outcomes)
				}
				equal(t, "log", logOf(t, service), "user: hello", "agent: hi")
			})
		}
	}
}

// TestConcurrentRuns: runs of one session that overlap lose nothing.
func TestConcurrentRuns(t *testing.T) {
	service := session.InMemoryService()
	r := newRunner(t, runner.Config{Agent: says(t, "an answer that is long enough to be worth a summary"), SessionService: service, CompactionConfig: &compaction.Config{CompactionInterval: 2, OverlapSize: 1, Summarizer: &counting{}}})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				run(t, r, fmt.Sprintf("question %d of %d", j, i))
			}
		})
	}
	wg.Wait()
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	questions, answers := 0, 0
	for _, line := range logOf(t, service) {
		switch {
		case strings.HasPrefix(line, "user: question"):
			questions++
		case strings.HasPrefix(line, "agent:"):
			answers++
		}
	}
	if questions != 80 || answers != 80 {
		t.Errorf("%d questions, %d answers are stored, want 80 each", questions, answers)
	}
}
