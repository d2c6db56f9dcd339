package database

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

var postgresDialect = &dialect{
	server:    true,
	open:      openServer,
	begin:     beginPostgres,
	again:     againInPostgres,
	forUpdate: " FOR UPDATE",
	ifMissing: " ON CONFLICT DO NOTHING",
	// As text: what a driver makes of a time depends on the options of its
	// connection.
	readTime: func(column string) string {
		return "to_char(" + column + ` AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US"+00:00"')`
	},
	bindTime: func(t time.Time) any { return roundUp(t).UTC() },
	sortTime: func(column string) string {
		return "coalesce(to_char(" + column + ` AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), '0001-01-01 00:00:00.000000') COLLATE "C"`
	},
	bytewise:     func(column string) string { return column + ` COLLATE "C"` },
	isCompaction: `position(convert_to('ompaction":{', 'UTF8') in actions) > 0`,
	// The place of a row in the table. Rows are only ever added.
	storedOrder:    "ctid",
	unindexedOrder: true,
	texts:          &texts{nul: true, json: true},
	indexes:        []index{bySessionAndTime},
	alone:          aloneInPostgres,
	tryLock:        "SELECT pg_try_advisory_lock(" + postgresLock + ")",
	unlock:         "SELECT pg_advisory_unlock(" + postgresLock + ")",
}

// postgresLock is the number of a lock: a database's locks are shared by its
// schemas.
const postgresLock = "hashtextextended(coalesce(current_schema(), '') || ' ' || CAST(? AS text), 0)"

// connections is the size of a pool to a server unless the caller has limited
// it: unlimited, many goroutines would have more than servers allow.
const connections = 20

func openServer(pool *sql.DB) error {
	if pool.Stats().MaxOpenConnections == 0 {
		pool.SetMaxOpenConns(connections)
		pool.SetMaxIdleConns(connections)
	}
	return nil
}

// commitPatience is how long a server may take to commit before the connection
// counts as lost.
const commitPatience = 30 * time.Second

// beginPostgres begins a transaction that sees one state or, with write, in
// which a statement that waited for a lock sees what was committed meanwhile.
func beginPostgres(ctx context.Context, conn *sql.Conn, write bool) (transaction, error) {
	if write {
		return begin(ctx, conn, commitPatience, "BEGIN ISOLATION LEVEL READ COMMITTED")
	}
	return begin(ctx, conn, commitPatience, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
}

// againInPostgres knows serialization_failure and deadlock_detected.
func againInPostgres(err error) bool {
	var state interface{ SQLState() string }
	return errors.As(err, &state) && (state.SQLState() == "40001" || state.SQLState() == "40P01")
}

// aloneInPostgres holds a lock until the end of the transaction: of two
// statements that create one table at once, one would fail.
func aloneInPostgres(ctx context.Context, tx transaction, do func() error) error {
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtext('recap migration'))"); err != nil {
		return err
	}
	return do()
}

// roundUp returns the time to which a column at microseconds compares as it does
// to t.
func roundUp(t time.Time) time.Time {
	if whole := t.Truncate(time.Microsecond); !whole.Equal(t) {
		return whole.Add(time.Microsecond)
	}
	return t
}
