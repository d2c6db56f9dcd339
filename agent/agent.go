// Package agent defines agents and what they are given when they run.
//
// An Agent turns an invocation, one run for one user message, into a stream of
// events. Package llmagent has the agent that a language model drives; an
// agent with logic of its own needs a function only:
//
//	greeter, err := agent.New(agent.Config{
//		Name: "greeter",
//		Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
//			return func(yield func(*session.Event, error) bool) {
//				event := session.NewEvent(ctx, ctx.InvocationID())
//				event.Content = genai.NewContentFromText("Hello!", genai.RoleModel)
//				yield(event, nil)
//			}
//		},
//	})
//
// Agents are run by package runner, which stores their events. An agent does
// not change after New, and one agent may serve any number of runs at once.
//
// The contexts, from narrow to wide: ReadonlyContext says who and where,
// InvocationContext is what an agent runs in, and Context, given to callbacks
// and tools, adds the state and the actions that they may change. Artifacts and
// Memory are the files of the session and what is remembered of the user, where
// the runner has services for them.
package agent

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/tracing"
	"github.com/recap-adk/recap/session"
)

// Agent is something that answers.
type Agent interface {
	// Name is unique in the tree of agents and is the author of its events.
	Name() string
	// Description tells other agents what this one is for.
	Description() string
	// Run answers the user content of the invocation. An error ends the
	// stream. A consumer may stop at any event.
	Run(InvocationContext) iter.Seq2[*session.Event, error]
	// SubAgents are the agents below this one.
	SubAgents() []Agent
	// FindAgent returns this agent or the one below it that has the name, or nil.
	FindAgent(name string) Agent
	// FindSubAgent returns the agent below this one that has the name, or nil.
	FindSubAgent(name string) Agent
}

// BeforeAgentCallback runs before an agent. Content that it returns is the
// answer, and the agent does not run.
type BeforeAgentCallback = func(Context) (*genai.Content, error)

// AfterAgentCallback runs after an agent. Content that it returns is added to
// the answer.
type AfterAgentCallback = func(Context) (*genai.Content, error)

// Config describes an agent.
type Config struct {
	// Name must be set, and must not be "user".
	Name        string
	Description string
	SubAgents   []Agent
	// BeforeAgentCallbacks run in order until one returns content or an error.
	BeforeAgentCallbacks []BeforeAgentCallback
	// Run is the agent's logic. It may leave Author, Branch and InvocationID
	// of its events empty.
	Run func(InvocationContext) iter.Seq2[*session.Event, error]
	// AfterAgentCallbacks run in order until one returns content or an error.
	AfterAgentCallbacks []AfterAgentCallback
}

// New returns the agent that cfg describes.
func New(cfg Config) (Agent, error) {
	if cfg.Name == "" {
		return nil, errors.New("agent: Name must be set")
	}
	if cfg.Name == "user" {
		return nil, errors.New(`agent: the name "user" is the user's`)
	}
	if cfg.Run == nil {
		return nil, fmt.Errorf("agent %q: Run must be set", cfg.Name)
	}
	cfg.SubAgents = slices.Clone(cfg.SubAgents)
	for i, sub := range cfg.SubAgents {
		if sub == nil {
			return nil, fmt.Errorf("agent %q: SubAgents[%d] is nil", cfg.Name, i)
		}
	}
	a := &agent{cfg}
	if _, err := Parents(a); err != nil {
		return nil, err
	}
	return a, nil
}

// Parents returns, by name, the agent right above each agent below root. It
// fails if two agents of the tree have one name, as they do where one agent is
// in it twice.
func Parents(root Agent) (map[string]Agent, error) {
	parents := map[string]Agent{root.Name(): nil}
	if err := addChildren(parents, root); err != nil {
		return nil, fmt.Errorf("agent %q: %w", root.Name(), err)
	}
	return parents, nil
}

func addChildren(parents map[string]Agent, parent Agent) error {
	for _, child := range parent.SubAgents() {
		if _, taken := parents[child.Name()]; taken {
			return fmt.Errorf("two agents are named %q", child.Name())
		}
		parents[child.Name()] = parent
		if err := addChildren(parents, child); err != nil {
			return err
		}
	}
	return nil
}

type agent struct{ cfg Config }

func (a *agent) Name() string        { return a.cfg.Name }
func (a *agent) Description() string { return a.cfg.Description }
func (a *agent) SubAgents() []Agent  { return slices.Clone(a.cfg.SubAgents) }

func (a *agent) FindAgent(name string) Agent {
	if a.cfg.Name == name {
		return a
	}
	return a.FindSubAgent(name)
}

func (a *agent) FindSubAgent(name string) Agent {
	for _, sub := range a.cfg.SubAgents {
		if found := sub.FindAgent(name); found != nil {
			return found
		}
	}
	return nil
}

func (a *agent) Run(parent InvocationContext) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		ctx := parent
		if current := parent.Agent(); current == nil || current.Name() != a.cfg.Name {
			// An agent that wraps this one has put itself there.
			var self Agent = a
			ctx = parent.WithICDelta(&InvocationContextDelta{Agent: &self})
		}
		ctx, span := a.startSpan(ctx)
		defer span.End()
		a.run(ctx, func(event *session.Event, err error) bool {
			tracing.Fail(span, err)
			return yield(event, err)
		})
	}
}

// run is the agent's logic between its callbacks.
func (a *agent) run(ctx InvocationContext, yield func(*session.Event, error) bool) {
	answered, ok := a.callback(ctx, callbacks(ctx, Plugin.BeforeAgentCallback, a.cfg.BeforeAgentCallbacks), yield)
	if !ok || answered {
		return
	}
	for event, err := range a.cfg.Run(ctx) {
		if event != nil {
			a.complete(ctx, event)
		}
		if !yield(event, err) || err != nil {
			return
		}
	}
	if !ctx.Ended() {
		a.callback(ctx, callbacks(ctx, Plugin.AfterAgentCallback, a.cfg.AfterAgentCallbacks), yield)
	}
}

// callbacks are those of the run's plugins and then the agent's own, without
// the nil ones.
func callbacks[C any](ctx InvocationContext, of func(Plugin) C, own []C) []C {
	var all []C
	for _, p := range ctx.Invocation().Plugins() {
		all = append(all, of(p))
	}
	return slices.DeleteFunc(append(all, own...), func(c C) bool { return reflect.ValueOf(c).IsNil() })
}

// callback runs callbacks until one answers and yields what they did. It
// reports whether one answered, and whether the run may go on.
func (a *agent) callback(ctx InvocationContext, callbacks []func(Context) (*genai.Content, error), yield func(*session.Event, error) bool) (answered, ok bool) {
	if len(callbacks) == 0 {
		return false, true
	}
	event := session.NewEvent(ctx, ctx.InvocationID())
	callbackContext := NewCallbackContext(ctx, &event.Actions)
	for _, callback := range callbacks {
		content, err := callback(callbackContext)
		if err != nil {
			yield(nil, fmt.Errorf("agent %q: callback: %w", a.cfg.Name, err))
			return false, false
		}
		if content != nil {
			event.Content = content
			break
		}
	}
	answered = event.Content != nil
	if answered || len(event.Actions.StateDelta) > 0 || len(event.Actions.ArtifactDelta) > 0 {
		a.complete(ctx, event)
		return answered, yield(event, nil)
	}
	return false, true
}

// complete fills in what an agent's logic may leave out of its events.
func (a *agent) complete(ctx InvocationContext, event *session.Event) {
	if event.Author == "" {
		event.Author = a.cfg.Name
	}
	if event.InvocationID == "" {
		event.InvocationID = ctx.InvocationID()
	}
	if event.Branch == "" {
		event.Branch = ctx.Branch()
	}
	if event.IsolationScope == "" {
		event.IsolationScope = ctx.IsolationScope()
	}
}
