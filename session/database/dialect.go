package database

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// dialect is what databases do differently.
type dialect struct {
	// open prepares the pool.
	open func(*sql.DB) error
	// begin starts a transaction on a connection: one that sees one state of
	// the database or, with write, one that no other write overlaps.
	begin func(ctx context.Context, conn *sql.Conn, write bool) (transaction, error)
	// readTime is the expression that selects the time in a column in a form
	// that parseTime reads. bindTime is its inverse.
	readTime func(column string) string
	bindTime func(time.Time) any
	// storedOrder is the expression that sorts events of equal time in the
	// order in which they were stored.
	storedOrder string
	// strayTime is the condition for events whose timestamp does not compare
	// as its time does; empty if there is no such thing.
	strayTime string
	// indexes are the statements that create the indexes that are missing.
	indexes []string
}

// transaction is a connection in a transaction.
type transaction interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	Commit() error
	Rollback() error
}

func dialectOf(name string) (*dialect, error) {
	switch name {
	case "sqlite", "sqlite3":
		return sqliteDialect, nil
	}
	return nil, fmt.Errorf("session/database: databases of kind %q are not supported; sqlite is", name)
}

var sqliteDialect = &dialect{
	open:  openSQLite,
	begin: beginSQLite,
	// As a blob it comes as it is; some drivers make guesses about text.
	readTime:    func(column string) string { return "CAST(" + column + " AS blob)" },
	bindTime:    func(t time.Time) any { return t.UTC().Format(sqliteTime) },
	storedOrder: "rowid",
	strayTime:   strayInSQLite,
	indexes: []string{
		"CREATE INDEX IF NOT EXISTS idx_events_session_time ON events (app_name, user_id, session_id, timestamp)",
		// Empty as long as all times are UTC, so it costs nothing to keep and
		// tells at once that there is nothing to put in order.
		"CREATE INDEX IF NOT EXISTS idx_events_stray_time ON events (app_name, user_id, session_id, timestamp) WHERE " + strayInSQLite,
	},
}

// strayInSQLite must be in a query word for word as it is in the index.
const strayInSQLite = "substr(timestamp, -6) <> '+00:00'"

// sqliteTime is the text that adk-go's drivers write for a time. It is bound as
// text because what a driver makes of a time.Time depends on the options of
// its connection. In one zone such texts compare as the times do: where one
// has a shorter fraction, the sign of its zone is less than a digit, and less
// than a point.
const sqliteTime = "2006-01-02 15:04:05.999999999-07:00"

// openSQLite limits the pool of a database in memory to one connection: a
// second one would have a database of its own or, with a shared cache, fail
// where it should wait.
func openSQLite(pool *sql.DB) error {
	var file sql.NullString
	if err := pool.QueryRow("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file); err != nil {
		return err
	}
	if file.String == "" {
		pool.SetMaxOpenConns(1)
		pool.SetMaxIdleConns(1)
		pool.SetConnMaxLifetime(0)
		pool.SetConnMaxIdleTime(0)
	}
	return nil
}

// sqliteBusy is how long, in milliseconds, a connection waits for the locks of
// other processes.
const sqliteBusy = "60000"

// beginSQLite takes the write lock at the start: a transaction that first reads
// and then wants to write would fail, not wait, if another one wrote meanwhile.
// The settings are made each time because connections come and go in the pool.
func beginSQLite(ctx context.Context, conn *sql.Conn, write bool) (transaction, error) {
	begin := "PRAGMA busy_timeout = " + sqliteBusy + "; BEGIN"
	if write {
		begin = "PRAGMA busy_timeout = " + sqliteBusy + "; PRAGMA foreign_keys = ON; BEGIN IMMEDIATE"
	}
	tx := sqliteTx{conn}
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		// With an unlucky cancellation it has begun all the same.
		_ = tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// sqliteTx is a transaction of database/sql, which has no way to begin one that
// is immediate. Its end is not subject to cancellation, so it is never unknown.
type sqliteTx struct{ *sql.Conn }

func (tx sqliteTx) Commit() error   { return tx.end("COMMIT") }
func (tx sqliteTx) Rollback() error { return tx.end("ROLLBACK") }

func (tx sqliteTx) end(statement string) error {
	_, err := tx.ExecContext(context.Background(), statement)
	return err
}

// timeForms are the texts in which drivers have stored times in SQLite.
var timeForms = []string{
	sqliteTime,
	"2006-01-02T15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999 -0700 MST",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04:05.999999999",
}

// parseTime reads what readTime selects. A time without a zone is UTC.
func parseTime(text []byte) (time.Time, error) {
	if t, ok := parseUTC(text); ok {
		return t, nil
	}
	for _, form := range timeForms {
		if t, err := time.Parse(form, string(text)); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", text)
}

// parseUTC reads the form that this package writes, which is nearly always
// what there is.
func parseUTC(text []byte) (time.Time, bool) {
	const seconds, zone = len("2006-01-02 15:04:05"), "+00:00"
	if len(text) < seconds+len(zone) || string(text[len(text)-len(zone):]) != zone || text[10] != ' ' {
		return time.Time{}, false
	}
	t, err := time.Parse("2006-01-02 15:04:05.999999999", string(text[:len(text)-len(zone)]))
	return t, err == nil
}
