package compaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

// Compactor compacts the sessions of one service. It is safe for concurrent
// use, and compacts each session once at a time.
type Compactor struct {
	cfg     Config
	service session.Service
	// Whether the service keeps records; both are false until that is known.
	kept, notKept atomic.Bool

	mu      sync.Mutex
	tries   map[tryKey]tries
	busy    map[sessionKey]chan struct{} // closed when the session is free again
	working map[chan struct{}]bool       // closed when a call of the summarizer returns
}

// NewCompactor returns a Compactor for the sessions of service. cfg must be
// valid and have a Summarizer; it is copied.
func NewCompactor(cfg *Config, service session.Service) (*Compactor, error) {
	switch {
	case cfg == nil:
		return nil, errors.New("compaction: no config")
	case cfg.Summarizer == nil:
		return nil, errors.New("compaction: Config.Summarizer must be set")
	case service == nil:
		return nil, errors.New("compaction: no session service")
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Compactor{cfg: *cfg, service: service, tries: map[tryKey]tries{}, busy: map[sessionKey]chan struct{}{}, working: map[chan struct{}]bool{}}, nil
}

// For returns a Compactor with the same config for the sessions of another
// service, such as those of an agent that is called as a tool. It has worked
// when its calls return: nobody waits for it.
func (c *Compactor) For(service session.Service) *Compactor {
	other, _ := NewCompactor(&c.cfg, service) // the config is valid
	return other
}

// Blocking reports whether runs are to wait for compactions.
func (c *Compactor) Blocking() bool { return c.cfg.Blocking }

// MaybeCompact looks whether the session is due for a compaction and, if so,
// does one. By the events of handle it sees whether it is worth reading the
// session anew, which it then does. If the session is being compacted already
// it waits for that first.
//
// It never fails: what went wrong is in the Outcome, which Config.OnOutcome and
// the log are told as well. It does not wait longer for a summarizer than until
// ctx is done or Config.Timeout is over; see Wait.
func (c *Compactor) MaybeCompact(ctx context.Context, handle session.Session) Outcome {
	return c.compactDue(ctx, handle, false)
}

// Drain is MaybeCompact until nothing is due any more, or a compaction does not
// succeed, or ctx is done. It reads the session once, so that a long backlog
// does not cost a read for each window, and returns the last outcome.
func (c *Compactor) Drain(ctx context.Context, handle session.Session) Outcome {
	return c.compactDue(ctx, handle, true)
}

func (c *Compactor) compactDue(ctx context.Context, handle session.Session, all bool) Outcome {
	key := keyOf(handle)
	choose := func(events []*session.Event) (Window, bool) { return c.plan(events, key) }
	window, due := choose(eventsOf(handle))
	if !due {
		return Outcome{Kind: NothingToDo, Reason: reasonNothing, AppName: key.app, UserID: key.user, SessionID: key.id}
	}
	return c.exclusively(ctx, key, window.Trigger, func() Outcome {
		for log := (&reading{}); ; {
			outcome, _ := c.try(ctx, key, log, choose)
			if !all || outcome.Kind != Applied || ctx.Err() != nil {
				return outcome
			}
		}
	})
}

// try does one compaction of what choose chooses of a log, which it reads if it
// was not read. It returns the compaction event if it stored one.
func (c *Compactor) try(ctx context.Context, key sessionKey, log *reading, choose func([]*session.Event) (Window, bool)) (Outcome, *session.Event) {
	started := platform.Now(ctx)
	outcome, event := c.compact(ctx, key, log, choose)
	outcome.AppName, outcome.UserID, outcome.SessionID = key.app, key.user, key.id
	outcome.Duration = platform.Now(ctx).Sub(started)
	c.remember(key, outcome)
	c.report(ctx, outcome)
	return outcome, event
}

// Compact summarizes, once, all completed invocations that no summary covers
// yet, however few they are; or, if there are none, merges summaries that can be
// merged. It reads the session that handle names anew. See MaybeCompact.
func (c *Compactor) Compact(ctx context.Context, handle session.Session) Outcome {
	key := keyOf(handle)
	return c.exclusively(ctx, key, TriggerManual, func() Outcome {
		outcome, _ := c.try(ctx, key, &reading{}, c.PlanCompact)
		return outcome
	})
}

// PlanCompact is what Compact would do with a log. It reports false if that is
// nothing.
func (c *Compactor) PlanCompact(events []*session.Event) (Window, bool) {
	s := c.selection(sessionKey{})
	s.need, s.take = 1, len(events)
	if w, ok := selectWindow(events, s); ok {
		w.Trigger = TriggerManual
		return w, true
	}
	return selectRollup(events, 2)
}

// MaxToolOutput is the bound on older tool results in a prompt, in characters,
// and the number of newest events for which it does not hold.
func (c *Compactor) MaxToolOutput() (characters, recent int) {
	const perToken = 4
	if c.cfg.EventRetentionSize > 0 {
		return c.cfg.MaxToolOutput * perToken, c.cfg.EventRetentionSize
	}
	return c.cfg.MaxToolOutput * perToken, 10
}

func (c *Compactor) compact(ctx context.Context, key sessionKey, log *reading, choose func([]*session.Event) (Window, bool)) (ended Outcome, stored *session.Event) {
	if c.notKept.Load() {
		return failed(errNotKept), nil
	}
	if err := c.fill(ctx, key, log); err != nil {
		return failed(err), nil
	}
	window, ok := choose(eventsOf(log.session))
	if !ok {
		return Outcome{Kind: NothingToDo, Reason: reasonNothing}, nil
	}
	ctx, span := c.startSpan(ctx, key, window)
	defer func() { endSpan(span, ended) }()

	outcome := Outcome{
		Trigger: window.Trigger, Start: window.Start, End: window.End, Events: len(window.Events),
		TokensBefore: estimateEvents(window.New) + estimateEvents(window.Merged), waiting: window.waiting,
	}
	var summary *genai.Content
	unfit := failed(errors.New("the summarizer failed before, and is not asked yet"))
	if !window.unpaid {
		result, err := c.summarize(ctx, c.cfg.Summarizer, window)
		outcome.Usage, outcome.Reason = result.Usage, result.Note
		summary, unfit = c.accept(ctx, result, err, &outcome)
	}
	if unfit.Kind != "" && window.Trigger != TriggerSlidingWindow {
		// The prompt must become smaller now, or summaries stay few, whatever
		// the summarizer does. A window of new events can wait.
		extract, err := c.summarize(ctx, ExtractiveSummarizer{MaxTokens: c.maxSummary() / 2}, window)
		if text, still := c.accept(ctx, extract, err, &outcome); still.Kind == "" {
			summary, outcome.Reason, unfit = text, "an extract stands in: "+unfit.Reason, Outcome{}
			outcome.extract, outcome.fellBack = true, !window.unpaid
		}
	}
	if unfit.Kind != "" {
		return outcome.ended(unfit), nil
	}

	if err := c.recheck(ctx, key, log.session); err != nil {
		return outcome.ended(superseded(err)), nil
	}
	event := CreateCompactionEvent(ctx, window, SummarizeResult{Content: summary, Usage: outcome.Usage})
	manifest := session.Manifest{Level: window.level, TokensBefore: outcome.TokensBefore, TokensAfter: outcome.TokensAfter}
	manifest.From, manifest.Seen, manifest.Older = manifestFor(eventsOf(log.session), log.known, event, c.cfg.OverlapSize)
	manifest.Put(event)
	switch err := c.service.AppendEvent(ctx, log.session, event); {
	case errors.Is(err, session.ErrSuperseded):
		return outcome.ended(superseded(err)), nil
	case err != nil:
		return outcome.ended(failed(fmt.Errorf("storing the summary: %w", err))), nil
	}
	if err := c.proveKept(ctx, key, event); err != nil {
		return outcome.ended(failed(err)), nil
	}
	outcome.Kind, outcome.EventID = Applied, event.ID
	return outcome, event
}

// plan says what is to be compacted next in a log of the session.
func (c *Compactor) plan(events []*session.Event, key sessionKey) (Window, bool) {
	if w, ok := c.early(events, key); ok {
		return w, true
	}
	w, ok := plan(events, c.rollupSize(key), c.selection(key))
	w.unpaid = w.Trigger == TriggerRollup && c.failedTries(key, unpaidRollups).waiting > 0
	return w, ok
}

// ended is o with how it ended taken from other.
func (o Outcome) ended(other Outcome) Outcome {
	o.Kind, o.Reason, o.Err = other.Kind, other.Reason, other.Err
	return o
}

const (
	reasonNothing   = "not enough is new"
	reasonElsewhere = "another process is compacting the session"
)

func failed(err error) Outcome {
	return Outcome{Kind: Failed, Reason: err.Error(), Err: err}
}

// CreateCompactionEvent returns the event that stores a summary of a window. It
// has the author "user", an ID and an invocation ID of its own, no content
// but the record, and the branch and scope of the window. Its ID and time are
// those that package platform has in ctx.
func CreateCompactionEvent(ctx context.Context, w Window, result SummarizeResult) *session.Event {
	event := session.NewEvent(ctx, "e-"+platform.NewUUID(ctx))
	event.Author = "user"
	event.Branch, event.IsolationScope = w.Branch, w.Scope
	event.UsageMetadata = result.Usage
	event.Actions.Compaction = session.NewEventCompaction(w.Start, w.End, prose(result.Content), w.Excluded)
	session.Manifest{Level: w.level}.Put(event)
	return event
}

func (c *Compactor) report(ctx context.Context, outcome Outcome) {
	switch {
	case outcome.Kind == NothingToDo:
		return
	case outcome.Kind == Superseded, outcome.Kind == Applied && outcome.Reason == "":
		slog.DebugContext(ctx, outcome.String())
	default:
		slog.WarnContext(ctx, outcome.String())
	}
	measure(ctx, outcome)
	if c.cfg.OnOutcome == nil {
		return
	}
	defer func() {
		if value := recover(); value != nil {
			slog.ErrorContext(ctx, fmt.Sprintf("compaction: OnOutcome panicked: %v", value))
		}
	}()
	c.cfg.OnOutcome(outcome)
}
