package adkpython

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// schema is a form of adk-python's tables. The tables and columns are the same;
// the forms differ in how they write times.
type schema struct {
	name string
	// write is a time as a column holds it. selected is the expression that
	// selects one as text, and read reads that.
	write    func(time.Time) any
	selected string
	read     func(string) (time.Time, error)
}

// v1 is that of adk-python's DatabaseSessionService.
var v1 = &schema{
	name:  "DatabaseSessionService v1",
	write: func(t time.Time) any { return t.UTC().Format(naiveUTC) },
	// As a blob it comes as it is; some drivers make guesses about text.
	selected: "CAST(%s AS blob)",
	read: func(text string) (time.Time, error) {
		return time.Parse("2006-01-02 15:04:05.999999", text)
	},
}

// naiveUTC is how SQLAlchemy writes a time in SQLite.
const naiveUTC = "2006-01-02 15:04:05.000000"

// file is that of adk-python's SqliteSessionService.
var file = &schema{
	name:  "SqliteSessionService",
	write: func(t time.Time) any { return float64(t.UnixMicro()) / 1e6 },
	// As text a float would lose its microseconds.
	selected: "CAST(round(%s * 1000000) AS INTEGER)",
	read: func(text string) (time.Time, error) {
		micros, err := strconv.ParseInt(text, 10, 64)
		return time.UnixMicro(micros).UTC(), err
	},
}

// ErrPickled says that a database is of the oldest schema, in which actions are
// pickled Python objects.
var ErrPickled = errors.New("the database has the pickled v0 schema of adk-python; migrate it first: " +
	"adk migrate session --source_db_url=sqlite:///old.db --dest_db_url=sqlite:///new.db")

// schemaOf finds out what schema a database has. It returns nil if it has none.
func schemaOf(ctx context.Context, db querier) (*schema, error) {
	columns := map[string]bool{}
	rows, err := db.QueryContext(ctx, "SELECT name FROM pragma_table_info('events')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		columns[name] = true
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if columns["actions"] && columns["isolation_scope"] {
		return nil, errors.New("the database is one of adk-go's; package session/database is for those")
	}
	switch {
	case len(columns) == 0:
		return nil, nil
	case columns["actions"]:
		return nil, ErrPickled
	case !columns["event_data"]:
		return nil, errors.New("the table events is not one of adk-python's: it has no column event_data")
	}
	var version string
	err = db.QueryRowContext(ctx, "SELECT value FROM adk_internal_metadata WHERE key = 'schema_version'").Scan(&version)
	switch {
	case err == nil && version == "1":
		return v1, nil
	case err == nil:
		return nil, fmt.Errorf("the database has version %s of adk-python's schema; this package knows version 1", strconv.Quote(version))
	}
	// There is no such table in the file of the SqliteSessionService.
	return file, nil
}

// createV1 makes the tables as adk-python does.
const createV1 = `
CREATE TABLE IF NOT EXISTS adk_internal_metadata ("key" VARCHAR(128) NOT NULL, value VARCHAR(256) NOT NULL, PRIMARY KEY ("key"));
INSERT OR IGNORE INTO adk_internal_metadata ("key", value) VALUES ('schema_version', '1');
CREATE TABLE IF NOT EXISTS sessions (app_name VARCHAR(128) NOT NULL, user_id VARCHAR(128) NOT NULL, id VARCHAR(128) NOT NULL,
	state TEXT NOT NULL, create_time DATETIME NOT NULL, update_time DATETIME NOT NULL, PRIMARY KEY (app_name, user_id, id));
CREATE TABLE IF NOT EXISTS app_states (app_name VARCHAR(128) NOT NULL, state TEXT NOT NULL, update_time DATETIME NOT NULL,
	PRIMARY KEY (app_name));
CREATE TABLE IF NOT EXISTS user_states (app_name VARCHAR(128) NOT NULL, user_id VARCHAR(128) NOT NULL, state TEXT NOT NULL,
	update_time DATETIME NOT NULL, PRIMARY KEY (app_name, user_id));
CREATE TABLE IF NOT EXISTS events (id VARCHAR(128) NOT NULL, app_name VARCHAR(128) NOT NULL, user_id VARCHAR(128) NOT NULL,
	session_id VARCHAR(128) NOT NULL, invocation_id VARCHAR(256) NOT NULL, timestamp DATETIME NOT NULL, event_data TEXT,
	PRIMARY KEY (id, app_name, user_id, session_id),
	FOREIGN KEY(app_name, user_id, session_id) REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS idx_events_app_user_session_ts_id ON events (app_name, user_id, session_id, timestamp DESC, id DESC);`

// querier is a connection, in a transaction or not.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}
