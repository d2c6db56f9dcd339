// Package compaction keeps the prompt of a long session small: it summarizes
// old events, stores the summary as an event of the same session, and leaves
// every original where it is.
//
// An application turns it on in the runner, and that is all:
//
//	r, err := runner.New(runner.Config{
//		AppName:          "support",
//		Agent:            agent,
//		SessionService:   sessions,
//		CompactionConfig: compaction.DefaultConfig(),
//	})
//	defer r.Close(ctx)
//
// # What happens
//
// After a run a Compactor looks at the session's log. When CompactionInterval
// invocations were completed that no summary covers yet, it takes them, with
// OverlapSize older ones for the thread, as a Window, has a Summarizer write
// down what they say, and appends the summary:
//
//	log      i1 i2 i3 i4 i5      i6 i7 i8 i9 i10 i11
//	         └──── S1 ─────┘
//	                  └──────── S2 ────────┘
//	prompt   S1 S2 i11
//
// The window moves on from there. A session with a long history is summarized
// window by window, not all at once.
//
// # What a summary stands in for
//
// The record of a summary (session.EventCompaction) names a range of time. It
// stands in for the events in that range that are of its own branch and
// isolation scope, stand before it in the log, and are not excluded by name.
// Every such event was given to the summarizer. A function call and its
// response are covered together or not at all. A call that waits for its
// answer, for a person's consent or for credentials is excluded, together with
// all that belongs to it, while the rest is summarized.
//
// # What can go wrong
//
// A summary is stored only if it has text and is smaller than what it
// replaces. Whatever fails, the log is as it was, the turn goes on, and an
// Outcome says what happened. After a failure the next try waits longer.
package compaction

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Config says when and how sessions are compacted. The names are those of the
// ADK family. A nil *Config means that compaction is off.
type Config struct {
	// CompactionInterval is the number of completed invocations that one
	// summary newly covers. 0 turns the sliding window off.
	CompactionInterval int
	// OverlapSize is the number of older invocations, covered already, that
	// the summarizer reads again for the thread.
	OverlapSize int

	// TokenThreshold is the size of a prompt, in tokens, at which all but its
	// newest events are summarized before a model call. 0 turns that off.
	TokenThreshold int
	// EventRetentionSize is the number of newest events that then stay as they
	// are.
	EventRetentionSize int

	// Summarizer writes the summaries. Nil means an LLMSummarizer on the model
	// of the root agent, which falls back on an ExtractiveSummarizer.
	Summarizer Summarizer

	// MaxToolOutput bounds, in tokens, what the model is shown of each older
	// tool result: its head and tail. The newest EventRetentionSize events, or
	// 10, are shown whole, and the log keeps all of it. 0 is no bound.
	MaxToolOutput int

	// RewriteSummary, if set, may change the text of each summary before it is
	// stored, such as to redact it. An error means that nothing is stored.
	RewriteSummary func(ctx context.Context, text string) (string, error)

	// Blocking makes a run wait for the compaction that follows it. Otherwise
	// that is done in the background.
	Blocking bool
	// Timeout bounds each call of the Summarizer. 0 means DefaultTimeout.
	Timeout time.Duration
	// OnOutcome, if set, is told how each compaction ended, except that there
	// was nothing to do. It is called from the goroutine that did the work, by
	// several at once for several sessions.
	OnOutcome func(Outcome)
}

// DefaultTimeout bounds a call of the Summarizer where Config.Timeout does not.
const DefaultTimeout = 60 * time.Second

// DefaultConfig is an interval of 5 with an overlap of 2, in the background.
func DefaultConfig() *Config {
	return &Config{CompactionInterval: 5, OverlapSize: 2}
}

// Validate reports what is wrong with the config: a negative number, one half
// of a pair, or nothing that could ever start a compaction. A nil Config is
// valid.
func (c *Config) Validate() error {
	if c == nil {
		return nil
	}
	for _, field := range []struct {
		name  string
		value int
	}{
		{"CompactionInterval", c.CompactionInterval},
		{"OverlapSize", c.OverlapSize},
		{"TokenThreshold", c.TokenThreshold},
		{"EventRetentionSize", c.EventRetentionSize},
		{"MaxToolOutput", c.MaxToolOutput},
		{"Timeout", int(c.Timeout)},
	} {
		if field.value < 0 {
			return fmt.Errorf("compaction: %s is negative (%d)", field.name, field.value)
		}
	}
	switch {
	case c.OverlapSize > 0 && c.CompactionInterval == 0:
		return errors.New("compaction: OverlapSize is set without CompactionInterval")
	case c.TokenThreshold > 0 && c.EventRetentionSize == 0:
		return errors.New("compaction: TokenThreshold is set without EventRetentionSize")
	case c.EventRetentionSize > 0 && c.TokenThreshold == 0:
		return errors.New("compaction: EventRetentionSize is set without TokenThreshold")
	case c.CompactionInterval == 0 && c.TokenThreshold == 0:
		return errors.New("compaction: neither CompactionInterval nor TokenThreshold is set: nothing would ever be compacted")
	}
	return nil
}
