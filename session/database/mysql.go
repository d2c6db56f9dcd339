package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

var mysqlDialect = &dialect{
	server:    true,
	open:      openMySQL,
	begin:     beginMySQL,
	again:     againInMySQL,
	forUpdate: " FOR UPDATE",
	ifMissing: " ON DUPLICATE KEY UPDATE app_name = app_name",
	// As text, in both directions: what a driver makes of a time depends on the
	// options of its connection.
	readTime: func(column string) string { return "DATE_FORMAT(" + column + ", '%Y-%m-%d %H:%i:%s.%f+00:00')" },
	bindTime: func(t time.Time) any { return roundUp(t).UTC().Format("2006-01-02 15:04:05.999999") },
	sortTime: func(column string) string {
		return "COALESCE(DATE_FORMAT(" + column + ", '%Y-%m-%d %H:%i:%s.%f'), '0001-01-01 00:00:00.000000')"
	},
	bytewise:     func(column string) string { return "CAST(" + column + " AS BINARY)" },
	isCompaction: `LOCATE('ompaction":{', actions) > 0`,
	// There is no trace of the order. The index is in that of the IDs, but the
	// server would sort again if it were asked for it.
	storedOrder:  "",
	texts:        &texts{},
	indexes:      []index{bySessionAndTime},
	alone:        aloneInMySQL,
	tableOptions: mysqlTableOptions,
	tryLock:      "SELECT GET_LOCK(" + mysqlLock + ", 0)",
	unlock:       "SELECT RELEASE_LOCK(" + mysqlLock + ")",
}

// mysqlLock is the name of a lock, of which a server has one set for all
// databases. It may have 64 characters.
const mysqlLock = "SHA2(CONCAT(COALESCE(DATABASE(), ''), ' ', ?), 256)"

// openMySQL refuses a server that would store what is too long for a column as
// much of it as fits.
func openMySQL(pool *sql.DB) error {
	var mode string
	if err := pool.QueryRow("SELECT @@SESSION.sql_mode").Scan(&mode); err != nil {
		return err
	}
	if !strings.Contains(mode, "STRICT_") && !strings.Contains(mode, "TRADITIONAL") {
		return fmt.Errorf("sql_mode is %q: without STRICT_TRANS_TABLES the server cuts off what it cannot store", mode)
	}
	return openServer(pool)
}

// beginMySQL is beginPostgres. That a statement sees what was committed before
// it also keeps the server from locking the gaps between rows, over which
// writers of different sessions would meet.
func beginMySQL(ctx context.Context, conn *sql.Conn, write bool) (transaction, error) {
	if write {
		return begin(ctx, conn, commitPatience, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION")
	}
	return begin(ctx, conn, commitPatience, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION READ ONLY")
}

// mysqlNumber finds the number in the text of the driver's error, whose type
// cannot be named without importing it.
var mysqlNumber = regexp.MustCompile(`^Error (\d+)\b`)

// againInMySQL knows ER_LOCK_DEADLOCK and ER_CHECKREAD.
func againInMySQL(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if found := mysqlNumber.FindStringSubmatch(err.Error()); found != nil {
			return found[1] == "1213" || found[1] == "1020"
		}
	}
	return false
}

// aloneInMySQL holds a lock of the connection: the statements that create
// tables end transactions.
func aloneInMySQL(ctx context.Context, tx transaction, do func() error) (err error) {
	const seconds = 60
	var locked sql.NullBool
	if err := tx.QueryRowContext(ctx, "SELECT GET_LOCK('recap migration', ?)", seconds).Scan(&locked); err != nil {
		return err
	}
	if !locked.Bool {
		return fmt.Errorf("another process has been migrating for %d seconds", seconds)
	}
	defer func() {
		if _, unlockErr := tx.ExecContext(ctx, "DO RELEASE_LOCK('recap migration')"); err == nil {
			err = unlockErr
		}
	}()
	return do()
}

// mysqlTableOptions chooses a collation by which names differ in every byte. By
// the usual ones the user "ada" would get the sessions of "Ada" and "ada ".
func mysqlTableOptions(ctx context.Context, tx transaction) (string, error) {
	var collation string
	err := tx.QueryRowContext(ctx, "SELECT COLLATION_NAME FROM information_schema.COLLATIONS"+
		" WHERE COLLATION_NAME IN ('utf8mb4_0900_bin', 'utf8mb4_nopad_bin', 'utf8mb4_bin') ORDER BY LENGTH(COLLATION_NAME) DESC LIMIT 1").Scan(&collation)
	if err != nil {
		return "", err
	}
	return "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=" + collation, nil
}
