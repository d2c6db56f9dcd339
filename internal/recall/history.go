package recall

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"time"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

// history is the covered part of a log as one reader sees it.
type history struct {
	service  session.Service
	log      session.ScanRequest
	branch   string
	scope    string
	visible  []*session.Event // of those that the reader knows
	coverage *icontext.Coverage
	// start is where the first range of a summary starts, zero if there is none.
	start time.Time
	// kept are the IDs of events that were not rewound, nil where nothing was.
	kept map[string]bool
}

func newHistory(service session.Service, req Request) *history {
	visible := icontext.Visible(icontext.WithoutRewound(req.Known), req.Branch, req.Scope)
	h := &history{
		service: service,
		log:     session.ScanRequest{AppName: req.AppName, UserID: req.UserID, SessionID: req.SessionID},
		branch:  req.Branch, scope: req.Scope,
		visible:  visible,
		coverage: icontext.NewCoverage(visible),
	}
	for s := range h.coverage.All() {
		if start := time.UnixMicro(s.Start); h.start.IsZero() || start.Before(h.start) {
			h.start = start
		}
	}
	return h
}

// each calls visit with the covered events, the newest first, until it returns
// false. It may have to begin anew: reset is called at each beginning.
func (h *history) each(ctx context.Context, from time.Time, reset func(), visit func(*session.ScannedEvent) bool) error {
	for {
		if reset(); h.start.IsZero() {
			return nil // there is no summary
		}
		again, err := h.pass(ctx, from, visit)
		if !again || err != nil {
			return err
		}
		if h.kept, err = h.notRewound(ctx); err != nil {
			return err
		}
	}
}

// pass goes through the covered events once. It reports true if it met a rewind
// and which events were rewound is not known.
func (h *history) pass(ctx context.Context, from time.Time, visit func(*session.ScannedEvent) bool) (again bool, err error) {
	req := h.log
	req.After = h.start
	if from.After(req.After) {
		req.After = from
	}
	for s := range h.coverage.All() {
		s.Position = math.MinInt // until it is met it covers nothing
	}
	var event session.Event
	position := 0 // counted backward
	for e, err := range scan(ctx, h.service, &req) {
		if err != nil {
			return false, err
		}
		if e.RewindBeforeInvocationID != "" && h.kept == nil {
			return true, nil
		}
		position--
		event.Timestamp, event.InvocationID, event.Branch, event.IsolationScope = e.Timestamp, e.InvocationID, e.Branch, e.IsolationScope
		if e.IsCompaction {
			h.passed(&event, position)
			continue
		}
		if e.IsolationScope != h.scope || !icontext.SeesBranch(h.branch, e.Branch) || h.kept != nil && !h.kept[e.ID] {
			continue
		}
		if h.coverage.Covers(position, &event) && !visit(e) {
			return false, nil
		}
	}
	return false, nil
}

func (h *history) passed(e *session.Event, position int) {
	for _, s := range h.coverage.Active(icontext.LaneOf(e)) {
		if s.Event.Timestamp.Equal(e.Timestamp) {
			s.Position = position
		}
	}
}

// notRewound returns the IDs of the events that were not rewound.
func (h *history) notRewound(ctx context.Context) (map[string]bool, error) {
	req := h.log
	var events []*session.Event
	for e, err := range scan(ctx, h.service, &req) {
		if err != nil {
			return nil, err
		}
		event := &session.Event{ID: e.ID, Timestamp: e.Timestamp, InvocationID: e.InvocationID, Branch: e.Branch, IsolationScope: e.IsolationScope}
		event.Actions.RewindBeforeInvocationID = e.RewindBeforeInvocationID
		if e.IsCompaction {
			event.Actions.Compaction = &session.EventCompaction{}
		}
		events = append(events, event)
	}
	slices.Reverse(events)
	kept := map[string]bool{}
	for _, e := range icontext.WithoutRewound(events) {
		kept[e.ID] = true
	}
	return kept, nil
}

// known is an event that the reader knows, or nil.
func (h *history) known(id string) (*session.ScannedEvent, error) {
	for _, e := range h.visible {
		if e.ID == id && e.Actions.Compaction == nil {
			return scannedFrom(e)
		}
	}
	return nil, nil
}

// get reads one event.
func (h *history) get(ctx context.Context, id string, at time.Time) (*session.ScannedEvent, error) {
	req := h.log
	req.After, req.Before = at, at.Add(1)
	for e, err := range scan(ctx, h.service, &req) {
		if err != nil || e.ID == id {
			return e, err
		}
	}
	return nil, nil
}

// scan goes backward through a log in pages.
func scan(ctx context.Context, service session.Service, req *session.ScanRequest) iter.Seq2[*session.ScannedEvent, error] {
	if scanner, ok := service.(session.EventScanner); ok {
		return scanner.ScanEvents(ctx, req)
	}
	return func(yield func(*session.ScannedEvent, error) bool) {
		for e, err := range pages(ctx, service, req) {
			if err != nil {
				yield(nil, err)
				return
			}
			scanned, err := scannedFrom(e)
			if !yield(scanned, err) || err != nil {
				return
			}
		}
	}
}

// pageSize is the number of events that are read at once. Tests have less.
var pageSize = 500

// pages yields events by Get, the newest first.
func pages(ctx context.Context, service session.Service, req *session.ScanRequest) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		get := &session.GetRequest{
			AppName: req.AppName, UserID: req.UserID, SessionID: req.SessionID,
			After: req.After, Before: req.Before, NumRecentEvents: pageSize,
		}
		yielded := map[string]bool{} // of the time just below Before
		for {
			got, err := service.Get(ctx, get)
			if err != nil {
				yield(nil, err)
				return
			}
			events := got.Session.Events()
			n := events.Len()
			if n > 0 && get.NumRecentEvents > 0 && !get.Before.IsZero() && !events.At(n-1).Timestamp.Before(get.Before) {
				// The service does not know Before: all is read at once.
				get.NumRecentEvents = 0
				continue
			}
			fresh := 0
			for i := n - 1; i >= 0; i-- {
				e := events.At(i)
				if yielded[e.ID] || !get.Before.IsZero() && !e.Timestamp.Before(get.Before) {
					continue
				}
				fresh++
				if !yield(e, nil) {
					return
				}
			}
			switch {
			case get.NumRecentEvents == 0 || n < get.NumRecentEvents:
				return
			case fresh == 0: // so many events are of one time
				get.NumRecentEvents *= 2
				continue
			}
			oldest := events.At(0).Timestamp
			if next := oldest.Add(1); !next.Equal(get.Before) {
				get.Before = next
				clear(yielded)
			}
			for e := range events.All() {
				if e.Timestamp.Equal(oldest) {
					yielded[e.ID] = true
				}
			}
		}
	}
}

func scannedFrom(e *session.Event) (*session.ScannedEvent, error) {
	s := &session.ScannedEvent{
		ID: e.ID, Timestamp: e.Timestamp, InvocationID: e.InvocationID, Author: e.Author,
		Branch: e.Branch, IsolationScope: e.IsolationScope,
		IsCompaction: e.Actions.Compaction != nil, RewindBeforeInvocationID: e.Actions.RewindBeforeInvocationID,
	}
	if e.Content != nil {
		var err error
		if s.Content, err = json.Marshal(e.Content); err != nil {
			return nil, err
		}
	}
	return s, nil
}
