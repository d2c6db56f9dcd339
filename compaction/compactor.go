package compaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

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

type sessionKey struct{ app, user, id string }

// tryKey says of what tries are counted: of one kind of compaction of one
// session.
type tryKey struct {
	sessionKey
	trigger string
}

// tries are those in a row that stored nothing.
type tries struct {
	n       int
	waiting int // what was waiting at the last one, see Window
}

// unpaidRollups counts, in place of a trigger, the rollups for which an extract
// stood in. waiting is how many more are made without asking the summarizer.
const unpaidRollups = "unpaid rollups"

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
	key := keyOf(handle)
	choose := func(events []*session.Event) (Window, bool) { return c.plan(events, key) }
	window, due := choose(eventsOf(handle))
	if !due {
		return Outcome{Kind: NothingToDo, Reason: reasonNothing, AppName: key.app, UserID: key.user, SessionID: key.id}
	}
	_, release, err := c.acquire(ctx, key)
	if err != nil {
		return failed(err)
	}
	defer release()
	return c.tryAlone(ctx, key, window.Trigger, func() Outcome {
		outcome, _ := c.try(ctx, key, &reading{}, choose)
		return outcome
	})
}

// Drain is MaybeCompact until nothing is due any more, or a compaction does not
// succeed, or ctx is done. It reads the session once, so that a long backlog
// does not cost a read for each window, and returns the last outcome.
func (c *Compactor) Drain(ctx context.Context, handle session.Session) Outcome {
	key := keyOf(handle)
	choose := func(events []*session.Event) (Window, bool) { return c.plan(events, key) }
	window, due := choose(eventsOf(handle))
	if !due {
		return Outcome{Kind: NothingToDo, Reason: reasonNothing, AppName: key.app, UserID: key.user, SessionID: key.id}
	}
	_, release, err := c.acquire(ctx, key)
	if err != nil {
		return failed(err)
	}
	defer release()
	return c.tryAlone(ctx, key, window.Trigger, func() Outcome {
		for log := (&reading{}); ; {
			outcome, _ := c.try(ctx, key, log, choose)
			if outcome.Kind != Applied || ctx.Err() != nil {
				return outcome
			}
		}
	})
}

func keyOf(s session.Session) sessionKey {
	return sessionKey{s.AppName(), s.UserID(), s.ID()}
}

// acquire makes the caller the one that compacts the session, and reports
// whether it had to wait for another.
func (c *Compactor) acquire(ctx context.Context, key sessionKey) (waited bool, release func(), err error) {
	for {
		c.mu.Lock()
		other := c.busy[key]
		if other == nil {
			done := make(chan struct{})
			c.busy[key] = done
			c.mu.Unlock()
			return waited, func() {
				c.mu.Lock()
				delete(c.busy, key)
				c.mu.Unlock()
				close(done)
			}, nil
		}
		c.mu.Unlock()
		waited = true
		select {
		case <-other:
		case <-ctx.Done():
			return waited, nil, ctx.Err()
		}
	}
}

// tryAlone does work that can wait: while another process is at the same
// session, nothing is done, as its summary would be paid for twice.
func (c *Compactor) tryAlone(ctx context.Context, key sessionKey, trigger string, work func() Outcome) Outcome {
	if locker, ok := c.service.(session.CompactionLocker); ok {
		unlock, ok, err := locker.TryLockCompaction(ctx, key.app, key.user, key.id)
		switch {
		case err != nil: // the append finds out all the same
		case !ok:
			outcome := Outcome{Kind: Superseded, Reason: reasonElsewhere, Err: session.ErrSuperseded, Trigger: trigger,
				AppName: key.app, UserID: key.user, SessionID: key.id}
			c.report(ctx, outcome)
			return outcome
		default:
			defer unlock()
		}
	}
	return work()
}

// reading is a session as it was read, and what was appended through it since.
type reading struct {
	session session.Session // nil until it is read
	known   time.Time       // of the newest event when it was read
}

func (c *Compactor) fill(ctx context.Context, key sessionKey, log *reading) (err error) {
	if log.session != nil {
		return nil
	}
	if log.session, err = c.read(ctx, key); err != nil {
		log.session = nil
		return fmt.Errorf("reading the session: %w", err)
	}
	if events := log.session.Events(); events.Len() > 0 {
		log.known = events.At(events.Len() - 1).Timestamp
	}
	return nil
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
	_, release, err := c.acquire(ctx, key)
	if err != nil {
		return failed(err)
	}
	defer release()
	return c.tryAlone(ctx, key, TriggerManual, func() Outcome {
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

// Wait waits until every summarizer that was called has returned, also those
// that MaybeCompact gave up on, or until ctx is done.
func (c *Compactor) Wait(ctx context.Context) error {
	for {
		var call chan struct{}
		c.mu.Lock()
		for call = range c.working {
			break
		}
		c.mu.Unlock()
		if call == nil {
			return nil
		}
		select {
		case <-call:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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

// errNotKept says that compaction is of no use: each run would summarize the
// same events again.
var errNotKept = errors.New("the session service does not keep EventActions.Compaction: nothing is compacted")

// proveKept finds out, in a service that is not known to do so, whether what
// was stored is there, the first time that something is.
func (c *Compactor) proveKept(ctx context.Context, key sessionKey, event *session.Event) error {
	if _, known := c.service.(session.ConditionalService); known || c.kept.Load() {
		return nil
	}
	now, err := c.read(ctx, key)
	if err != nil {
		return nil // not proven, and not refuted
	}
	for e := range now.Events().All() {
		if e.Actions.Compaction.Valid() && e.Actions.Compaction.Text() == event.Actions.Compaction.Text() {
			c.kept.Store(true)
			return nil
		}
	}
	c.notKept.Store(true)
	return errNotKept
}

// recheck finds out, in a service that does not check it when it appends,
// whether another compaction was stored since the session was read.
func (c *Compactor) recheck(ctx context.Context, key sessionKey, read session.Session) error {
	if _, checks := c.service.(session.ConditionalService); checks {
		return nil
	}
	now, err := c.read(ctx, key)
	if err != nil {
		return err
	}
	if session.LastCompactionID(now.Events()) != session.LastCompactionID(read.Events()) {
		return session.ErrSuperseded
	}
	return nil
}

func superseded(err error) Outcome {
	if !errors.Is(err, session.ErrSuperseded) {
		return failed(err)
	}
	return Outcome{Kind: Superseded, Reason: "another compaction of the session was stored first", Err: err}
}

// accept returns the text of a summary, or how the compaction ends because it
// is not fit to stand in for the events.
func (c *Compactor) accept(ctx context.Context, result SummarizeResult, err error, outcome *Outcome) (*genai.Content, Outcome) {
	if err != nil {
		return nil, failed(err)
	}
	summary, err := c.rewritten(ctx, prose(result.Content))
	if err != nil {
		return nil, failed(err)
	}
	if summary == nil {
		return nil, Outcome{Kind: Declined, Reason: "the summarizer returned no text"}
	}
	outcome.TokensAfter = estimateContent(summary)
	if outcome.TokensAfter >= outcome.TokensBefore {
		return nil, Outcome{Kind: Declined, Reason: fmt.Sprintf(
			"the summary is not smaller than what it replaces (%d tokens, %d before)", outcome.TokensAfter, outcome.TokensBefore)}
	}
	if limit := c.maxSummary(); outcome.TokensAfter > limit {
		return nil, Outcome{Kind: Declined, Reason: fmt.Sprintf(
			"the summary is more than a quarter of TokenThreshold (%d tokens, %d at most)", outcome.TokensAfter, limit)}
	}
	return summary, Outcome{}
}

// rewritten is a summary as the application wants it stored.
func (c *Compactor) rewritten(ctx context.Context, summary *genai.Content) (_ *genai.Content, err error) {
	if summary == nil || c.cfg.RewriteSummary == nil {
		return summary, nil
	}
	defer recoverInto(&err, "RewriteSummary")
	text, err := c.cfg.RewriteSummary(ctx, proseOf(summary))
	if err != nil {
		return nil, fmt.Errorf("RewriteSummary: %w", err)
	}
	return prose(genai.NewContentFromText(text, genai.RoleModel)), nil
}

// maxSummary is the most tokens that one summary may have. If it were near the
// threshold, every prompt would be.
func (c *Compactor) maxSummary() int {
	if c.cfg.TokenThreshold == 0 {
		return 1 << 30
	}
	return c.cfg.TokenThreshold / 4
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

// prose is the text of content as the content of a record, or nil if there is
// none: no thoughts, calls, files or signatures.
func prose(content *genai.Content) *genai.Content {
	text := strings.TrimSpace(proseOf(content))
	if text == "" {
		return nil
	}
	return genai.NewContentFromText(text, genai.RoleModel)
}

// summarize calls the summarizer in a goroutine of its own, so that one that
// does not heed ctx holds up nobody but itself.
func (c *Compactor) summarize(ctx context.Context, s Summarizer, w Window) (SummarizeResult, error) {
	type answer struct {
		result SummarizeResult
		err    error
	}
	if err := ctx.Err(); err != nil {
		return SummarizeResult{}, err // no model call is worth it any more
	}
	// The summarizer gets copies, and no more than what it is to read.
	given := material{all: make([]*session.Event, len(w.Events))}
	for i, e := range w.Events {
		given.all[i] = givenCopy(e)
		if slices.Contains(w.Seen, e) {
			given.seen = append(given.seen, given.all[i])
		}
	}
	timeout := c.cfg.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answers, returned := make(chan answer, 1), make(chan struct{})
	c.mu.Lock()
	c.working[returned] = true
	c.mu.Unlock()
	go func() {
		defer func() {
			c.mu.Lock()
			delete(c.working, returned)
			c.mu.Unlock()
			close(returned)
		}()
		var a answer
		defer func() { answers <- a }()
		defer recoverInto(&a.err, "the summarizer")
		a.result, a.err = summarizeWith(ctx, s, given)
	}()
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
		return SummarizeResult{}, fmt.Errorf("the summarizer did not return in time: %w", ctx.Err())
	}
}

// givenCopy is an event as a summarizer is given it. A summary has its text as
// content, for summarizers that know nothing of records.
func givenCopy(e *session.Event) *session.Event {
	given := e.Clone()
	if record := given.Actions.Compaction; record != nil {
		given.Author, given.Content = "model", record.CompactedContent
		given.Timestamp = record.Start()
	}
	return given
}

// recoverInto turns a panic into an error.
func recoverInto(err *error, who string) {
	if value := recover(); value != nil {
		slog.Error("compaction: "+who+" panicked", "panic", value, "stack", string(debug.Stack()))
		*err = fmt.Errorf("%s panicked: %v", who, value)
	}
}

// selection says how large the next window of a session may be. After each try
// in a row that stored nothing it lets twice as many new invocations pass
// before the next, so that a summarizer that fails is not paid on every turn,
// and one whose summary was too large gets more to summarize.
func (c *Compactor) selection(key sessionKey) selection {
	failed := c.failedTries(key, TriggerSlidingWindow)
	need := c.cfg.CompactionInterval
	if failed.n > 0 {
		need = failed.waiting + c.cfg.CompactionInterval<<min(failed.n-1, maxDoublings)
	}
	s := selection{need: need, take: need, overlap: c.cfg.OverlapSize}
	if b, ok := c.cfg.Summarizer.(budgeted); ok {
		total, perToolPart := b.inputBudget()
		if s.budget = total; total > 0 {
			s.size = func(e *session.Event) int {
				return utf8.RuneCountInString(transcript([]*session.Event{e}, 0, perToolPart))
			}
		}
	}
	return s
}

// rollupSize is the number of summaries to merge next. After tries that stored
// nothing it is larger, as that of a window.
func (c *Compactor) rollupSize(key sessionKey) int {
	failed := c.failedTries(key, TriggerRollup)
	if failed.n == 0 {
		return fanOut
	}
	return failed.waiting + fanOut<<min(failed.n-1, maxDoublings)
}

func (c *Compactor) failedTries(key sessionKey, trigger string) tries {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tries[tryKey{key, trigger}]
}

const (
	// maxDoublings bounds the distance between tries to 16 intervals.
	maxDoublings = 4
	// maxTries bounds the sessions whose failures are remembered.
	maxTries = 4096
)

// remember counts tries that the summarizer failed, so that it is not asked
// again at once.
func (c *Compactor) remember(session sessionKey, o Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, unpaid := tryKey{session, o.Trigger}, tryKey{session, unpaidRollups}
	if len(c.tries) >= maxTries {
		clear(c.tries)
	}
	extract := o.Kind == Applied && o.extract
	switch {
	case extract && o.Trigger == TriggerRollup:
		t := c.tries[unpaid]
		if o.fellBack {
			t = tries{n: t.n + 1, waiting: 1 << min(t.n, maxDoublings)}
		} else {
			t.waiting--
		}
		c.tries[unpaid] = t
		delete(c.tries, key)
	case o.Kind == Declined, o.Kind == Failed, o.fellBack:
		c.tries[key] = tries{n: c.tries[key].n + 1, waiting: o.waiting}
	case o.Kind == Applied && !extract, o.Kind == Superseded:
		delete(c.tries, key)
		if o.Trigger == TriggerRollup {
			delete(c.tries, unpaid)
		}
	}
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

func eventsOf(s session.Session) []*session.Event {
	events := make([]*session.Event, 0, s.Events().Len())
	for e := range s.Events().All() {
		events = append(events, e)
	}
	return events
}
