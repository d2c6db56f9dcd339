package compaction_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/replay"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/session"
)

// TestPrefixReuse measures how much of each prompt of a real conversation a
// provider's cache can serve: with summaries in levels, and with one summary
// that is written anew each time. With -v it prints both.
func TestPrefixReuse(t *testing.T) {
	path := filepath.Join("..", "..", "shared", "data", "airline-support.json")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no shared data: %v", err)
	}
	c, err := conversation.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	counter := tokens.New()
	play := func(cfg *compaction.Config) *replay.Played {
		cfg.Summarizer = compaction.ExtractiveSummarizer{}
		played, err := replay.Play(t.Context(), c, replay.Options{
			Service: &onRolling{session.InMemoryService(), false}, Counter: counter, Compaction: cfg,
		})
		if err != nil {
			t.Fatal(err)
		}
		return played
	}
	levels := play(compaction.DefaultConfig())
	rolling := playRolling(t, c, counter)
	t.Logf("levels: %.1f %% reused, largest contents %d tokens", 100*levels.Reused, levels.LargestContents)
	t.Logf("one rolling summary: %.1f %% reused, largest contents %d tokens", 100*rolling.Reused, rolling.LargestContents)
	if levels.Reused <= rolling.Reused {
		t.Errorf("levels reuse %.3f, one rolling summary %.3f", levels.Reused, rolling.Reused)
	}
	if levels.LargestContents >= 8000 {
		t.Errorf("the largest prompt has contents of %d tokens", levels.LargestContents)
	}
}

// onRolling is a service that widens each summary to the start of the first:
// so each one supersedes the one before.
type onRolling struct {
	session.Service
	on bool
}

func (s *onRolling) AppendEvent(ctx context.Context, handle session.Session, e *session.Event) error {
	if record := e.Actions.Compaction; s.on && record != nil {
		for old := range handle.Events().All() {
			if first := old.Actions.Compaction; first != nil {
				record.StartTimestamp = min(record.StartTimestamp, first.StartTimestamp)
			}
		}
	}
	return s.Service.AppendEvent(ctx, handle, e)
}

// rollingSummarizer gives an extract the text of the last summary to go on from.
type rollingSummarizer struct{ last *session.Event }

func (r *rollingSummarizer) SummarizeEvents(ctx context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
	if r.last != nil {
		events = slices.Concat([]*session.Event{r.last}, events)
	}
	result, err := compaction.ExtractiveSummarizer{MaxTokens: 400}.SummarizeEvents(ctx, events)
	if err == nil && result.Content != nil {
		r.last = &session.Event{Author: "user"}
		r.last.Actions.Compaction = &session.EventCompaction{StartTimestamp: 1, EndTimestamp: 1, CompactedContent: result.Content}
	}
	return result, err
}

func playRolling(t *testing.T, c *conversation.Conversation, counter *tokens.Counter) *replay.Played {
	cfg := compaction.DefaultConfig()
	cfg.Summarizer = &rollingSummarizer{}
	played, err := replay.Play(t.Context(), c, replay.Options{
		Service: &onRolling{session.InMemoryService(), true}, Counter: counter, Compaction: cfg,
	})
	if err != nil {
		t.Fatal(err)
	}
	return played
}
