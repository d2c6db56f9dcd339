package compaction

import (
	"context"

	"github.com/recap-adk/recap/session"
)

type sessionKey struct{ app, user, id string }

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

// exclusively does work that can wait when nobody else compacts the session.
// While another process does, nothing is done, as the summary would be paid for
// twice.
func (c *Compactor) exclusively(ctx context.Context, key sessionKey, trigger string, work func() Outcome) Outcome {
	_, release, err := c.acquire(ctx, key)
	if err != nil {
		return failed(err)
	}
	defer release()
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
