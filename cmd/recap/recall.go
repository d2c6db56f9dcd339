package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/internal/recall"
	"github.com/recap-adk/recap/session"
)

// recallOptions are the flags of recall.
type recallOptions struct {
	selection
	recall.Arguments
	branch, scope string
	tokens        int
	json          bool
}

func newRecall() *cobra.Command {
	var o recallOptions
	cmd := &cobra.Command{
		Use:   "recall",
		Short: "Find what summaries stand in for",
		Long: `Recall finds events that a model does not see any more, because summaries stand in
for them: by words that stand near what you look for, the best first; by time, in
order; or around one event. It is what the tool of the package tool/recalltool
does for an agent. Times are written as 2026-03-01T09:00:00Z, or only in part.

` + databaseHelp,
		Example: `  recap recall chat.db --query "invoice address"
  recap recall chat.db support-17 --from 2026-03-01 --to 2026-03-02
  recap recall chat.db support-17 --around 5d1e... --tokens 4000 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	o.onSession(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&o.Query, "query", "q", "", "`words` to look for")
	flags.StringVar(&o.From, "from", "", "read from this `time` on")
	flags.StringVar(&o.To, "to", "", "read up to this `time`")
	flags.StringVar(&o.Around, "around", "", "`ID` of an event: read it and what stands beside it")
	flags.IntVar(&o.Offset, "offset", 0, "with --around: read that event alone, from this `character` on")
	flags.IntVar(&o.Page, "page", 0, "with --query: 1 for the next best results, and so on")
	flags.IntVar(&o.tokens, "tokens", recall.DefaultMaxTokens, "about so much in all, 200 at least")
	flags.StringVar(&o.branch, "branch", "", "as an agent on this `path` sees it (default: the root)")
	flags.StringVar(&o.scope, "scope", "", "as an agent in this isolation `scope` sees it")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func (o *recallOptions) run(ctx context.Context, stdout io.Writer) (err error) {
	if o.tokens < 0 {
		return inputError{fmt.Errorf("--tokens is %d; it must not be negative", o.tokens)}
	}
	d, err := openDB(o.db, reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(true)) }()
	name, err := o.name(ctx, d)
	if err != nil {
		return err
	}
	found, err := recalled(ctx, d.service, name, recall.Request{Branch: o.branch, Scope: o.scope, MaxTokens: o.tokens, Arguments: o.Arguments})
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	if o.json {
		return writeJSON(stdout, found)
	}
	screen := newScreen(stdout)
	found.print(screen, d.name)
	return screen.flush()
}

// recollection is what was recalled of a session.
type recollection struct {
	Session  string             `json:"session"`
	Searched int                `json:"searched"`
	Events   []recalledEvent    `json:"events"`
	More     []recall.Arguments `json:"more,omitempty"`
}

type recalledEvent struct {
	ID     string            `json:"id"`
	Time   time.Time         `json:"time"`
	Author string            `json:"author"`
	Text   string            `json:"text"`
	Rest   *recall.Arguments `json:"rest,omitempty"`
}

// recalled asks for what summaries stand in for. What is wrong with the
// arguments is an inputError.
func recalled(ctx context.Context, service session.Service, name sessionName, req recall.Request) (recollection, error) {
	req.AppName, req.UserID, req.SessionID = name.AppName, name.UserID, name.ID
	result, err := recall.Do(ctx, service, req)
	if errors.Is(err, recall.ErrArguments) {
		err = inputError{err}
	}
	if err != nil {
		return recollection{}, err
	}
	found := recollection{Session: name.ID, Searched: result.Searched, Events: []recalledEvent{}, More: result.More}
	for _, e := range result.Events {
		found.Events = append(found.Events, recalledEvent{e.ID, e.Time, e.Author, e.Text, e.Rest})
	}
	return found, nil
}

// print prints what was recalled, and the commands that show more.
func (r recollection) print(s *screen, db string) {
	say := func(args recall.Arguments) string {
		return fmt.Sprintf("recap recall %s %s %s", db, r.Session, flagsOf(args))
	}
	switch {
	case r.Searched == 0:
		s.tell("No summary stands in for anything here: the model sees all of it.")
	case len(r.Events) == 0:
		s.tell("Nothing fits among %s that a summary stands in for.", count(r.Searched, "event"))
	}
	for i, e := range r.Events {
		if i > 0 {
			s.printf("\n")
		}
		s.printf("%s  %s\n", s.look(bold, short(fmt.Sprintf("%s  %s", e.Time.UTC().Format(time.DateTime), e.Author), s.width/2)), s.look(dim, plain(e.ID)))
		for _, line := range wrapped(e.Text, s.width-6) {
			s.printf("      %s\n", line)
		}
		if e.Rest != nil {
			s.printf("      %s\n", s.look(accent, plain("Goes on: "+say(*e.Rest))))
		}
	}
	for i, more := range r.More {
		if i == 0 {
			s.printf("\n")
		}
		s.printf("%s\n", s.look(accent, plain("More: "+say(more))))
	}
}

// flagsOf are arguments as flags of recall.
func flagsOf(args recall.Arguments) string {
	var flags []string
	for _, flag := range []struct{ name, value string }{{"query", args.Query}, {"from", args.From}, {"to", args.To}, {"around", args.Around}} {
		if flag.value != "" {
			flags = append(flags, fmt.Sprintf("--%s %q", flag.name, flag.value))
		}
	}
	for _, flag := range []struct {
		name  string
		value int
	}{{"offset", args.Offset}, {"page", args.Page}} {
		if flag.value != 0 {
			flags = append(flags, fmt.Sprintf("--%s %d", flag.name, flag.value))
		}
	}
	return strings.Join(flags, " ")
}
