package runner

import (
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/session"
)

// transferring is an agent whose model can hand the conversation over.
type transferring interface {
	TransfersToParent() bool
}

// next is the agent that goes on with the session: the one that gave out a task
// that waits for the user; the one that made the call that msg answers; or else the one that spoke last, if it can hand over to
// the agents above it; the root agent otherwise.
func (r *Runner) next(events session.Events, msg *genai.Content) agent.Agent {
	root := r.cfg.Agent
	if _, ok := root.(transferring); !ok || len(root.SubAgents()) == 0 {
		return root
	}
	if coordinator, _ := llmagent.OpenTask(root, events); coordinator != nil {
		return coordinator
	}
	if call := calledBy(events, msg); call != nil {
		if a := root.FindAgent(call.Author); a != nil {
			return a
		}
	}
	for i := events.Len() - 1; i >= 0; i-- {
		e := events.At(i)
		if e.Author == "user" || e.IsolationScope != "" {
			continue
		}
		if a := root.FindAgent(e.Author); a != nil && r.canReturn(a) {
			return a
		}
	}
	return root
}

// scopeOf is the isolation scope of msg: that of the call that it answers, or
// of the task that waits for the user.
func (r *Runner) scopeOf(events session.Events, msg *genai.Content) string {
	if call := calledBy(events, msg); call != nil {
		return call.IsolationScope
	}
	_, scope := llmagent.OpenTask(r.cfg.Agent, events)
	return scope
}

// canReturn reports whether the conversation can get from a back to the root,
// agent by agent.
func (r *Runner) canReturn(a agent.Agent) bool {
	for a != nil && a.Name() != r.cfg.Agent.Name() {
		if llm, ok := a.(transferring); !ok || !llm.TransfersToParent() {
			return false
		}
		a = r.parents[a.Name()]
	}
	return a != nil
}

// calledBy is the event of the call that msg answers, or nil.
func calledBy(events session.Events, msg *genai.Content) *session.Event {
	id := answeredID(msg)
	if id == "" {
		return nil
	}
	for i := events.Len() - 1; i >= 0; i-- {
		e := events.At(i)
		if e.Author == "user" || e.Content == nil {
			continue
		}
		for _, part := range e.Content.Parts {
			if part != nil && part.FunctionCall != nil && part.FunctionCall.ID == id {
				return e
			}
		}
	}
	return nil
}

// answeredID is the ID of the call that msg answers. Whoever answers several
// answers calls of one agent.
func answeredID(msg *genai.Content) string {
	if msg != nil {
		for _, part := range msg.Parts {
			if part != nil && part.FunctionResponse != nil {
				return part.FunctionResponse.ID
			}
		}
	}
	return ""
}
