package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"github.com/recap-adk/recap/compaction"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/internal/testdb"
	"github.com/recap-adk/recap/session"
)

// TestEquivalence: at every point of a log that grows and is compacted, a
// partial read gives the same prompts, and the same next windows, as a whole
// one.
func TestEquivalence(t *testing.T) {
	t.Run("memory", func(t *testing.T) { equivalence(t, session.InMemoryService()) })
	for _, kind := range testdb.Kinds {
		t.Run(kind.Name, func(t *testing.T) { equivalence(t, testdb.Open(t, kind)) })
	}
}

func equivalence(t *testing.T, service session.Service) {
	sessions := 0
	rapid.Check(t, func(t *rapid.T) {
		sessions++
		checkEquivalence(t, service, fmt.Sprint("s", sessions))
	})
}

func checkEquivalence(t *rapid.T, service session.Service, id string) {
	ctx := t.Context()
	created, err := service.Create(ctx, &session.CreateRequest{AppName: "app", UserID: "ada", SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	cfg := &compaction.Config{
		CompactionInterval: rapid.IntRange(1, 4).Draw(t, "interval"),
		OverlapSize:        rapid.IntRange(0, 3).Draw(t, "overlap"),
	}
	// While some summaries are made, the conversation goes on.
	calls := 0
	cfg.Summarizer = &fake{answer: func(ctx context.Context, _ []*session.Event) (compaction.SummarizeResult, error) {
		if calls++; calls%3 == 0 {
			e := &session.Event{InvocationID: fmt.Sprint("meanwhile", calls), Author: "user"}
			e.Content = genai.NewContentFromText("a question meanwhile", genai.RoleUser)
			if err := service.AppendEvent(ctx, created.Session, e); err != nil {
				return compaction.SummarizeResult{}, err
			}
		}
		return compaction.SummarizeResult{Content: genai.NewContentFromText("S", genai.RoleModel)}, nil
	}}
	c, err := compaction.NewCompactor(cfg, service)
	if err != nil {
		t.Fatal(err)
	}
	// The log is drawn as the other properties have it, and then stored event by
	// event, so that it is read at every point at which a process may die.
	for range rapid.IntRange(1, 6).Draw(t, "rounds") {
		h := newHistory()
		h.log = wholeLog(t, service, id)
		stored := len(h.log)
		drawLog(t, h)
		for _, e := range h.log[stored:] {
			if err := service.AppendEvent(ctx, created.Session, e); err != nil {
				t.Fatal(err)
			}
			compareReads(t, c, cfg, service, id)
		}
		if rapid.IntRange(0, 9).Draw(t, "foreign") == 0 {
			appendForeign(t, service, id)
			compareReads(t, c, cfg, service, id)
		}
		if rapid.IntRange(0, 5).Draw(t, "undo") == 0 {
			if _, _, err := c.Undo(ctx, "app", "ada", id); err != nil && !errors.Is(err, compaction.ErrNothingToUndo) {
				t.Fatal(err)
			}
			compareReads(t, c, cfg, service, id)
		}
		if rapid.Bool().Draw(t, "drain") {
			c.Drain(ctx, created.Session)
			compareReads(t, c, cfg, service, id)
		}
		for c.MaybeCompact(ctx, created.Session).Kind == compaction.Applied {
			compareReads(t, c, cfg, service, id)
		}
	}
}

func wholeLog(t *rapid.T, service session.Service, id string) []*session.Event {
	got, err := service.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	return allEvents(got.Session)
}

// appendForeign appends a summary as another runtime does, without a manifest.
func appendForeign(t *rapid.T, service session.Service, id string) {
	got, err := service.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	window, ok := compaction.Plan(allEvents(got.Session), &compaction.Config{CompactionInterval: 1})
	if !ok {
		return
	}
	event := compaction.CreateCompactionEvent(t.Context(), window, compaction.SummarizeResult{Content: genai.NewContentFromText("foreign", genai.RoleModel)})
	event.CustomMetadata = nil
	if err := service.AppendEvent(t.Context(), got.Session, event); err != nil {
		t.Fatal(err)
	}
}

func compareReads(t *rapid.T, c *compaction.Compactor, cfg *compaction.Config, service session.Service, id string) {
	whole := wholeLog(t, service, id)
	read, err := c.Read(t.Context(), "app", "ada", id)
	if err != nil {
		t.Fatal(err)
	}
	part := allEvents(read)
	for _, lane := range []icontext.Lane{{}, {Branch: "root.a"}, {Branch: "root.b"}, {Scope: "task"}} {
		contents := func(events []*session.Event) []*genai.Content {
			return icontext.Contents(events, icontext.Options{Agent: "agent", Branch: lane.Branch, Scope: lane.Scope, Compacted: true})
		}
		if diff := cmp.Diff(contents(whole), contents(part)); diff != "" {
			t.Fatalf("%+v: -whole +partial read of %d of %d events:\n%s\n%s", lane, len(part), len(whole), diff, describe(whole, part))
		}
	}
	next := func(events []*session.Event) string {
		w, ok := compaction.Plan(events, cfg)
		if !ok {
			return "nothing"
		}
		text := fmt.Sprint(w.Trigger, " ", w.Branch, w.Scope, w.Start, w.End, w.Excluded, " new:")
		for _, e := range w.New {
			text += " " + e.ID
		}
		for _, e := range w.Merged {
			text += " summary " + e.ID
		}
		return text
	}
	if diff := cmp.Diff(next(whole), next(part)); diff != "" {
		t.Fatalf("the next window: -whole +partial read of %d of %d events:\n%s\n%s", len(part), len(whole), diff, describe(whole, part))
	}
}

// describe writes a log for people, with what a partial read has of it.
func describe(whole, part []*session.Event) string {
	read := map[string]bool{}
	for _, e := range part {
		read[e.ID] = true
	}
	var b strings.Builder
	for _, e := range whole {
		fmt.Fprintf(&b, "%v %.4s %s %s@%s!%s:", read[e.ID], e.ID, e.InvocationID, e.Author, e.Branch, e.IsolationScope)
		if r := e.Actions.Compaction; r != nil {
			fmt.Fprintf(&b, " summary %v-%v %+v", r.Start().Sub(logtext.Base), r.End().Sub(logtext.Base), e.Manifest())
		}
		if id := e.Actions.RewindBeforeInvocationID; id != "" {
			fmt.Fprintf(&b, " rewind %s", id)
		}
		if e.Content != nil {
			for _, p := range e.Content.Parts {
				switch {
				case p.FunctionCall != nil:
					fmt.Fprintf(&b, " call %q", p.FunctionCall.ID)
				case p.FunctionResponse != nil:
					fmt.Fprintf(&b, " response %q", p.FunctionResponse.ID)
				}
			}
			fmt.Fprintf(&b, " long %q", e.LongRunningToolIDs)
		}
		fmt.Fprintf(&b, " %v\n", e.Timestamp.Sub(logtext.Base))
	}
	return b.String()
}
