// Package adkpython stores sessions in the databases of Google's adk-python, so
// that a service in Go and one in Python can share them.
//
//	service, err := adkpython.NewSessionService(sqlite.Open("sessions.db"))
//	if err != nil {
//		return err
//	}
//	found, err := service.Get(ctx, &session.GetRequest{AppName: "travel", UserID: "ada", SessionID: "trip-1"})
//
// Two schemas are known, in SQLite: that of DatabaseSessionService (version 1,
// with an events table that has event_data), and the file of
// SqliteSessionService. An empty database gets the first. One with pickled
// actions, which adk-python wrote long ago, is refused with ErrPickled.
//
// Rows are written as adk-python writes them: the JSON of an event has the names
// of its fields in Python, and a compaction record the times in seconds. What
// adk-python does not know is in the event's custom metadata under "recap",
// where it does no harm: what a record excludes, and its manifest.
//
// The promises of session.Service hold, as far as writers in Go are concerned. A
// Python service refuses to append through a session that it read before
// another writer appended (StaleSessionError), and reads it anew. It does not
// make time strictly increasing: events of one time come in order of their IDs.
package adkpython

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/recap-adk/recap/session"
)

// NewSessionService returns a service over the database of dialector, a GORM
// dialector for SQLite. A database without tables gets those of adk-python's
// DatabaseSessionService. The service is also an io.Closer.
func NewSessionService(dialector gorm.Dialector, opts ...gorm.Option) (session.Service, error) {
	if dialector == nil {
		return nil, errors.New("session/adkpython: no dialector")
	}
	if name := dialector.Name(); name != "sqlite" && name != "sqlite3" {
		return nil, fmt.Errorf("session/adkpython: databases of kind %q are not supported; sqlite is", name)
	}
	orm, err := gorm.Open(dialector, opts...)
	if err != nil {
		return nil, fmt.Errorf("session/adkpython: open: %w", err)
	}
	pool, err := orm.DB()
	if err != nil {
		return nil, fmt.Errorf("session/adkpython: open: %w", err)
	}
	s := &service{pool: pool, writing: make(chan struct{}, 1)}
	if err := s.open(context.Background()); err != nil {
		return nil, fmt.Errorf("session/adkpython: open: %w", errors.Join(err, pool.Close()))
	}
	return s, nil
}

type service struct {
	pool    *sql.DB
	schema  *schema
	writing chan struct{} // holds a value while a goroutine writes
}

// AppendsConditionally is there for session.ConditionalService.
func (*service) AppendsConditionally() {}

// Close closes the database.
func (s *service) Close() error { return s.pool.Close() }

func (s *service) open(ctx context.Context) error {
	var name sql.NullString
	if err := s.pool.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&name); err != nil {
		return err
	}
	if name.String == "" { // in memory each connection has a database of its own
		s.pool.SetMaxOpenConns(1)
		s.pool.SetConnMaxIdleTime(0)
		s.pool.SetConnMaxLifetime(0)
	}
	return s.transact(ctx, false, func(tx *sql.Conn) (err error) {
		s.schema, err = schemaOf(ctx, tx)
		if s.schema != nil || err != nil {
			return err
		}
		s.schema = v1
		_, err = tx.ExecContext(ctx, createV1)
		return err
	})
}

// transact runs do in a transaction. One that writes has the lock of the
// database from its start: one that first reads would fail, not wait, if
// another wrote meanwhile.
func (s *service) transact(ctx context.Context, write bool, do func(*sql.Conn) error) (err error) {
	if write {
		select {
		case s.writing <- struct{}{}:
			defer func() { <-s.writing }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	begin := "PRAGMA busy_timeout = 60000; PRAGMA foreign_keys = ON; BEGIN"
	if write {
		begin += " IMMEDIATE"
	}
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return errors.Join(err, rollback(conn))
	}
	if err = do(conn); err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return errors.Join(err, rollback(conn))
	}
	// Its end is not cut short, so that it is not unknown.
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return errors.Join(fmt.Errorf("commit: %w", err), rollback(conn))
	}
	return nil
}

// rollback ends a transaction. A connection that cannot is of no more use.
func rollback(conn *sql.Conn) error {
	if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return nil
}
