package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/session"
)

// showOptions are the flags of show.
type showOptions struct {
	selection
	full bool
	json bool
}

func newShow() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the log of a session, and what its summaries stand in for",
		Long: `Show prints the log of a session in the order in which a prompt has it. Under
each summary stand, dimmed and further in, the events that it stands in for: the
model is not sent them, and nothing of them is lost.

` + databaseHelp,
		Example: `  recap show chat.db
  recap show chat.db support-17 --full | less -R
  recap show chat.db support-17 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	o.onSession(cmd)
	cmd.Flags().BoolVar(&o.full, "full", false, "all of every text, not the first line")
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func (o *showOptions) run(ctx context.Context, stdout io.Writer) (err error) {
	d, s, err := o.find(ctx, reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(true)) }()
	entries := logview.Read(slices.Collect(s.Events().All()))
	if o.json {
		return writeJSON(stdout, shownOf(s, entries))
	}
	screen := newScreen(stdout)
	o.print(screen, s, entries)
	return screen.flush()
}

// shown is a log as JSON.
type shown struct {
	App     string       `json:"app"`
	User    string       `json:"user"`
	Session string       `json:"session"`
	Updated time.Time    `json:"last_update"`
	Events  []shownEvent `json:"events"`
}

type shownEvent struct {
	Number     int           `json:"number"`
	ID         string        `json:"id"`
	Time       time.Time     `json:"time"`
	Author     string        `json:"author"`
	Invocation string        `json:"invocation,omitempty"`
	Branch     string        `json:"branch,omitempty"`
	State      logview.State `json:"state"`
	By         int           `json:"by,omitempty"`
	Lines      []string      `json:"lines"`
}

func shownOf(s session.Session, entries []*logview.Entry) shown {
	log := shown{s.AppName(), s.UserID(), s.ID(), s.LastUpdateTime().UTC(), []shownEvent{}}
	for _, entry := range entries {
		e := entry.Event
		event := shownEvent{
			Number: entry.Number, ID: e.ID, Time: e.Timestamp.UTC(), Author: e.Author,
			Invocation: e.InvocationID, Branch: e.Branch, State: entry.State, Lines: []string{},
		}
		if entry.By != nil {
			event.By = entry.By.Number
		}
		for _, line := range logview.Lines(e) {
			event.Lines = append(event.Lines, line.String())
		}
		log.Events = append(log.Events, event)
	}
	return log
}

func (o *showOptions) print(s *screen, log session.Session, entries []*logview.Entry) {
	events, active, covered, author := 0, 0, 0, 8
	for _, entry := range entries {
		if entry.Event.Actions.Compaction == nil {
			events++
			author = max(author, min(uniseg.StringWidth(entry.Event.Author), 16))
		}
		switch entry.State {
		case logview.Summary:
			active++
		case logview.Covered:
			covered++
		}
	}
	s.printf("%s\n", s.look(bold, fmt.Sprintf("Session %s of user %s, application %s", plain(log.ID()), plain(log.UserID()), plain(log.AppName()))))
	s.printf("%s, %s\nLast update %s UTC\n", count(events, "event"), standIns(active, covered), log.LastUpdateTime().UTC().Format(time.DateTime))
	for _, block := range logview.Blocks(entries) {
		s.printf("\n")
		indent := ""
		if block.Summary != nil {
			o.printSummary(s, block)
			indent = "    "
		}
		for _, entry := range block.Entries {
			o.printEntry(s, entry, indent, author)
		}
	}
}

func standIns(summaries, covered int) string {
	switch summaries {
	case 0:
		return "no summary"
	case 1:
		return fmt.Sprintf("1 summary stands in for %s of them", thousands(covered))
	}
	return fmt.Sprintf("%s summaries stand in for %s of them", thousands(summaries), thousands(covered))
}

// maxSummaryLines is how much of a summary is shown without --full.
const maxSummaryLines = 8

func (o *showOptions) printSummary(s *screen, block logview.Block) {
	entry := block.Summary
	covered := 0
	for _, e := range block.Entries {
		if e.State == logview.Covered {
			covered++
		}
	}
	title := fmt.Sprintf("%4d  summary of %s", entry.Number, count(covered, "event"))
	if m := entry.Event.Manifest(); m.TokensBefore > 0 {
		title += fmt.Sprintf(", about %s tokens instead of %s", thousands(m.TokensAfter), thousands(m.TokensBefore))
	}
	s.printf("%s\n", s.look(accent, title))
	lines := wrapped(entry.Event.Actions.Compaction.Text(), s.width-6)
	if !o.full && len(lines) > maxSummaryLines {
		lines = append(lines[:maxSummaryLines], fmt.Sprintf("… (%s more, see --full)", count(len(lines)-maxSummaryLines, "line")))
	}
	for _, line := range lines {
		s.printf("      %s\n", s.look(accent, line))
	}
}

func (o *showOptions) printEntry(s *screen, entry *logview.Entry, indent string, author int) {
	e := entry.Event
	who := cmp.Or(e.Author, "?")
	switch entry.State {
	case logview.Merged, logview.Undone, logview.Invalid:
		who = "(" + string(entry.State) + ")"
	case logview.Undo:
		who = "(undo)"
	}
	style := ""
	switch entry.State {
	case logview.Shown:
	default:
		style = dim
	}
	head := fmt.Sprintf("%s%4d  %s  ", indent, entry.Number, padded(short(who, author), author))
	width := s.width - uniseg.StringWidth(head)
	var lines []string
	for _, line := range logview.Lines(e) {
		text := line.String()
		if entry.State == logview.Rewound {
			text = "(taken back) " + text
		}
		if o.full {
			lines = append(lines, wrapped(text, width)...)
		} else {
			lines = append(lines, short(text, width))
		}
	}
	if len(lines) == 0 {
		lines = []string{"(nothing)"}
	}
	for i, line := range lines {
		if i > 0 {
			head = padded("", uniseg.StringWidth(head))
		}
		text := head + line
		if style != "" {
			text = s.look(style, text)
		}
		s.printf("%s\n", strings.TrimRight(text, " "))
	}
}
