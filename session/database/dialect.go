package database

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// dialect is what databases do differently.
type dialect struct {
	// server says that the database is reached over connections that may be
	// lost, and that it locks rows, so that writes to different sessions overlap.
	server bool
	// open prepares the pool.
	open func(*sql.DB) error
	// begin starts a transaction on a connection: one that sees one state of
	// the database or, with write, one in which each statement sees what was
	// committed before. Without server no other write overlaps it.
	begin func(ctx context.Context, conn *sql.Conn, write bool) (transaction, error)
	// again reports whether the database undid a transaction because of what
	// others did meanwhile, so that it is worth another try.
	again func(error) bool
	// forUpdate is what a SELECT ends in to lock the rows that it finds.
	forUpdate string
	// ifMissing is what an INSERT ends in to do nothing where the key exists.
	ifMissing string
	// readTime is the expression that selects the time in a column in a form
	// that parseTime reads. bindTime is its inverse; what the column cannot hold
	// is rounded up, so that a comparison with >= stays right.
	readTime func(column string) string
	bindTime func(time.Time) any
	// sortTime is the expression for the time in a column as text of the form
	// sortedTime. bytewise is that for a text that compares as Go's do.
	sortTime func(column string) string
	bytewise func(column string) string
	// isCompaction is the condition for events whose actions may hold a
	// compaction record. Those that do not know of it meet it rarely.
	isCompaction string
	// storedOrder is the expression that sorts events of equal time in the
	// order in which they were stored; empty if there is no trace of it.
	// unindexedOrder says that no index has it, so that the newest events must be
	// found before they are sorted by it, not by sorting all. There may be more of
	// them than were asked for, if the time of the last is that of others.
	storedOrder    string
	unindexedOrder bool
	// strayTime is the condition for events whose timestamp does not compare
	// as its time does; empty if there is no such thing.
	strayTime string
	// texts are for what a column of text or JSON cannot hold; nil if it holds
	// everything.
	texts *texts
	// indexes are those that AutoMigrate creates.
	indexes []index
	// alone runs do while no other process is in alone.
	alone func(ctx context.Context, tx transaction, do func() error) error
	// tableOptions is what a CREATE TABLE ends in; nil if that is nothing.
	tableOptions func(ctx context.Context, tx transaction) (string, error)
	// tryLock and unlock select whether the connection got, and gave back, the
	// lock of a name. Empty if there are no such locks.
	tryLock, unlock string
}

// index is an index on events.
type index struct{ name, on string }

// bySessionAndTime is the index that finds the events of a session in order.
var bySessionAndTime = index{"idx_events_session_time", "events (app_name, user_id, session_id, timestamp)"}

// sortedTime is the form of the texts of sortTime. All are of one length.
const sortedTime = "2006-01-02 15:04:05.000000"

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
	case "postgres":
		return postgresDialect, nil
	case "mysql":
		return mysqlDialect, nil
	}
	return nil, fmt.Errorf("session/database: databases of kind %q are not supported; sqlite, postgres and mysql are", name)
}

var sqliteDialect = &dialect{
	open:  openSQLite,
	begin: beginSQLite,
	// As a blob it comes as it is; some drivers make guesses about text.
	readTime: func(column string) string { return "CAST(" + column + " AS blob)" },
	bindTime: func(t time.Time) any { return t.UTC().Format(sqliteTime) },
	sortTime: sortTimeInSQLite,
	bytewise: func(column string) string { return column },
	// In a blob, LIKE never matches.
	isCompaction: `instr(actions, CAST('ompaction":{' AS blob)) > 0`,
	storedOrder:  "rowid",
	strayTime:    strayInSQLite,
	ifMissing:    " ON CONFLICT DO NOTHING",
	indexes: []index{
		bySessionAndTime,
		// Empty as long as all times are UTC, so it costs nothing to keep and
		// tells at once that there is nothing to put in order.
		{"idx_events_stray_time", "events (app_name, user_id, session_id, timestamp) WHERE " + strayInSQLite},
	},
	alone: func(_ context.Context, _ transaction, do func() error) error { return do() },
}

// strayInSQLite must be in a query word for word as it is in the index.
const strayInSQLite = "substr(timestamp, -6) <> '+00:00'"

// sqliteTime is the text that adk-go's drivers write for a time. It is bound as
// text because what a driver makes of a time.Time depends on the options of
// its connection. In one zone such texts compare as the times do: where one
// has a shorter fraction, the sign of its zone is less than a digit, and less
// than a point.
const sqliteTime = "2006-01-02 15:04:05.999999999-07:00"

// sortTimeInSQLite turns a time of any zone into UTC, and fills its fraction up.
func sortTimeInSQLite(column string) string {
	seconds := "strftime('%Y-%m-%d %H:%M:%S', " + column + ")"
	fraction := "ltrim(substr(" + column + ", 20, length(" + column + ") - 25), '.')"
	return "coalesce(substr(" + seconds + " || '.' || " + fraction + " || '000000', 1, 26), '0001-01-01 00:00:00.000000')"
}

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
	begins := "PRAGMA busy_timeout = " + sqliteBusy + "; BEGIN"
	if write {
		begins = "PRAGMA busy_timeout = " + sqliteBusy + "; PRAGMA foreign_keys = ON; BEGIN IMMEDIATE"
	}
	return begin(ctx, conn, 0, begins)
}

// begin starts a transaction with statements. Its end may take patience, or
// with 0 as long as it wants.
func begin(ctx context.Context, conn *sql.Conn, patience time.Duration, statements ...string) (transaction, error) {
	tx := manualTx{conn, patience}
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			// With an unlucky cancellation it has begun all the same.
			_ = tx.Rollback()
			return nil, err
		}
	}
	return tx, nil
}

// manualTx is a transaction whose end is not subject to cancellation, so that it
// is not unknown. That of database/sql is, and has no way to begin one that is
// immediate.
type manualTx struct {
	*sql.Conn
	patience time.Duration
}

func (tx manualTx) Commit() error   { return tx.end("COMMIT") }
func (tx manualTx) Rollback() error { return tx.end("ROLLBACK") }

func (tx manualTx) end(statement string) error {
	ctx := context.Background()
	if tx.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, tx.patience)
		defer cancel()
	}
	_, err := tx.ExecContext(ctx, statement)
	return err
}

// timeForms are the texts in which drivers return times, or have stored them in
// SQLite.
var timeForms = []string{
	time.RFC3339Nano,
	sqliteTime,
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
