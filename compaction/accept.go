package compaction

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
)

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
