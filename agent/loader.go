package agent

import (
	"errors"
	"fmt"
	"strings"
)

// Loader has the agents that a program serves, by name.
type Loader interface {
	// ListAgents returns the names, the root agent's first.
	ListAgents() []string
	// LoadAgent returns the agent of a name, and the root agent for "".
	LoadAgent(name string) (Agent, error)
	// RootAgent is the agent that answers where none was named.
	RootAgent() Agent
}

// NewSingleLoader returns a Loader that has one agent.
func NewSingleLoader(a Agent) Loader {
	return loader{a}
}

// NewMultiLoader returns a Loader that has several agents, each the root of a
// tree. It fails if one is nil or if two have one name.
func NewMultiLoader(root Agent, agents ...Agent) (Loader, error) {
	all := append(loader{root}, agents...)
	names := map[string]bool{}
	for _, a := range all {
		if a == nil {
			return nil, errors.New("agent: an agent to load is nil")
		}
		if names[a.Name()] {
			return nil, fmt.Errorf("agent: two agents to load are named %q", a.Name())
		}
		names[a.Name()] = true
	}
	return all, nil
}

// loader are agents, the root agent first.
type loader []Agent

func (l loader) RootAgent() Agent { return l[0] }

func (l loader) ListAgents() []string {
	names := make([]string, len(l))
	for i, a := range l {
		names[i] = a.Name()
	}
	return names
}

func (l loader) LoadAgent(name string) (Agent, error) {
	if name == "" {
		return l.RootAgent(), nil
	}
	for _, a := range l {
		if a.Name() == name {
			return a, nil
		}
	}
	return nil, fmt.Errorf("agent: there is no agent %q; there are: %s", name, strings.Join(l.ListAgents(), ", "))
}
