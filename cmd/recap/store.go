package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
)

// The session's app and user.
const (
	appName = "recap"
	userID  = "user"
)

// store is the SQLite database of a replay.
type store struct {
	path    string
	service session.Service
	created bool   // by this process, which removes it if the replay fails
	session string // likewise the session that this process plays into
}

// openStore opens or creates the database at path; an empty path asks for a
// new temporary one.
func openStore(path string) (*store, error) {
	s := &store{path: path}
	if path == "" {
		file, err := os.CreateTemp("", "recap-*.db")
		if err != nil {
			return nil, fmt.Errorf("a temporary database: %w", err)
		}
		s.path, s.created = file.Name(), true
		if err := file.Close(); err != nil {
			return nil, err
		}
	} else if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, reason(err))
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: not a database that can be used: %w", s.path, err), s.close(false))
	}
	return s, nil
}

// prepare creates the file if it is not there, and finds out whether it can be
// written.
func (s *store) prepare() error {
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	s.created = err == nil
	if errors.Is(err, fs.ErrExist) {
		file, err = os.OpenFile(s.path, os.O_RDWR, 0)
	}
	if err != nil {
		return err
	}
	return file.Close()
}

func (s *store) open() error {
	dsn, err := s.dsn()
	if err != nil {
		return err
	}
	if err := checkTables(dsn); err != nil {
		return err
	}
	s.service, err = database.NewSessionService(sqlite.Open(dsn), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	return database.AutoMigrate(s.service)
}

// dsn is the database as a URI: of a bare path SQLite and its driver would
// take "?", "file:" and ":memory:" for something else.
func (s *store) dsn() (string, error) {
	path, err := filepath.Abs(s.path)
	if err != nil {
		return "", err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // before the letter of a drive
	}
	uri := url.URL{Scheme: "file", Path: path}
	if s.created {
		// In WAL mode readers and the writer do not wait for each other. A
		// database that was there keeps its own mode.
		uri.RawQuery = "_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
	}
	return uri.String(), nil
}

// checkTables makes sure that a database is empty or one of sessions, and not
// another program's, before anything is written to it.
func checkTables(dsn string) error {
	pool, err := sql.Open(sqlite.DriverName, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	var tables int
	if err := pool.QueryRow("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").Scan(&tables); err != nil {
		return err
	}
	if tables == 0 {
		return nil
	}
	if _, err := pool.Exec("SELECT app_name, user_id, id, state FROM sessions LIMIT 0"); err != nil {
		return errors.New("it has tables, but not those of sessions")
	}
	return nil
}

// claim makes id the session that is played into, if there is none.
func (s *store) claim(ctx context.Context, id string) error {
	_, err := s.service.Get(ctx, &session.GetRequest{AppName: appName, UserID: userID, SessionID: id, NumRecentEvents: 1})
	switch {
	case errors.Is(err, session.ErrNotFound):
		s.session = id
		return nil
	case err == nil:
		return s.taken(id)
	}
	return fmt.Errorf("%s: %w", s.path, err)
}

// taken is the error for a session that is there already.
func (s *store) taken(id string) error {
	return inputError{fmt.Errorf("%s: the database has a session %q already; name another with --session", s.path, id)}
}

// close closes the database. Unless the result is to be kept, what this process
// created is removed.
func (s *store) close(keep bool) error {
	var errs []error
	if !keep && !s.created && s.session != "" {
		errs = append(errs, s.service.Delete(context.Background(), &session.DeleteRequest{AppName: appName, UserID: userID, SessionID: s.session}))
	}
	if closer, ok := s.service.(io.Closer); ok {
		errs = append(errs, closer.Close())
	}
	if !keep && s.created {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			if err := os.Remove(s.path + suffix); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// count counts the events of the session and, apart, its compaction events.
func (s *store) count(ctx context.Context) (events, compactions int, err error) {
	got, err := s.service.Get(ctx, &session.GetRequest{AppName: appName, UserID: userID, SessionID: s.session})
	if err != nil {
		return 0, 0, err
	}
	for e := range got.Session.Events().All() {
		if e.Actions.Compaction != nil {
			compactions++
		} else {
			events++
		}
	}
	return events, compactions, nil
}

// reason is err without the path, which the message has already.
func reason(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
