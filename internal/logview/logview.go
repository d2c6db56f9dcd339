// Package logview tells people what became of each event of a log: which are in
// the prompt, which a summary stands in for, and which were taken back.
//
//	for _, block := range logview.Blocks(logview.Read(events)) {
//		// block.Summary, if there is one, stands in for block.Entries.
//	}
//
// All of it is a pure function of events. What a prompt is made of is decided
// by the package that makes prompts; this one asks it.
package logview

import (
	"fmt"
	"slices"
	"time"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

// State is what became of an event.
type State string

// The states.
const (
	// Shown: the event stands for itself.
	Shown State = "shown"
	// Covered: a summary stands in for the event.
	Covered State = "covered"
	// Summary: the event is an active summary.
	Summary State = "summary"
	// Merged: the event is a summary that a wider one stands in for.
	Merged State = "merged"
	// Undone: the event is a summary that was taken back.
	Undone State = "undone"
	// Undo: the event takes back a summary.
	Undo State = "undo"
	// Invalid: the event has a compaction record that says nothing.
	Invalid State = "invalid"
	// Rewound: the event was taken back by a client, or takes back others.
	Rewound State = "rewound"
)

// Entry is an event of a log.
type Entry struct {
	// Number is its place in the log, from 1.
	Number int
	Event  *session.Event
	State  State
	// By is the summary that stands in for it, if it is Covered or Merged, or
	// what takes it back, if it is Undone.
	By *Entry
}

// Read returns an entry for each event of a log, which must be in order and
// whole.
func Read(events []*session.Event) []*Entry {
	entries := make([]*Entry, len(events))
	byEvent := make(map[*session.Event]*Entry, len(events))
	for i, e := range events {
		entries[i] = &Entry{Number: i + 1, Event: e, State: Rewound}
		byEvent[e] = entries[i]
	}
	live := icontext.WithoutRewound(events)
	coverage := icontext.NewCoverage(live)
	undone := map[time.Time]*Entry{}
	for _, e := range live {
		if at := e.Manifest().Releases; !at.IsZero() {
			undone[at] = byEvent[e]
		}
	}
	for position, e := range live {
		entry := byEvent[e]
		switch record := e.Actions.Compaction; {
		case !e.Manifest().Releases.IsZero():
			entry.State = Undo
		case record != nil && !record.Valid():
			entry.State = Invalid
		case record != nil && undone[e.Timestamp.UTC()] != nil:
			entry.State, entry.By = Undone, undone[e.Timestamp.UTC()]
		case record != nil:
			entry.State = Summary
			if by := wider(coverage, e); by != e {
				entry.State, entry.By = Merged, byEvent[by]
			}
		default:
			entry.State = Shown
			for s := range coverage.By(position, e) {
				entry.State, entry.By = Covered, byEvent[s.Event]
				break
			}
		}
	}
	return entries
}

// wider is the active summary that stands where the summary e does: e itself,
// or the one that superseded it.
func wider(coverage *icontext.Coverage, e *session.Event) *session.Event {
	record := e.Actions.Compaction
	for _, s := range coverage.Active(icontext.LaneOf(e)) {
		if s.Start <= record.Start().UnixMicro() && record.End().UnixMicro() <= s.End {
			return s.Event
		}
	}
	return e
}

// Block is a summary with what it stands in for, or events that stand for
// themselves.
type Block struct {
	// Summary is nil if the entries stand for themselves.
	Summary *Entry
	Entries []*Entry
}

// Blocks puts the entries of a log in the order in which a prompt has them: each
// summary where the first event stands that it stands in for, then the events.
// Every entry is in exactly one block.
func Blocks(entries []*Entry) []Block {
	var blocks []Block
	at := map[*Entry]int{} // block of a summary
	blockOf := func(summary *Entry) int {
		i, ok := at[summary]
		if !ok {
			i = len(blocks)
			at[summary] = i
			blocks = append(blocks, Block{Summary: summary})
		}
		return i
	}
	for _, entry := range entries {
		switch entry.State {
		case Summary:
			blockOf(entry)
		case Covered, Merged:
			i := blockOf(entry.By)
			blocks[i].Entries = append(blocks[i].Entries, entry)
		default:
			if n := len(blocks); n == 0 || blocks[n-1].Summary != nil {
				blocks = append(blocks, Block{})
			}
			last := &blocks[len(blocks)-1]
			last.Entries = append(last.Entries, entry)
		}
	}
	return blocks
}

// ToldBy are the entries whose events a summary tells of, whether or not it is
// still active: those of its branch and scope that are in its range and before
// it, without those that an older summary beside it tells of already. Summaries
// overlap so that they read well, and tell of nothing twice.
func ToldBy(entries []*Entry, summary *Entry) []*Entry {
	var told, beside []*Entry
	for _, other := range entries[:summary.Number-1] {
		if (other.State == Summary || other.State == Merged) && !within(other, summary) {
			beside = append(beside, other)
		}
	}
	for _, entry := range entries[:summary.Number-1] {
		older := func(other *Entry) bool { return covers(other, entry) }
		if covers(summary, entry) && !slices.ContainsFunc(beside, older) {
			told = append(told, entry)
		}
	}
	return told
}

func covers(summary, entry *Entry) bool {
	s, e := summary.Event, entry.Event
	return s.Actions.Compaction.Valid() && e.Actions.Compaction == nil && entry.Number < summary.Number &&
		icontext.LaneOf(e) == icontext.LaneOf(s) && s.Actions.Compaction.Covers(e)
}

// within reports whether one summary replaces another, by its range.
func within(inner, outer *Entry) bool {
	i, o := inner.Event.Actions.Compaction, outer.Event.Actions.Compaction
	return o.StartTimestamp <= i.StartTimestamp && i.EndTimestamp <= o.EndTimestamp
}

// Find is the entry of a summary, named by its number or the ID of its event; by
// an empty name, the newest that is active. It reports what is wrong with the
// name.
func Find(entries []*Entry, name string) (*Entry, error) {
	var newest *Entry
	for _, entry := range entries {
		if entry.State == Summary {
			newest = entry
		}
		if name == "" || fmt.Sprint(entry.Number) != name && entry.Event.ID != name {
			continue
		}
		if entry.Event.Actions.Compaction == nil || entry.State == Undo {
			return nil, fmt.Errorf("event %s is no summary", name)
		}
		return entry, nil
	}
	switch {
	case name != "":
		return nil, fmt.Errorf("there is no summary %s", name)
	case newest == nil:
		return nil, fmt.Errorf("the session has no summary")
	}
	return newest, nil
}
