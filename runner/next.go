package runner

import (
	"context"
	"slices"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

// transferring is an agent whose model can hand the conversation over.
type transferring interface {
	TransfersToParent() bool
}

// next is the agent that goes on with the session: the one that gave out a task
// that waits for the user; the one that made the call that msg answers; or else
// the one that spoke last, if it can hand over to the agents above it; the root
// agent otherwise.
func (r *Runner) next(ctx context.Context, s session.Session, msg *genai.Content) (agent.Agent, error) {
	root := r.cfg.Agent
	if _, ok := root.(transferring); !ok || len(root.SubAgents()) == 0 {
		return root, nil
	}
	if coordinator, _ := llmagent.OpenTask(root, s.Events()); coordinator != nil {
		return coordinator, nil
	}
	if call := calledBy(s.Events(), msg); call != nil {
		if a := root.FindAgent(call.Author); a != nil {
			return a, nil
		}
	}
	speaker, certain := r.lastSpeaker(s.Events())
	if !certain {
		// A read that leaves out what was summarized may lack it.
		got, err := r.cfg.SessionService.Get(ctx, &session.GetRequest{
			AppName: r.cfg.AppName, UserID: s.UserID(), SessionID: s.ID(), NumRecentEvents: recentEvents,
		})
		if err != nil {
			return nil, err
		}
		speaker, _ = r.lastSpeaker(got.Session.Events())
	}
	if speaker == nil {
		return root, nil
	}
	return speaker, nil
}

// recentEvents is among how many events the last speaker is looked for where
// the others are summarized.
const recentEvents = 100

// lastSpeaker is the agent that spoke last of those that can go on, or nil. It
// is certain if no summary stands behind it: what that covers may be missing.
func (r *Runner) lastSpeaker(events session.Events) (speaker agent.Agent, certain bool) {
	certain = true
	for _, e := range slices.Backward(icontext.WithoutRewound(slices.Collect(events.All()))) {
		if e.Actions.Compaction != nil {
			certain = false
		}
		if e.Author == "user" || e.IsolationScope != "" {
			continue
		}
		if a := r.cfg.Agent.FindAgent(e.Author); a != nil && r.canReturn(a) {
			return a, certain
		}
	}
	return nil, certain
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
