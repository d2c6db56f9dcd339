// Package sequentialagent has the agent that runs its sub-agents one after the
// other.
//
//	a, err := sequentialagent.New(sequentialagent.Config{
//		AgentConfig: agent.Config{Name: "report", SubAgents: []agent.Agent{research, write, check}},
//	})
//
// Each sees in the conversation what those before it said. With OutputKey an
// agent of package llmagent hands its answer on through the state, too.
package sequentialagent

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
}

// New returns the agent that cfg describes. It ends where a sub-agent fails or
// ends the invocation.
func New(cfg Config) (agent.Agent, error) {
	if cfg.AgentConfig.Run != nil {
		return nil, fmt.Errorf("sequentialagent %q: Run must be nil", cfg.AgentConfig.Name)
	}
	cfg.AgentConfig.Run = run
	return agent.New(cfg.AgentConfig)
}

func run(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		for _, sub := range ctx.Agent().SubAgents() {
			for event, err := range sub.Run(ctx.WithICDelta(&agent.InvocationContextDelta{Agent: &sub})) {
				if !yield(event, err) || err != nil {
					return
				}
			}
			if ctx.Ended() {
				return
			}
		}
	}
}
