package database_test

import (
	"database/sql"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/libtnb/sqlite"
	"gorm.io/gorm"

	"github.com/recap-adk/recap/internal/testdb"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
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
	pgKind     = kindOf(testdb.Postgres)
	mysqlKind  = kindOf(testdb.MySQL)

	kinds   = []kind{sqliteKind, pgKind, mysqlKind}
	servers = []kind{pgKind, mysqlKind}
)

// onEach runs a test on each kind of database.
func onEach(t *testing.T, kinds []kind, test func(*testing.T, kind)) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { test(t, k) })
	}
}

func kindOf(k testdb.Kind) kind { return kind{k.Name, k.Driver, k.Create, k.Dialector} }

var postgresWith, mysqlWith = testdb.PostgresWith, testdb.MySQLWith

func newName() string { return "recap_" + strings.ReplaceAll(uuid.NewString(), "-", "") }

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
