package compaction

import (
	"context"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
)

// Prompt is a model call that an agent is about to make.
type Prompt struct {
	// Session is the run's handle. A summary that is stored is added to it.
	Session session.Session
	// Agent is the name of the agent; Branch and Scope are those it runs in.
	Agent, Branch, Scope string
	// InvocationID is the run's. Its question is never summarized.
	InvocationID string
	// Request is what would be sent.
	Request *model.LLMRequest
}

func (p Prompt) reader() reader {
	return reader{agent: p.Agent, branch: p.Branch, scope: p.Scope, invocation: p.InvocationID}
}

// BeforeModel summarizes all but the newest events of a prompt that has
// reached TokenThreshold, and waits for it: the call would only get dearer, or
// fail. It reports whether the prompt has to be built anew. Where the session
// is being compacted in the background already, it waits for that instead.
//
// It never fails; see MaybeCompact. Where the summarizer fails an extract stands
// in, and the summarizer is not asked again until the prompt has grown.
func (c *Compactor) BeforeModel(ctx context.Context, p Prompt) (changed bool) {
	threshold := c.cfg.TokenThreshold
	if threshold == 0 || c.sizeOf(p) < threshold {
		return false
	}
	key := keyOf(p.Session)
	waited, release, err := c.acquire(ctx, key)
	if err != nil {
		return false
	}
	defer release()
	if waited && c.refresh(ctx, p.Session) {
		changed = true
		if _, counted := reported(eventsOf(p.Session), p.reader()); !counted {
			// The request that was counted is no more. If the prompt is too
			// large still, the next call finds it so.
			return true
		}
	}
	for size := c.sizeOf(p); size >= threshold; {
		limits := tailLimits{retention: c.cfg.EventRetentionSize, worthwhile: threshold / 8}
		outcome := c.onTurn(ctx, key, p, size, limits)
		if outcome.Kind != Applied {
			break
		}
		changed = true
		size -= outcome.TokensBefore - outcome.TokensAfter
	}
	return changed
}

// TooLong is called when a provider says that a prompt exceeds its window,
// with the number of the attempt from 1. It keeps fewer of the newest events
// each time, and reports whether the prompt has to be built anew; if not, there
// is nothing left to take away.
func (c *Compactor) TooLong(ctx context.Context, p Prompt, attempt int) (changed bool) {
	key := keyOf(p.Session)
	waited, release, err := c.acquire(ctx, key)
	if err != nil {
		return false
	}
	defer release()
	if waited && c.refresh(ctx, p.Session) {
		return true
	}
	retention := max(c.cfg.EventRetentionSize, defaultRetention) >> attempt
	return c.onTurn(ctx, key, p, 0, tailLimits{retention: retention}).Kind == Applied
}

// defaultRetention is where TooLong starts from where no EventRetentionSize
// says otherwise.
const defaultRetention = 8

// onTurn summarizes the old part of a prompt, or what summaries there are, and
// adds the summary to the handle of the run.
func (c *Compactor) onTurn(ctx context.Context, key sessionKey, p Prompt, size int, limits tailLimits) Outcome {
	unpaid := !c.mayTry(key, size)
	choose := func(events []*session.Event) (Window, bool) {
		w, ok := selectFold(events, p.reader(), c.foldLimit())
		if !ok {
			w, ok = selectTail(events, p.reader(), limits)
		}
		w.Trigger, w.waiting, w.unpaid = TriggerTokenThreshold, size, unpaid
		return w, ok
	}
	if _, due := choose(eventsOf(p.Session)); !due {
		return Outcome{Kind: NothingToDo, Reason: reasonNothing}
	}
	outcome, event := c.try(ctx, key, &reading{}, choose)
	if event != nil {
		session.AppendToHandle(p.Session, event.Clone(), nil)
	}
	return outcome
}

// foldLimit is the size of all summaries at which they are folded into one.
func (c *Compactor) foldLimit() int {
	if c.cfg.TokenThreshold == 0 {
		return 1 << 30
	}
	return c.cfg.TokenThreshold / 2
}

// early chooses what is to be summarized in the background, so that the
// threshold itself is rarely met on a turn.
func (c *Compactor) early(events []*session.Event, key sessionKey) (Window, bool) {
	threshold := c.cfg.TokenThreshold
	if threshold == 0 {
		return Window{}, false
	}
	size, ok := reported(events, reader{})
	if !ok || size < threshold*4/5 || !c.mayTry(key, size) {
		return Window{}, false
	}
	w, ok := selectFold(events, reader{}, c.foldLimit())
	if !ok {
		w, ok = selectTail(events, reader{}, tailLimits{retention: c.cfg.EventRetentionSize, worthwhile: threshold / 8})
	}
	w.Trigger, w.waiting = TriggerTokenThreshold, size
	return w, ok
}

// mayTry reports whether the summarizer may be asked about a prompt of that
// size: after a try that failed not until it has grown, each time by twice as
// much.
func (c *Compactor) mayTry(key sessionKey, size int) bool {
	failed := c.failedTries(key, TriggerTokenThreshold)
	return failed.n == 0 || size >= failed.waiting+(c.cfg.TokenThreshold/8)<<min(failed.n-1, maxDoublings)
}

// sizeOf is the size of a prompt in tokens: what the model reported of the last
// one and an estimate of what was added, or an estimate of the whole request.
func (c *Compactor) sizeOf(p Prompt) int {
	if size, ok := reported(eventsOf(p.Session), p.reader()); ok {
		return size
	}
	return estimateRequest(p.Request)
}

// refresh adds to the handle the compaction events that were stored since it
// was read, and reports whether there were any.
func (c *Compactor) refresh(ctx context.Context, handle session.Session) bool {
	key := keyOf(handle)
	read, err := c.read(ctx, key)
	if err != nil {
		return false
	}
	known := map[string]bool{}
	for e := range handle.Events().All() {
		known[e.ID] = true
	}
	found := false
	for e := range read.Events().All() {
		if e.Actions.Compaction != nil && !known[e.ID] {
			session.AppendToHandle(handle, e, nil)
			found = true
		}
	}
	return found
}
