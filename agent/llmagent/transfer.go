package llmagent

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
)

const transferTool = "transfer_to_agent"

// transfer lets another agent answer in place of the one that runs.
func transfer(ctx agent.InvocationContext, name string, yield yieldFunc) {
	target := findAgent(ctx, name)
	if target == nil {
		yield(nil, fmt.Errorf("agent %q: there is no agent %q to transfer to", ctx.Agent().Name(), name))
		return
	}
	for event, err := range target.Run(ctx.WithICDelta(&agent.InvocationContextDelta{Agent: &target})) {
		if !yield(event, err) || err != nil {
			return
		}
	}
}

func findAgent(ctx agent.InvocationContext, name string) agent.Agent {
	if root := ctx.Invocation().Root(); root != nil {
		return root.FindAgent(name)
	}
	return nil
}

// checkTransfer takes back a transfer to an agent that does not exist.
func (f *flow) checkTransfer(ctx agent.Context) error {
	name := ctx.Actions().TransferToAgent
	if name == "" || findAgent(ctx, name) != nil {
		return nil
	}
	ctx.Actions().TransferToAgent = ""
	return fmt.Errorf("there is no agent %q to transfer to; there are: %s", name, strings.Join(agentNames(f.targets(ctx)), ", "))
}

// targets are the agents that this one may hand over to: those below it, then
// the one above it and those beside it, if that is an agent of this package.
// Those that are called as tools take no part.
func (f *flow) targets(ctx agent.InvocationContext) []agent.Agent {
	self := findAgent(ctx, f.cfg.Name)
	if self == nil || ctx.IsolationScope() != "" {
		return nil
	}
	targets := slices.DeleteFunc(self.SubAgents(), isDelegate)
	parent := asLLM(ctx.Invocation().Parent(f.cfg.Name))
	if parent == nil {
		return targets
	}
	if !f.cfg.DisallowTransferToParent {
		targets = append(targets, parent)
	}
	if !f.cfg.DisallowTransferToPeers {
		for _, peer := range parent.SubAgents() {
			if peer.Name() != f.cfg.Name && !isDelegate(peer) {
				targets = append(targets, peer)
			}
		}
	}
	return targets
}

func agentNames(agents []agent.Agent) (names []string) {
	for _, a := range agents {
		names = append(names, a.Name())
	}
	return names
}

// transferInstruction tells an agent whom it may hand over to.
func (f *flow) transferInstruction(targets []agent.Agent, parent agent.Agent) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are the agent %q", f.cfg.Name)
	if f.cfg.Description != "" {
		fmt.Fprintf(&b, " (%s)", f.cfg.Description)
	}
	b.WriteString(". These other agents can take the conversation over:\n")
	for _, target := range targets {
		fmt.Fprintf(&b, "- %q: %s\n", target.Name(), target.Description())
	}
	fmt.Fprintf(&b, "Answer yourself where the request is yours. Where it is rather one of theirs, call %s with the agent's name, and say nothing else.", transferTool)
	if parent != nil && !f.cfg.DisallowTransferToParent {
		fmt.Fprintf(&b, " Where it is nobody's, hand over to %q.", parent.Name())
	}
	return b.String()
}

// handOver is the tool by which a model hands over.
type handOver struct{ targets []agent.Agent }

func (handOver) Name() string        { return transferTool }
func (handOver) Description() string { return "Hands the conversation over to another agent." }
func (handOver) IsLongRunning() bool { return false }

func (h handOver) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: h.Name(), Description: h.Description(),
		Parameters: &genai.Schema{
			Type: genai.TypeObject,
			Properties: map[string]*genai.Schema{
				"agent_name": {Type: genai.TypeString, Description: "the agent that takes over", Enum: agentNames(h.targets)},
			},
			Required: []string{"agent_name"},
		},
	}
}

func (h handOver) Run(ctx agent.Context, args map[string]any) (map[string]any, error) {
	name, _ := args["agent_name"].(string)
	for _, target := range h.targets {
		if target.Name() == name {
			ctx.Actions().TransferToAgent = name
			return map[string]any{}, nil
		}
	}
	return nil, fmt.Errorf("agent_name is %q; it must be one of: %s", args["agent_name"], strings.Join(agentNames(h.targets), ", "))
}
