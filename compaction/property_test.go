package compaction_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/recap-adk/recap/compaction"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/internal/replay"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// history is a log that grows, with what was ever given to a summarizer.
type history struct {
	log   []*session.Event
	given map[*session.Event]bool
	last  time.Time

	summaries int
}

func newHistory() *history {
	return &history{given: map[*session.Event]bool{}, last: logtext.Base}
}

func (h *history) add(e *session.Event) {
	h.last = h.last.Add(time.Millisecond)
	e.Timestamp = h.last
	e.ID = fmt.Sprintf("e%d", len(h.log)+1)
	h.log = append(h.log, e)
}

// compact compacts until nothing is left to do and returns how often it did.
func (h *history) compact(t *rapid.T, cfg *compaction.Config) int {
	raw := len(h.log)
	for n := 0; ; n++ {
		window, ok := compaction.Plan(h.log, cfg)
		if !ok {
			return n
		}
		if n > raw {
			t.Fatalf("compacting %d events does not come to an end", raw)
		}
		for _, e := range window.Events {
			h.given[e] = true
		}
		event := compaction.CreateCompactionEvent(t.Context(), window, compaction.SummarizeResult{
			Content: genai.NewContentFromText("summary "+fmt.Sprint(n), genai.RoleModel),
		})
		h.add(event)
		h.summaries++
	}
}

// drawLog appends a few invocations as agents, tools and people make them:
// parallel and long-running calls, answers that come late or never or twice,
// questions about calls, branches, scopes, and IDs that recur.
func drawLog(t *rapid.T, h *history) {
	id := rapid.SampledFrom([]string{"a", "b", "c", ""})
	lane := rapid.SampledFrom([]icontext.Lane{{}, {}, {}, {Branch: "root.a"}, {Branch: "root.b"}, {Scope: "task"}})
	for range rapid.IntRange(1, 6).Draw(t, "invocations") {
		invocation := fmt.Sprintf("i%d", len(h.log))
		event := func(author string, l icontext.Lane, parts ...*genai.Part) *session.Event {
			e := &session.Event{InvocationID: invocation, Author: author, Branch: l.Branch, IsolationScope: l.Scope}
			e.Content = &genai.Content{Role: genai.RoleModel, Parts: parts}
			if author == "user" {
				e.Content.Role = genai.RoleUser
			}
			h.add(e)
			return e
		}
		event("user", icontext.Lane{}, &genai.Part{Text: "question"})
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			l := lane.Draw(t, "lane")
			switch rapid.IntRange(0, 6).Draw(t, "kind") {
			case 0:
				event("agent", l, &genai.Part{Text: "answer"})
			case 1, 2:
				e := event("agent", l)
				for range rapid.IntRange(1, 3).Draw(t, "calls") {
					call := &genai.FunctionCall{ID: id.Draw(t, "id"), Name: "tool"}
					e.Content.Parts = append(e.Content.Parts, &genai.Part{FunctionCall: call})
					if call.ID != "" && rapid.IntRange(0, 3).Draw(t, "long") == 0 {
						e.LongRunningToolIDs = append(e.LongRunningToolIDs, call.ID)
					}
				}
			case 3, 4:
				event("agent", l, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id.Draw(t, "id"), Name: "tool"}})
			case 5:
				event("user", l, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id.Draw(t, "id"), Name: "tool"}})
			case 6:
				e := event("agent", l)
				e.Actions.RequestedToolConfirmations = map[string]toolconfirmation.ToolConfirmation{id.Draw(t, "id"): {}}
			}
		}
		if rapid.Bool().Draw(t, "ends") {
			event("agent", icontext.Lane{}, &genai.Part{Text: "final answer"})
		}
	}
}

// TestProperties checks the promises of a log that is compacted again and
// again while it grows.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := &compaction.Config{
			CompactionInterval: rapid.IntRange(1, 4).Draw(t, "interval"),
			OverlapSize:        rapid.IntRange(0, 5).Draw(t, "overlap"),
		}
		h := newHistory()
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			drawLog(t, h)
			answeredBefore := answeredPairs(h)
			h.compact(t, cfg)
			if n := h.compact(t, cfg); n != 0 {
				t.Fatalf("not idempotent: compacting again did %d more", n)
			}
			checkExact(t, h)
			checkBalanced(t, h, answeredBefore)
			checkOrder(t, h)
			checkContents(t, h)
			checkFew(t, h)
		}
	})
}

// TestForeignLogs: in logs of other makers events may have the same time, stand
// out of order, or be there twice. Nothing that was not summarized is hidden
// all the same, and compacting comes to an end.
func TestForeignLogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := &compaction.Config{
			CompactionInterval: rapid.IntRange(1, 3).Draw(t, "interval"),
			OverlapSize:        rapid.IntRange(0, 2).Draw(t, "overlap"),
		}
		h := newHistory()
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			first := len(h.log)
			drawLog(t, h)
			for i := first; i < len(h.log); i++ {
				e := h.log[i]
				switch rapid.IntRange(0, 5).Draw(t, "oddity") {
				case 0: // a tie with any event before
					e.Timestamp = h.log[rapid.IntRange(0, i).Draw(t, "tie")].Timestamp
				case 1: // out of order
					e.Timestamp = e.Timestamp.Add(-time.Duration(rapid.IntRange(1, 9).Draw(t, "back")) * time.Millisecond)
				case 2: // delivered twice
					h.log = slices.Insert(h.log, i+1, e.Clone())
					i++
				}
			}
			h.compact(t, cfg)
			checkExact(t, h)
			checkContents(t, h)
		}
	})
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface{ Fatalf(string, ...any) }

// checkExact: every event that the view hides was given to a summarizer.
func checkExact(t fataler, h *history) {
	visible := map[*session.Event]bool{}
	for _, e := range icontext.FilterEventsForLLM(h.log) {
		visible[e] = true
	}
	for _, e := range h.log {
		if e.Actions.Compaction == nil && !visible[e] && !h.given[e] {
			t.Fatalf("event %s is hidden and was never summarized", e.ID)
		}
	}
}

// answeredPairs are the calls with an answer, by event, at this time.
func answeredPairs(h *history) map[*session.Event]map[*session.Event]bool {
	pairs := map[*session.Event]map[*session.Event]bool{}
	p := icontext.NewPairs(h.log)
	for _, e := range h.log {
		for _, call := range p.Calls(e) {
			for _, r := range call.Responses {
				if pairs[e] == nil {
					pairs[e] = map[*session.Event]bool{}
				}
				pairs[e][r.Event] = true
			}
		}
	}
	return pairs
}

// checkBalanced: nothing that waits is covered, and no response is left whose
// call was covered with it in the log.
func checkBalanced(t fataler, h *history, pairs map[*session.Event]map[*session.Event]bool) {
	coverage := icontext.NewCoverage(h.log)
	covered := map[*session.Event]bool{}
	for i, e := range h.log {
		covered[e] = coverage.Covers(i, e)
	}
	for i, e := range h.log {
		if !covered[e] || e.Content == nil {
			continue
		}
		for _, part := range e.Content.Parts {
			call := part.FunctionCall
			if call == nil || call.ID == "" || answeredLater(h.log[i+1:], call.ID) {
				continue
			}
			long := slices.Contains(e.LongRunningToolIDs, call.ID)
			if long || !userLater(h.log[i+1:]) {
				t.Fatalf("event %s is covered although its call %q waits", e.ID, call.ID)
			}
		}
		for id := range e.Actions.RequestedToolConfirmations {
			if !answeredLater(h.log[i+1:], id) {
				t.Fatalf("event %s is covered although its question about %q waits", e.ID, id)
			}
		}
	}
	for call, responses := range pairs {
		for response := range responses {
			if covered[call] && !covered[response] && !lateResponse(h, call, response) {
				t.Fatalf("call %s is covered, its response %s is not", call.ID, response.ID)
			}
		}
	}
}

// lateResponse reports whether the response came after a summary of its call
// was stored.
func lateResponse(h *history, call, response *session.Event) bool {
	at := slices.Index(h.log, response)
	for _, e := range h.log[:at] {
		if r := e.Actions.Compaction; r != nil && r.Covers(call) && e.Branch == call.Branch && e.IsolationScope == call.IsolationScope {
			return true
		}
	}
	return false
}

// TestSharedConversations checks the same promises on real conversations, if
// they are there: as they are played, compacted after every turn.
func TestSharedConversations(t *testing.T) {
	for _, name := range []string{"airline-support.json", "coding-session.jsonl"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("..", "..", "shared", "data", name)
			if _, err := os.Stat(path); err != nil {
				t.Skipf("no shared data: %v", err)
			}
			c, err := conversation.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			service, given := session.InMemoryService(), &recorder{given: map[string]bool{}}
			cfg := compaction.DefaultConfig()
			cfg.Summarizer = given
			_, err = replay.Play(t.Context(), c, replay.Options{
				Service: service, AppName: "app", UserID: "ada", SessionID: "s1", Compaction: cfg, Counter: tokens.New(),
			})
			if err != nil {
				t.Fatal(err)
			}
			h := &history{log: allEvents(reread(t, service)), given: map[*session.Event]bool{}}
			for _, e := range h.log {
				h.given[e] = given.given[e.ID]
			}
			checkExact(t, h)
			checkBalanced(t, h, answeredPairs(h))
			checkOrder(t, h)
			checkContents(t, h)
			calls := given.calls
			compactor := newCompactor(t, cfg, service)
			if o := compactor.MaybeCompact(t.Context(), reread(t, service)); o.Kind != compaction.NothingToDo || given.calls != calls {
				t.Errorf("not idempotent: %v", o)
			}
			if calls == 0 {
				t.Error("nothing was compacted")
			}
		})
	}
}

// recorder is an ExtractiveSummarizer that keeps the IDs of what it was given.
type recorder struct {
	given map[string]bool
	calls int
}

func (r *recorder) SummarizeEvents(ctx context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
	r.calls++
	for _, e := range events {
		r.given[e.ID] = true
	}
	return compaction.ExtractiveSummarizer{}.SummarizeEvents(ctx, events)
}

func answeredLater(log []*session.Event, id string) bool {
	return slices.ContainsFunc(log, func(e *session.Event) bool {
		return e.Content != nil && slices.ContainsFunc(e.Content.Parts, func(p *genai.Part) bool {
			return p.FunctionResponse != nil && p.FunctionResponse.ID == id
		})
	})
}

func userLater(log []*session.Event) bool {
	return slices.ContainsFunc(log, func(e *session.Event) bool {
		return e.Author == "user" && e.Actions.Compaction == nil && e.Content != nil && e.Content.Parts[0].Text != ""
	})
}

// checkFew: of n summaries no more than 3 (1 + log4 n) are active in a lane.
func checkFew(t fataler, h *history) {
	coverage := icontext.NewCoverage(h.log)
	for _, e := range h.log {
		active := len(coverage.Active(icontext.LaneOf(e)))
		if bound := 3 * (1 + math.Log(float64(max(h.summaries, 1)))/math.Log(4)); float64(active) > bound {
			t.Fatalf("%d of %d summaries are active, more than %.1f", active, h.summaries, bound)
		}
	}
}

// checkOrder: the view is in the order of the log.
func checkOrder(t fataler, h *history) {
	var last time.Time
	for _, e := range icontext.FilterEventsForLLM(h.log) {
		if e.Timestamp.Before(last) {
			t.Fatalf("event %s stands behind a later one", e.ID)
		}
		last = e.Timestamp
	}
}

// checkContents: every call is followed at once by a response to each call of
// its content, and no response stands anywhere else.
func checkContents(t fataler, h *history) {
	for _, lane := range []icontext.Lane{{}, {Branch: "root.a"}, {Scope: "task"}} {
		var open []string
		for _, content := range icontext.Contents(h.log, icontext.Options{Agent: "agent", Branch: lane.Branch, Scope: lane.Scope, Compacted: true}) {
			calls, responses := ids(content)
			if strings.Join(responses, ",") != strings.Join(open, ",") {
				t.Fatalf("calls %q are followed by responses %q", open, responses)
			}
			open = calls
		}
		if len(open) > 0 {
			t.Fatalf("calls %q have no responses", open)
		}
	}
}

func ids(content *genai.Content) (calls, responses []string) {
	for _, part := range content.Parts {
		if part.FunctionCall != nil {
			calls = append(calls, part.FunctionCall.ID)
		}
		if part.FunctionResponse != nil {
			responses = append(responses, part.FunctionResponse.ID)
		}
	}
	return calls, responses
}
