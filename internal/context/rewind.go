package context

import (
	"slices"

	"github.com/recap-adk/recap/session"
)

// WithoutRewound leaves out of a log what was rewound: the events that say so,
// and from each of them back all events up to the first of the invocation that
// it names. An invocation that is not in the log is not rewound. A summary that
// was under way meanwhile, and whose range ends at such an event, goes with it.
//
// In ADK's Python the client of a session rewinds it; the log keeps what was.
func WithoutRewound(events []*session.Event) []*session.Event {
	if !slices.ContainsFunc(events, isRewind) {
		return events
	}
	dropped := map[laneTime]bool{}
	var kept []*session.Event // newest first
	for i := len(events) - 1; i >= 0; i-- {
		e := events[i]
		if !isRewind(e) {
			kept = append(kept, e)
			continue
		}
		first := slices.IndexFunc(events[:i], func(other *session.Event) bool {
			return other.InvocationID == e.Actions.RewindBeforeInvocationID
		})
		if first < 0 {
			continue
		}
		for _, gone := range events[first:i] {
			dropped[laneTime{LaneOf(gone), gone.Timestamp.UnixMicro()}] = true
		}
		i = first
	}
	slices.Reverse(kept)
	for _, e := range kept { // in logs of other makers times recur
		if e.Actions.Compaction == nil {
			delete(dropped, laneTime{LaneOf(e), e.Timestamp.UnixMicro()})
		}
	}
	return slices.DeleteFunc(kept, func(e *session.Event) bool {
		record := e.Actions.Compaction
		return record != nil && record.Valid() && dropped[laneTime{LaneOf(e), record.End().UnixMicro()}]
	})
}

type laneTime struct {
	Lane
	micros int64
}

func isRewind(e *session.Event) bool { return e.Actions.RewindBeforeInvocationID != "" }
