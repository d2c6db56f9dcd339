package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/recap-adk/recap/session"
)

// The session's app and user, where nothing else is said.
const (
	appName = "recap"
	userID  = "user"
)

// store is the SQLite database of a replay.
type store struct {
	*db
	session string // that this process plays into, and removes if it fails
}

// openStore opens or creates the database at path; an empty path asks for a
// new temporary one.
func openStore(path string) (*store, error) {
	if path == "" {
		file, err := os.CreateTemp("", "recap-*.db")
		if err != nil {
			return nil, fmt.Errorf("a temporary database: %w", err)
		}
		path = file.Name()
		// Made anew as one that this process created.
		if err := errors.Join(file.Close(), os.Remove(path)); err != nil {
			return nil, err
		}
	}
	d, err := openDB(path, creating)
	if err != nil {
		return nil, err
	}
	return &store{db: d}, nil
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
	return fmt.Errorf("%s: %w", s.name, err)
}

// taken is the error for a session that is there already.
func (s *store) taken(id string) error {
	return inputError{fmt.Errorf("%s: the database has a session %q already; name another with --session", s.name, id)}
}

// close closes the database. Unless the result is to be kept, what this process
// created is removed.
func (s *store) close(keep bool) error {
	var err error
	if !keep && !s.created && s.session != "" {
		err = s.service.Delete(context.Background(), &session.DeleteRequest{AppName: appName, UserID: userID, SessionID: s.session})
	}
	return errors.Join(err, s.db.close(keep))
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
