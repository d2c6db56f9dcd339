package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // failures are reported, on purpose
	// Importing genai starts this one for good.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// fake is a summarizer whose answer is a function, and that keeps what it was
// given.
type fake struct {
	answer func(ctx context.Context, events []*session.Event) (compaction.SummarizeResult, error)

	mu    sync.Mutex
	given [][]string // IDs of the events of each call, ranges of summaries
}

func (f *fake) SummarizeEvents(ctx context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
	var ids []string
	for _, e := range events {
		if record := e.Actions.Compaction; record != nil {
			ids = append(ids, fmt.Sprintf("%g-%g", record.Start().Sub(logtext.Base).Seconds(), record.End().Sub(logtext.Base).Seconds()))
			continue
		}
		ids = append(ids, e.ID)
	}
	f.mu.Lock()
	f.given = append(f.given, ids)
	f.mu.Unlock()
	return f.answer(ctx, events)
}

func (f *fake) calls() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([][]string(nil), f.given...)
}

// says is a fake that always answers with text.
func says(text string) *fake {
	return &fake{answer: func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
		return compaction.SummarizeResult{Content: genai.NewContentFromText(text, genai.RoleModel)}, nil
	}}
}

// stored puts a log into a new in-memory service and returns a handle on it.
// Stored events have the IDs of the log.
func stored(t testing.TB, log string) (session.Service, session.Session) {
	t.Helper()
	service := session.InMemoryService()
	created, err := service.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	appendLog(t, service, created.Session, log)
	return service, created.Session
}

func appendLog(t testing.TB, service session.Service, handle session.Session, log string) {
	t.Helper()
	offset := handle.Events().Len()
	for i, e := range events(t, log) {
		e.ID = fmt.Sprintf("e%d", offset+i+1)
		if err := service.AppendEvent(t.Context(), handle, e); err != nil {
			t.Fatal(err)
		}
	}
}

func reread(t testing.TB, service session.Service) session.Session {
	t.Helper()
	got, err := service.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	return got.Session
}

func newCompactor(t testing.TB, cfg *compaction.Config, service session.Service) *compaction.Compactor {
	t.Helper()
	c, err := compaction.NewCompactor(cfg, service)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const longEnough = " and so on, at a length that a summary of it is worth its tokens, whatever it says in the end"

// twoTurns is a log of two completed invocations.
const twoTurns = `
	i1 1 user: first question` + longEnough + `
	i1 2 agent: first answer` + longEnough + `
	i2 3 user: second question` + longEnough + `
	i2 4 agent: second answer` + longEnough

// TestMaybeCompactApplies has case 9: choosing a window and making the event
// store nothing, the compactor alone appends, once.
func TestMaybeCompactApplies(t *testing.T) {
	noon := logtext.Base.Add(12 * time.Hour)
	ctx := platform.WithTimeProvider(t.Context(), func() time.Time { return noon })
	service, handle := stored(t, twoTurns)
	usage := &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 70, CandidatesTokenCount: 7, TotalTokenCount: 77}
	summarizer := &fake{answer: func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
		content := &genai.Content{Role: "odd", Parts: []*genai.Part{
			{Text: "hm", Thought: true}, {Text: "Two questions, ", ThoughtSignature: []byte("x")}, {Text: "two answers."},
			{FunctionCall: &genai.FunctionCall{Name: "evil"}},
		}}
		return compaction.SummarizeResult{Content: content, Usage: usage}, nil
	}}
	var told []compaction.Outcome
	c := newCompactor(t, &compaction.Config{CompactionInterval: 2, Summarizer: summarizer, OnOutcome: func(o compaction.Outcome) { told = append(told, o) }}, service)

	outcome := c.MaybeCompact(ctx, handle)
	if outcome.Kind != compaction.Applied || outcome.Err != nil {
		t.Fatalf("outcome: %v", outcome)
	}
	if len(told) != 1 || told[0] != outcome {
		t.Errorf("the hook was told %v", told)
	}
	if outcome.Events != 4 || outcome.TokensAfter >= outcome.TokensBefore || outcome.Usage != usage || outcome.SessionID != "s1" || outcome.Trigger != "sliding_window" {
		t.Errorf("outcome: %+v", outcome)
	}

	log := reread(t, service)
	if log.Events().Len() != 5 {
		t.Fatalf("%d events are stored, want 5", log.Events().Len())
	}
	event := log.Events().At(4)
	if event.ID != outcome.EventID || event.Author != "user" || event.Content != nil || event.Branch != "" || event.InvocationID == "" || !event.Timestamp.Equal(noon) {
		t.Errorf("compaction event: %+v", event)
	}
	record := event.Actions.Compaction
	if !record.Start().Equal(outcome.Start) || !record.End().Equal(outcome.End) || record.StartTimestamp != float64(logtext.Base.Unix())+1 || record.EndTimestamp != float64(logtext.Base.Unix())+4 {
		t.Errorf("range %v-%v", record.StartTimestamp, record.EndTimestamp)
	}
	want := genai.NewContentFromText("Two questions, \ntwo answers.", genai.RoleModel)
	if diff := cmp.Diff(want, record.CompactedContent); diff != "" {
		t.Errorf("the stored summary is not its prose alone: %s", diff)
	}
	if event.UsageMetadata.TotalTokenCount != 77 {
		t.Errorf("usage: %+v", event.UsageMetadata)
	}

	// Nothing new, nothing done.
	if again := c.MaybeCompact(ctx, log); again.Kind != compaction.NothingToDo || len(summarizer.calls()) != 1 || len(told) != 1 {
		t.Errorf("again: %v, %d calls", again, len(summarizer.calls()))
	}
}

// TestUnfitSummaries: whatever a summarizer does, the log is as it was and the
// outcome says what happened.
func TestUnfitSummaries(t *testing.T) {
	boom := errors.New("boom")
	text := func(text string) func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
		return says(text).answer
	}
	for _, tc := range []struct {
		name   string
		answer func(context.Context, []*session.Event) (compaction.SummarizeResult, error)
		kind   compaction.Kind
		reason string
	}{
		{"case 13 and 87: nothing", func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
			return compaction.SummarizeResult{}, nil
		}, compaction.Declined, "the summarizer returned no text"},
		{"blank", text(" \n\t"), compaction.Declined, "the summarizer returned no text"},
		{"thoughts only", func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
			return compaction.SummarizeResult{Content: &genai.Content{Parts: []*genai.Part{{Text: "hm", Thought: true}, nil}}}, nil
		}, compaction.Declined, "the summarizer returned no text"},
		{"longer than its input", text(strings.Repeat("more and more ", 100)), compaction.Declined, "not smaller than what it replaces"},
		{"case 27: an error", func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
			return compaction.SummarizeResult{}, boom
		}, compaction.Failed, "boom"},
		{"a panic", func(context.Context, []*session.Event) (compaction.SummarizeResult, error) { panic("no way") }, compaction.Failed, "panicked: no way"},
		{"events changed", func(_ context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
			for _, e := range events {
				e.Content.Parts[0].Text = "changed"
			}
			return compaction.SummarizeResult{}, boom
		}, compaction.Failed, "boom"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			service, handle := stored(t, twoTurns)
			before := reread(t, service)
			var told []compaction.Outcome
			c := newCompactor(t, &compaction.Config{
				CompactionInterval: 2, Summarizer: &fake{answer: tc.answer},
				OnOutcome: func(o compaction.Outcome) { told = append(told, o); panic("a hook that panics") },
			}, service)
			outcome := c.MaybeCompact(t.Context(), handle)
			if outcome.Kind != tc.kind || !strings.Contains(outcome.Reason, tc.reason) || (outcome.Err != nil) != (tc.kind == compaction.Failed) {
				t.Errorf("outcome %+v, want %s: %s", outcome, tc.kind, tc.reason)
			}
			if len(told) != 1 || told[0].Kind != tc.kind {
				t.Errorf("the hook was told %v", told)
			}
			after := reread(t, service)
			if diff := cmp.Diff(allEvents(before), allEvents(after)); diff != "" {
				t.Errorf("the log changed: %s", diff)
			}
		})
	}
}

func allEvents(s session.Session) []*session.Event {
	var all []*session.Event
	for e := range s.Events().All() {
		all = append(all, e)
	}
	return all
}

func TestSummarizerThatHangs(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		t.Run(fmt.Sprintf("heeds its context %v", heeds), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service, handle := stored(t, twoTurns)
				release := make(chan struct{})
				c := newCompactor(t, &compaction.Config{CompactionInterval: 2, Timeout: time.Minute, Summarizer: &fake{
					answer: func(ctx context.Context, _ []*session.Event) (compaction.SummarizeResult, error) {
						if heeds {
							<-ctx.Done()
							return compaction.SummarizeResult{}, ctx.Err()
						}
						<-release
						return says("too late").answer(ctx, nil)
					},
				}}, service)
				outcome := c.MaybeCompact(t.Context(), handle)
				if outcome.Kind != compaction.Failed || !errors.Is(outcome.Err, context.DeadlineExceeded) || outcome.Duration != time.Minute {
					t.Errorf("outcome %+v", outcome)
				}
				short, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := c.Wait(short); (err != nil) == heeds {
					t.Errorf("Wait: %v", err)
				}
				close(release)
				if err := c.Wait(t.Context()); err != nil {
					t.Errorf("Wait: %v", err)
				}
				if n := reread(t, service).Events().Len(); n != 4 {
					t.Errorf("%d events are stored, want 4", n)
				}
			})
		})
	}
}

// TestDistanceBetweenTries: a summarizer that fails is asked again after twice
// as many invocations each time, and what it is then asked is larger.
func TestDistanceBetweenTries(t *testing.T) {
	service, handle := stored(t, ``)
	failing := true
	summarizer := &fake{}
	summarizer.answer = func(ctx context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
		if failing {
			return compaction.SummarizeResult{}, errors.New("down")
		}
		return says("S").answer(ctx, events)
	}
	c := newCompactor(t, &compaction.Config{CompactionInterval: 1, Summarizer: summarizer}, service)
	var tried []int
	for i := 1; i <= 64; i++ {
		appendLog(t, service, handle, fmt.Sprintf("i%d %d agent: something that was said at some length", i, i))
		if c.MaybeCompact(t.Context(), handle).Kind == compaction.Failed {
			tried = append(tried, i)
		}
	}
	// The distance stays at 16 intervals, however long it goes on.
	if want := []int{1, 2, 4, 8, 16, 32, 48, 64}; !cmp.Equal(tried, want) {
		t.Errorf("tried after %v invocations, want %v", tried, want)
	}
	if n := len(summarizer.calls()[4]); n != 16 {
		t.Errorf("the fifth try was given %d events, want 16", n)
	}
	failing = false
	for i := 65; i <= 80; i++ {
		appendLog(t, service, handle, fmt.Sprintf("i%d %d agent: something that was said at some length", i, i))
	}
	if o := c.MaybeCompact(t.Context(), handle); o.Kind != compaction.Applied || o.Events != 80 {
		t.Errorf("once it works: %+v", o)
	}
	appendLog(t, service, handle, "i81 81 agent: something that was said at some length")
	if o := c.MaybeCompact(t.Context(), handle); o.Kind != compaction.Applied || o.Events != 1 {
		t.Errorf("afterwards: %+v", o)
	}
}

// TestSuperseded has another process store a compaction event while the
// summarizer works.
func TestSuperseded(t *testing.T) {
	service, handle := stored(t, twoTurns)
	summarizer := &fake{}
	summarizer.answer = func(ctx context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
		other := reread(t, service)
		window, _ := compaction.SelectEventsToCompact(allEvents(other), &compaction.Config{CompactionInterval: 2})
		event := compaction.CreateCompactionEvent(ctx, window, compaction.SummarizeResult{Content: genai.NewContentFromText("theirs", genai.RoleModel)})
		if err := service.AppendEvent(ctx, other, event); err != nil {
			t.Error(err)
		}
		return says("ours").answer(ctx, events)
	}
	c := newCompactor(t, &compaction.Config{CompactionInterval: 2, Summarizer: summarizer}, service)
	outcome := c.MaybeCompact(t.Context(), handle)
	if outcome.Kind != compaction.Superseded || !errors.Is(outcome.Err, session.ErrSuperseded) {
		t.Errorf("outcome %+v", outcome)
	}
	log := reread(t, service)
	if n := log.Events().Len(); n != 5 || log.Events().At(4).Actions.Compaction.Text() != "theirs" {
		t.Errorf("%d events are stored", n)
	}
}

// lockable is a service with one lock for all sessions.
type lockable struct {
	session.Service
	locked bool
	err    error
}

func (l *lockable) TryLockCompaction(context.Context, string, string, string) (func(), bool, error) {
	if l.locked || l.err != nil {
		return nil, false, l.err
	}
	l.locked = true
	return func() { l.locked = false }, true, nil
}

// While another process compacts a session no model is called for it, and
// afterwards the lock is free again.
func TestCompactedElsewhere(t *testing.T) {
	service, handle := stored(t, twoTurns)
	locks := &lockable{Service: service, locked: true}
	summarizer := says("S")
	var told []compaction.Outcome
	cfg := &compaction.Config{CompactionInterval: 2, Summarizer: summarizer, OnOutcome: func(o compaction.Outcome) { told = append(told, o) }}
	c := newCompactor(t, cfg, locks)
	for trigger, compact := range map[string]func(context.Context, session.Session) compaction.Outcome{
		compaction.TriggerSlidingWindow: c.MaybeCompact, compaction.TriggerManual: c.Compact,
	} {
		outcome := compact(t.Context(), handle)
		if outcome.Kind != compaction.Superseded || outcome.Trigger != trigger || outcome.SessionID != "s1" || !errors.Is(outcome.Err, session.ErrSuperseded) {
			t.Errorf("outcome %+v", outcome)
		}
	}
	if len(summarizer.calls()) != 0 || len(told) != 2 {
		t.Errorf("the summarizer was called %d times, and there were %d outcomes", len(summarizer.calls()), len(told))
	}
	locks.locked = false
	if outcome := c.MaybeCompact(t.Context(), handle); outcome.Kind != compaction.Applied || locks.locked {
		t.Errorf("outcome %+v, locked %v", outcome, locks.locked)
	}
}

func TestLockThatFails(t *testing.T) {
	service, handle := stored(t, twoTurns)
	c := newCompactor(t, &compaction.Config{CompactionInterval: 2, Summarizer: says("S")}, &lockable{Service: service, err: errors.New("no connection")})
	if outcome := c.MaybeCompact(t.Context(), handle); outcome.Kind != compaction.Applied {
		t.Errorf("outcome %+v", outcome)
	}
}

func TestServiceThatFails(t *testing.T) {
	service, handle := stored(t, twoTurns)
	c := newCompactor(t, &compaction.Config{CompactionInterval: 2, Summarizer: says("S")}, service)
	if err := service.Delete(t.Context(), &session.DeleteRequest{AppName: "app", UserID: "ada", SessionID: "s1"}); err != nil {
		t.Fatal(err)
	}
	outcome := c.MaybeCompact(t.Context(), handle)
	if outcome.Kind != compaction.Failed || !errors.Is(outcome.Err, session.ErrNotFound) || !strings.Contains(outcome.String(), "reading the session") {
		t.Errorf("outcome %v", outcome)
	}

	service, handle = stored(t, twoTurns)
	deleting := &fake{answer: func(ctx context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
		if err := service.Delete(ctx, &session.DeleteRequest{AppName: "app", UserID: "ada", SessionID: "s1"}); err != nil {
			t.Error(err)
		}
		return says("S").answer(ctx, events)
	}}
	outcome = newCompactor(t, &compaction.Config{CompactionInterval: 2, Summarizer: deleting}, service).MaybeCompact(t.Context(), handle)
	if outcome.Kind != compaction.Failed || !errors.Is(outcome.Err, session.ErrNotFound) || !strings.Contains(outcome.String(), "storing the summary") {
		t.Errorf("outcome %v", outcome)
	}
}

// TestBacklog: a long history is summarized window by window, and four
// summaries become one.
func TestBacklog(t *testing.T) {
	var log strings.Builder
	for i := 1; i <= 9; i++ {
		fmt.Fprintf(&log, "i%d %d agent: something that was said at some length\n", i, i)
	}
	service, handle := stored(t, log.String())
	summarizer := says("S")
	c := newCompactor(t, &compaction.Config{CompactionInterval: 2, OverlapSize: 1, Summarizer: summarizer}, service)
	for c.MaybeCompact(t.Context(), handle).Kind == compaction.Applied {
	}
	want := [][]string{{"e1", "e2"}, {"e2", "e3", "e4"}, {"e4", "e5", "e6"}, {"e6", "e7", "e8"}, {"1-2", "2-4", "4-6", "6-8"}}
	if diff := cmp.Diff(want, summarizer.calls()); diff != "" {
		t.Errorf("windows: %s", diff)
	}
}

// Example compacts a session by hand, as the runner does after each run.
func Example() {
	ctx := context.Background()
	service := session.InMemoryService()
	created, err := service.Create(ctx, &session.CreateRequest{AppName: "shop", UserID: "ada"})
	if err != nil {
		panic(err)
	}
	log, _ := logtext.Parse(`
		i1 1 user: My order is 7741, and please write to ada@example.com only, never to the office.
		i1 2 agent: Noted. I write to your private address only and I keep order 7741 in mind from now on.
	`)
	for _, event := range log {
		if err := service.AppendEvent(ctx, created.Session, event); err != nil {
			panic(err)
		}
	}

	compactor, err := compaction.NewCompactor(&compaction.Config{
		CompactionInterval: 1,
		Summarizer:         compaction.ExtractiveSummarizer{},
	}, service)
	if err != nil {
		panic(err)
	}
	outcome := compactor.MaybeCompact(ctx, created.Session)
	fmt.Println(outcome.Kind, outcome.Events)

	got, err := service.Get(ctx, &session.GetRequest{AppName: "shop", UserID: "ada", SessionID: created.Session.ID()})
	if err != nil {
		panic(err)
	}
	last := got.Session.Events().At(2)
	fmt.Println(last.Actions.Compaction.Text())
	// Output:
	// applied 2
	// User: My order is 7741, and please write to ada@example.com only, never to the office.
}
