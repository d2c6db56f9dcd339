package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/internal/exact"
	"github.com/recap-adk/recap/internal/logview"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	selection
	summary string
	json    bool
}

func newDiff() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Show which exact values a summary kept and lost",
		Long: `Diff looks for the exact values (numbers, IDs, dates, amounts, paths, addresses,
quoted names) in the events that a summary stands in for, and tells which of them
the summary has letter by letter and which it lost. A value that is lost is still
in the log; the model does not see it.

` + databaseHelp,
		Example: `  recap diff chat.db
  recap diff chat.db support-17 --summary 12
  recap diff chat.db support-17 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	o.onSession(cmd)
	cmd.Flags().StringVar(&o.summary, "summary", "", "`number` in the log, or event ID, of a summary (default: the newest)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// difference is what a summary kept and lost.
type difference struct {
	Session string        `json:"session"`
	Summary int           `json:"summary"`
	State   logview.State `json:"state"`
	Events  int           `json:"events"`
	Kept    []value       `json:"kept"`
	Lost    []value       `json:"lost"`
}

// value is an exact value, and who stated it first.
type value struct {
	Value  string `json:"value"`
	Event  int    `json:"event"`
	Author string `json:"author"`
}

func (o *diffOptions) run(ctx context.Context, stdout io.Writer) (err error) {
	d, s, err := o.find(ctx, reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(true)) }()
	entries := logview.Read(slices.Collect(s.Events().All()))
	summary, err := logview.Find(entries, o.summary)
	if err != nil {
		return inputError{fmt.Errorf("%s: %w", d.name, err)}
	}
	result := diffOf(entries, summary)
	result.Session = s.ID()
	if o.json {
		return writeJSON(stdout, result)
	}
	screen := newScreen(stdout)
	result.print(screen)
	return screen.flush()
}

func diffOf(entries []*logview.Entry, summary *logview.Entry) difference {
	covered := logview.ToldBy(entries, summary)
	diff := difference{Summary: summary.Number, State: summary.State, Events: len(covered), Kept: []value{}, Lost: []value{}}
	text := summary.Event.Actions.Compaction.Text()
	seen := map[string]bool{}
	for _, entry := range covered {
		for _, v := range exact.Values(logview.Said(entry.Event)) {
			if seen[v] {
				continue
			}
			seen[v] = true
			found := value{v, entry.Number, entry.Event.Author}
			if len(exact.Missing([]string{v}, text)) > 0 {
				diff.Lost = append(diff.Lost, found)
			} else {
				diff.Kept = append(diff.Kept, found)
			}
		}
	}
	return diff
}

func (d difference) print(s *screen) {
	s.printf("%s\n", s.look(bold, fmt.Sprintf("Summary %d (%s) of %s", d.Summary, d.State, count(d.Events, "event"))))
	kept, stated := 0, 0
	for _, v := range d.Kept {
		if v.Author == "user" {
			kept++
		}
	}
	stated = kept
	for _, v := range d.Lost {
		if v.Author == "user" {
			stated++
		}
	}
	s.printf("  Exact values kept         %d of %d\n", len(d.Kept), len(d.Kept)+len(d.Lost))
	s.printf("  of those the user stated  %d of %d\n", kept, stated)
	for _, list := range []struct {
		name, mark, style string
		values            []value
	}{{"Lost", "-", red, d.Lost}, {"Kept", "+", green, d.Kept}} {
		if len(list.values) == 0 {
			continue
		}
		s.printf("\n%s\n", list.name)
		width := 0
		for _, v := range list.values {
			width = max(width, min(uniseg.StringWidth(v.Value), s.width-36))
		}
		for _, v := range list.values {
			text := "  " + list.mark + " " + padded(short(v.Value, width), width)
			where := fmt.Sprintf("event %d, %s", v.Event, plain(v.Author))
			s.printf("%s  %s\n", s.look(list.style, text), s.look(dim, short(where, max(20, s.width-width-8))))
		}
	}
	if len(d.Kept)+len(d.Lost) == 0 {
		s.printf("\n%s\n", "There are no exact values in what it stands in for.")
	}
}
