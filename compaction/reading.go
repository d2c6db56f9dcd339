package compaction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recap-adk/recap/session"
)

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

func eventsOf(s session.Session) []*session.Event {
	events := make([]*session.Event, 0, s.Events().Len())
	for e := range s.Events().All() {
		events = append(events, e)
	}
	return events
}
