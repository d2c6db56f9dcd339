package agent

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// ReadonlyContext says for whom and where something runs.
type ReadonlyContext interface {
	context.Context

	// UserContent is the message that started the invocation, or nil.
	UserContent() *genai.Content
	InvocationID() string
	// AgentName is the name of the agent that runs.
	AgentName() string
	ReadonlyState() session.ReadonlyState
	UserID() string
	AppName() string
	SessionID() string
	// Branch is the path of agents under which the agent runs.
	Branch() string
}

// InvocationContext is what an agent runs in.
type InvocationContext interface {
	context.Context

	// Agent is the agent that runs.
	Agent() Agent
	// Session is the run's handle on its session.
	Session() session.Session
	InvocationID() string
	Branch() string
	// IsolationScope separates a task agent's events from all others; usually
	// it is empty.
	IsolationScope() string
	UserContent() *genai.Content
	// RunConfig is never nil.
	RunConfig() *RunConfig
	// EndInvocation asks all agents of the invocation to stop.
	EndInvocation()
	// Ended reports whether EndInvocation was called.
	Ended() bool
	// Invocation is what all contexts of the run share.
	Invocation() *Invocation
	// WithContext returns a copy with another context.Context.
	WithContext(ctx context.Context) InvocationContext
	// WithICDelta returns a copy with the fields that are set in d.
	WithICDelta(d *InvocationContextDelta) InvocationContext
}

// Context is what callbacks and tools are given.
type Context interface {
	ReadonlyContext
	InvocationContext

	// State is the session's state. Values set on it are stored with the
	// event that carries Actions.
	State() session.State
	// FunctionCallID is the ID of the call that a tool answers, else empty.
	FunctionCallID() string
	// Actions are the actions of the event that is being made.
	Actions() *session.EventActions
	// ToolConfirmation is the answer to the question that the tool asked
	// before, or nil.
	ToolConfirmation() *toolconfirmation.ToolConfirmation
}

// CallbackContext and ToolContext are the names that adk-go v1 has for Context.
type (
	CallbackContext = Context
	ToolContext     = Context
)

// StreamingMode says whether answers come in pieces.
type StreamingMode string

const (
	// StreamingModeNone yields whole answers only. It is the default.
	StreamingModeNone StreamingMode = "none"
	// StreamingModeSSE yields answers in pieces, then whole.
	StreamingModeSSE StreamingMode = "sse"
)

// RunConfig are the settings of one run.
type RunConfig struct {
	StreamingMode StreamingMode
	// MaxLLMCalls bounds the model calls of the run, over all its agents. 0 is
	// the default of 500; a negative number is no bound.
	MaxLLMCalls int
}

const defaultMaxLLMCalls = 500

// ErrMaxLLMCalls ends a run that made as many model calls as it may.
var ErrMaxLLMCalls = fmt.Errorf("the run made as many model calls as RunConfig.MaxLLMCalls allows")

// Invocation is what all contexts of one run share.
type Invocation struct {
	compactor *compaction.Compactor
	llmCalls  atomic.Int64
	ended     atomic.Bool
}

// Compactor is the run's compactor, or nil where compaction is off: then
// summaries in the log are ignored and models are sent the whole history.
func (i *Invocation) Compactor() *compaction.Compactor { return i.compactor }

// countLLMCall counts one more model call and returns ErrMaxLLMCalls if that is
// one too many.
func (i *Invocation) countLLMCall(limit int) error {
	if limit == 0 {
		limit = defaultMaxLLMCalls
	}
	if calls := i.llmCalls.Add(1); limit > 0 && calls > int64(limit) {
		return fmt.Errorf("%w (%d)", ErrMaxLLMCalls, limit)
	}
	return nil
}

// CountLLMCall is called before each model call of a run. It returns
// ErrMaxLLMCalls where the call is one more than the run may make.
func CountLLMCall(ctx InvocationContext) error {
	return ctx.Invocation().countLLMCall(ctx.RunConfig().MaxLLMCalls)
}

// InvocationParams are what an invocation starts from.
type InvocationParams struct {
	Agent        Agent
	Session      session.Session
	InvocationID string
	Branch       string
	UserContent  *genai.Content
	RunConfig    RunConfig
	// Compactor is nil where compaction is off.
	Compactor *compaction.Compactor
}

// NewInvocationContext starts an invocation. It is what package runner, or a
// test of an agent, calls.
func NewInvocationContext(ctx context.Context, params InvocationParams) InvocationContext {
	return &invocationContext{
		Context:      ctx,
		invocation:   &Invocation{compactor: params.Compactor},
		agent:        params.Agent,
		session:      params.Session,
		invocationID: params.InvocationID,
		branch:       params.Branch,
		userContent:  params.UserContent,
		runConfig:    &params.RunConfig,
	}
}

// InvocationContextDelta is what a derived context has of its own; nil fields
// are taken over.
type InvocationContextDelta struct {
	Context        *context.Context
	UserContent    **genai.Content
	Agent          *Agent
	Branch         *string
	IsolationScope *string
}

type invocationContext struct {
	context.Context
	invocation   *Invocation
	agent        Agent
	session      session.Session
	invocationID string
	branch       string
	scope        string
	userContent  *genai.Content
	runConfig    *RunConfig
}

func (c *invocationContext) Agent() Agent                { return c.agent }
func (c *invocationContext) Session() session.Session    { return c.session }
func (c *invocationContext) InvocationID() string        { return c.invocationID }
func (c *invocationContext) Branch() string              { return c.branch }
func (c *invocationContext) IsolationScope() string      { return c.scope }
func (c *invocationContext) UserContent() *genai.Content { return c.userContent }
func (c *invocationContext) RunConfig() *RunConfig       { return c.runConfig }
func (c *invocationContext) EndInvocation()              { c.invocation.ended.Store(true) }
func (c *invocationContext) Ended() bool                 { return c.invocation.ended.Load() }
func (c *invocationContext) Invocation() *Invocation     { return c.invocation }

func (c *invocationContext) WithContext(ctx context.Context) InvocationContext {
	return c.WithICDelta(&InvocationContextDelta{Context: &ctx})
}

func (c *invocationContext) WithICDelta(d *InvocationContextDelta) InvocationContext {
	derived := *c
	setIfGiven(&derived.Context, d.Context)
	setIfGiven(&derived.userContent, d.UserContent)
	setIfGiven(&derived.agent, d.Agent)
	setIfGiven(&derived.branch, d.Branch)
	setIfGiven(&derived.scope, d.IsolationScope)
	return &derived
}

func setIfGiven[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// NewContext returns a Context whose actions go nowhere: for reading, such as
// by an instruction provider.
func NewContext(parent InvocationContext) Context {
	return NewToolContext(parent, "", &session.EventActions{}, nil)
}

// NewCallbackContext returns the Context of a callback. State that the callback
// sets goes to the delta in actions.
func NewCallbackContext(ic InvocationContext, actions *session.EventActions) Context {
	return NewToolContext(ic, "", actions, nil)
}

// NewToolContext returns the Context of a tool that answers a call. State that
// the tool sets goes to the delta in actions.
func NewToolContext(ic InvocationContext, functionCallID string, actions *session.EventActions, confirmation *toolconfirmation.ToolConfirmation) Context {
	return &toolContext{InvocationContext: ic, callID: functionCallID, actions: actions, confirmation: confirmation}
}

type toolContext struct {
	InvocationContext
	callID       string
	actions      *session.EventActions
	confirmation *toolconfirmation.ToolConfirmation
	mu           sync.Mutex // guards the state delta: a tool may use goroutines
}

func (c *toolContext) AgentName() string {
	if c.Agent() == nil {
		return ""
	}
	return c.Agent().Name()
}
func (c *toolContext) AppName() string                      { return c.Session().AppName() }
func (c *toolContext) UserID() string                       { return c.Session().UserID() }
func (c *toolContext) SessionID() string                    { return c.Session().ID() }
func (c *toolContext) ReadonlyState() session.ReadonlyState { return c.State() }
func (c *toolContext) FunctionCallID() string               { return c.callID }
func (c *toolContext) Actions() *session.EventActions       { return c.actions }
func (c *toolContext) State() session.State                 { return deltaState{c} }
func (c *toolContext) ToolConfirmation() *toolconfirmation.ToolConfirmation {
	return c.confirmation
}

// deltaState is the session's state with the values set since on top. Those
// reach the session with the event.
type deltaState struct{ c *toolContext }

func (s deltaState) Get(key string) (any, error) {
	s.c.mu.Lock()
	value, ok := s.c.actions.StateDelta[key]
	s.c.mu.Unlock()
	if ok {
		return value, nil
	}
	return s.c.Session().State().Get(key)
}

func (s deltaState) Set(key string, value any) error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.c.actions.StateDelta == nil {
		s.c.actions.StateDelta = map[string]any{}
	}
	s.c.actions.StateDelta[key] = value
	return nil
}

func (s deltaState) All() iter.Seq2[string, any] {
	merged := map[string]any{}
	for key, value := range s.c.Session().State().All() {
		merged[key] = value
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for key, value := range s.c.actions.StateDelta {
		merged[key] = value
	}
	return func(yield func(string, any) bool) {
		for key, value := range merged {
			if !yield(key, value) {
				return
			}
		}
	}
}
