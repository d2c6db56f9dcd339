package compaction

import (
	"context"
	"iter"
	"slices"
	"time"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

const (
	// maxOlder bounds the older events that a manifest tells of. Where more are
	// needed, readers begin further back.
	maxOlder = 64
	// maxOverlapEvents bounds the events that are read for the overlap of a
	// branch that lags behind.
	maxOverlapEvents = 200
)

// manifestFor is the manifest of a compaction event that is about to be
// appended to a log. events are the log as its compactor read it, all of it or
// what was needed of it; known is the time of the newest event then, behind
// which others may have been stored since.
//
// It is a pure function of its arguments.
func manifestFor(events []*session.Event, known time.Time, event *session.Event, overlap int) (from, seen time.Time, older []time.Time) {
	if len(events) == 0 {
		return from, seen, nil
	}
	n := newNeeds(icontext.WithoutRewound(append(events[:len(events):len(events)], event)))
	n.tail(max(1, overlap))
	n.close()
	for older := n.older(); len(older) > maxOlder; older = n.older() {
		n.from = older[maxOlder]
		n.close()
	}
	from, older, ok := n.told()
	if !ok || from.After(known) {
		return time.Time{}, time.Time{}, nil
	}
	return from, known, older
}

// needs finds out which events a reader of a log needs to be sent the same
// prompts, and to choose the same windows, as one who has it all.
type needs struct {
	log      *log
	covered  []bool
	from     int          // place from which on all are needed
	needed   map[int]bool // places of events that are needed wherever they are
	pairings []*icontext.Pairs
	newEvent int // place of the event that is about to be appended: it has no time yet
}

func newNeeds(events []*session.Event) *needs {
	n := &needs{log: readLog(events), covered: make([]bool, len(events)), needed: map[int]bool{}, newEvent: len(events) - 1}
	n.pairings = icontext.Pairings(n.log.events)
	for i, e := range events {
		n.covered[i] = n.log.coverage.Covers(i, e)
		if e.Actions.Compaction == nil && !n.covered[i] {
			n.needed[i] = true
		}
	}
	for _, lane := range n.log.lanes {
		for _, s := range n.log.coverage.Active(lane) {
			n.needed[s.Position] = true
		}
	}
	return n
}

// tail sets from where on everything is read: from the newest range on, and
// further back as far as the next windows overlap with what is covered.
func (n *needs) tail(overlap int) {
	n.from = n.newEvent
	for _, lane := range n.log.lanes {
		frontier, indices := n.log.frontier(lane), n.log.indices[lane]
		_, at := n.log.invocations(indices, frontier)
		behind := len(indices)
		for behind > 0 && n.log.events[indices[behind-1]].Timestamp.UnixMicro() > frontier {
			behind--
		}
		if start := withOverlap(at, behind, overlap); start < len(indices) && n.coveredFrom(indices[start]) <= maxOverlapEvents {
			n.from = min(n.from, indices[start])
		}
	}
}

func (n *needs) coveredFrom(place int) (count int) {
	for _, covered := range n.covered[place:] {
		if covered {
			count++
		}
	}
	return count
}

// close adds the calls that nothing answered, as a later response may be
// theirs, and with everything that is read what it answers, what answers it,
// and what it asks about.
func (n *needs) close() {
	place := make(map[*session.Event]int, len(n.log.events))
	var todo []int
	for i, e := range n.log.events {
		place[e] = i
		if n.needed[i] || i >= n.from || n.unanswered(e) {
			n.needed[i] = true
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for other := range n.related(n.log.events[i]) {
			if at := place[other]; !n.needed[at] {
				n.needed[at] = true
				todo = append(todo, at)
			}
		}
	}
}

func (n *needs) unanswered(e *session.Event) bool {
	return slices.ContainsFunc(n.pairings, func(pairs *icontext.Pairs) bool {
		return slices.ContainsFunc(pairs.Calls(e), func(c *icontext.Call) bool { return len(c.Responses) == 0 })
	})
}

// older are the places of the events that are needed besides the tail.
func (n *needs) older() []int {
	var places []int
	for place := range n.needed {
		if place < n.from {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	return places
}

// related yields the events that e answers, asks about, or is answered by, and
// those by which its calls count as closed.
func (n *needs) related(e *session.Event) iter.Seq[*session.Event] {
	return func(yield func(*session.Event) bool) {
		for _, c := range n.pairings[0].Calls(e) {
			if closed := userAfter(c, n.log.events); len(c.Responses) == 0 && closed != nil && !yield(closed) {
				return
			}
		}
		for _, pairs := range n.pairings {
			for _, c := range pairs.Calls(e) {
				for _, r := range c.Responses {
					if !yield(r.Event) {
						return
					}
				}
			}
			for _, r := range pairs.Responses(e) {
				if r.Call != nil && !yield(r.Call.Event) {
					return
				}
			}
		}
		for _, other := range n.log.links.asking[e] {
			if !yield(other) {
				return
			}
		}
	}
}

// told is what is needed as a manifest tells it. It reports false if it can not.
func (n *needs) told() (from time.Time, older []time.Time, ok bool) {
	if n.from == n.newEvent {
		return from, nil, false // there is no time to begin at
	}
	for _, place := range n.older() {
		older = append(older, micros(n.log.events[place]))
	}
	return micros(n.log.events[n.from]), slices.Compact(older), true
}

func micros(e *session.Event) time.Time { return e.Timestamp.UTC().Truncate(time.Microsecond) }

// Read reads what a run needs of a session: its uncovered events and its active
// summaries, or all of it where that cannot be told apart. Errors are those of
// the session service.
func (c *Compactor) Read(ctx context.Context, appName, userID, sessionID string) (session.Session, error) {
	req := &session.GetRequest{AppName: appName, UserID: userID, SessionID: sessionID, OmitCompacted: true}
	got, err := c.service.Get(ctx, req)
	if err != nil {
		return nil, err
	}
	if suffices(eventsOf(got.Session)) {
		return got.Session, nil
	}
	req.OmitCompacted = false
	if got, err = c.service.Get(ctx, req); err != nil {
		return nil, err
	}
	return got.Session, nil
}

func (c *Compactor) read(ctx context.Context, key sessionKey) (session.Session, error) {
	return c.Read(ctx, key.app, key.user, key.id)
}

// suffices reports whether a partial read has all that the events behind its
// manifest refer to: calls that they answer or ask about, and invocations that
// they rewind.
func suffices(events []*session.Event) bool {
	newest := slices.IndexFunc(events, func(e *session.Event) bool { return e.ID == lastCompaction(events) })
	if newest < 0 || events[newest].Manifest().From.IsZero() {
		return true // all events were read
	}
	manifest := events[newest].Manifest()
	current := icontext.WithoutRewound(events)
	for _, pairs := range icontext.Pairings(current) {
		if !answersWhatWasRead(current, pairs, manifest) {
			return false
		}
	}
	called := map[string]bool{}
	for _, e := range events {
		if e.Content != nil {
			for _, part := range e.Content.Parts {
				if part != nil && part.FunctionCall != nil {
					called[part.FunctionCall.ID] = true
				}
			}
		}
		if !e.Timestamp.After(manifest.Seen) {
			continue
		}
		if e.Actions.RewindBeforeInvocationID != "" {
			return false
		}
		for id := range questionIDs(e) {
			if !called[id] {
				return false
			}
		}
	}
	return true
}

// answersWhatWasRead reports whether the responses that the manifest does not
// know are certain to have found their calls.
func answersWhatWasRead(events []*session.Event, pairs *icontext.Pairs, manifest session.Manifest) bool {
	for _, e := range events {
		if !e.Timestamp.After(manifest.Seen) {
			continue
		}
		for _, r := range pairs.Responses(e) {
			// Of a call that is answered already, a nearer one may be missing.
			if r.Call == nil || r.Call.Responses[0] != r && r.Call.Event.Timestamp.Before(manifest.From) {
				return false
			}
		}
	}
	return true
}

func lastCompaction(events []*session.Event) string {
	for _, e := range slices.Backward(events) {
		if e.Actions.Compaction != nil {
			return e.ID
		}
	}
	return ""
}
