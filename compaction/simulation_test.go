package compaction_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

// slimService is a service of one session that forgets what an active summary
// covers, as a reader does that leaves it out. So a session of any length is
// simulated in the same time a turn. It checks on the way that nothing is lost:
// what it forgets must have been given to the summarizer.
type slimService struct {
	session.Service
	t      testing.TB
	events []*session.Event
	last   time.Time
	given  *givenIDs
	// forgotten counts raw events, stored all of them.
	forgotten, stored int
	summaries         int
}

type givenIDs struct{ ids map[string]bool }

func (s *slimService) Get(context.Context, *session.GetRequest) (*session.GetResponse, error) {
	return &session.GetResponse{Session: s.handle()}, nil
}

func (s *slimService) handle() *session.Snapshot {
	return session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: "ada", ID: "s1", Events: slices.Clone(s.events)})
}

func (s *slimService) AppendEvent(ctx context.Context, handle session.Session, e *session.Event) error {
	session.Stamp(ctx, e, s.last)
	s.last = e.Timestamp
	s.events = append(s.events, e)
	session.AppendToHandle(handle, e, nil)
	if e.Actions.Compaction == nil {
		s.stored++
		return nil
	}
	s.summaries++
	coverage, newest := icontext.NewCoverage(s.events), e
	var kept []*session.Event
	for i, e := range s.events {
		active := slices.ContainsFunc(coverage.Active(icontext.LaneOf(e)), func(a *icontext.Summary) bool { return a.Event == e })
		switch {
		case e.Actions.Compaction != nil && !active:
		case coverage.Covers(i, e):
			// An extract, which may stand in on a turn, is no text of scripted.
			if isExtract := !strings.HasPrefix(newest.Actions.Compaction.Text(), "abc"); !s.given.ids[e.ID] && !isExtract {
				s.t.Fatalf("event %s is hidden and was never summarized", e.ID)
			}
			delete(s.given.ids, e.ID)
			s.forgotten++
		default:
			kept = append(kept, e)
		}
	}
	s.events = kept
	return nil
}

// scripted is a summarizer whose summaries have a given length, if what they
// summarize is longer.
type scripted struct {
	tokens int
	given  *givenIDs
	calls  int
}

func (s *scripted) SummarizeEvents(_ context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
	s.calls++
	for _, e := range events {
		if e.Actions.Compaction == nil {
			s.given.ids[e.ID] = true
		}
	}
	return compaction.SummarizeResult{Content: genai.NewContentFromText(strings.Repeat("abc ", s.tokens), genai.RoleModel)}, nil
}

// simulation is a run of many invocations: a question, two rounds of tools, an
// answer, of some 60 tokens each.
type simulation struct {
	cfg     compaction.Config
	summary int // tokens
}

const (
	instruction = 300 // tokens of the fixed part of a prompt
	eventTokens = 60
)

// outcome is what a simulation saw.
type simulated struct {
	largest, active, bound int
	calls                  int
}

func (s simulation) run(t testing.TB, invocations int) simulated {
	ids, now := 0, logtext.Base
	ctx := platform.WithUUIDProvider(t.Context(), func() string { ids++; return fmt.Sprint(ids) })
	ctx = platform.WithTimeProvider(ctx, func() time.Time { return now })
	given := &givenIDs{ids: map[string]bool{}}
	service := &slimService{t: t, given: given}
	summarizer := &scripted{tokens: s.summary, given: given}
	cfg := s.cfg
	cfg.Summarizer = summarizer
	c := newCompactor(t, &cfg, service)

	var seen simulated
	text := strings.Repeat("word", eventTokens)
	for i := range invocations {
		now = now.Add(time.Second)
		handle := service.handle()
		add := func(author string, part *genai.Part, prompt int) {
			e := session.NewEvent(ctx, fmt.Sprint("i", i))
			e.Author, e.Content = author, &genai.Content{Parts: []*genai.Part{part}}
			if prompt > 0 {
				e.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: int32(prompt)}
			}
			if err := service.AppendEvent(ctx, handle, e); err != nil {
				t.Fatal(err)
			}
		}
		// call is a model call: it returns the size of its prompt.
		call := func() int {
			request := func() *model.LLMRequest {
				return &model.LLMRequest{
					Contents: icontext.Contents(allEvents(handle), icontext.Options{Agent: "agent", Compacted: true}),
					Config:   &genai.GenerateContentConfig{SystemInstruction: genai.NewContentFromText(strings.Repeat("rule", instruction), "user")},
				}
			}
			req := request()
			p := compaction.Prompt{Session: handle, Agent: "agent", InvocationID: fmt.Sprint("i", i), Request: req}
			if c.BeforeModel(ctx, p) {
				req = request()
			}
			size := compaction.EstimateRequest(req)
			seen.largest = max(seen.largest, size)
			return size
		}
		add("user", &genai.Part{Text: text}, 0)
		for round := range 2 {
			id := fmt.Sprintf("c%d-%d", i, round)
			size := call()
			add("agent", &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: "look"}}, size)
			add("agent", &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: "look", Response: map[string]any{"r": text}}}, 0)
		}
		add("agent", &genai.Part{Text: text}, call())
		for c.MaybeCompact(ctx, service.handle()).Kind == compaction.Applied {
		}
		seen.active = max(seen.active, len(icontext.NewCoverage(service.events).Active(icontext.Lane{})))
		// What waits to be summarized cannot grow.
		if n := len(service.events); n > 6*(cfg.CompactionInterval+2)+cfg.EventRetentionSize+cfg.TokenThreshold/40+100 {
			t.Fatalf("invocation %d: %d events are raw", i, n)
		}
	}
	if total := service.stored; total != invocations*6 {
		t.Errorf("%d events were stored", total)
	}
	raw := 0
	for _, e := range service.events {
		if e.Actions.Compaction == nil {
			raw++
		}
	}
	if raw+service.forgotten != service.stored {
		t.Errorf("%d events are visible and %d covered, of %d", raw, service.forgotten, service.stored)
	}
	seen.calls = summarizer.calls
	seen.bound = int(3 * (1 + math.Log(float64(max(service.summaries, 1)))/math.Log(4)))
	return seen
}

var simulatedInvocations = flag.Int("simulate", 500, "invocations that TestSimulation runs for each config")

// TestSimulation runs many invocations, 10,000 with -simulate=10000, for a grid
// of configs. The prompt never
// exceeds TokenThreshold unless its fixed part, the retained tail and the live
// round do; active summaries stay few; and no event is lost. With -v it prints
// a table.
func TestSimulation(t *testing.T) {
	invocations := *simulatedInvocations
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "interval\toverlap\tthreshold\tretention\tsummary\tlargest prompt\tactive\tat most\tsummaries\t")
	for _, s := range []simulation{
		{compaction.Config{CompactionInterval: 5, OverlapSize: 2}, 100},
		{compaction.Config{CompactionInterval: 5, OverlapSize: 2}, 400},
		{compaction.Config{CompactionInterval: 1}, 100},
		{compaction.Config{CompactionInterval: 10, OverlapSize: 10}, 300},
		{compaction.Config{TokenThreshold: 4000, EventRetentionSize: 6}, 100},
		{compaction.Config{TokenThreshold: 4000, EventRetentionSize: 6}, 800},
		{compaction.Config{TokenThreshold: 4000, EventRetentionSize: 6}, 3900},
		{compaction.Config{TokenThreshold: 2000, EventRetentionSize: 1}, 300},
		{compaction.Config{TokenThreshold: 1200, EventRetentionSize: 2}, 1000},
		{compaction.Config{TokenThreshold: 16000, EventRetentionSize: 40}, 1000},
		{compaction.Config{CompactionInterval: 5, OverlapSize: 2, TokenThreshold: 4000, EventRetentionSize: 6}, 100},
		{compaction.Config{CompactionInterval: 5, OverlapSize: 2, TokenThreshold: 4000, EventRetentionSize: 6}, 900},
		{compaction.Config{CompactionInterval: 5, OverlapSize: 2, TokenThreshold: 4000, EventRetentionSize: 6}, 3900},
		{compaction.Config{CompactionInterval: 2, OverlapSize: 1, TokenThreshold: 2000, EventRetentionSize: 10}, 450},
		{compaction.Config{CompactionInterval: 20, OverlapSize: 2, TokenThreshold: 2000, EventRetentionSize: 2}, 200},
	} {
		seen := s.run(t, invocations)
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", s.cfg.CompactionInterval, s.cfg.OverlapSize, s.cfg.TokenThreshold,
			s.cfg.EventRetentionSize, s.summary, seen.largest, seen.active, seen.bound, seen.calls)
		if seen.active > seen.bound {
			t.Errorf("%+v: %d summaries are active, at most %d may be", s.cfg, seen.active, seen.bound)
		}
		if limit := s.limit(); seen.largest > limit {
			t.Errorf("%+v with summaries of %d tokens: a prompt of %d tokens, at most %d may be", s.cfg, s.summary, seen.largest, limit)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d invocations each\n%s", invocations, &table)
}

// limit is the largest prompt that may be: the threshold, or what cannot be
// taken away. Without a threshold it is what a logarithm of summaries, the
// windows that wait and one invocation take.
func (s simulation) limit() int {
	live := instruction + 4*eventTokens + 100
	if threshold := s.cfg.TokenThreshold; threshold > 0 {
		return max(threshold, live+(s.cfg.EventRetentionSize+2)*eventTokens+threshold/4)
	}
	return live + 3*8*(s.summary+5) + (s.cfg.CompactionInterval+2)*6*eventTokens
}
