package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/memory"
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
	// Artifacts are the files of the session.
	Artifacts() Artifacts
	// Memory is what is remembered of the user's sessions.
	Memory() Memory
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
	// ResumedInput is the answer to a question of a workflow node, see
	// session.RequestInput, and whether there is one.
	ResumedInput(interruptID string) (any, bool)
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

	// Artifacts are the files of the session. The versions that are saved
	// through it are in the artifact delta of Actions.
	Artifacts() Artifacts
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
	// RequestConfirmation asks a person whether the tool may go on. The tool
	// returns after it, and is called again with the answer in
	// ToolConfirmation. It fails where no tool runs.
	RequestConfirmation(hint string, payload any) error
	// SearchMemory searches what is remembered of the user's sessions.
	SearchMemory(ctx context.Context, query string) (*memory.SearchResponse, error)

	// WithAgentContext returns a copy with another context.Context and the
	// same actions.
	WithAgentContext(ctx context.Context) Context
	// WithAgentTimeout is WithAgentContext with a context that ends after
	// timeout. The function that it returns must be called.
	WithAgentTimeout(timeout time.Duration) (Context, context.CancelFunc)
	// WithAgentCancel is WithAgentContext with a context that the function
	// that it returns, which must be called, ends.
	WithAgentCancel() (Context, context.CancelFunc)

	// Path, RunID, SubScheduler and OutputForAncestors are where in a workflow
	// the context is; they are empty outside of one.
	Path() string
	RunID() string
	SubScheduler() DynamicSubScheduler
	OutputForAncestors() []string
	// WithDelta returns a copy with the fields that are set in d.
	WithDelta(d *CommonContextDelta) Context
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
	// SaveInputBlobsAsArtifacts stores files in the user's message as artifacts
	// and puts a text in their place that names them.
	SaveInputBlobsAsArtifacts bool
	// MaxLLMCalls bounds the model calls of the run, over all its agents. 0 is
	// the default of 500; a negative number is no bound.
	MaxLLMCalls int
}

const defaultMaxLLMCalls = 500

// ErrMaxLLMCalls ends a run that made as many model calls as it may.
var ErrMaxLLMCalls = fmt.Errorf("the run made as many model calls as RunConfig.MaxLLMCalls allows")

// Invocation is what all contexts of one run share.
type Invocation struct {
	root      Agent
	parents   map[string]Agent
	compactor *compaction.Compactor
	plugins   []Plugin
	artifacts Artifacts
	memory    Memory
	llmCalls  atomic.Int64
	ended     atomic.Bool
}

// Plugin takes part in all agents of a run. Package plugin makes them. Its
// callbacks, which may be nil, run before those of the agents.
type Plugin interface {
	// Name is unique among the plugins of a run.
	Name() string
	BeforeAgentCallback() BeforeAgentCallback
	AfterAgentCallback() AfterAgentCallback
}

// Root is the agent at the top of the tree of agents, or nil.
func (i *Invocation) Root() Agent { return i.root }

// Parent is the agent right above the one of that name, or nil.
func (i *Invocation) Parent(name string) Agent { return i.parents[name] }

// Plugins take part in the run. The list is shared: do not modify it.
func (i *Invocation) Plugins() []Plugin { return i.plugins }

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
	// Agent is the one that runs first, and Root the one at the top of its
	// tree, if that is another.
	Agent, Root  Agent
	Session      session.Session
	InvocationID string
	Branch       string
	UserContent  *genai.Content
	RunConfig    RunConfig
	// Compactor is nil where compaction is off.
	Compactor *compaction.Compactor
	// ArtifactService and MemoryService may be nil.
	ArtifactService artifact.Service
	MemoryService   memory.Service
	// Plugins take part in all agents of the run.
	Plugins []Plugin
}

// NewInvocationContext starts an invocation. It is what package runner, or a
// test of an agent, calls.
func NewInvocationContext(ctx context.Context, params InvocationParams) InvocationContext {
	if params.Root == nil {
		params.Root = params.Agent
	}
	var parents map[string]Agent
	if params.Root != nil {
		parents, _ = Parents(params.Root) // whoever builds the tree has been told
	}
	return &invocationContext{
		Context: ctx,
		invocation: &Invocation{
			root:      params.Root,
			parents:   parents,
			compactor: params.Compactor,
			plugins:   params.Plugins,
			artifacts: artifacts{params.ArtifactService, params.Session},
			memory:    memories{params.MemoryService, params.Session},
		},
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
func (c *invocationContext) Artifacts() Artifacts        { return c.invocation.artifacts }
func (c *invocationContext) Memory() Memory              { return c.invocation.memory }

func (c *invocationContext) ResumedInput(string) (any, bool) { return nil, false }

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

// Promote is NewContext, or parent itself if it is a Context.
func Promote(parent InvocationContext) Context {
	if ctx, ok := parent.(Context); ok {
		return ctx
	}
	return NewContext(parent)
}

// PromoteWithDelta is Promote with the fields that are set in delta.
func PromoteWithDelta(ctx InvocationContext, delta *CommonContextDelta) Context {
	return Promote(ctx).WithDelta(delta)
}

// NewCallbackContext returns the Context of a callback. State that the callback
// sets, and artifacts that it saves, go to the deltas in actions.
func NewCallbackContext(ic InvocationContext, actions *session.EventActions) Context {
	return NewToolContext(ic, "", actions, nil)
}

// NewCallbackContextWithArtifactTracking is NewCallbackContext.
func NewCallbackContextWithArtifactTracking(ic InvocationContext, actions *session.EventActions) Context {
	return NewCallbackContext(ic, actions)
}

// NewToolContext returns the Context of a tool that answers a call. State that
// the tool sets, and artifacts that it saves, go to the deltas in actions.
func NewToolContext(ic InvocationContext, functionCallID string, actions *session.EventActions, confirmation *toolconfirmation.ToolConfirmation) Context {
	c := &toolContext{
		InvocationContext: ic, callID: functionCallID, confirmation: confirmation,
		effects: &effects{actions: actions},
	}
	if outer, ok := ic.(*toolContext); ok {
		// What is done in this context belongs to its actions alone.
		c.InvocationContext, c.node = outer.InvocationContext, outer.node
	}
	return c
}

// effects are the actions that a context and all that are derived from it
// share.
type effects struct {
	mu      sync.Mutex // guards the deltas: a tool may use goroutines
	actions *session.EventActions
}

type toolContext struct {
	InvocationContext
	effects      *effects
	callID       string
	confirmation *toolconfirmation.ToolConfirmation
	node         nodeContext
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
func (c *toolContext) Actions() *session.EventActions       { return c.effects.actions }
func (c *toolContext) State() session.State                 { return deltaState{c} }
func (c *toolContext) ToolConfirmation() *toolconfirmation.ToolConfirmation {
	return c.confirmation
}

func (c *toolContext) Artifacts() Artifacts {
	return trackedArtifacts{c.InvocationContext.Artifacts(), c.effects}
}

func (c *toolContext) SearchMemory(ctx context.Context, query string) (*memory.SearchResponse, error) {
	return c.Memory().SearchMemory(ctx, query)
}

func (c *toolContext) RequestConfirmation(hint string, payload any) error {
	if c.callID == "" {
		return errors.New("agent: a confirmation was asked for where no tool runs")
	}
	c.effects.mu.Lock()
	defer c.effects.mu.Unlock()
	actions := c.effects.actions
	if actions.RequestedToolConfirmations == nil {
		actions.RequestedToolConfirmations = map[string]toolconfirmation.ToolConfirmation{}
	}
	actions.RequestedToolConfirmations[c.callID] = toolconfirmation.ToolConfirmation{Hint: hint, Payload: payload}
	actions.SkipSummarization = true // the model has nothing to say until there is an answer
	return nil
}

func (c *toolContext) WithAgentContext(ctx context.Context) Context {
	return c.WithDelta(&CommonContextDelta{InvocationContextDelta: &InvocationContextDelta{Context: &ctx}})
}

func (c *toolContext) WithAgentTimeout(timeout time.Duration) (Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(c, timeout)
	return c.WithAgentContext(ctx), cancel
}

func (c *toolContext) WithAgentCancel() (Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c)
	return c.WithAgentContext(ctx), cancel
}

// deltaState is the session's state with the values set since on top. Those
// reach the session with the event.
type deltaState struct{ c *toolContext }

func (s deltaState) Get(key string) (any, error) {
	s.c.effects.mu.Lock()
	value, ok := s.c.effects.actions.StateDelta[key]
	s.c.effects.mu.Unlock()
	if ok {
		return value, nil
	}
	return s.c.Session().State().Get(key)
}

// Set refuses what no store could keep, where it is known who sets it.
func (s deltaState) Set(key string, value any) error {
	if !strings.HasPrefix(key, session.KeyPrefixTemp) {
		if _, err := json.Marshal(value); err != nil {
			return fmt.Errorf("agent: the value of state key %q cannot be stored: %w", key, err)
		}
	}
	s.c.effects.mu.Lock()
	defer s.c.effects.mu.Unlock()
	if s.c.effects.actions.StateDelta == nil {
		s.c.effects.actions.StateDelta = map[string]any{}
	}
	s.c.effects.actions.StateDelta[key] = value
	return nil
}

func (s deltaState) All() iter.Seq2[string, any] {
	merged := map[string]any{}
	for key, value := range s.c.Session().State().All() {
		merged[key] = value
	}
	s.c.effects.mu.Lock()
	defer s.c.effects.mu.Unlock()
	for key, value := range s.c.effects.actions.StateDelta {
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
