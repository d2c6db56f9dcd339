// Package parallelagent has the agent that runs its sub-agents at the same
// time.
//
//	a, err := parallelagent.New(parallelagent.Config{
//		AgentConfig: agent.Config{Name: "research", SubAgents: []agent.Agent{news, papers, patents}},
//	})
//
// Each sub-agent has a branch of its own, named "research.news" and so on: it
// sees what was said before, and nothing of the others. What runs afterwards
// at the root sees all branches. On a branch of its own it does not; agents hand
// results on through the state there, such as with the OutputKey of package
// llmagent.
package parallelagent

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/session"
)

// Config describes an agent.
type Config struct {
	// AgentConfig has the sub-agents. Run must be nil.
	AgentConfig agent.Config
}

// New returns the agent that cfg describes.
//
// Events come as they are made, and each is stored before the sub-agent that
// made it goes on. Where one fails the others are canceled, and the error is
// the end; a sub-agent that panics has failed. No sub-agent runs on when the
// agent has ended or its consumer stopped.
func New(cfg Config) (agent.Agent, error) {
	if cfg.AgentConfig.Run != nil {
		return nil, fmt.Errorf("parallelagent %q: Run must be nil", cfg.AgentConfig.Name)
	}
	cfg.AgentConfig.Run = run
	return agent.New(cfg.AgentConfig)
}

// item is something that a sub-agent yields.
type item struct {
	event *session.Event
	err   error
	more  chan<- bool // is told, when the item was consumed, whether to go on
}

func run(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		inner, cancel := context.WithCancel(ctx)
		items := make(chan item)
		var running sync.WaitGroup
		for _, sub := range ctx.Agent().SubAgents() {
			subContext := branchOf(ctx.WithContext(inner), sub)
			running.Go(func() { produce(subContext, sub, items) })
		}
		go func() {
			running.Wait()
			close(items)
		}()
		defer func() {
			// Whatever ended the loop, also a panic: no sub-agent stays.
			cancel()
			for it := range items {
				it.more <- false
			}
		}()
		for it := range items {
			more := yield(it.event, it.err) && it.err == nil
			it.more <- more
			if !more {
				return
			}
		}
	}
}

// produce sends what a sub-agent yields.
func produce(ctx agent.InvocationContext, sub agent.Agent, items chan<- item) {
	send := func(event *session.Event, err error) bool {
		more := make(chan bool, 1)
		items <- item{event, err, more}
		return <-more
	}
	defer func() {
		if value := recover(); value != nil {
			slog.ErrorContext(ctx, "an agent panicked", "agent", sub.Name(), "panic", value, "stack", string(debug.Stack()))
			send(nil, fmt.Errorf("agent %q panicked: %v", sub.Name(), value))
		}
	}()
	for event, err := range sub.Run(ctx) {
		if !send(event, err) {
			return
		}
	}
}

// branchOf is ctx on the branch of a sub-agent.
func branchOf(ctx agent.InvocationContext, sub agent.Agent) agent.InvocationContext {
	branch := strings.TrimPrefix(ctx.Branch()+"."+ctx.Agent().Name()+"."+sub.Name(), ".")
	return ctx.WithICDelta(&agent.InvocationContextDelta{Agent: &sub, Branch: &branch})
}
