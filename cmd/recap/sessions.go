package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

// sessionsOptions are the flags of sessions.
type sessionsOptions struct {
	db, app, user string
	contains      string
	since         string
	limit         int
	page          string
	json          bool
}

func newSessions() *cobra.Command {
	var o sessionsOptions
	cmd := &cobra.Command{
		Use:   "sessions DB",
		Short: "List the sessions of a database",
		Long: `Sessions lists the sessions of a database, application by application, those
first that were updated last. Where there are more than --limit, it says how to
see the next.

` + databaseHelp,
		Example: `  recap sessions chat.db
  recap sessions chat.db --app support --since 24h
  recap sessions 'postgres://ada@localhost/sessions' --limit 10 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return inputError{errors.New("sessions needs one database; see recap sessions --help")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.db = args[0]
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.app, "app", "", "only those of the application of this `name`")
	flags.StringVar(&o.user, "user", "", "only those of the user of this `ID`")
	flags.StringVar(&o.contains, "contains", "", "only those whose ID contains this `text`")
	flags.StringVar(&o.since, "since", "", "only those updated since a `time` (2026-01-31) or for so long (24h)")
	flags.IntVar(&o.limit, "limit", 50, "at most so many; 0 is all")
	flags.StringVar(&o.page, "page", "", "the page that begins with this `token`")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// listed is a session in the list.
type listed struct {
	App     string    `json:"app"`
	User    string    `json:"user"`
	ID      string    `json:"id"`
	Updated time.Time `json:"last_update"`
}

func (o sessionsOptions) run(ctx context.Context, stdout io.Writer) (err error) {
	since, from, err := o.check(ctx)
	if err != nil {
		return inputError{err}
	}
	d, err := openDB(o.db, reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(true)) }()
	found := struct {
		Sessions []listed `json:"sessions"`
		Next     string   `json:"next_page,omitempty"`
	}{Sessions: []listed{}}
	var last session.Session
	for s, err := range d.sessions(ctx, o.app, o.user, from) {
		if err != nil {
			return err
		}
		if !strings.Contains(s.ID(), o.contains) || s.LastUpdateTime().Before(since) {
			continue
		}
		if o.limit > 0 && len(found.Sessions) == o.limit {
			found.Next = tokenOf(last)
			break
		}
		last = s
		found.Sessions = append(found.Sessions, listed{s.AppName(), s.UserID(), s.ID(), s.LastUpdateTime().UTC()})
	}
	if o.json {
		return writeJSON(stdout, found)
	}
	return o.show(found.Sessions, found.Next, stdout)
}

func (o sessionsOptions) check(ctx context.Context) (since time.Time, from place, err error) {
	if o.limit < 0 {
		return since, from, fmt.Errorf("--limit is %d; it must not be negative", o.limit)
	}
	if o.since != "" {
		if since, err = parseSince(ctx, o.since); err != nil {
			return since, from, err
		}
	}
	if o.page != "" {
		from, err = parseToken(o.page)
	}
	return since, from, err
}

func parseSince(ctx context.Context, text string) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return platform.Now(ctx).Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--since is %q; it must be a time such as 2026-01-31 or a duration such as 24h", text)
}

// A token names the last session of a page.

func tokenOf(last session.Session) string {
	return base64.RawURLEncoding.EncodeToString([]byte(last.AppName())) + "." + session.PageToken(last)
}

func parseToken(text string) (place, error) {
	app, token, _ := strings.Cut(text, ".")
	name, err := base64.RawURLEncoding.DecodeString(app)
	if err == nil {
		_, _, _, err = session.ParsePageToken(token)
	}
	if err != nil {
		return place{}, fmt.Errorf("--page is %q, which no list of sessions ended with", text)
	}
	return place{string(name), token}, nil
}

func (o sessionsOptions) show(sessions []listed, next string, stdout io.Writer) error {
	s := newScreen(stdout)
	if len(sessions) == 0 {
		s.printf("There are no such sessions.\n")
		return s.flush()
	}
	table := tabwriter.NewWriter(&s.text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "last update (UTC)\tapp\tuser\tsession")
	for _, l := range sessions {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", l.Updated.Format(time.DateTime), plain(l.App), plain(l.User), plain(l.ID))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if next != "" {
		s.printf("\nThere are more: --page %s\n", next)
	}
	return s.flush()
}
