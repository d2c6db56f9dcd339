package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/sessionfile"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

// importOptions are the flags of import.
type importOptions struct {
	app, user, session string
	agent              string
	trust              bool
	json               bool
}

func newImport() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE DB",
		Short: "Make a session of a file",
		Long: `Import makes a session of FILE in DB, which is created if it is not there. FILE
is an ADK session (JSON), OpenAI chat messages (JSON or JSONL), or the log of a
coding agent (JSONL); "-" is standard input.

Compaction records in FILE are left out, as they hide events and put words in
their place: with --trust-records they are kept. What the events set in the state
of the application and of the user is set again.

` + databaseHelp,
		Example: `  recap import session.json chat.db --trust-records
  recap import messages.jsonl chat.db --session support-17 --user ada
  recap export old.db s1 | recap import - 'mysql://root@localhost/sessions'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return inputError{errors.New("import needs a file and a database; see recap import --help")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, args[0], args[1])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.app, "app", "", "`name` of the application (default: the file's, or recap)")
	flags.StringVar(&o.user, "user", "", "`ID` of the user (default: the file's, or user)")
	flags.StringVar(&o.session, "session", "", "`ID` of the session (default: the file's, or made of FILE's name)")
	flags.StringVar(&o.agent, "agent", "assistant", "`name` of the agent in files that do not say")
	flags.BoolVar(&o.trust, "trust-records", false, "keep compaction records")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// imported is what import did.
type imported struct {
	App     string `json:"app"`
	User    string `json:"user"`
	Session string `json:"session"`
	Format  string `json:"format"`
	Events  int    `json:"events"`
	// Cleared are the compaction records that were left out, Moved the events
	// whose time was not later than that of the one before.
	Cleared int `json:"cleared_records"`
	Moved   int `json:"moved_times"`
	// System says that the file has a system message, which no session holds.
	System bool `json:"system_message_left_out"`
}

func (o *importOptions) run(cmd *cobra.Command, path, target string) (err error) {
	ctx := cmd.Context()
	name := path // for messages
	if path == "-" {
		name = "standard input"
	}
	file, err := o.read(ctx, path, name, cmd.InOrStdin())
	if err != nil {
		return inputError{err}
	}
	d, err := openDB(target, creating)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(err == nil)) }()
	bar := newProgress(cmd.ErrOrStderr(), "importing", len(file.Events), o.json)
	result, err := o.store(ctx, d, name, file, func() { _ = bar.Add(1) })
	_ = bar.Clear()
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(cmd.OutOrStdout(), result)
	}
	s := newScreen(cmd.OutOrStdout())
	result.print(s)
	return s.flush()
}

func (o *importOptions) read(ctx context.Context, path, name string, stdin io.Reader) (*sessionfile.File, error) {
	var data []byte
	var err error
	if path == "-" {
		data, err = io.ReadAll(io.LimitReader(stdin, conversation.MaxSize+1))
	} else {
		data, err = conversation.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	return sessionfile.Read(ctx, name, data, sessionfile.ReadOptions{TrustRecords: o.trust, Agent: o.agent})
}

// store makes the session. If that fails, or is interrupted, there is none.
func (o *importOptions) store(ctx context.Context, d *db, name string, file *sessionfile.File, step func()) (result imported, err error) {
	result = imported{
		App: cmp.Or(o.app, file.AppName, appName), User: cmp.Or(o.user, file.UserID, userID),
		Session: cmp.Or(o.session, file.ID, sessionID(name)), Format: file.Format,
		Cleared: file.Cleared, System: file.System != "",
	}
	// The session is as old as its first event, so that it was updated last when
	// its last event was.
	begin := ctx
	if len(file.Events) > 0 {
		first := file.Events[0].Timestamp
		begin = platform.WithTimeProvider(ctx, func() time.Time { return first })
	}
	created, err := d.service.Create(begin, &session.CreateRequest{AppName: result.App, UserID: result.User, SessionID: result.Session, State: file.State})
	if errors.Is(err, session.ErrExists) {
		return result, inputError{fmt.Errorf("%s: the database has a session %q already; name another with --session", d.name, result.Session)}
	}
	if err != nil {
		return result, fmt.Errorf("%s: %w", d.name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.service.Delete(context.WithoutCancel(ctx), &session.DeleteRequest{AppName: result.App, UserID: result.User, SessionID: result.Session}))
		}
	}()
	for i, e := range file.Events {
		at := e.Timestamp
		if err := d.service.AppendEvent(ctx, created.Session, e); errors.Is(err, session.ErrExists) {
			return result, inputError{fmt.Errorf("%s: event %d: there are two events %q", name, i+1, e.ID)}
		} else if err != nil {
			return result, fmt.Errorf("%s: event %d: %w", name, i+1, err)
		}
		if !e.Timestamp.Equal(at.Truncate(time.Microsecond)) {
			result.Moved++
		}
		result.Events++
		step()
	}
	return result, nil
}

func (r imported) print(s *screen) {
	s.printf("Session %s of user %s, application %s: %s (%s)\n", plain(r.Session), plain(r.User), plain(r.App), count(r.Events, "event"), r.Format)
	if r.Cleared > 0 {
		s.printf("  %s left out; --trust-records keeps them\n", count(r.Cleared, "compaction record"))
	}
	if r.Moved > 0 {
		s.printf("  %s moved, so that each is later than the one before\n", count(r.Moved, "time"))
	}
	if r.System {
		s.printf("  The system message was left out: no session holds one\n")
	}
}
