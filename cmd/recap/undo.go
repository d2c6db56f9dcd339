package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/session"
)

// undoOptions are the flags of undo.
type undoOptions struct {
	selection
	json bool
}

func newUndo() *cobra.Command {
	var o undoOptions
	cmd := &cobra.Command{
		Use:   "undo",
		Short: "Take back the newest summary of a session",
		Long: `Undo takes back the newest summary that stands in for something: the model is
sent again what it was sent before. Nothing is deleted; an event that says so is
added to the log. Other runtimes, which do not know of it, go on to use the
summary.

` + databaseHelp,
		Example: `  recap undo chat.db
  recap undo chat.db support-17 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	o.onSession(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// undone is what undo did.
type undone struct {
	Session      string `json:"session"`
	Summary      int    `json:"summary"` // its number in the log
	EventID      string `json:"event_id"`
	Shown        int    `json:"events_shown"`   // of what it stood in for
	Covered      int    `json:"events_covered"` // likewise, by older summaries
	PromptBefore int    `json:"prompt_tokens_before"`
	PromptAfter  int    `json:"prompt_tokens_after"`
}

func (o *undoOptions) run(ctx context.Context, stdout io.Writer) (err error) {
	d, s, err := o.find(ctx, writing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(true)) }()
	result, err := undo(ctx, d.service, s)
	if errors.Is(err, compaction.ErrNothingToUndo) {
		return inputError{fmt.Errorf("%s: %w", d.name, err)}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	if o.json {
		return writeJSON(stdout, result)
	}
	screen := newScreen(stdout)
	result.print(screen)
	return screen.flush()
}

func (u undone) print(s *screen) {
	again := "is sent again"
	if u.Shown != 1 {
		again = "are sent again"
	}
	s.printf("Summary %d is undone: %s %s", u.Summary, count(u.Shown, "event"), again)
	if u.Covered > 0 {
		s.printf(", older summaries stand in for %s", thousands(u.Covered))
	}
	s.printf(".\nThe prompt has %s (%s), %s before.\n", count(u.PromptAfter, "token"), tokens.Name, thousands(u.PromptBefore))
}

// undo takes back the newest summary of a session, of which s is a handle.
func undo(ctx context.Context, service session.Service, s session.Session) (undone, error) {
	cfg := compaction.DefaultConfig()
	cfg.Summarizer = compaction.ExtractiveSummarizer{} // which is not asked
	compactor, err := compaction.NewCompactor(cfg, service)
	if err != nil {
		return undone{}, err
	}
	released, _, err := compactor.Undo(ctx, s.AppName(), s.UserID(), s.ID())
	if err != nil {
		return undone{}, err
	}
	after, err := readAll(ctx, service, s)
	if err != nil {
		return undone{}, err
	}
	result := undone{Session: s.ID(), EventID: released.ID}
	entries := logview.Read(after)
	for _, entry := range entries {
		if entry.Event.ID == released.ID {
			result.Summary = entry.Number
			for _, told := range logview.ToldBy(entries, entry) {
				if told.State == logview.Covered {
					result.Covered++
				} else {
					result.Shown++
				}
			}
		}
	}
	counter, r := tokens.New(), reader{}.of(after)
	result.PromptBefore, result.PromptAfter = r.size(counter, after[:len(after)-1]), r.size(counter, after)
	return result, nil
}

// readAll reads the events of a session anew.
func readAll(ctx context.Context, service session.Service, s session.Session) ([]*session.Event, error) {
	got, err := service.Get(ctx, &session.GetRequest{AppName: s.AppName(), UserID: s.UserID(), SessionID: s.ID()})
	if err != nil {
		return nil, err
	}
	return slices.Collect(got.Session.Events().All()), nil
}
