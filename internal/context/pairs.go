package context

import (
	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
)

// Call is a function call of a log with what answered it.
type Call struct {
	// Event is the event that holds the call, at index Position of the log.
	Event    *session.Event
	Position int
	Call     *genai.FunctionCall
	// LongRunning says that the answer may come after the run.
	LongRunning bool
	// Responses are the answers, oldest first. A long-running call may have
	// several, the first of which only says that it has started.
	Responses []*Response
}

// Response is an answer to a call.
type Response struct {
	Event    *session.Event
	Position int
	Response *genai.FunctionResponse
	// Call is the call that it answers, or nil.
	Call *Call
}

// Latest is the newest answer, or nil.
func (c *Call) Latest() *Response {
	if len(c.Responses) == 0 {
		return nil
	}
	return c.Responses[len(c.Responses)-1]
}

// Pairs are the calls and responses of a log, paired.
type Pairs struct {
	calls     map[*session.Event][]*Call
	responses map[*session.Event][]*Response
}

// Calls are the calls that e holds, in order.
func (p *Pairs) Calls(e *session.Event) []*Call { return p.calls[e] }

// Responses are the responses that e holds, in order.
func (p *Pairs) Responses(e *session.Event) []*Response { return p.responses[e] }

// NewPairs pairs the calls of a log with their responses. IDs recur in real
// logs: a response belongs to the nearest earlier call of its ID that has no
// answer yet, or else to the nearest earlier one. A call without an ID is
// known by its name.
func NewPairs(events []*session.Event) *Pairs {
	p := &Pairs{calls: map[*session.Event][]*Call{}, responses: map[*session.Event][]*Response{}}
	calls := map[string][]*Call{} // by ID, oldest first
	for i, e := range events {
		if e.Content == nil {
			continue
		}
		for _, part := range e.Content.Parts {
			if part == nil {
				continue
			}
			if f := part.FunctionResponse; f != nil {
				r := &Response{Event: e, Position: i, Response: f, Call: answered(calls[callKey(f.ID, f.Name)])}
				if r.Call != nil {
					r.Call.Responses = append(r.Call.Responses, r)
				}
				p.responses[e] = append(p.responses[e], r)
			}
			if f := part.FunctionCall; f != nil {
				key := callKey(f.ID, f.Name)
				c := &Call{Event: e, Position: i, Call: f, LongRunning: isLongRunning(e, f.ID)}
				calls[key] = append(calls[key], c)
				p.calls[e] = append(p.calls[e], c)
			}
		}
	}
	return p
}

// answered is the call that a response to calls of its ID, oldest first,
// belongs to.
func answered(calls []*Call) *Call {
	for i := len(calls) - 1; i >= 0; i-- {
		if len(calls[i].Responses) == 0 {
			return calls[i]
		}
	}
	if len(calls) == 0 {
		return nil
	}
	return calls[len(calls)-1]
}

func callKey(id, name string) string {
	if id != "" {
		return "id:" + id
	}
	return "name:" + name
}

func isLongRunning(e *session.Event, id string) bool {
	for _, long := range e.LongRunningToolIDs {
		if long == id && id != "" {
			return true
		}
	}
	return false
}
