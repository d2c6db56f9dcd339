package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/replay"
	"github.com/recap-adk/recap/internal/report"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/session"
)

// replayOptions are the flags of replay.
type replayOptions struct {
	db         string
	session    string
	interval   int
	overlap    int
	summarizer string
	plot       string
	json       bool
}

func newReplay() *cobra.Command {
	var o replayOptions
	defaults := compaction.DefaultConfig()
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Play a recorded conversation, without and with compaction",
		Long: `Replay plays a recorded conversation through the SDK. The user's messages go in
as they were; what the model and the tools said comes out of the recording; all
that lies between is real: the runner, the prompts, the database, compaction.
It is played twice, without compaction and with it, and the sizes of the
prompts are compared, counted with the tokenizer o200k.

FILE holds OpenAI chat messages (JSON or JSONL), an ADK session (JSON), or the
log of a coding agent (JSONL). The session stays in the database.

A summarizer may be a model:

` + keyHelp() + `

Where it fails, the extractive one stands in, and a note says so.`,
		Example: `  recap replay examples/conversations/kitchen-renovation.json
  recap replay chat.jsonl --interval 10 --plot prompt.png
  recap replay chat.json --db chat.db --json
  recap replay chat.json --summarizer gemini:gemini-2.5-flash`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return inputError{errors.New("replay needs one file; see recap replay --help")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.db, "db", "", "`database` for the session (default: a temporary file)")
	flags.StringVar(&o.session, "session", "", "`ID` of the session (default: made of FILE's name)")
	flags.IntVar(&o.interval, "interval", defaults.CompactionInterval, "invocations newly in each summary")
	flags.IntVar(&o.overlap, "overlap", defaults.OverlapSize, "older invocations read again for it")
	flags.StringVar(&o.summarizer, "summarizer", extractive, modelForms(extractive))
	flags.StringVar(&o.plot, "plot", "", "draw the prompt's size into this `file`, .svg or .png")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func (o replayOptions) run(ctx context.Context, file string, stdout, stderr io.Writer) (err error) {
	// Everything that can be wrong with the request is found before anything
	// is written.
	cfg, err := o.config(ctx)
	if err != nil {
		return inputError{err}
	}
	if err := o.checkPlot(); err != nil {
		return inputError{err}
	}
	c, err := conversation.Load(file)
	if err != nil {
		return inputError{err}
	}
	store, err := openStore(o.db)
	if err != nil {
		return inputError{err}
	}
	defer func() { err = errors.Join(err, store.close(err == nil)) }()
	if o.session == "" {
		o.session = sessionID(file)
	}
	if err := store.claim(ctx, o.session); err != nil {
		return err
	}
	bar := newProgress(stderr, "playing", 2*len(c.Turns), o.json)
	result, notes, err := o.play(ctx, file, c, cfg, store, func(int) { _ = bar.Add(1) })
	_ = bar.Clear()
	if err != nil {
		return err
	}
	return o.show(result, notes, stdout, stderr)
}

// config is what is compacted, when and how.
func (o replayOptions) config(ctx context.Context) (*compaction.Config, error) {
	switch {
	case o.interval < 1:
		return nil, fmt.Errorf("--interval is %d; it must be at least 1", o.interval)
	case o.overlap < 0:
		return nil, fmt.Errorf("--overlap is %d; it must not be negative", o.overlap)
	}
	summarizer, err := newSummarizer(ctx, o.summarizer)
	if err != nil {
		return nil, err
	}
	return &compaction.Config{CompactionInterval: o.interval, OverlapSize: o.overlap, Summarizer: summarizer}, nil
}

// checkPlot finds out whether the plot can be written, as far as that can be
// told beforehand.
func (o replayOptions) checkPlot() error {
	if o.plot == "" {
		return nil
	}
	if err := report.CheckPlotPath(o.plot); err != nil {
		return err
	}
	return checkWritable(o.plot)
}

// sessionID names a session after a file, differently each time.
func sessionID(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return name + "-" + uuid.NewString()[:8]
}

// play plays the conversation without compaction, then with it. notes say what
// the compactor could not do.
func (o replayOptions) play(ctx context.Context, file string, c *conversation.Conversation, cfg *compaction.Config, store *store, onTurn func(int)) (*report.Result, []string, error) {
	counter := tokens.New()
	raw, err := replay.Play(ctx, c, replay.Options{Service: session.InMemoryService(), Counter: counter, OnTurn: onTurn})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	compacted, err := replay.Play(ctx, c, replay.Options{
		Service: store.service, AppName: appName, UserID: userID, SessionID: store.session,
		Compaction: cfg, Counter: counter, OnTurn: onTurn,
	})
	if errors.Is(err, session.ErrExists) {
		// Made by somebody else since it was claimed, and not ours to remove.
		store.session = ""
		return nil, nil, store.taken(o.session)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	result := compare(raw, compacted)
	result.File, result.Format, result.Tokenizer, result.DB = file, c.Format, tokens.Name, store.name
	result.Events, result.Compactions, err = store.count(ctx)
	return result, notesOf(compacted.Outcomes), err
}

// compare puts two plays of one conversation side by side.
func compare(raw, compacted *replay.Played) *report.Result {
	r := &report.Result{
		Turns:              len(raw.Turns),
		ModelCalls:         raw.ModelCalls,
		BilledPromptTokens: report.Pair{Raw: raw.Billed, Compacted: compacted.Billed},
		ExactValues:        report.ExactValues{Stated: compacted.ValuesStated, InPrompt: compacted.ValuesInPrompt},
	}
	var waits []time.Duration
	for i, turn := range compacted.Turns {
		pair := report.Pair{Raw: raw.Turns[i].PromptAfter, Compacted: turn.PromptAfter}
		r.PerTurn = append(r.PerTurn, report.Turn{Turn: i + 1, Pair: pair, CompactedHere: turn.Compacted})
		if i == 9 {
			r.PromptTokensAt10 = pair
		}
		r.PromptTokensAtEnd = pair
		waits = append(waits, turn.Compacting)
	}
	r.TurnCompactionMS = report.PercentilesOf(waits)
	for _, o := range compacted.Outcomes {
		if o.Usage != nil {
			r.SummarizerTokens += int(o.Usage.TotalTokenCount)
		}
	}
	return r
}

// notesOf are lines about compactions that stored nothing, or not what the
// summarizer wrote.
func notesOf(outcomes []compaction.Outcome) []string {
	var notes []string
	for _, kind := range []compaction.Kind{compaction.Applied, compaction.Failed, compaction.Declined, compaction.Superseded} {
		n, reason := 0, ""
		for _, o := range outcomes {
			if o.Kind != kind || o.Reason == "" {
				continue
			}
			if n++; n == 1 {
				reason = o.Reason
			}
		}
		switch n {
		case 0:
		case 1:
			notes = append(notes, fmt.Sprintf("1 compaction %s: %s", kind, reason))
		default:
			notes = append(notes, fmt.Sprintf("%d compactions %s, the first: %s", n, kind, reason))
		}
	}
	return notes
}

// show draws the plot and prints the result. Notes go below the table but not
// into the JSON, which is for programs.
func (o replayOptions) show(result *report.Result, notes []string, stdout, stderr io.Writer) error {
	if o.plot != "" {
		title := "Prompt of " + filepath.Base(result.File)
		if err := result.PerTurn.Plot(o.plot, title); err != nil {
			return err
		}
	}
	if o.json {
		writeNotes(stderr, "recap: note: ", notes)
		return writeJSON(stdout, result)
	}
	// In one write: who reads a few lines only, and closes the pipe, ends this
	// process at the next.
	var text bytes.Buffer
	if err := result.WriteTable(&text); err != nil {
		return err
	}
	if len(notes) > 0 {
		text.WriteByte('\n')
	}
	writeNotes(&text, "  Note: ", notes)
	_, err := stdout.Write(text.Bytes())
	return err
}

func writeNotes(w io.Writer, before string, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(w, "%s%s\n", before, oneLine(note))
	}
}
