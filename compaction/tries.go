package compaction

import (
	"unicode/utf8"

	"github.com/recap-adk/recap/session"
)

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
