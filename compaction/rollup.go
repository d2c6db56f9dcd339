package compaction

import (
	"cmp"
	"slices"
	"time"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

// fanOut is the number of summaries of one level that are merged into one of
// the next. So of n windows no more than 3 summaries of each level are left, and
// every fact is summarized again only log4(n) times.
const fanOut = 4

// selectRollup chooses the summaries that are to be merged next: the oldest
// that stand side by side in their lane and are of the same level, at least
// need of them.
func selectRollup(events []*session.Event, need int) (Window, bool) {
	log := readLog(events)
	for _, lane := range log.lanes {
		active := log.coverage.Active(lane)
		for first := 0; first < len(active); {
			end := first + 1
			for end < len(active) && levelOf(active[end]) == levelOf(active[first]) {
				end++
			}
			if end-first >= need {
				w := log.merged(lane, active[first:first+need], nil)
				w.waiting = end - first
				return w, true
			}
			first = end
		}
	}
	return Window{}, false
}

func levelOf(s *icontext.Summary) int { return s.Event.Manifest().Level }

// merged is the window that merges neighbouring summaries of a lane, and with
// them the events of the lane that more names. What no summary covers between
// them goes along if it waits for nothing any more.
func (l *log) merged(lane icontext.Lane, summaries []*icontext.Summary, more []int) Window {
	first, last := summaries[0], summaries[len(summaries)-1]
	w := Window{Trigger: TriggerRollup, Branch: lane.Branch, Scope: lane.Scope, Start: first.Record().Start(), End: last.Record().End()}
	covered, taken := map[int]bool{}, map[int]bool{}
	loose := slices.Clone(more)
	for _, i := range l.indices[lane] {
		at := l.events[i].Timestamp.UnixMicro()
		if at < first.Start || at > last.End {
			continue
		}
		for s := range l.coverage.By(i, l.events[i]) {
			covered[i] = covered[i] || slices.Contains(summaries, s)
		}
		if !covered[i] && !l.coverage.Covers(i, l.events[i]) && !slices.Contains(loose, i) {
			loose = append(loose, i)
		}
	}
	for _, i := range loose {
		taken[i] = true
	}
	l.dropUnbalanced(loose, taken)
	inside := func(i int) bool { return taken[i] || covered[i] }
	for {
		if start, end, ok := l.rangeOf(loose, taken); ok {
			w.Start, w.End = earlier(w.Start, start), later(w.End, end)
		}
		excluded, clean := l.excluded(lane, taken, inside, w.Start, w.End)
		if clean {
			w.Excluded = excluded
			break
		}
		l.dropUnbalanced(loose, taken)
	}
	for _, i := range loose {
		if taken[i] {
			w.New = append(w.New, l.events[i])
		}
	}
	for _, s := range summaries {
		w.Merged = append(w.Merged, s.Event)
		w.level = max(w.level, levelOf(s)+1)
	}
	w.Events = slices.Concat(w.Merged, w.New)
	slices.SortStableFunc(w.Events, func(a, b *session.Event) int { return cmp.Compare(startOf(a), startOf(b)) })
	return w
}

// startOf is where an event stands in the view, in microseconds.
func startOf(e *session.Event) int64 {
	if record := e.Actions.Compaction; record != nil {
		return record.Start().UnixMicro()
	}
	return e.Timestamp.UnixMicro()
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
