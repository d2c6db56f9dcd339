package agent

import (
	"context"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/memory"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// StrictContextMock is a Context for tests of tools and callbacks. It is Ctx as
// a context.Context, and panics in all methods that a test does not define in
// a type of its own around it. NewToolContext makes a Context that works.
type StrictContextMock struct {
	Ctx context.Context
	undefined
}

// undefined is a Context that has no value.
type undefined = Context

// NewStrictContextMock returns a StrictContextMock.
func NewStrictContextMock(ctx context.Context) StrictContextMock {
	return StrictContextMock{Ctx: ctx}
}

// Deadline is that of Ctx.
func (m *StrictContextMock) Deadline() (deadline time.Time, ok bool) { return m.Ctx.Deadline() }

// Done is that of Ctx.
func (m *StrictContextMock) Done() <-chan struct{} { return m.Ctx.Done() }

// Err is that of Ctx.
func (m *StrictContextMock) Err() error { return m.Ctx.Err() }

// Value is that of Ctx.
func (m *StrictContextMock) Value(key any) any { return m.Ctx.Value(key) }

// ContextMock is a Context for tests of tools and callbacks, whose methods all
// return zero values. A test defines those that it needs in a type of its own
// around it.
type ContextMock struct{}

// The methods of a Context, which do nothing.

func (*ContextMock) Deadline() (deadline time.Time, ok bool)                 { return time.Time{}, false }
func (*ContextMock) Done() <-chan struct{}                                   { return nil }
func (*ContextMock) Err() error                                              { return nil }
func (*ContextMock) Value(any) any                                           { return nil }
func (*ContextMock) UserContent() *genai.Content                             { return nil }
func (*ContextMock) InvocationID() string                                    { return "" }
func (*ContextMock) AgentName() string                                       { return "" }
func (*ContextMock) ReadonlyState() session.ReadonlyState                    { return nil }
func (*ContextMock) UserID() string                                          { return "" }
func (*ContextMock) AppName() string                                         { return "" }
func (*ContextMock) SessionID() string                                       { return "" }
func (*ContextMock) Branch() string                                          { return "" }
func (*ContextMock) Agent() Agent                                            { return nil }
func (*ContextMock) Artifacts() Artifacts                                    { return nil }
func (*ContextMock) Memory() Memory                                          { return nil }
func (*ContextMock) Session() session.Session                                { return nil }
func (*ContextMock) IsolationScope() string                                  { return "" }
func (*ContextMock) RunConfig() *RunConfig                                   { return &RunConfig{} }
func (*ContextMock) EndInvocation()                                          {}
func (*ContextMock) Ended() bool                                             { return false }
func (*ContextMock) ResumedInput(string) (any, bool)                         { return nil, false }
func (*ContextMock) Invocation() *Invocation                                 { return &Invocation{} }
func (c *ContextMock) WithContext(context.Context) InvocationContext         { return c }
func (c *ContextMock) WithICDelta(*InvocationContextDelta) InvocationContext { return c }
func (*ContextMock) State() session.State                                    { return nil }
func (*ContextMock) FunctionCallID() string                                  { return "" }
func (*ContextMock) Actions() *session.EventActions                          { return nil }
func (*ContextMock) ToolConfirmation() *toolconfirmation.ToolConfirmation    { return nil }
func (*ContextMock) RequestConfirmation(string, any) error                   { return nil }
func (*ContextMock) SearchMemory(context.Context, string) (*memory.SearchResponse, error) {
	return nil, nil
}
func (c *ContextMock) WithAgentContext(context.Context) Context { return c }
func (c *ContextMock) WithAgentTimeout(time.Duration) (Context, context.CancelFunc) {
	return c, func() {}
}
func (c *ContextMock) WithAgentCancel() (Context, context.CancelFunc) { return c, func() {} }
func (*ContextMock) Path() string                                     { return "" }
func (*ContextMock) RunID() string                                    { return "" }
func (*ContextMock) SubScheduler() DynamicSubScheduler                { return nil }
func (*ContextMock) OutputForAncestors() []string                     { return nil }
func (c *ContextMock) WithDelta(*CommonContextDelta) Context          { return c }
