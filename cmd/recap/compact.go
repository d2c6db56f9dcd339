package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
)

// compactOptions are the flags of compact.
type compactOptions struct {
	selection
	dryRun     bool
	overlap    int
	summarizer string
	json       bool
}

func newCompact() *cobra.Command {
	var o compactOptions
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Summarize what a session has that no summary covers yet",
		Long: `Compact summarizes all completed invocations of a session that no summary covers
yet, however few they are; or, if there are none, merges summaries. Only a summary
that is smaller than what it stands in for is stored, as one more event: the log
keeps all.

With --dry-run nothing is written and no model is called: it tells what would be
summarized, how many tokens a model would be sent for it, and how large the
prompt would be with an extract as the summary.

A summarizer may be a model:

` + keyHelp() + `

Where it fails, an extract stands in, and a note says so.

` + databaseHelp,
		Example: `  recap compact chat.db --dry-run
  recap compact chat.db support-17
  recap compact chat.db support-17 --summarizer gemini:gemini-2.5-flash`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.onSession(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&o.dryRun, "dry-run", false, "tell what would be done, and do nothing")
	flags.IntVar(&o.overlap, "overlap", compaction.DefaultConfig().OverlapSize, "older invocations read again for the summary")
	flags.StringVar(&o.summarizer, "summarizer", extractive, modelForms(extractive))
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// compacted is what compact did, or would do.
type compacted struct {
	Session   string       `json:"session"`
	DryRun    bool         `json:"dry_run"`
	Summaries []summarized `json:"summaries"`
	// Outcome and Reason say why it ended, if that was not for want of events.
	Outcome compaction.Kind `json:"outcome,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	// SummarizerTokens are what the summarizer's model spent or, in a dry run,
	// would be sent.
	SummarizerTokens int `json:"summarizer_tokens"`
	PromptBefore     int `json:"prompt_tokens_before"`
	PromptAfter      int `json:"prompt_tokens_after"`
}

type summarized struct {
	Number  int       `json:"number"` // of the summary in the log
	EventID string    `json:"event_id,omitempty"`
	Trigger string    `json:"trigger"`
	Events  int       `json:"events"` // that it stands in for
	First   int       `json:"first"`  // of them in the log
	Last    int       `json:"last"`
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"`
	Note    string    `json:"note,omitempty"`
}

func (o *compactOptions) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if o.overlap < 0 {
		return inputError{fmt.Errorf("--overlap is %d; it must not be negative", o.overlap)}
	}
	counter := tokens.New()
	cfg := compaction.DefaultConfig()
	cfg.OverlapSize = o.overlap
	if cfg.Summarizer, err = newSummarizer(ctx, o.summarizer); err != nil {
		return inputError{err}
	}
	mode := writing
	if o.dryRun {
		mode = reading
	}
	d, s, err := o.find(ctx, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(true)) }()
	service := d.service
	quote := &quoteModel{counter: counter}
	if o.dryRun {
		service = &overlay{Service: service}
		if o.summarizer != extractive {
			if cfg.Summarizer, err = quote.summarizer(); err != nil {
				return err
			}
		}
	}
	compactor, err := compaction.NewCompactor(cfg, service)
	if err != nil {
		return err
	}
	stop := waiting(stderr, "summarizing", o.json)
	result, err := compactAll(ctx, compactor, service, s, counter)
	stop()
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	if o.dryRun {
		result.quoted(quote.tokens)
	}
	return o.finish(result, d.name, stdout)
}

// quoted makes the result one of a dry run.
func (c *compacted) quoted(sent int) {
	c.DryRun, c.SummarizerTokens = true, sent
	for i := range c.Summaries {
		c.Summaries[i].EventID, c.Summaries[i].Note = "", ""
	}
}

func (o *compactOptions) finish(result compacted, name string, stdout io.Writer) error {
	if o.json {
		if err := writeJSON(stdout, result); err != nil {
			return err
		}
	} else {
		screen := newScreen(stdout)
		result.print(screen)
		if err := screen.flush(); err != nil {
			return err
		}
	}
	if result.Outcome == compaction.Failed || result.Outcome == compaction.Superseded {
		return fmt.Errorf("%s: compaction %s: %s", name, result.Outcome, result.Reason)
	}
	return nil
}

// compactAll compacts a session until nothing new is left, or merges summaries
// once. One summary may be too small for all: a summarizer takes only so much.
func compactAll(ctx context.Context, c *compaction.Compactor, service session.Service, s session.Session, counter *tokens.Counter) (compacted, error) {
	events, err := readAll(ctx, service, s)
	if err != nil {
		return compacted{}, err
	}
	r := reader{}.of(events)
	result := compacted{Session: s.ID(), Summaries: []summarized{}, PromptBefore: r.size(counter, events)}
	for {
		window, due := c.PlanCompact(events)
		if !due || len(result.Summaries) > 0 && len(window.New) == 0 {
			break
		}
		outcome := c.Compact(ctx, s)
		if err := ctx.Err(); err != nil {
			return result, err
		}
		if outcome.Usage != nil {
			result.SummarizerTokens += int(outcome.Usage.TotalTokenCount)
		}
		if outcome.Kind != compaction.Applied {
			if outcome.Kind != compaction.NothingToDo {
				result.Outcome, result.Reason = outcome.Kind, outcome.Reason
			}
			break
		}
		if events, err = readAll(ctx, service, s); err != nil {
			return result, err
		}
		result.Summaries = append(result.Summaries, summaryOf(outcome, window, events))
		if len(window.New) == 0 {
			break
		}
	}
	result.PromptAfter = r.size(counter, events)
	return result, nil
}

// summaryOf finds what the summary that was just stored stands in for.
func summaryOf(outcome compaction.Outcome, window compaction.Window, events []*session.Event) summarized {
	summary := summarized{EventID: outcome.EventID, Trigger: window.Trigger, Start: outcome.Start.UTC(), End: outcome.End.UTC(), Note: outcome.Reason}
	entries := logview.Read(events)
	for _, entry := range entries {
		if entry.Event.ID != outcome.EventID {
			continue
		}
		covered := logview.ToldBy(entries, entry)
		summary.Number, summary.Events = entry.Number, len(covered)
		if len(covered) > 0 {
			summary.First, summary.Last = covered[0].Number, covered[len(covered)-1].Number
		}
	}
	return summary
}

func (c compacted) print(s *screen) {
	would := ""
	if c.DryRun {
		would = "would "
	}
	if len(c.Summaries) == 0 {
		switch c.Outcome {
		case "":
			s.tell("Nothing to do: no completed invocation is without a summary.")
		case compaction.Declined:
			s.tell("Nothing done: %s.", oneLine(plain(c.Reason)))
		}
		return
	}
	for _, summary := range c.Summaries {
		verb := map[bool]string{true: "stand", false: "stands"}[c.DryRun]
		what := fmt.Sprintf("Summary %d %s%s in for %s", summary.Number, would, verb, count(summary.Events, "event"))
		if summary.Events > 0 {
			what += fmt.Sprintf(", %d to %d", summary.First, summary.Last)
		}
		if summary.Trigger == compaction.TriggerRollup {
			what += ", and for the summaries of them"
		}
		s.tell("%s.", what)
		if summary.Note != "" {
			s.tell("  Note: %s", oneLine(plain(summary.Note)))
		}
	}
	saved := c.PromptBefore - c.PromptAfter
	s.printf("\n  Prompt before     %8s tokens (%s)\n", thousands(c.PromptBefore), tokens.Name)
	s.printf("  Prompt after      %8s tokens, %s\n", thousands(c.PromptAfter), percent(c.PromptAfter, c.PromptBefore))
	s.printf("  Saved a call      %8s tokens\n", thousands(saved))
	label := map[bool]string{true: "The model is sent", false: "Summarizer spent "}[c.DryRun]
	s.printf("  %s %8s tokens\n", label, thousands(c.SummarizerTokens))
	if c.Outcome == compaction.Declined {
		s.tell("\nThen it stopped: %s.", oneLine(plain(c.Reason)))
	}
}

// overlay is a service on which compactions can be tried: what is appended is
// in it and nowhere else.
type overlay struct {
	session.Service
	appended []*session.Event
}

// AppendsConditionally is there for session.ConditionalService: nobody else
// appends to an overlay.
func (*overlay) AppendsConditionally() {}

// Get reads the session whole, with what was appended here.
func (o *overlay) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	whole := *req
	whole.OmitCompacted = false
	got, err := o.Service.Get(ctx, &whole)
	if err != nil {
		return nil, err
	}
	for _, e := range o.appended {
		session.AppendToHandle(got.Session, e, nil)
	}
	return got, nil
}

// AppendEvent keeps the event here.
func (o *overlay) AppendEvent(ctx context.Context, handle session.Session, event *session.Event) error {
	var last time.Time
	if events := handle.Events(); events.Len() > 0 {
		last = events.At(events.Len() - 1).Timestamp
	}
	session.Stamp(ctx, event, last)
	stored := event.Clone()
	o.appended = append(o.appended, stored)
	session.AppendToHandle(handle, stored, nil)
	return nil
}

// quoteModel counts what a model would be sent, and says nothing.
type quoteModel struct {
	counter *tokens.Counter
	tokens  int
}

var errQuote = errors.New("no model is called in a dry run")

func (q *quoteModel) summarizer() (compaction.Summarizer, error) {
	primary, err := compaction.NewLLMSummarizer(compaction.LLMSummarizerConfig{Model: q})
	if err != nil {
		return nil, err
	}
	return compaction.Fallback(primary, compaction.ExtractiveSummarizer{}), nil
}

// Name is that of no model.
func (q *quoteModel) Name() string { return "dry-run" }

// GenerateContent counts the request.
func (q *quoteModel) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		q.tokens += q.counter.Request(req.Contents, req.Config)
		yield(nil, errQuote)
	}
}
