package tool

import (
	"io"
	"slices"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/internal/confirm"
	"github.com/recap-adk/recap/model"
)

// Predicate reports whether a tool may be used in a context.
type Predicate func(ctx agent.ReadonlyContext, tool Tool) bool

// AllowedToolsPredicate holds for the tools that have one of the names. The
// slice is copied.
func AllowedToolsPredicate(allowedTools []string) Predicate {
	names := slices.Clone(allowedTools)
	return func(_ agent.ReadonlyContext, t Tool) bool { return slices.Contains(names, t.Name()) }
}

// StringPredicate is an older name of AllowedToolsPredicate.
func StringPredicate(allowedTools []string) Predicate {
	return AllowedToolsPredicate(allowedTools)
}

// FilterToolset is the tools of toolset for which predicate holds; a nil
// predicate holds for all. The result is an io.Closer that closes toolset, if
// that is one.
func FilterToolset(toolset Toolset, predicate Predicate) Toolset {
	if predicate == nil {
		return toolset
	}
	return &changed{toolset, func(ctx agent.ReadonlyContext, tools []Tool) []Tool {
		return slices.DeleteFunc(tools, func(t Tool) bool { return !predicate(ctx, t) })
	}}
}

// ConfirmationProvider reports whether a call needs the user's consent.
// toolInput is the map of the call's arguments, not to be changed. It may be
// called by many goroutines at once.
type ConfirmationProvider func(toolName string, toolInput any) bool

// What a call that needs consent is answered with. The tool did not run.
var (
	// ErrConfirmationRequired: the user is asked, and the call is made again
	// when there is an answer.
	ErrConfirmationRequired = confirm.ErrRequired
	// ErrConfirmationRejected: the user said no.
	ErrConfirmationRejected = confirm.ErrRejected
)

// WithConfirmation is the tools of ts, which run only with the user's consent:
// always if requireConfirmation is set, else where requireConfirmationProvider
// says so. Tools that are no Function are left as they are. The result is an
// io.Closer that closes ts, if that is one.
func WithConfirmation(ts Toolset, requireConfirmation bool, requireConfirmationProvider ConfirmationProvider) Toolset {
	required := requireConfirmationProvider
	if requireConfirmation {
		required = func(string, any) bool { return true }
	}
	if required == nil {
		return ts
	}
	return &changed{ts, func(_ agent.ReadonlyContext, tools []Tool) []Tool {
		for i, t := range tools {
			f, ok := t.(Function)
			if !ok {
				continue
			}
			asks := confirmed{f, required}
			tools[i] = asks
			if p, ok := t.(RequestProcessor); ok {
				tools[i] = confirmedProcessor{asks, p}
			}
		}
		return tools
	}}
}

// changed is a toolset with other tools. They are asked for anew each time.
type changed struct {
	Toolset
	change func(agent.ReadonlyContext, []Tool) []Tool // owns the slice
}

func (c *changed) Tools(ctx agent.ReadonlyContext) ([]Tool, error) {
	tools, err := c.Toolset.Tools(ctx)
	if err != nil {
		return nil, err
	}
	return c.change(ctx, slices.Clone(tools)), nil
}

func (c *changed) Close() error {
	if closer, ok := c.Toolset.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// confirmed is a function that asks first.
type confirmed struct {
	Function
	required ConfirmationProvider
}

func (c confirmed) Run(ctx agent.Context, args map[string]any) (map[string]any, error) {
	if err := confirm.Ask(ctx, c.Name(), func() bool { return c.required(c.Name(), args) }); err != nil {
		return nil, err
	}
	return c.Function.Run(ctx, args)
}

type confirmedProcessor struct {
	confirmed
	processor RequestProcessor
}

func (c confirmedProcessor) ProcessRequest(ctx agent.Context, req *model.LLMRequest) error {
	return c.processor.ProcessRequest(ctx, req)
}
