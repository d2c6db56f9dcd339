package compaction

import (
	"cmp"
	"slices"
	"time"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

// Window is what one summary is to stand in for.
type Window struct {
	// Trigger is what makes it due: TriggerSlidingWindow or TriggerRollup.
	Trigger string
	// Events are given to the summarizer, in log order. All are of one branch
	// and one isolation scope.
	Events []*session.Event
	// New are those of Events that no summary covers yet.
	New []*session.Event
	// Seen are those of Events that another summary stands in for also when
	// this one is stored: they are read again for the thread only.
	Seen []*session.Event
	// Merged are those of Events that are summaries, which the new one
	// replaces.
	Merged []*session.Event
	// Start and End are the ends of the range, both included.
	Start, End time.Time
	// Excluded are the events in the range that are not among Events.
	Excluded []session.EventRef
	// Branch and Scope are those of the events.
	Branch, Scope string

	level   int  // see manifest
	waiting int  // invocations or summaries there were to choose from, or tokens
	unpaid  bool // an extract must do: the summarizer failed not long ago
}

// SelectEventsToCompact chooses the window of the next summary as the sliding
// window of ADR-010 does: when CompactionInterval completed invocations have
// events that no summary covers, it runs from OverlapSize invocations before
// the first of them to the last of them. It reports false if it is not time
// yet.
//
// events must be the whole log, in order. It is a pure function of its
// arguments.
func SelectEventsToCompact(events []*session.Event, cfg *Config) (Window, bool) {
	return selectWindow(events, selection{need: cfg.CompactionInterval, take: cfg.CompactionInterval, overlap: cfg.OverlapSize})
}

// Plan chooses what is to be summarized next: summaries that can be merged, or
// else the window of SelectEventsToCompact. It reports false if there is
// nothing to do.
//
// events must be the whole log, in order. It is a pure function of its
// arguments.
func Plan(events []*session.Event, cfg *Config) (Window, bool) {
	return plan(events, fanOut, selection{need: cfg.CompactionInterval, take: cfg.CompactionInterval, overlap: cfg.OverlapSize})
}

func plan(events []*session.Event, rollup int, s selection) (Window, bool) {
	if w, ok := selectRollup(events, rollup); ok {
		return w, true
	}
	return selectWindow(events, s)
}

// selection says how large a window to choose.
type selection struct {
	// need is the number of new invocations at which a window is chosen, take
	// the number that it then has at most.
	need, take int
	overlap    int
	// size and budget bound what the summarizer is given: the sum of the sizes
	// of the events. A nil size is no bound.
	size   func(*session.Event) int
	budget int
}

func selectWindow(events []*session.Event, s selection) (Window, bool) {
	if s.need <= 0 {
		return Window{}, false
	}
	log := readLog(events)
	for _, lane := range log.lanes {
		if window, ok := log.window(lane, s); ok {
			return window, true
		}
	}
	return Window{}, false
}

// log is what is known of a session's events before a window is chosen.
type log struct {
	events     []*session.Event
	coverage   *icontext.Coverage
	links      *links
	unfinished map[string]bool // invocations that may go on
	lanes      []icontext.Lane // sorted: the order does not depend on what was read
	indices    map[icontext.Lane][]int
}

func readLog(events []*session.Event) *log {
	events = icontext.WithoutRewound(events)
	l := &log{
		events:     events,
		coverage:   icontext.NewCoverage(events),
		links:      newLinks(events),
		unfinished: unfinishedInvocations(events),
		indices:    map[icontext.Lane][]int{},
	}
	for i, e := range events {
		if e.Actions.Compaction != nil {
			continue
		}
		lane := icontext.LaneOf(e)
		if l.indices[lane] == nil {
			l.lanes = append(l.lanes, lane)
		}
		l.indices[lane] = append(l.indices[lane], i)
	}
	slices.SortFunc(l.lanes, func(a, b icontext.Lane) int {
		return cmp.Or(cmp.Compare(a.Branch, b.Branch), cmp.Compare(a.Scope, b.Scope))
	})
	return l
}

// unfinishedInvocations are those that did not end with a final response and
// that no later invocation followed. They may be running.
func unfinishedInvocations(events []*session.Event) map[string]bool {
	last := map[string]int{}
	var order []string // by first event
	first := map[string]int{}
	for i, e := range events {
		if e.Actions.Compaction != nil || e.InvocationID == "" {
			continue
		}
		if _, ok := first[e.InvocationID]; !ok {
			first[e.InvocationID] = i
			order = append(order, e.InvocationID)
		}
		last[e.InvocationID] = i
	}
	unfinished := map[string]bool{}
	if len(order) == 0 {
		return unfinished
	}
	newest := first[order[len(order)-1]]
	for _, id := range order {
		e := events[last[id]]
		if final := e.Author != "user" && e.IsFinalResponse(); !final && last[id] >= newest {
			unfinished[id] = true
		}
	}
	return unfinished
}

// invocation is the part of an invocation that lies in one lane.
type invocation struct {
	id          string
	first, last int // places in the lane's list of indices
	firstNew    int // place of its first event that is new
	isNew       bool
}

// window chooses the window of one lane.
func (l *log) window(lane icontext.Lane, s selection) (Window, bool) {
	indices, frontier := l.indices[lane], l.frontier(lane)
	invocations, at := l.invocations(indices, frontier)
	fresh, limit := l.fresh(invocations, len(indices))
	if len(fresh) < s.need {
		return Window{}, false
	}
	slice := func(n, overlap int) []int {
		start, end := len(indices), 0
		for _, inv := range fresh[:n] {
			start, end = min(start, inv.firstNew), max(end, inv.last+1)
		}
		start = withOverlap(at, start, overlap)
		return indices[start:max(start, min(end, limit))]
	}

	n, overlap := min(s.take, len(fresh)), s.overlap
	for l.tooLarge(slice(n, overlap), s) && (overlap > 0 || n > 1) {
		// What would be read again makes room first. One invocation that is
		// too large is for the summarizer to abridge.
		if overlap > 0 {
			overlap = 0
		} else {
			n--
		}
	}
	w := l.balanced(lane, slice(n, overlap))
	if !w.advances(frontier) && n < len(fresh) {
		// All of it waits for what comes later in the log.
		w = l.balanced(lane, slice(len(fresh), overlap))
	}
	w.waiting = len(fresh)
	return w, w.advances(frontier)
}

// advances reports whether the window has something new behind the frontier. A
// summary of anything else would be superseded as soon as it is stored.
func (w Window) advances(frontier int64) bool {
	return len(w.New) > 0 && w.End.UnixMicro() > frontier
}

// withOverlap is start moved back over the events of that many invocations. It
// goes by what stands before start and not by where those invocations began:
// one that went on for long beside others does not draw all of them in.
func withOverlap(at []*invocation, start, overlap int) int {
	seen := map[*invocation]bool{}
	for start > 0 {
		inv := at[start-1]
		if !seen[inv] && len(seen) == overlap {
			break
		}
		seen[inv] = true
		start--
	}
	return start
}

// fresh are the invocations that are new and completed. No window may reach
// limit, the place of the first event of an invocation that may go on.
func (l *log) fresh(invocations []*invocation, end int) (fresh []*invocation, limit int) {
	for _, inv := range invocations {
		if l.unfinished[inv.id] {
			return fresh, inv.first
		}
		if inv.isNew {
			fresh = append(fresh, inv)
		}
	}
	return fresh, end
}

func (l *log) tooLarge(indices []int, s selection) bool {
	if s.size == nil {
		return false
	}
	total := 0
	for _, i := range indices {
		total += s.size(l.events[i])
	}
	return total > s.budget
}

// frontier is the end of the newest range of the lane, in microseconds.
// Invocations are new behind it. An event before it that no summary covers was
// left out on purpose.
func (l *log) frontier(lane icontext.Lane) int64 {
	active := l.coverage.Active(lane)
	if len(active) == 0 {
		return 0
	}
	return active[len(active)-1].End
}

// invocations are those of a lane by their first event, and at tells which one
// the event at each place belongs to. Events without an invocation ID belong to
// the one before.
func (l *log) invocations(indices []int, frontier int64) (list, at []*invocation) {
	byID := map[string]*invocation{}
	var current *invocation
	for place, i := range indices {
		e := l.events[i]
		switch {
		case e.InvocationID == "" && current != nil:
		case byID[e.InvocationID] != nil:
			current = byID[e.InvocationID]
		default:
			current = &invocation{id: e.InvocationID, first: place}
			byID[e.InvocationID] = current
			list = append(list, current)
		}
		current.last = place
		at = append(at, current)
		if !current.isNew && e.Timestamp.UnixMicro() > frontier && !l.coverage.Covers(i, e) && !l.links.pending(i) {
			current.isNew, current.firstNew = true, place
		}
	}
	return list, at
}

// balanced is the window of those of the given events, indices into the log,
// that can be covered: an event goes only together with all that belong to it.
func (l *log) balanced(lane icontext.Lane, indices []int) Window {
	taken := map[int]bool{}
	for _, i := range indices {
		taken[i] = true
	}
	l.dropUnbalanced(indices, taken)

	w := Window{Trigger: TriggerSlidingWindow, Branch: lane.Branch, Scope: lane.Scope}
	for {
		start, end, ok := l.rangeOf(indices, taken)
		if !ok {
			return w
		}
		w.Start, w.End = start, end
		excluded, clean := l.excluded(lane, taken, func(i int) bool { return taken[i] }, start, end)
		if clean {
			w.Excluded = excluded
			break
		}
		// An event outside cannot be told from one inside: neither is taken.
		l.dropUnbalanced(indices, taken)
	}
	for _, i := range indices {
		if !taken[i] {
			continue
		}
		e := l.events[i]
		w.Events = append(w.Events, e)
		switch {
		case !l.coverage.Covers(i, e):
			w.New = append(w.New, e)
		case l.staysCovered(i, w):
			w.Seen = append(w.Seen, e)
		}
	}
	return w
}

// staysCovered reports whether a summary covers the event at index i that a
// summary of w would not supersede.
func (l *log) staysCovered(i int, w Window) bool {
	for s := range l.coverage.By(i, l.events[i]) {
		if s.Start < w.Start.UnixMicro() || s.End > w.End.UnixMicro() {
			return true
		}
	}
	return false
}

// dropUnbalanced drops from taken what belongs to something that is pending,
// or that is neither taken nor covered.
func (l *log) dropUnbalanced(indices []int, taken map[int]bool) {
	blocked := map[int]bool{} // by the representative of what belongs together
	for _, i := range indices {
		for _, member := range l.links.members(i) {
			if l.links.open[member] || (!taken[member] && !l.coverage.Covers(member, l.events[member])) {
				blocked[l.links.root(i)] = true
			}
		}
	}
	for _, i := range indices {
		if blocked[l.links.root(i)] {
			delete(taken, i)
		}
	}
}

// rangeOf is the range of time of the events that are taken.
func (l *log) rangeOf(indices []int, taken map[int]bool) (start, end time.Time, ok bool) {
	for _, i := range indices {
		if !taken[i] {
			continue
		}
		at := l.events[i].Timestamp
		if !ok || at.Before(start) {
			start = at
		}
		if !ok || at.After(end) {
			end = at
		}
		ok = true
	}
	return start.UTC().Truncate(time.Microsecond), end.UTC().Truncate(time.Microsecond), ok
}

// excluded are the events of the lane in the range that are not inside. In logs
// of other makers two events may have the same invocation and time: if one of
// them is taken and the other is outside, the one is dropped, and clean is
// false.
func (l *log) excluded(lane icontext.Lane, taken map[int]bool, inside func(int) bool, start, end time.Time) (refs []session.EventRef, clean bool) {
	takenAs := map[session.EventRef][]int{}
	for i := range taken {
		ref := session.NewEventRef(l.events[i])
		takenAs[ref] = append(takenAs[ref], i)
	}
	clean = true
	for _, i := range l.indices[lane] {
		at := l.events[i].Timestamp.UnixMicro()
		if inside(i) || at < start.UnixMicro() || at > end.UnixMicro() {
			continue
		}
		ref := session.NewEventRef(l.events[i])
		for _, twin := range takenAs[ref] {
			delete(taken, twin)
			clean = false
		}
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b session.EventRef) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.InvocationID, b.InvocationID))
	})
	return slices.Compact(refs), clean
}
