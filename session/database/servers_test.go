package database_test

import (
	"database/sql"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/libtnb/sqlite"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
)

// Where the servers are that the tests may use. Each test makes a database, or a
// schema, of its own there.
const (
	postgresEnv = "RECAP_POSTGRES_DSN"
	mysqlEnv    = "RECAP_MYSQL_DSN"
)

// kind is a kind of database, as tests use it.
type kind struct {
	name   string
	driver string // of database/sql
	// create makes an empty database that goes away with the test, and returns
	// its DSN.
	create    func(testing.TB) string
	dialector func(dsn string) gorm.Dialector
}

var (
	sqliteKind = kind{"sqlite", sqlite.DriverName, func(tb testing.TB) string { return newFile(tb) + "?_pragma=journal_mode(WAL)" }, sqlite.Open}
	pgKind     = kind{"postgres", "pgx", createPostgres, postgres.Open}
	mysqlKind  = kind{"mysql", "mysql", createMySQL, gormmysql.Open}

	kinds   = []kind{sqliteKind, pgKind, mysqlKind}
	servers = []kind{pgKind, mysqlKind}
)

// onEach runs a test on each kind of database.
func onEach(t *testing.T, kinds []kind, test func(*testing.T, kind)) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { test(t, k) })
	}
}

func createPostgres(tb testing.TB) string {
	tb.Helper()
	dsn := serverDSN(tb, postgresEnv)
	name := newName()
	admin(tb, "pgx", dsn, `CREATE SCHEMA `+name, `DROP SCHEMA `+name+` CASCADE`)
	return postgresWith(dsn, "search_path", name)
}

func createMySQL(tb testing.TB) string {
	tb.Helper()
	dsn := serverDSN(tb, mysqlEnv)
	name := newName()
	admin(tb, "mysql", dsn, `CREATE DATABASE `+name, `DROP DATABASE `+name)
	return mysqlWith(tb, dsn, func(cfg *mysql.Config) { cfg.DBName = name })
}

func serverDSN(tb testing.TB, env string) string {
	tb.Helper()
	dsn := os.Getenv(env)
	if dsn == "" {
		tb.Skipf("%s is not set. To run this with servers of its own: .ci/databases go test ./session/database", env)
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

// postgresWith adds a setting to a DSN, in either of its forms.
func postgresWith(dsn, name, value string) string {
	switch {
	case !strings.Contains(dsn, "://"):
		return dsn + " " + name + "=" + value
	case strings.Contains(dsn, "?"):
		return dsn + "&" + name + "=" + value
	}
	return dsn + "?" + name + "=" + value
}

func mysqlWith(tb testing.TB, dsn string, change func(*mysql.Config)) string {
	tb.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	change(cfg)
	return cfg.FormatDSN()
}

// open opens a database of this kind and migrates it.
func (k kind) open(tb testing.TB, dsn string) session.Service {
	tb.Helper()
	service := k.openAsIs(tb, dsn)
	if err := database.AutoMigrate(service); err != nil {
		tb.Fatal(err)
	}
	return service
}

func (k kind) openAsIs(tb testing.TB, dsn string) session.Service {
	tb.Helper()
	service, err := database.NewSessionService(k.dialector(dsn))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := service.(io.Closer).Close(); err != nil {
			tb.Error(err)
		}
	})
	return service
}

// raw opens a database beside the service.
func (k kind) raw(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(k.driver, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}
