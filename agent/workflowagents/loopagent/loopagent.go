// Package loopagent has the agent that runs its sub-agents one after the
// other, again and again.
//
//	a, err := loopagent.New(loopagent.Config{
//		AgentConfig:   agent.Config{Name: "refine", SubAgents: []agent.Agent{write, criticize}},
//		MaxIterations: 5,
//	})
//
// A sub-agent ends the loop, and those around it, with an event whose actions
// escalate, as a tool does with ctx.Actions().Escalate = true.
package loopagent

import (
	"fmt"
	"iter"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/session"
)

// Config describes an agent.
type Config struct {
	// AgentConfig has the sub-agents, in order. Run must be nil.
	AgentConfig agent.Config
	// MaxIterations is how often the sub-agents run at most. 0 is no limit.
	MaxIterations uint
}

// New returns the agent that cfg describes. It ends also where a sub-agent
// fails or ends the invocation, and where its context ends.
func New(cfg Config) (agent.Agent, error) {
	if cfg.AgentConfig.Run != nil {
		return nil, fmt.Errorf("loopagent %q: Run must be nil", cfg.AgentConfig.Name)
	}
	cfg.AgentConfig.Run = func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			subs := ctx.Agent().SubAgents()
			for i := uint(0); len(subs) > 0 && (cfg.MaxIterations == 0 || i < cfg.MaxIterations); i++ {
				if err := ctx.Err(); err != nil {
					// Sub-agents that say nothing do not notice.
					yield(nil, err)
					return
				}
				if !once(ctx, subs, yield) {
					return
				}
			}
		}
	}
	return agent.New(cfg.AgentConfig)
}

// once runs all sub-agents and reports whether the loop may go on.
func once(ctx agent.InvocationContext, subs []agent.Agent, yield func(*session.Event, error) bool) bool {
	for _, sub := range subs {
		escalated := false
		for event, err := range sub.Run(ctx.WithICDelta(&agent.InvocationContextDelta{Agent: &sub})) {
			if !yield(event, err) || err != nil {
				return false
			}
			escalated = escalated || event != nil && event.Actions.Escalate
		}
		if escalated || ctx.Ended() {
			return false
		}
	}
	return true
}
