package compaction_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/recap-adk/recap/compaction"
	icontext "github.com/recap-adk/recap/internal/context"
)

// TestUndo: the newest summary is released, and what it stood in for is back;
// of a merged one those that it merged. Compacting again is possible.
func TestUndo(t *testing.T) {
	service, handle := stored(t, twoTurns)
	c := newCompactor(t, &compaction.Config{CompactionInterval: 1, Summarizer: says("S")}, service)
	view := func() string {
		var b strings.Builder
		for _, e := range icontext.FilterEventsForLLM(allEvents(reread(t, service))) {
			if e.Actions.Compaction != nil {
				b.WriteString("S ")
			} else {
				b.WriteString(e.ID + " ")
			}
		}
		return b.String()
	}
	raw := view()
	undo := func() error {
		released, release, err := c.Undo(t.Context(), handle.AppName(), handle.UserID(), handle.ID())
		if err == nil && (released.Actions.Compaction == nil || !release.Manifest().Releases.Equal(released.Timestamp)) {
			t.Errorf("released %v by %v", released, release)
		}
		return err
	}
	if err := undo(); !errors.Is(err, compaction.ErrNothingToUndo) {
		t.Errorf("nothing was compacted: %v", err)
	}
	if o := c.Drain(t.Context(), handle); o.Kind != compaction.NothingToDo {
		t.Fatal(o)
	}
	if got := view(); got != "S S " {
		t.Fatalf("compacted: %s", got)
	}
	if o := c.Compact(t.Context(), handle); o.Kind != compaction.Applied || o.Trigger != compaction.TriggerRollup || view() != "S " {
		t.Fatalf("merged: %v %s", o, view())
	}
	for _, want := range []string{"S S ", "", raw} {
		if err := undo(); err != nil {
			t.Fatal(err)
		}
		if got := view(); want != "" && got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if o := c.Drain(t.Context(), reread(t, service)); o.Kind != compaction.NothingToDo || view() != "S S " {
		t.Errorf("compacted again: %v %s", o, view())
	}
}
