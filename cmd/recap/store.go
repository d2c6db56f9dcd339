package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/libtnb/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
)

// store is the SQLite database of a replay.
type store struct {
	path    string
	service session.Service
	created bool // by this process, which removes it if the replay fails
}

// openStore opens or creates the database at path; an empty path asks for a
// new temporary one.
func openStore(path string) (*store, error) {
	s := &store{path: path}
	if path == "" {
		file, err := os.CreateTemp("", "recap-*.db")
		if err != nil {
			return nil, err
		}
		s.path, s.created = file.Name(), true
		if err := file.Close(); err != nil {
			return nil, err
		}
	} else if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, reason(err))
	}
	if err := s.open(); err != nil {
		_ = s.close(false)
		return nil, fmt.Errorf("%s: not a database that can be used: %w", s.path, err)
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
	// In WAL mode readers and the writer do not wait for each other.
	service, err := database.NewSessionService(
		sqlite.Open(s.path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"),
		&gorm.Config{Logger: logger.Discard},
	)
	if err != nil {
		return err
	}
	s.service = service
	return database.AutoMigrate(service)
}

// close closes the database. Unless it is to be kept, it is removed if this
// process created it.
func (s *store) close(keep bool) error {
	var err error
	if closer, ok := s.service.(io.Closer); ok {
		err = closer.Close()
	}
	if s.created && !keep {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(s.path + suffix)
		}
	}
	return err
}

// discard removes a session that was not played to its end.
func (s *store) discard(ctx context.Context, id string) error {
	return s.service.Delete(context.WithoutCancel(ctx), &session.DeleteRequest{AppName: "recap", UserID: "user", SessionID: id})
}

// count counts the events of a session and, apart, its compaction events.
func (s *store) count(ctx context.Context, id string) (events, compactions int, err error) {
	got, err := s.service.Get(ctx, &session.GetRequest{AppName: "recap", UserID: "user", SessionID: id})
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
