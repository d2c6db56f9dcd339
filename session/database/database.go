// Package database stores sessions in a SQL database, in the tables of adk-go.
//
//	service, err := database.NewSessionService(sqlite.Open("sessions.db"))
//	if err != nil {
//		return err
//	}
//	if err := database.AutoMigrate(service); err != nil {
//		return err
//	}
//	created, err := service.Create(ctx, &session.CreateRequest{AppName: "shop", UserID: "ada"})
//
// The dialector is any GORM dialector for SQLite, such as that of
// github.com/libtnb/sqlite, or that of gorm.io/driver/postgres or
// gorm.io/driver/mysql, the latter for MySQL and MariaDB; this package imports no
// driver. PostgreSQL must be 13 or later. No option of a DSN is needed: parseTime, loc, time zones and prepared
// statements may be as they like.
//
// # Tables
//
// Tables, columns and encodings are those of adk-go v2, so that a database of
// either can be used by the other:
//
//	sessions     app_name, user_id, id | state, create_time, update_time
//	events       id, app_name, user_id, session_id | everything of an event
//	app_states   app_name | state, update_time
//	user_states  app_name, user_id | state, update_time
//
// The columns before the bar are the primary key. There is no table and no
// column beside these. AutoMigrate creates what is missing, gives the events of
// an adk-go v1 database the columns that v2 added, and adds indexes by which an
// append and a read cost the same however many other sessions there are. An
// adk-go v2 database works without them, more slowly.
//
// # Encodings
//
//   - state and the parts of an event are JSON, as text in SQLite, JSONB in
//     PostgreSQL and LONGTEXT in MySQL, NULL where there is nothing. Values of
//     app_states and user_states are stored without the prefix of their key.
//   - actions is a blob of JSON. A compaction record in it has its times in
//     RFC 3339, as adk-go has them. Names may be those of adk-go v1, which had
//     no JSON tags.
//   - In SQLite a time is text, "2006-01-02 15:04:05.999999+00:00". This
//     package writes UTC; a database that adk-go wrote may hold other zones,
//     whose text does not sort as the times do, and such rows are found and
//     put in order apart.
//   - In PostgreSQL a time is a TIMESTAMPTZ(6). In MySQL it is a DATETIME(6),
//     which has no zone: it is UTC, whatever the DSN says. adk-go agrees as long
//     as its DSN does not set loc to something else.
//   - PostgreSQL takes no NUL in text or JSONB, and no server takes text that is
//     not UTF-8. There U+FFFF "u0000" stands for NUL, and is read as that again.
//     JSONB loses the order of keys, and spaces, which have no meaning here.
//   - Fields of an event that have no column are under "recap" in
//     custom_metadata, in the object "event", and are taken out again on
//     reading: model version, finish reason, transcriptions, log
//     probabilities, and the handle for resuming a live session.
//
// Names (application, user, session and event IDs) have at most 191 characters
// in MySQL. AutoMigrate gives its tables there a collation by which names differ
// in every byte. In adk-go's tables they do not: a session is then found under
// its exact names alone, but two whose names differ in case or accents cannot
// both be there.
//
// # Concurrency
//
// An append is one transaction. In SQLite it holds the write lock of the
// database from its start, in PostgreSQL and MySQL the row of its session, and
// at its end those of the state that it changes, in one order. Any number of
// goroutines and processes may append: they wait for each other. A transaction
// that the server undid because of others is done again. A pool that the caller
// has not limited has 20 connections.
//
// Where the connection is lost before the acknowledgement, nobody knows whether
// an event was stored. Give an event an ID before it is appended and try again:
// session.ErrExists says that it is there.
//
// In SQLite, readers and writers wait for each other too unless the database is
// in WAL mode, which is the caller's choice and worth making:
//
//	sqlite.Open("sessions.db?_pragma=journal_mode(WAL)")
//
// In PostgreSQL and MySQL the service is a session.CompactionLocker. Its locks
// share one connection of the pool. They are locks of a connection, so through a
// pooler that shares connections between transactions they say little; nothing
// but the price of a summary depends on them.
package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/recap-adk/recap/session"
)

// NewSessionService returns a service that stores sessions in the database of
// dialector. The tables must be there before it is used: see AutoMigrate.
//
// A SQLite database in memory is used over one connection, to which the pool is
// limited. The service is also an io.Closer that closes the database.
func NewSessionService(dialector gorm.Dialector, opts ...gorm.Option) (session.Service, error) {
	if dialector == nil {
		return nil, errors.New("session/database: no dialector")
	}
	d, err := dialectOf(dialector.Name())
	if err != nil {
		return nil, err
	}
	orm, err := gorm.Open(dialector, opts...)
	if err != nil {
		return nil, fmt.Errorf("session/database: open: %w", err)
	}
	pool, err := orm.DB()
	if err != nil {
		return nil, fmt.Errorf("session/database: open: %w", err)
	}
	if err := d.open(pool); err != nil {
		return nil, fmt.Errorf("session/database: open: %w", err)
	}
	return &service{
		orm: orm, pool: pool, dialect: d,
		queries: newQueries(orm, d),
		locks:   compactionLocks{turn: make(chan struct{}, 1)},
	}, nil
}

// AutoMigrate creates the tables and indexes that are missing, and adds the
// columns that an adk-go v1 database lacks. It changes no row, and may be
// called by many processes, at every start. The service must be one of
// NewSessionService.
func AutoMigrate(svc session.Service) error {
	s, ok := svc.(*service)
	if !ok {
		return fmt.Errorf("session/database: AutoMigrate: %T is not a service of this package", svc)
	}
	ctx := context.Background()
	err := s.write(ctx, "", func(tx transaction) error {
		return s.dialect.alone(ctx, tx, func() error { return s.migrate(ctx, tx) })
	})
	if err != nil {
		return fmt.Errorf("session/database: AutoMigrate: %w", err)
	}
	return nil
}

func (s *service) migrate(ctx context.Context, tx transaction) error {
	orm := s.ormOn(ctx, tx)
	if s.dialect.tableOptions != nil {
		options, err := s.dialect.tableOptions(ctx, tx)
		if err != nil {
			return err
		}
		orm = orm.Set("gorm:table_options", options)
	}
	for _, table := range tables {
		if err := migrate(orm, table); err != nil {
			return err
		}
	}
	for _, index := range s.dialect.indexes {
		if orm.Migrator().HasIndex(&storedEvent{}, index.name) {
			continue
		}
		if _, err := tx.ExecContext(ctx, "CREATE INDEX "+index.name+" ON "+index.on); err != nil {
			return err
		}
	}
	return nil
}

// service is the session.Service of this package.
type service struct {
	orm     *gorm.DB
	pool    *sql.DB
	dialect *dialect
	queries *queries
	writers gates
	locks   compactionLocks
}

// AppendsConditionally is there for session.ConditionalService.
func (*service) AppendsConditionally() {}

// Close closes the database.
func (s *service) Close() error {
	err := s.pool.Close()
	s.locks.close()
	return err
}

// write runs do in a transaction that no other write to the same session
// overlaps. Goroutines queue up in order before they take a connection: left to
// the database some of them would poll, and a session that many write to would
// hold all connections. do may run more than once.
func (s *service) write(ctx context.Context, name string, do func(transaction) error) error {
	if !s.dialect.server {
		name = "" // there is one lock, of the whole database
	}
	leave, err := s.writers.enter(ctx, name)
	if err != nil {
		return err
	}
	defer leave()
	return s.transact(ctx, true, do)
}

// read runs do in a transaction in which nothing changes. do may run more than
// once.
func (s *service) read(ctx context.Context, do func(transaction) error) error {
	return s.transact(ctx, false, do)
}

// tries is how often a transaction is tried that the database undid because of
// another one, of which in each round one gets through, or that never began
// because its connection had been cut while it was idle.
const tries = connections + 1

func (s *service) transact(ctx context.Context, write bool, do func(transaction) error) error {
	for try := 1; ; try++ {
		err := s.attempt(ctx, write, do)
		if err == nil || try == tries || ctx.Err() != nil || !s.dialect.server {
			return err
		}
		if cut := new(notBegun); !errors.As(err, cut) && !s.dialect.again(err) {
			return err
		}
	}
}

// notBegun is the error of a transaction that has not done anything.
type notBegun struct{ error }

func (e notBegun) Unwrap() error { return e.error }

func (s *service) attempt(ctx context.Context, write bool, do func(transaction) error) (err error) {
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := s.dialect.begin(ctx, conn, write)
	if err != nil {
		s.discard(conn)
		return notBegun{err}
	}
	committed := false
	defer func() {
		if committed {
			return
		}
		// An error here says only that the database has rolled back itself, or
		// will when it finds that the connection is gone.
		if tx.Rollback() != nil {
			s.discard(conn)
		}
	}()
	if err := do(tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	return nil
}

// discard takes a connection to a server, whose state is unknown, out of the
// pool.
func (s *service) discard(conn *sql.Conn) {
	if s.dialect.server {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// ormOn is GORM on the connection of a transaction.
func (s *service) ormOn(ctx context.Context, tx transaction) *gorm.DB {
	orm := s.orm.Session(&gorm.Session{Context: ctx, Logger: logger.Discard})
	orm.Statement.ConnPool = tx
	return orm
}

// explain adds to err that AutoMigrate was not called, if that is the reason.
func (s *service) explain(ctx context.Context, err error) error {
	for _, known := range []error{session.ErrNotFound, session.ErrExists, session.ErrSuperseded, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return err
		}
	}
	migrator := s.orm.Session(&gorm.Session{Context: ctx, Logger: logger.Discard}).Migrator()
	there, listErr := migrator.GetTables()
	if listErr != nil {
		return err // which is worse than a missing table
	}
	for _, table := range tables {
		if !slices.Contains(there, table.TableName()) {
			return fmt.Errorf("the database has no table %s, AutoMigrate creates it: %w", table.TableName(), err)
		}
	}
	for _, column := range columnsOfV2 {
		if !migrator.HasColumn(&storedEvent{}, column) {
			return fmt.Errorf("the database is of adk-go v1 (events has no column %s), AutoMigrate upgrades it: %w", column, err)
		}
	}
	return err
}
