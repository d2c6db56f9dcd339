package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/replay"
	"github.com/recap-adk/recap/internal/report"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/model/gemini"
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
log of a coding agent (JSONL). The session stays in the database.`,
		Example: `  recap replay examples/conversations/kitchen-renovation.json
  recap replay chat.jsonl --interval 10 --plot prompt.png
  recap replay chat.json --summarizer gemini:gemini-2.5-flash --db chat.db --json`,
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
	flags.StringVar(&o.db, "db", "", "SQLite `file` for the session (default: a new temporary file)")
	flags.StringVar(&o.session, "session", "", "`ID` of the session in the database (default: made from the name of FILE)")
	flags.IntVar(&o.interval, "interval", defaults.CompactionInterval, "invocations that each summary newly covers")
	flags.IntVar(&o.overlap, "overlap", defaults.OverlapSize, "older invocations that the summarizer reads again")
	flags.StringVar(&o.summarizer, "summarizer", "extractive", "what writes the summaries: extractive, or gemini:`MODEL`")
	flags.StringVar(&o.plot, "plot", "", "draw the prompt's size into this `file`, .svg or .png")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func (o replayOptions) run(ctx context.Context, file string, stdout, stderr io.Writer) error {
	// Everything that can be wrong with the request is found before anything
	// is written.
	cfg, err := o.config(ctx)
	if err != nil {
		return inputError{err}
	}
	if o.plot != "" {
		if err := report.CheckPlotPath(o.plot); err != nil {
			return inputError{err}
		}
	}
	c, err := conversation.Load(file)
	if err != nil {
		return inputError{err}
	}
	store, err := openStore(o.db)
	if err != nil {
		return inputError{err}
	}
	if o.session == "" {
		o.session = sessionID(file)
	}
	result, notes, err := o.play(ctx, file, c, cfg, store, o.progress(c, stderr))
	if err != nil && !errors.Is(err, session.ErrExists) {
		err = errors.Join(err, store.discard(ctx, o.session))
	}
	if closeErr := store.close(err == nil); err == nil {
		err = closeErr
	}
	if errors.Is(err, session.ErrExists) {
		return inputError{fmt.Errorf("%s: the database has a session %q already; name another with --session", o.db, o.session)}
	}
	if err != nil {
		return err
	}
	return o.show(result, notes, stdout, stderr)
}

// config is what is compacted, when and how.
func (o replayOptions) config(ctx context.Context) (*compaction.Config, error) {
	cfg := &compaction.Config{CompactionInterval: o.interval, OverlapSize: o.overlap}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("--interval %d --overlap %d: %w", o.interval, o.overlap, err)
	}
	name, isGemini := strings.CutPrefix(o.summarizer, "gemini:")
	switch {
	case o.summarizer == "extractive":
		cfg.Summarizer = compaction.ExtractiveSummarizer{}
	case isGemini && name != "":
		if os.Getenv("GOOGLE_API_KEY") == "" && os.Getenv("GEMINI_API_KEY") == "" {
			return nil, fmt.Errorf("--summarizer %s needs an API key in GOOGLE_API_KEY", o.summarizer)
		}
		llm, err := gemini.NewModel(ctx, name, nil)
		if err != nil {
			return nil, fmt.Errorf("--summarizer %s: %w", o.summarizer, err)
		}
		primary, err := compaction.NewLLMSummarizer(compaction.LLMSummarizerConfig{Model: llm})
		if err != nil {
			return nil, err
		}
		cfg.Summarizer = compaction.Fallback(primary, compaction.ExtractiveSummarizer{})
	default:
		return nil, fmt.Errorf("--summarizer is %q; it must be extractive or gemini:MODEL", o.summarizer)
	}
	return cfg, nil
}

// sessionID names a session after a file, differently each time.
func sessionID(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return name + "-" + uuid.NewString()[:8]
}

// progress returns what to call after each turn of either play. On a terminal
// it moves a bar.
func (o replayOptions) progress(c *conversation.Conversation, stderr io.Writer) func(int) {
	terminal, ok := stderr.(*os.File)
	if !ok || o.json || !term.IsTerminal(int(terminal.Fd())) {
		return func(int) {}
	}
	bar := progressbar.NewOptions(2*len(c.Turns),
		progressbar.OptionSetWriter(stderr),
		progressbar.OptionSetDescription("playing"),
		progressbar.OptionSetWidth(40),
		progressbar.OptionClearOnFinish(),
	)
	return func(int) { _ = bar.Add(1) }
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
		Service: store.service, AppName: "recap", UserID: "user", SessionID: o.session,
		Compaction: cfg, Counter: counter, OnTurn: onTurn,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	result := compare(raw, compacted)
	result.File, result.Format, result.Tokenizer, result.DB = file, c.Format, tokens.Name, store.path
	result.Events, result.Compactions, err = store.count(ctx, o.session)
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
	slices.Sort(waits)
	r.TurnCompactionMS = report.Percentiles{P50: percentile(waits, 50), P99: percentile(waits, 99)}
	for _, o := range compacted.Outcomes {
		if o.Usage != nil {
			r.SummarizerTokens += int(o.Usage.TotalTokenCount)
		}
	}
	return r
}

// percentile is of sorted durations, in milliseconds.
func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return float64(sorted[max(rank, 1)-1].Microseconds()) / 1000
}

// notesOf are lines about compactions that stored nothing, or not what the
// summarizer wrote.
func notesOf(outcomes []compaction.Outcome) []string {
	var notes []string
	for _, kind := range []compaction.Kind{compaction.Failed, compaction.Declined, compaction.Superseded} {
		n, reason := 0, ""
		for _, o := range outcomes {
			if o.Kind == kind {
				if n++; n == 1 {
					reason = o.Reason
				}
			}
		}
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%d compactions %s, the first because %s", n, kind, reason))
		}
	}
	return notes
}

func (o replayOptions) show(result *report.Result, notes []string, stdout, stderr io.Writer) error {
	if o.plot != "" {
		title := "Prompt of " + filepath.Base(result.File)
		if err := result.PerTurn.Plot(o.plot, title); err != nil {
			return err
		}
	}
	if o.json {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(result)
	}
	if err := result.WriteTable(stdout); err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(stderr, "recap: note: %s\n", note)
	}
	return nil
}
