package compaction

import (
	"slices"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

// reader is an agent that is about to be sent a prompt.
type reader struct {
	agent         string
	branch, scope string
	// invocation is the one that runs, empty if none does: its question stays.
	invocation string
}

func (r reader) sees(e *session.Event) bool {
	return e.IsolationScope == r.scope && icontext.SeesBranch(r.branch, e.Branch)
}

// tailLimits say what of a prompt may be summarized.
type tailLimits struct {
	// retention is the number of newest events that stay.
	retention int
	// worthwhile is the number of tokens that events must have to be summarized
	// by themselves. Fewer are merged with the summaries that there are.
	worthwhile int
}

// selectTail chooses, of what the reader is shown, all but the newest events,
// the question that is being answered, and the round of calls that the next
// model call answers. Of several lanes it takes the one with the most to
// summarize.
func selectTail(events []*session.Event, r reader, limits tailLimits) (Window, bool) {
	l := readLog(events)
	old := l.old(r, limits.retention)
	var best Window
	size := 0
	for _, lane := range l.lanes {
		indices := slices.DeleteFunc(slices.Clone(old), func(i int) bool { return icontext.LaneOf(l.events[i]) != lane })
		w := l.tailOf(lane, indices, limits.worthwhile)
		if tokens := estimateEvents(w.New) + estimateEvents(w.Merged); tokens > size {
			best, size = w, tokens
		}
	}
	return best, size > 0
}

// tailOf is the window of the old events of a lane or, if they are too few, of
// them and all summaries of the lane.
func (l *log) tailOf(lane icontext.Lane, indices []int, worthwhile int) Window {
	frontier := l.frontier(lane)
	behind := slices.DeleteFunc(slices.Clone(indices), func(i int) bool { return l.events[i].Timestamp.UnixMicro() <= frontier })
	w := l.balanced(lane, behind)
	if len(w.New) > 0 && w.advances(frontier) && estimateEvents(w.New) >= worthwhile {
		return w
	}
	active := l.coverage.Active(lane)
	if len(active) == 0 {
		return w
	}
	if len(active) == 1 && len(w.New) == 0 {
		return Window{} // one summary and nothing to add to it
	}
	return l.merged(lane, active, behind)
}

// old are the events that the reader is shown and that may be summarized,
// indices into the log.
func (l *log) old(r reader, retention int) []int {
	var shown []int
	question := -1
	for i, e := range l.events {
		if e.Actions.Compaction != nil || !r.sees(e) || l.coverage.Covers(i, e) {
			continue
		}
		if question < 0 && r.invocation != "" && e.InvocationID == r.invocation && e.Author == "user" && icontext.IsMessage(e) {
			question = i
		}
		shown = append(shown, i)
	}
	cut := min(len(shown)-retention, l.openRound(shown))
	if cut <= 0 {
		return nil
	}
	return slices.DeleteFunc(shown[:cut], func(i int) bool { return i == question })
}

// openRound is the place in shown of the calls that are answered but that the
// model has not gone on from, or the end.
func (l *log) openRound(shown []int) int {
	for place := len(shown) - 1; place >= 0; place-- {
		e := l.events[shown[place]]
		if l.links.holdsCalls(shown[place]) {
			return place
		}
		if icontext.IsMessage(e) {
			break
		}
	}
	return len(shown)
}

// selectFold chooses all summaries of the lane that has the most tokens of
// them, if those are more than limit.
func selectFold(events []*session.Event, r reader, limit int) (Window, bool) {
	l := readLog(events)
	var best Window
	size := limit
	for _, lane := range l.lanes {
		active := l.coverage.Active(lane)
		if lane.Scope != r.scope || !icontext.SeesBranch(r.branch, lane.Branch) || len(active) < 2 {
			continue
		}
		w := l.merged(lane, active, nil)
		if tokens := estimateEvents(w.Merged); tokens > size {
			best, size = w, tokens
		}
	}
	return best, len(best.Merged) > 0
}

// reported is the size of the reader's next prompt in tokens, as far as its
// model has told: the size of its last prompt and an estimate of what came
// after it. It reports false if no prompt was counted since the last
// compaction: what was counted before describes a prompt that is no more.
// Never is it a sum of counts: each one counts the whole history.
func reported(events []*session.Event, r reader) (int, bool) {
	added := 0
	for _, e := range slices.Backward(icontext.WithoutRewound(events)) {
		if !r.sees(e) {
			continue
		}
		if e.Actions.Compaction.Valid() {
			return 0, false
		}
		added += estimateContent(e.Content)
		if e.Branch == r.branch && e.Author != "user" && (r.agent == "" || e.Author == r.agent) && e.UsageMetadata != nil && e.UsageMetadata.PromptTokenCount > 0 {
			return int(e.UsageMetadata.PromptTokenCount) + added, true
		}
	}
	return 0, false
}
