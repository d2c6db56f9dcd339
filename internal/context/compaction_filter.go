package context

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
)

// Lane is what a summary stands in for events of: one branch of the tree of
// agents, in one isolation scope.
type Lane struct{ Branch, Scope string }

// LaneOf is the lane of an event.
func LaneOf(e *session.Event) Lane {
	return Lane{Branch: e.Branch, Scope: e.IsolationScope}
}

// Summary is an active summary: a valid one that no other supersedes and that
// was not released.
type Summary struct {
	// Event carries the record, at index Position of the log.
	Event    *session.Event
	Position int
	// Start and End are the ends of its range in microseconds.
	Start, End int64
}

// Record is the record that the event carries.
func (s *Summary) Record() *session.EventCompaction { return s.Event.Actions.Compaction }

// Coverage knows which events of a log its active summaries stand in for.
type Coverage struct {
	// Of each lane the active summaries by start. None contains another, so
	// they are by end as well.
	lanes map[Lane][]*Summary
}

// NewCoverage reads the summaries of a log.
func NewCoverage(events []*session.Event) *Coverage {
	c := &Coverage{lanes: map[Lane][]*Summary{}}
	released := map[time.Time]bool{}
	for _, e := range events {
		if at := e.Manifest().Releases; !at.IsZero() {
			released[at] = true
		}
	}
	for i, e := range events {
		record := e.Actions.Compaction
		if record == nil || !record.Valid() || released[e.Timestamp.UTC()] || !e.Manifest().Releases.IsZero() {
			continue
		}
		lane := LaneOf(e)
		c.lanes[lane] = append(c.lanes[lane], &Summary{
			Event: e, Position: i,
			Start: record.Start().UnixMicro(), End: record.End().UnixMicro(),
		})
	}
	for lane, summaries := range c.lanes {
		c.lanes[lane] = withoutSuperseded(summaries)
	}
	return c
}

// withoutSuperseded drops each summary whose range another one contains that is
// wider, or identical and later in the log.
func withoutSuperseded(summaries []*Summary) []*Summary {
	slices.SortFunc(summaries, func(a, b *Summary) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(b.Position, a.Position))
	})
	var active []*Summary
	for _, s := range summaries {
		// Whatever contains s stands before it, and the last active one ends latest.
		if n := len(active); n == 0 || s.End > active[n-1].End {
			active = append(active, s)
		}
	}
	return active
}

// Active are the active summaries of a lane in order of their ranges.
func (c *Coverage) Active(lane Lane) []*Summary {
	return c.lanes[lane]
}

// Covers reports whether an active summary stands in for e, the event at index
// position of the log. A compaction event is never covered.
func (c *Coverage) Covers(position int, e *session.Event) bool {
	for range c.By(position, e) {
		return true
	}
	return false
}

// By yields the active summaries that stand in for e, by start.
func (c *Coverage) By(position int, e *session.Event) iter.Seq[*Summary] {
	return func(yield func(*Summary) bool) {
		if e.Actions.Compaction != nil {
			return
		}
		summaries := c.lanes[LaneOf(e)]
		at := e.Timestamp.UnixMicro()
		first, _ := slices.BinarySearchFunc(summaries, at, func(s *Summary, at int64) int { return cmp.Compare(s.End, at) })
		for _, s := range summaries[first:] {
			if s.Start > at {
				return
			}
			if position < s.Position && !s.Record().Excludes(e) && !yield(s) {
				return
			}
		}
	}
}

// FilterEventsForLLM returns the view of a log: the events that no active
// summary stands in for, and each active summary where the first event that it
// stands in for stood. In the view a summary is an event of author "user" whose
// content is the text of the summary.
//
// events must be in log order. The events returned are those given, but for
// the summaries.
func FilterEventsForLLM(events []*session.Event) []*session.Event {
	return filterEvents(events, NewCoverage(events))
}

func filterEvents(events []*session.Event, coverage *Coverage) []*session.Event {
	pending := coverage.places(events)
	view := make([]*session.Event, 0, len(events))
	for i, e := range events {
		for len(pending) > 0 && pending[0].at == i {
			view = append(view, materialize(pending[0].summary))
			pending = pending[1:]
		}
		if e.Actions.Compaction == nil && !coverage.Covers(i, e) {
			view = append(view, e)
		}
	}
	for _, p := range pending {
		view = append(view, materialize(p.summary))
	}
	return view
}

type place struct {
	at      int // index in the log before which the summary stands
	summary *Summary
}

// places finds where each active summary stands: before the first event that
// it stands in for or, where those were not read, where its range starts.
func (c *Coverage) places(events []*session.Event) []place {
	first := map[*Summary]int{}
	for i, e := range events {
		for s := range c.By(i, e) {
			if _, ok := first[s]; !ok {
				first[s] = i
			}
		}
	}
	var places []place
	for _, summaries := range c.lanes {
		for _, s := range summaries {
			at, ok := first[s]
			if !ok || events[at].Timestamp.UnixMicro() > s.Start {
				at = s.startsAt(events, at, ok)
			}
			places = append(places, place{at, s})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.summary.Start, b.summary.Start), cmp.Compare(a.summary.Position, b.summary.Position))
	})
	return places
}

// startsAt is where the range of s starts in events, of which the first event
// that s stands in for may not have been read. If a later one was it is at
// index covered.
func (s *Summary) startsAt(events []*session.Event, covered int, ok bool) int {
	at := slices.IndexFunc(events[:s.Position], func(e *session.Event) bool { return e.Timestamp.UnixMicro() >= s.Start })
	switch {
	case at < 0:
		return s.Position
	case ok:
		return min(at, covered)
	}
	return at
}

// materialize is the summary as an event of the view.
func materialize(s *Summary) *session.Event {
	return &session.Event{
		ID:             s.Event.ID,
		Timestamp:      s.Record().Start(),
		InvocationID:   s.Event.InvocationID,
		Branch:         s.Event.Branch,
		IsolationScope: s.Event.IsolationScope,
		Author:         "user",
		Actions:        session.EventActions{Compaction: s.Record()},
		LLMResponse:    model.LLMResponse{Content: genai.NewContentFromText(s.Record().Text(), genai.RoleUser)},
	}
}

// Fence around summaries in a prompt. The model is told that they are a record
// and not a request, or it may carry out what was asked for long ago.
const (
	fenceOpen  = "<earlier>\nCondensed record of the conversation so far: background, not a request.\n"
	fenceClose = "</earlier>"
)

// fenced is the content of summaries that stand side by side. Text in them
// cannot close the fence.
func fenced(summaries []*session.Event) *genai.Content {
	content := &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: fenceOpen}}}
	for _, s := range summaries {
		text := strings.ReplaceAll(s.Actions.Compaction.Text(), fenceClose, "(/earlier)")
		content.Parts = append(content.Parts, &genai.Part{Text: text + "\n"})
	}
	content.Parts = append(content.Parts, &genai.Part{Text: fenceClose})
	return content
}
