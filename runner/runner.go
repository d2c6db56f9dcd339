// Package runner runs an agent on sessions: it stores what the user says and
// what the agent answers, event by event, and keeps the history compact.
//
//	r, err := runner.New(runner.Config{
//		AppName:           "support",
//		Agent:             agent,
//		SessionService:    sessions,
//		AutoCreateSession: true,
//		CompactionConfig:  compaction.DefaultConfig(),
//	})
//	if err != nil {
//		return err
//	}
//	defer r.Close(ctx)
//	message := genai.NewContentFromText("Hello", genai.RoleUser)
//	for event, err := range r.Run(ctx, "user-1", "session-1", message, agent.RunConfig{}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(event.Author, event.Content)
//	}
//
// An event is stored before it is yielded, so a consumer that stops early, or
// a process that is killed, loses nothing that it has seen. What is compacted
// after a run, and when, is told in package compaction; nothing of it delays a
// run or makes it fail.
//
// In a tree of agents the one that spoke last goes on with the next message, if
// it could hand over to those above it, and the root agent otherwise. A message
// that answers a call goes to the agent that made the call.
//
// Streams in both directions, as for voice, are not supported: there is no
// RunLive.
package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/memory"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

// Config says what a Runner runs. AppName, Agent and SessionService must be
// set.
type Config struct {
	AppName        string
	Agent          agent.Agent
	SessionService session.Service
	// ArtifactService keeps the files of sessions, and MemoryService what is
	// remembered of a user's sessions. Both may be nil.
	ArtifactService artifact.Service
	MemoryService   memory.Service
	// PluginConfig are the plugins that take part in every run. Close closes
	// them.
	PluginConfig PluginConfig
	// AutoCreateSession makes Run create a session that does not exist.
	AutoCreateSession bool
	// CompactionConfig turns compaction on. It is copied. Nil is off: the
	// model is sent the whole history, and summaries in it are ignored.
	CompactionConfig *compaction.Config
}

// Runner runs an agent. It is safe for concurrent use. Close it when done.
type Runner struct {
	cfg        Config
	parents    map[string]agent.Agent
	plugins    plugins
	compactor  *compaction.Compactor // nil: compaction is off
	background *background

	closePlugins sync.Once
}

// ErrClosed is what Run yields after Close.
var ErrClosed = errors.New("the runner is closed")

// New returns a Runner, or an error that says what is wrong with cfg.
func New(cfg Config) (*Runner, error) {
	switch {
	case cfg.AppName == "":
		return nil, errors.New("runner: AppName must be set")
	case cfg.Agent == nil:
		return nil, errors.New("runner: Agent must be set")
	case cfg.SessionService == nil:
		return nil, errors.New("runner: SessionService must be set")
	}
	if err := cfg.PluginConfig.validate(); err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	parents, err := agent.Parents(cfg.Agent)
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	if llm, ok := cfg.Agent.(interface{ Mode() llmagent.Mode }); ok && llm.Mode() != llmagent.ModeUnset && llm.Mode() != llmagent.ModeChat {
		return nil, fmt.Errorf("runner: the root agent %q is of Mode %q: nobody would call it", cfg.Agent.Name(), llm.Mode())
	}
	r := &Runner{cfg: cfg, parents: parents, plugins: slices.Clone(cfg.PluginConfig.Plugins)}
	if cfg.CompactionConfig != nil {
		compactionConfig := *cfg.CompactionConfig
		if compactionConfig.Summarizer == nil {
			summarizer, err := defaultSummarizer(cfg.Agent)
			if err != nil {
				return nil, fmt.Errorf("runner: %w", err)
			}
			compactionConfig.Summarizer = summarizer
		}
		if len(r.plugins) > 0 {
			compactionConfig.RewriteSummary = r.rewriteSummary(compactionConfig.RewriteSummary)
		}
		compactor, err := compaction.NewCompactor(&compactionConfig, cfg.SessionService)
		if err != nil {
			return nil, fmt.Errorf("runner: %w", err)
		}
		r.compactor = compactor
	}
	r.background = newBackground(r.compactor)
	return r, nil
}

// NewInMemory returns a Runner whose sessions, artifacts and memory live in
// this process. Sessions are created as needed.
func NewInMemory(appName string, a agent.Agent) (*Runner, error) {
	return New(Config{
		AppName: appName, Agent: a,
		SessionService:    session.InMemoryService(),
		ArtifactService:   artifact.InMemoryService(),
		MemoryService:     memory.InMemoryService(),
		AutoCreateSession: true,
	})
}

// defaultSummarizer has the model of the root agent summarize and, where that
// fails, takes an extract, so that history never grows without bound because
// of a model that is down.
func defaultSummarizer(root agent.Agent) (compaction.Summarizer, error) {
	driven, ok := root.(interface {
		Model() model.LLM
		GenerateContentConfig() *genai.GenerateContentConfig
	})
	if !ok {
		return nil, fmt.Errorf("CompactionConfig.Summarizer must be set: the agent %q has no model to make one from", root.Name())
	}
	llm, err := compaction.NewLLMSummarizer(compaction.LLMSummarizerConfig{
		Model:                 driven.Model(),
		GenerateContentConfig: driven.GenerateContentConfig(),
	})
	if err != nil {
		return nil, err
	}
	return compaction.Fallback(llm, compaction.ExtractiveSummarizer{}), nil
}

// RunOption is a setting of one run.
type RunOption func(*runOptions)

type runOptions struct {
	stateDelta       map[string]any
	yieldUserMessage bool
}

// WithStateDelta sets values in the session's state before the agent runs.
func WithStateDelta(delta map[string]any) RunOption {
	return func(o *runOptions) { o.stateDelta = delta }
}

// WithYieldUserMessage makes Run yield the event of the user's message first.
func WithYieldUserMessage() RunOption {
	return func(o *runOptions) { o.yieldUserMessage = true }
}

// Run has the agent answer msg in a session and yields the events. A nil msg
// lets the agent go on from where the session is.
//
// An error ends the stream; every event that was yielded before is stored. A
// session that does not exist is an error that matches session.ErrNotFound,
// unless Config.AutoCreateSession is set. Runs of one session may overlap:
// each sees what was stored when it began, and its own events.
func (r *Runner) Run(ctx context.Context, userID, sessionID string, msg *genai.Content, cfg agent.RunConfig, opts ...RunOption) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		var options runOptions
		for _, opt := range opts {
			opt(&options)
		}
		run, err := r.begin(ctx, userID, sessionID, msg, cfg)
		if err != nil {
			yield(nil, err)
			return
		}
		run, first, err := r.storeMessage(run, options)
		if err != nil {
			yield(nil, err)
			return
		}
		completed := false
		defer func() {
			// Deferred, so that it is done also if the consumer stops early.
			r.plugins.afterRun(run)
			if completed {
				r.compact(run, run.Session())
			}
		}()
		if first != nil && options.yieldUserMessage && !yield(first, nil) {
			completed = true
			return
		}
		completed = r.answer(run, yield)
	}
}

// answer yields what the agent answers, or a plugin in its place, and reports
// whether nothing failed.
func (r *Runner) answer(run agent.InvocationContext, yield func(*session.Event, error) bool) bool {
	for event, err := range r.events(run) {
		if err == nil {
			err = r.store(run, event)
		}
		if err != nil {
			yield(nil, err)
			return false
		}
		if event != nil && !yield(event, nil) {
			break
		}
	}
	return true
}

// events are the answer as it comes.
func (r *Runner) events(run agent.InvocationContext) iter.Seq2[*session.Event, error] {
	content, err := r.plugins.beforeRun(run)
	if content == nil && err == nil {
		return run.Agent().Run(run)
	}
	return func(yield func(*session.Event, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		event := session.NewEvent(run, run.InvocationID())
		event.Author = run.Agent().Name()
		event.Content = content
		yield(event, nil)
	}
}

// begin reads the session, or creates it, and starts an invocation for what the
// plugins make of the message.
func (r *Runner) begin(ctx context.Context, userID, sessionID string, msg *genai.Content, cfg agent.RunConfig) (agent.InvocationContext, error) {
	if r.background.isClosed() {
		return nil, ErrClosed
	}
	if m := cfg.StreamingMode; m != "" && m != agent.StreamingModeNone && m != agent.StreamingModeSSE {
		return nil, fmt.Errorf("runner: there is no StreamingMode %q", m)
	}
	s, err := r.session(ctx, userID, sessionID)
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	next, err := r.next(ctx, s, msg)
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	run := r.invocation(withSession(ctx, s), s, next, clone.Of(msg), cfg)
	if msg == nil {
		return run, nil
	}
	msg, err = r.plugins.onUserMessage(run, run.UserContent())
	if err != nil {
		return nil, err
	}
	return run.WithICDelta(&agent.InvocationContextDelta{UserContent: &msg}), nil
}

func (r *Runner) invocation(ctx context.Context, s session.Session, a agent.Agent, msg *genai.Content, cfg agent.RunConfig) agent.InvocationContext {
	return agent.NewInvocationContext(ctx, agent.InvocationParams{
		Agent:           a,
		Root:            r.cfg.Agent,
		Session:         s,
		InvocationID:    "e-" + platform.NewUUID(ctx),
		UserContent:     msg,
		RunConfig:       cfg,
		Compactor:       r.compactor,
		ArtifactService: r.cfg.ArtifactService,
		MemoryService:   r.memory(),
		Plugins:         r.plugins.forAgents(),
	})
}

// memory is the memory service. With compaction on, the session of a run has
// the events that the run needs; what is remembered is all of it.
func (r *Runner) memory() memory.Service {
	if r.cfg.MemoryService == nil || r.compactor == nil {
		return r.cfg.MemoryService
	}
	return wholeSessions{r.cfg.MemoryService, r.cfg.SessionService}
}

// wholeSessions is a memory service that reads anew what it adds.
type wholeSessions struct {
	memory.Service
	sessions session.Service
}

func (w wholeSessions) AddSessionToMemory(ctx context.Context, s session.Session) error {
	whole, err := w.sessions.Get(ctx, &session.GetRequest{AppName: s.AppName(), UserID: s.UserID(), SessionID: s.ID()})
	if err != nil {
		return err
	}
	return w.Service.AddSessionToMemory(ctx, whole.Session)
}

func (r *Runner) session(ctx context.Context, userID, sessionID string) (session.Session, error) {
	found, err := r.read(ctx, userID, sessionID)
	if err == nil {
		return found, nil
	}
	// Only a session that is known not to be there is created: on any other
	// failure the history may exist.
	if !r.cfg.AutoCreateSession || !errors.Is(err, session.ErrNotFound) {
		return nil, err
	}
	created, err := r.cfg.SessionService.Create(ctx, &session.CreateRequest{AppName: r.cfg.AppName, UserID: userID, SessionID: sessionID})
	if errors.Is(err, session.ErrExists) {
		// Another run was faster.
		return r.read(ctx, userID, sessionID)
	}
	if err != nil {
		return nil, err
	}
	return created.Session, nil
}

// read reads a session: with compaction on, what is needed of it.
func (r *Runner) read(ctx context.Context, userID, sessionID string) (session.Session, error) {
	if r.compactor != nil {
		return r.compactor.Read(ctx, r.cfg.AppName, userID, sessionID)
	}
	got, err := r.cfg.SessionService.Get(ctx, &session.GetRequest{AppName: r.cfg.AppName, UserID: userID, SessionID: sessionID})
	if err != nil {
		return nil, err
	}
	return got.Session, nil
}

// storeMessage stores what the user says, and the state that comes with it. The
// run that it returns has the message as it is stored.
func (r *Runner) storeMessage(run agent.InvocationContext, options runOptions) (agent.InvocationContext, *session.Event, error) {
	msg := run.UserContent()
	if msg == nil && len(options.stateDelta) == 0 {
		return run, nil, nil
	}
	event := session.NewEvent(run, run.InvocationID())
	event.Author = "user"
	event.IsolationScope = r.scopeOf(run.Session().Events(), msg)
	if msg != nil && run.RunConfig().SaveInputBlobsAsArtifacts {
		saved, err := saveBlobs(agent.NewCallbackContext(run, &event.Actions), msg)
		if err != nil {
			return nil, nil, fmt.Errorf("runner: a file of the user's message: %w", err)
		}
		msg = saved
		run = run.WithICDelta(&agent.InvocationContextDelta{UserContent: &msg})
	}
	event.Content = clone.Of(msg)
	if len(options.stateDelta) > 0 {
		event.Actions.StateDelta = clone.Of(options.stateDelta)
	}
	if err := r.append(run, event); err != nil {
		return nil, nil, err
	}
	return run, event, nil
}

// saveBlobs saves the files in msg and returns it with a text in place of each.
func saveBlobs(ctx agent.Context, msg *genai.Content) (*genai.Content, error) {
	saved := &genai.Content{Role: msg.Role}
	for i, part := range msg.Parts {
		if part != nil && part.InlineData != nil {
			name := fmt.Sprintf("artifact_%s_%d", ctx.InvocationID(), i)
			if _, err := ctx.Artifacts().Save(ctx, name, part); err != nil {
				return nil, err
			}
			part = &genai.Part{Text: fmt.Sprintf("[A file of type %s, saved as the artifact %q.]", part.InlineData.MIMEType, name)}
		}
		saved.Parts = append(saved.Parts, part)
	}
	return saved, nil
}

// store stores an event of the agent as the plugins want it. The event becomes
// that, so that the agent goes on from what is stored.
func (r *Runner) store(run agent.InvocationContext, event *session.Event) error {
	if event == nil {
		return nil
	}
	event.Actions.Compaction = nil
	replaced, err := r.plugins.onEvent(run, event)
	if err != nil {
		return err
	}
	if replaced != event {
		replace(event, *replaced)
	}
	return r.append(run, event)
}

// append stores an event unless it is partial. Whatever made the event, it
// cannot make it a summary, which come from the compactor alone, nor take back
// history: that is for the client of a session.
func (r *Runner) append(run agent.InvocationContext, event *session.Event) error {
	event.Actions.Compaction, event.Actions.RewindBeforeInvocationID = nil, ""
	if event.Partial {
		return nil
	}
	if err := r.cfg.SessionService.AppendEvent(run, run.Session(), event); err != nil {
		return fmt.Errorf("runner: storing an event of %q: %w", event.Author, err)
	}
	return nil
}

// compact starts the compaction that follows a run.
func (r *Runner) compact(ctx context.Context, s session.Session) {
	switch {
	case r.compactor == nil:
	case r.compactor.Blocking():
		if ctx.Err() == nil {
			r.compactor.MaybeCompact(ctx, s)
		}
	default:
		r.background.start(ctx, s)
	}
}

// ErrCompactionOff is returned by Compact and Plan of a Runner without
// CompactionConfig.
var ErrCompactionOff = errors.New("compaction is off: CompactionConfig is nil")

// Compact summarizes the completed invocations of a session that no summary
// covers yet, now and however few they are. What happened is in the outcome;
// an error says that the session could not be read.
func (r *Runner) Compact(ctx context.Context, userID, sessionID string) (compaction.Outcome, error) {
	s, err := r.existing(ctx, userID, sessionID)
	if err != nil {
		return compaction.Outcome{}, err
	}
	return r.compactor.Compact(withSession(ctx, s), s), nil
}

// Plan is what Compact would do, without doing it. It reports false if that is
// nothing.
func (r *Runner) Plan(ctx context.Context, userID, sessionID string) (compaction.Window, bool, error) {
	s, err := r.existing(ctx, userID, sessionID)
	if err != nil {
		return compaction.Window{}, false, err
	}
	window, ok := r.compactor.PlanCompact(slices.Collect(s.Events().All()))
	return window, ok, nil
}

// existing reads a session that is to be compacted.
func (r *Runner) existing(ctx context.Context, userID, sessionID string) (session.Session, error) {
	if r.compactor == nil {
		return nil, fmt.Errorf("runner: %w", ErrCompactionOff)
	}
	s, err := r.read(ctx, userID, sessionID)
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	return s, nil
}

// Flush waits until the compactions that were started are done, or until ctx
// is. A process that may be frozen or ended after a run calls it before it
// hands over the answer.
func (r *Runner) Flush(ctx context.Context) error {
	return r.background.wait(ctx)
}

// Close waits for the compactions that were started, then closes the plugins.
// When ctx is done it cancels the compactions and returns the error of ctx; the
// plugins have the time of their CloseTimeout all the same. Afterwards Run
// fails with ErrClosed. The services stay open.
func (r *Runner) Close(ctx context.Context) error {
	err := r.background.close(ctx)
	r.closePlugins.Do(func() {
		err = errors.Join(err, r.plugins.close(ctx, r.cfg.PluginConfig.CloseTimeout))
	})
	return err
}
