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

// current is the log without what was rewound.
func (h *history) current() []*session.Event { return icontext.WithoutRewound(h.log) }

// drawLog appends a few invocations as agents, tools and people make them:
// parallel and long-running calls, answers that come late or never or twice,
// questions about calls, branches, scopes, IDs that recur, and rewinds.
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
		if rapid.IntRange(0, 7).Draw(t, "begins") > 0 {
			event("user", icontext.Lane{}, &genai.Part{Text: "question"})
		}
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			l := lane.Draw(t, "lane")
			switch rapid.IntRange(0, 8).Draw(t, "kind") {
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
			case 7:
				event("other", l, &genai.Part{Text: rapid.SampledFrom([]string{"I am another agent", " "}).Draw(t, "text")})
			case 8:
				e := event("user", l)
				e.Content = nil
				e.Actions.RewindBeforeInvocationID = rapid.SampledFrom(h.log).Draw(t, "rewound").InvocationID
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
	log := h.current()
	visible := map[*session.Event]bool{}
	for _, e := range icontext.FilterEventsForLLM(log) {
		visible[e] = true
	}
	for _, e := range log {
		if e.Actions.Compaction == nil && !visible[e] && !h.given[e] {
			t.Fatalf("event %s is hidden and was never summarized", e.ID)
		}
	}
}

// answeredPairs are the calls with an answer, by event, at this time.
func answeredPairs(h *history) map[*session.Event]map[*session.Event]bool {
	log := h.current()
	pairs := map[*session.Event]map[*session.Event]bool{}
	p := icontext.NewPairs(log)
	for _, e := range log {
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
	log := h.current()
	coverage := icontext.NewCoverage(log)
	covered := map[*session.Event]bool{}
	for i, e := range log {
		covered[e] = coverage.Covers(i, e)
	}
	for i, e := range log {
		if !covered[e] || e.Content == nil {
			continue
		}
		for _, part := range e.Content.Parts {
			call := part.FunctionCall
			if call == nil || call.ID == "" || answeredLater(log[i+1:], call.ID) {
				continue
			}
			long := slices.Contains(e.LongRunningToolIDs, call.ID)
			if long || !userLater(log[i+1:]) {
				t.Fatalf("event %s is covered although its call %q waits", e.ID, call.ID)
			}
		}
		for id := range e.Actions.RequestedToolConfirmations {
			if !answeredLater(log[i+1:], id) {
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
	log := h.current()
	at := slices.Index(log, response)
	for _, e := range log[:at] {
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
	log := h.current()
	coverage := icontext.NewCoverage(log)
	for _, e := range log {
		active := len(coverage.Active(icontext.LaneOf(e)))
		if bound := 3 * (1 + math.Log(float64(max(h.summaries, 1)))/math.Log(4)); float64(active) > bound {
			t.Fatalf("%d of %d summaries are active, more than %.1f", active, h.summaries, bound)
		}
	}
}

// checkOrder: the view is in the order of the log.
func checkOrder(t fataler, h *history) {
	log := h.current()
	var last time.Time
	for _, e := range icontext.FilterEventsForLLM(log) {
		if e.Timestamp.Before(last) {
			t.Fatalf("event %s stands behind a later one", e.ID)
		}
		last = e.Timestamp
	}
}

// checkContents: what a model is sent passes the rules of all providers.
func checkContents(t fataler, h *history) {
	for _, lane := range []icontext.Lane{{}, {Branch: "root.a"}, {Branch: "root.b"}, {Scope: "task"}} {
		for _, compacted := range []bool{true, false} {
			for _, current := range []bool{false, true} {
				contents := icontext.Normalize(icontext.Contents(h.log, icontext.Options{
					Agent: "agent", Branch: lane.Branch, Scope: lane.Scope, Compacted: compacted, CurrentTurnOnly: current,
				}))
				if err := refused(contents); err != nil {
					t.Fatalf("%+v, compacted %v, current turn only %v: %v", lane, compacted, current, err)
				}
			}
		}
	}
}

// refused says what Gemini, OpenAI or Anthropic, or a model behind a chat
// template, would refuse contents for: all their rules at once.
func refused(contents []*genai.Content) error {
	seen := map[string]bool{}
	var open []string // calls of the content before
	for i, content := range contents {
		if want := []string{genai.RoleUser, genai.RoleModel}[i%2]; content.Role != want {
			return fmt.Errorf("content %d has the role %q, not %q", i, content.Role, want)
		}
		if len(content.Parts) == 0 {
			return fmt.Errorf("content %d has no parts", i)
		}
		var calls, responses []string
		for _, part := range content.Parts {
			switch {
			case part.FunctionCall != nil:
				if content.Role != genai.RoleModel {
					return fmt.Errorf("content %d: a call by the user", i)
				}
				id := part.FunctionCall.ID
				if id != "" && seen[id] {
					return fmt.Errorf("content %d: a second call %q", i, id)
				}
				seen[id] = true
				calls = append(calls, id)
			case part.FunctionResponse != nil:
				if content.Role != genai.RoleUser {
					return fmt.Errorf("content %d: a response by the model", i)
				}
				responses = append(responses, part.FunctionResponse.ID)
				if part != content.Parts[len(responses)-1] {
					return fmt.Errorf("content %d: something stands before the response %q", i, part.FunctionResponse.ID)
				}
			case strings.TrimSpace(part.Text) == "" && len(part.ThoughtSignature) == 0:
				return fmt.Errorf("content %d: blank text", i)
			}
		}
		if !slices.Equal(open, responses) {
			return fmt.Errorf("content %d: calls %q are followed by responses %q", i, open, responses)
		}
		open = calls
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %q have no responses", open)
	}
	return nil
}
