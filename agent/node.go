package agent

import "context"

// CommonContextDelta is what a context derived with WithDelta has of its own;
// nil fields are taken over.
type CommonContextDelta struct {
	// ResumeInputs are the answers to questions of workflow nodes, by their ID.
	ResumeInputs           *map[string]any
	InvocationContextDelta *InvocationContextDelta
	Path                   *string
	RunID                  *string
	SubScheduler           *DynamicSubScheduler
	OutputForAncestors     *[]string
}

// DynamicSubScheduler runs nodes that a workflow node starts itself. A package
// that runs workflows implements it.
type DynamicSubScheduler interface {
	RunNode(ctx, node, input any) (any, error)
	ParentPath() string
	OutputForAncestors() []string
	DelegatedOutput() (any, bool)
	ResolveByRunID(childName, custom string) (string, error)
}

// nodeContext is where in a workflow a context is.
type nodeContext struct {
	answers   map[string]any
	path      string
	runID     string
	scheduler DynamicSubScheduler
	ancestors []string
}

func (c *toolContext) Path() string                      { return c.node.path }
func (c *toolContext) RunID() string                     { return c.node.runID }
func (c *toolContext) SubScheduler() DynamicSubScheduler { return c.node.scheduler }
func (c *toolContext) OutputForAncestors() []string      { return c.node.ancestors }

func (c *toolContext) ResumedInput(interruptID string) (any, bool) {
	answer, ok := c.node.answers[interruptID]
	return answer, ok
}

func (c *toolContext) WithDelta(d *CommonContextDelta) Context {
	derived := *c
	if d == nil {
		return &derived
	}
	if d.InvocationContextDelta != nil {
		derived.InvocationContext = c.InvocationContext.WithICDelta(d.InvocationContextDelta)
	}
	setIfGiven(&derived.node.answers, d.ResumeInputs)
	setIfGiven(&derived.node.path, d.Path)
	setIfGiven(&derived.node.runID, d.RunID)
	setIfGiven(&derived.node.scheduler, d.SubScheduler)
	setIfGiven(&derived.node.ancestors, d.OutputForAncestors)
	return &derived
}

// WithContext and WithICDelta return a Context, so that where a workflow runs
// an agent in the context of a node it stays one.
func (c *toolContext) WithContext(ctx context.Context) InvocationContext {
	return c.WithICDelta(&InvocationContextDelta{Context: &ctx})
}

func (c *toolContext) WithICDelta(d *InvocationContextDelta) InvocationContext {
	return c.WithDelta(&CommonContextDelta{InvocationContextDelta: d})
}
