package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/session"
)

// selection is the arguments and flags that name a session.
type selection struct {
	db, session string // arguments
	app, user   string // flags
}

// onSession makes cmd one that takes DB and, optionally, SESSION.
func (sel *selection) onSession(cmd *cobra.Command) {
	cmd.Use += " DB [SESSION]"
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < 1 || len(args) > 2 {
			return inputError{fmt.Errorf("%s needs a database and, if it has several sessions, the ID of one; see recap %s --help", cmd.Name(), cmd.Name())}
		}
		sel.db, sel.session = args[0], ""
		if len(args) == 2 {
			sel.session = args[1]
		}
		return nil
	}
	cmd.ValidArgsFunction = completeSession(&sel.app, &sel.user)
	cmd.Flags().StringVar(&sel.app, "app", "", "`name` of the session's application (default: whichever has it)")
	cmd.Flags().StringVar(&sel.user, "user", "", "`ID` of the session's user (default: whoever has it)")
}

// maxCompletions is how many sessions a shell is offered.
const maxCompletions = 100

// completeSession completes the arguments DB and SESSION.
func completeSession(app, user *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return nil, cobra.ShellCompDirectiveDefault // a file
		}
		d, err := openDB(args[0], reading)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer d.close(true)
		var ids []string
		for s, err := range d.sessions(cmd.Context(), *app, *user, place{}) {
			if err != nil || len(ids) == maxCompletions {
				break
			}
			if strings.HasPrefix(s.ID(), start) {
				ids = append(ids, s.ID()+"\t"+s.AppName()+", "+s.UserID())
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// find opens the database and reads the session, all of it.
func (sel *selection) find(ctx context.Context, mode access) (*db, session.Session, error) {
	d, err := openDB(sel.db, mode)
	if err != nil {
		return nil, nil, err
	}
	s, err := sel.read(ctx, d)
	if err != nil {
		return nil, nil, errors.Join(err, d.close(true))
	}
	return d, s, nil
}

func (sel *selection) read(ctx context.Context, d *db) (session.Session, error) {
	name, err := sel.name(ctx, d)
	if err != nil {
		return nil, err
	}
	got, err := d.service.Get(ctx, &session.GetRequest{AppName: name.AppName, UserID: name.UserID, SessionID: name.ID})
	if errors.Is(err, session.ErrNotFound) {
		return nil, sel.missing(d)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	return got.Session, nil
}

// name is the key of the one session that was asked for.
func (sel *selection) name(ctx context.Context, d *db) (sessionName, error) {
	names, err := sel.matching(ctx, d)
	switch {
	case err != nil:
		return sessionName{}, err
	case len(names) == 0:
		return sessionName{}, sel.missing(d)
	case len(names) == 1:
		return names[0], nil
	case sel.session == "":
		return sessionName{}, inputError{fmt.Errorf("%s: it has several sessions%s; name one, see recap sessions", d.name, sel.wanted())}
	}
	return sessionName{}, inputError{fmt.Errorf("%s: there are several sessions %q; say which with --app and --user", d.name, sel.session)}
}

func (sel *selection) missing(d *db) error {
	return inputError{fmt.Errorf("%s: no session%s; see recap sessions", d.name, sel.wanted())}
}

// wanted is what was asked for, for messages.
func (sel *selection) wanted() string {
	text := ""
	if sel.session != "" {
		text += fmt.Sprintf(" %q", sel.session)
	}
	if sel.user != "" {
		text += fmt.Sprintf(" of user %q", sel.user)
	}
	if sel.app != "" {
		text += fmt.Sprintf(" of application %q", sel.app)
	}
	return text
}

// sessionName is the key of a session.
type sessionName struct{ AppName, UserID, ID string }

// matching are the names of the sessions that were asked for, of several only
// some.
func (sel *selection) matching(ctx context.Context, d *db) ([]sessionName, error) {
	query := d.orm.WithContext(ctx).Table("sessions").Select("app_name, user_id, id").Limit(20)
	for _, condition := range []struct{ column, value string }{{"app_name", sel.app}, {"user_id", sel.user}, {"id", sel.session}} {
		if condition.value != "" {
			query = query.Where(condition.column+" = ?", condition.value)
		}
	}
	var names []sessionName
	if err := query.Scan(&names).Error; err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	// A database may take "ada" and "Ada" for the same.
	return slices.DeleteFunc(names, func(n sessionName) bool {
		return sel.session != "" && n.ID != sel.session || sel.user != "" && n.UserID != sel.user || sel.app != "" && n.AppName != sel.app
	}), nil
}

// place is where in the list of sessions a page begins.
type place struct{ app, token string }

// pageOfSessions is how many sessions are asked for at once.
const pageOfSessions = 200

// sessions yields the sessions behind a place, application by application, the
// most recently updated first, until the consumer has enough or an error.
func (d *db) sessions(ctx context.Context, app, user string, from place) iter.Seq2[session.Session, error] {
	return func(yield func(session.Session, error) bool) {
		apps := []string{app}
		if app == "" {
			var err error
			if apps, err = d.apps(ctx); err != nil {
				yield(nil, err)
				return
			}
		}
		for _, app := range apps {
			if app < from.app {
				continue
			}
			req := &session.ListRequest{AppName: app, UserID: user, PageSize: pageOfSessions}
			if app == from.app {
				req.PageToken = from.token
			}
			for {
				page, err := d.service.List(ctx, req)
				if err != nil {
					yield(nil, fmt.Errorf("%s: %w", d.name, err))
					return
				}
				for _, s := range page.Sessions {
					if !yield(s, nil) {
						return
					}
				}
				if req.PageToken = page.NextPageToken; req.PageToken == "" {
					break
				}
			}
		}
	}
}
