package eval

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/replay"
	"github.com/recap-adk/recap/session"
)

// Strategies are the ways to keep a prompt short that are compared:
//
//	none     everything is sent
//	last-n   the last invocations are sent, the rest is forgotten
//	rolling  one summary, written anew each time from the one before
//	window   a summary of every five invocations, which is never summarized
//	         again: the sliding window of the ADKs, with their overlap
//	default  compaction.DefaultConfig with a TokenThreshold
//	recall   the same, and the agent has the tool that looks up what was said
var Strategies = []string{"none", "last-n", "rolling", "window", "default", "recall"}

// CheckStrategies says which name is none of Strategies, or stands there twice.
func CheckStrategies(names []string) error {
	for i, name := range names {
		switch {
		case !slices.Contains(Strategies, name):
			return fmt.Errorf("there is no strategy %q; there are %v", name, Strategies)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("the strategy %q is named twice", name)
		}
	}
	return nil
}

// usualWindow is the size of a window where none is given.
const usualWindow = 128_000

// limits are the sizes, in tokens unless they say otherwise, that follow from a
// model's window.
type limits struct {
	threshold int // of a prompt
	retention int // events
	recall    int // an answer of the tool
	output    int // an answer of the model
	summary   int // characters that a summarizer is shown
}

func limitsOf(window int) limits {
	if window == 0 {
		window = usualWindow
	}
	return limits{
		threshold: window * 6 / 10,
		retention: max(2, min(window/512, 10)),
		recall:    max(200, min(window/8, 2000)),
		output:    max(64, min(window/8, 1024)),
		summary:   min(window*3/2, 200_000),
	}
}

// configure sets what a strategy is about.
func configure(name string, o Options, summarizer compaction.Summarizer, opts *replay.Options) {
	l := limitsOf(o.Window)
	opts.Service = session.InMemoryService()
	opts.Compaction = compaction.DefaultConfig()
	opts.Compaction.Summarizer = summarizer
	opts.Compaction.Timeout = o.Timeout
	switch name {
	case "none":
		opts.Compaction = nil
	case "last-n":
		opts.Compaction = nil
		opts.Shorten = func(contents []*genai.Content) []*genai.Content { return lastInvocations(contents, o.Last) }
	case "rolling":
		rolled := &rolling{Service: opts.Service, summarizer: summarizer}
		opts.Service, opts.Compaction.Summarizer = rolled, rolled
		opts.Compaction.OverlapSize = 0 // it has the summary before
		opts.FailTooLong = true
	case "window":
		opts.Service = &unmerged{Service: opts.Service}
		// Not one that knows of the overlap: it tells of it twice, as the ADKs'.
		opts.Compaction.Summarizer = struct{ compaction.Summarizer }{summarizer}
		opts.FailTooLong = true
	default:
		opts.Compaction.TokenThreshold, opts.Compaction.EventRetentionSize = l.threshold, l.retention
		opts.Recall, opts.RecallTokens = name == "recall", l.recall
	}
}

// lastInvocations are the contents from the n-th last message of the user on.
func lastInvocations(contents []*genai.Content, n int) []*genai.Content {
	for i, content := range slices.Backward(contents) {
		if content.Role == genai.RoleUser && !slices.ContainsFunc(content.Parts, func(part *genai.Part) bool { return part.FunctionResponse != nil }) {
			if n--; n == 0 {
				return contents[i:]
			}
		}
	}
	return contents
}

// rolling makes each summary from the one before and stores it as one of all
// that was before, so that it supersedes that one.
type rolling struct {
	session.Service
	summarizer compaction.Summarizer

	mu   sync.Mutex
	last *session.Event
}

func (r *rolling) SummarizeEvents(ctx context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
	r.mu.Lock()
	if r.last != nil {
		events = slices.Concat([]*session.Event{r.last}, events)
	}
	r.mu.Unlock()
	return r.summarizer.SummarizeEvents(ctx, events)
}

func (r *rolling) AppendEvent(ctx context.Context, handle session.Session, e *session.Event) error {
	record := e.Actions.Compaction
	if record == nil {
		return r.Service.AppendEvent(ctx, handle, e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil {
		record.StartTimestamp = r.last.Actions.Compaction.StartTimestamp
	}
	err := r.Service.AppendEvent(ctx, handle, e)
	if err == nil {
		r.last = e.Clone()
	}
	return err
}

// unmerged gives summaries that stand side by side different levels, so that
// they are not taken for ones that can be merged.
type unmerged struct {
	session.Service

	mu    sync.Mutex
	level int
}

func (u *unmerged) AppendEvent(ctx context.Context, handle session.Session, e *session.Event) error {
	if e.Actions.Compaction != nil {
		u.mu.Lock()
		u.level = 1 - u.level
		manifest := e.Manifest()
		manifest.Level = u.level
		u.mu.Unlock()
		manifest.Put(e)
	}
	return u.Service.AppendEvent(ctx, handle, e)
}
