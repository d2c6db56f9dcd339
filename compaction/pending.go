package compaction

import (
	"maps"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

// links knows which events of a log belong together, because one holds a call
// and another its response or a question about it, and which of them wait for
// something. Events are named by their index.
type links struct {
	parent []int
	groups map[int][]int // members by root
	open   map[int]bool  // events with a call, or a question, that waits
	calls  map[int]bool  // events with a call

	asking map[*session.Event][]*session.Event // questions with their calls, both ways
}

func newLinks(events []*session.Event) *links {
	l := &links{
		parent: make([]int, len(events)), groups: map[int][]int{}, open: map[int]bool{}, calls: map[int]bool{},
		asking: map[*session.Event][]*session.Event{},
	}
	for i := range l.parent {
		l.parent[i] = i
	}
	pairs := icontext.NewPairs(events)
	asked := questions(events, pairs)
	for i, e := range events {
		for _, call := range pairs.Calls(e) {
			l.calls[i] = true
			for _, r := range call.Responses {
				l.join(i, r.Position)
			}
			for _, at := range asked.ofCall[call] {
				l.join(i, at)
				l.asking[events[at]] = append(l.asking[events[at]], e)
				l.asking[e] = append(l.asking[e], events[at])
			}
			if waits(call, asked, events) {
				l.open[i] = true
			}
		}
	}
	maps.Copy(l.open, asked.loose)
	for i := range l.parent {
		root := l.root(i)
		l.groups[root] = append(l.groups[root], i)
	}
	return l
}

func (l *links) root(i int) int {
	for l.parent[i] != i {
		l.parent[i] = l.parent[l.parent[i]]
		i = l.parent[i]
	}
	return i
}

func (l *links) join(a, b int) {
	l.parent[l.root(b)] = l.root(a)
}

// members are the events that belong together with i, itself among them.
func (l *links) members(i int) []int { return l.groups[l.root(i)] }

func (l *links) holdsCalls(i int) bool { return l.calls[i] }

// pending reports whether i, or an event that belongs to it, waits.
func (l *links) pending(i int) bool {
	for _, member := range l.members(i) {
		if l.open[member] {
			return true
		}
	}
	return false
}

// asked are the questions to a person, about consent or credentials, that a
// log holds.
type asked struct {
	ofCall map[*icontext.Call][]int // indices of the questions about a call
	loose  map[int]bool             // unanswered questions about no known call
}

func questions(events []*session.Event, pairs *icontext.Pairs) asked {
	a := asked{ofCall: map[*icontext.Call][]int{}, loose: map[int]bool{}}
	calls := map[string]*icontext.Call{} // newest by ID
	loose := map[string][]int{}
	for i, e := range events {
		for _, call := range pairs.Calls(e) {
			calls[call.Call.ID] = call
		}
		for _, r := range pairs.Responses(e) {
			delete(loose, r.Response.ID)
		}
		for id := range questionIDs(e) {
			if call := calls[id]; call != nil {
				a.ofCall[call] = append(a.ofCall[call], i)
			} else {
				loose[id] = append(loose[id], i)
			}
		}
	}
	for _, unanswered := range loose {
		for _, i := range unanswered {
			a.loose[i] = true
		}
	}
	return a
}

func questionIDs(e *session.Event) map[string]bool {
	ids := map[string]bool{}
	for id := range e.Actions.RequestedToolConfirmations {
		ids[id] = true
	}
	for id := range e.Actions.RequestedAuthConfigs {
		ids[id] = true
	}
	return ids
}

// waits reports whether a call may still get what it needs.
func waits(call *icontext.Call, asked asked, events []*session.Event) bool {
	latest := call.Latest()
	if questions := asked.ofCall[call]; len(questions) > 0 {
		// The response that asks is not the answer.
		return latest == nil || latest.Position <= questions[len(questions)-1]
	}
	switch {
	case call.LongRunning || icontext.IsFrameworkCall(call.Call.Name):
		return !finallyAnswered(call)
	case latest != nil:
		return false
	default:
		return userAfter(call, events) == nil
	}
}

// finallyAnswered reports whether a long-running call has more than the
// response with which its tool says that it has begun.
func finallyAnswered(call *icontext.Call) bool {
	if len(call.Responses) > 1 {
		return true
	}
	latest := call.Latest()
	return latest != nil && latest.Event.Author == "user"
}

// userAfter is the first message of the user after a call. If nothing answered
// the call by then, the run that made it was cut off, and nothing will.
func userAfter(call *icontext.Call, events []*session.Event) *session.Event {
	for _, e := range events[call.Position+1:] {
		if e.Author == "user" && icontext.IsMessage(e) && icontext.SeesBranch(call.Event.Branch, e.Branch) {
			return e
		}
	}
	return nil
}
