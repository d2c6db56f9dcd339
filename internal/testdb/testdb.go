// Package testdb gives tests databases of every kind that package
// session/database supports, each empty and gone with its test:
//
//	service := testdb.Open(t, testdb.Postgres)
//
// SQLite is always there. A server is used where its environment variable
// names one, and a test that needs another is skipped; .ci/databases starts
// both for a command.
package testdb

import (
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // to create schemas
	"github.com/libtnb/sqlite"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
)

// Where the servers are that tests may use.
const (
	PostgresEnv = "RECAP_POSTGRES_DSN"
	MySQLEnv    = "RECAP_MYSQL_DSN"
)

// Kind is a kind of database.
type Kind struct {
	// Name is that of the dialect.
	Name string
	// Driver is that of database/sql.
	Driver string
	// Create makes an empty database that goes away with the test, and returns
	// its DSN. It skips the test where there is no server.
	Create func(testing.TB) string
	// Dialector opens a DSN.
	Dialector func(dsn string) gorm.Dialector
}

// The kinds.
var (
	SQLite   = Kind{"sqlite", sqlite.DriverName, createSQLite, sqlite.Open}
	Postgres = Kind{"postgres", "pgx", createPostgres, postgres.Open}
	MySQL    = Kind{"mysql", "mysql", createMySQL, gormmysql.Open}

	Kinds = []Kind{SQLite, Postgres, MySQL}
)

// Open opens a new database of a kind.
func Open(tb testing.TB, k Kind) session.Service {
	tb.Helper()
	return OpenDSN(tb, k, k.Create(tb))
}

// Analyze has a server look at its tables, as it does by itself from time to
// time: where it knows nothing of them it may plan badly.
func Analyze(tb testing.TB, k Kind, dsn string) {
	tb.Helper()
	statement := map[string]string{"sqlite": "ANALYZE", "postgres": "VACUUM ANALYZE", "mysql": "ANALYZE TABLE sessions, events"}[k.Name]
	db, err := sql.Open(k.Driver, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		tb.Fatal(err)
	}
}

// OpenDSN opens the database that Create made.
func OpenDSN(tb testing.TB, k Kind, dsn string) session.Service {
	tb.Helper()
	service, err := database.NewSessionService(k.Dialector(dsn))
	if err != nil {
		tb.Fatal(err)
	}
	if err := database.AutoMigrate(service); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := service.(io.Closer).Close(); err != nil {
			tb.Error(err)
		}
	})
	return service
}

func createSQLite(tb testing.TB) string {
	return filepath.Join(tb.TempDir(), "sessions.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
}

func createPostgres(tb testing.TB) string {
	tb.Helper()
	dsn := serverDSN(tb, PostgresEnv)
	name := newName()
	admin(tb, "pgx", dsn, `CREATE SCHEMA `+name, `DROP SCHEMA `+name+` CASCADE`)
	return PostgresWith(dsn, "search_path", name)
}

func createMySQL(tb testing.TB) string {
	tb.Helper()
	dsn := serverDSN(tb, MySQLEnv)
	name := newName()
	admin(tb, "mysql", dsn, `CREATE DATABASE `+name, `DROP DATABASE `+name)
	return MySQLWith(tb, dsn, func(cfg *mysql.Config) { cfg.DBName = name })
}

func serverDSN(tb testing.TB, env string) string {
	tb.Helper()
	dsn := os.Getenv(env)
	if dsn == "" {
		tb.Skipf("%s is not set. To run this with servers of its own: .ci/databases go test", env)
	}
	return dsn
}

func newName() string { return "recap_" + strings.ReplaceAll(uuid.NewString(), "-", "") }

// admin runs a statement now and another one at the end of the test.
func admin(tb testing.TB, driver, dsn, now, atTheEnd string) {
	tb.Helper()
	run := func(statement string) {
		db, err := sql.Open(driver, dsn)
		if err != nil {
			tb.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(statement); err != nil {
			tb.Fatal(err)
		}
	}
	run(now)
	tb.Cleanup(func() { run(atTheEnd) })
}

// PostgresWith adds a setting to a DSN, in either of its forms.
func PostgresWith(dsn, name, value string) string {
	switch {
	case !strings.Contains(dsn, "://"):
		if strings.ContainsAny(value, " ,") { // else not quoted: GORM takes a quote for a part of a zone
			value = "'" + value + "'"
		}
		return dsn + " " + name + "=" + value
	case strings.Contains(dsn, "?"):
		return dsn + "&" + name + "=" + value
	}
	return dsn + "?" + name + "=" + value
}

// MySQLWith changes a DSN.
func MySQLWith(tb testing.TB, dsn string, change func(*mysql.Config)) string {
	tb.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	change(cfg)
	return cfg.FormatDSN()
}
