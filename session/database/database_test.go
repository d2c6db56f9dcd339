package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/go-sql-driver/mysql"
	"github.com/libtnb/sqlite"
	"google.golang.org/genai"
	"gorm.io/gorm"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
	"github.com/recap-adk/recap/session/sessiontest"
)

// open opens a SQLite database and migrates it.
func open(tb testing.TB, dsn string) session.Service { return sqliteKind.open(tb, dsn) }

func openAsIs(tb testing.TB, dsn string) session.Service { return sqliteKind.openAsIs(tb, dsn) }

func newFile(tb testing.TB) string { return filepath.Join(tb.TempDir(), "sessions.db") }

// raw opens a database beside the service.
func raw(tb testing.TB, file string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", file+"?_busy_timeout=10000")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

func execute(tb testing.TB, db *sql.DB, query string, args ...any) {
	tb.Helper()
	result, err := db.Exec(query, args...)
	if err != nil {
		tb.Fatal(err)
	}
	if n, _ := result.RowsAffected(); n == 0 && !strings.HasPrefix(query, "CREATE") {
		tb.Fatalf("%s changed nothing", query)
	}
}

var trip = &session.GetRequest{AppName: "travel", UserID: "ada", SessionID: "trip-1"}

func create(tb testing.TB, service session.Service) session.Session {
	tb.Helper()
	created, err := service.Create(tb.Context(), &session.CreateRequest{AppName: trip.AppName, UserID: trip.UserID, SessionID: trip.SessionID})
	if err != nil {
		tb.Fatal(err)
	}
	return created.Session
}

func get(tb testing.TB, service session.Service, req *session.GetRequest) session.Session {
	tb.Helper()
	got, err := service.Get(tb.Context(), req)
	if err != nil {
		tb.Fatal(err)
	}
	return got.Session
}

func say(id string, at time.Time, text string) *session.Event {
	event := &session.Event{ID: id, Timestamp: at, InvocationID: "inv-1", Author: "user"}
	event.Content = genai.NewContentFromText(text, genai.RoleUser)
	return event
}

func add(tb testing.TB, service session.Service, handle session.Session, events ...*session.Event) {
	tb.Helper()
	for _, event := range events {
		if err := service.AppendEvent(tb.Context(), handle, event); err != nil {
			tb.Fatal(err)
		}
	}
}

func ids(s session.Session) string {
	var list []string
	for event := range s.Events().All() {
		list = append(list, event.ID)
	}
	return strings.Join(list, " ")
}

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func TestService(t *testing.T) {
	for _, c := range []struct {
		name string
		kind kind
		dsn  func(testing.TB) string
	}{
		{"file", sqliteKind, func(tb testing.TB) string { return newFile(tb) }},
		{"file in WAL mode", sqliteKind, sqliteKind.create},
		{"memory", sqliteKind, func(testing.TB) string { return ":memory:" }},
		{"shared memory", sqliteKind, func(tb testing.TB) string { return "file:" + tb.TempDir() + "?mode=memory&cache=shared" }},
		{"PostgreSQL", pgKind, pgKind.create},
		{"PostgreSQL without prepared statements", pgKind, func(tb testing.TB) string {
			return postgresWith(pgKind.create(tb), "default_query_exec_mode", "simple_protocol")
		}},
		{"MySQL", mysqlKind, mysqlKind.create},
		{"MySQL without prepared statements, in another zone", mysqlKind, func(tb testing.TB) string {
			return mysqlWith(tb, mysqlKind.create(tb), func(cfg *mysql.Config) {
				cfg.InterpolateParams, cfg.ParseTime, cfg.Loc = true, true, zone(tb, "America/New_York")
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.kind.name != "sqlite" {
				c.dsn(t) // skips here, once
			}
			sessiontest.Run(t, func(t *testing.T) session.Service { return c.kind.open(t, c.dsn(t)) })
			sessiontest.RunPartial(t, func(t *testing.T) session.Service { return c.kind.open(t, c.dsn(t)) })
		})
	}
}

func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return location
}

func TestTwoServicesOnSharedMemory(t *testing.T) {
	dsn := "file:" + t.TempDir() + "?mode=memory&cache=shared"
	first, second := open(t, dsn), open(t, dsn)
	create(t, first)
	errs := make(chan error, 2)
	for i, service := range []session.Service{first, second} {
		handle := get(t, service, trip)
		go func() {
			for n := range 50 {
				if err := service.AppendEvent(t.Context(), handle, say(fmt.Sprintf("%d-%d", i, n), at(0), "x")); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := get(t, first, trip).Events().Len(); n != 100 {
		t.Errorf("there are %d events, want 100", n)
	}
}

func TestRestart(t *testing.T) {
	file := newFile(t)
	service := open(t, file)
	add(t, service, create(t, service), say("e0", at(0), "before"))
	if err := service.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	service = open(t, file)
	add(t, service, get(t, service, trip), say("e1", at(0), "after"))
	if got := ids(get(t, service, trip)); got != "e0 e1" {
		t.Errorf("the events are %s", got)
	}
}

// A lock that another connection holds is waited for, and the wait ends when
// the caller gives up.
func TestLocked(t *testing.T) {
	file := newFile(t)
	service := open(t, file+"?_busy_timeout=0")
	handle := create(t, service)
	other, err := raw(t, file).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lock := func(statement string) {
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	result := make(chan error)

	lock("BEGIN EXCLUSIVE")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { result <- service.AppendEvent(ctx, handle, say("cancelled", at(0), "x")) }()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled append returned %v", err)
	}
	go func() { result <- service.AppendEvent(t.Context(), handle, say("waited", at(0), "x")) }()
	lock("COMMIT")
	if err := <-result; err != nil {
		t.Errorf("an append that waited returned %v", err)
	}
	if got := ids(get(t, service, trip)); got != "waited" {
		t.Errorf("the events are %s", got)
	}
}

func TestCascadeWithoutForeignKeys(t *testing.T) {
	file := newFile(t)
	service := open(t, file)
	add(t, service, create(t, service), say("e0", at(0), "x"))
	if err := service.Delete(t.Context(), &session.DeleteRequest{AppName: "travel", UserID: "ada", SessionID: "trip-1"}); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := raw(t, file).QueryRow("SELECT count(*) FROM events").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d events are left (%v)", n, err)
	}
}

func TestUnwritable(t *testing.T) {
	t.Run("no such directory", func(t *testing.T) {
		_, err := database.NewSessionService(sqlite.Open(filepath.Join(t.TempDir(), "no", "such.db")))
		wantError(t, err, "session/database: open: ", "unable to open")
	})
	t.Run("a directory", func(t *testing.T) {
		_, err := database.NewSessionService(sqlite.Open(t.TempDir()))
		wantError(t, err, "session/database: open: ", "unable to open")
	})
	t.Run("not a database", func(t *testing.T) {
		file := newFile(t)
		if err := os.WriteFile(file, []byte(strings.Repeat("This is a text. ", 100)), 0o600); err != nil {
			t.Fatal(err)
		}
		service, err := database.NewSessionService(sqlite.Open(file))
		if err == nil {
			err = database.AutoMigrate(service)
		}
		wantError(t, err, "session/database: ", "not a database")
		if service != nil {
			_, err := service.Get(t.Context(), trip)
			wantError(t, err, "not a database")
			if strings.Contains(err.Error(), "AutoMigrate") {
				t.Errorf("the error is %q, but AutoMigrate would not help", err)
			}
		}
	})
	t.Run("read-only", func(t *testing.T) {
		file := newFile(t)
		service := open(t, file)
		add(t, service, create(t, service), say("e0", at(0), "x"))
		service = openAsIs(t, "file:"+file+"?mode=ro")
		handle := get(t, service, trip)
		wantError(t, service.AppendEvent(t.Context(), handle, say("e1", at(1), "x")), `append: session "trip-1" of user "ada" of app "travel": `, "readonly")
		if err := database.AutoMigrate(service); err != nil {
			t.Errorf("AutoMigrate with nothing to do: %v", err)
		}
		wantError(t, database.AutoMigrate(openAsIs(t, "file:"+adkgo(t, "v1.6")+"?mode=ro")), "AutoMigrate: ", "readonly")
		if got := ids(handle); got != "e0" {
			t.Errorf("the handle's events are %s", got)
		}
	})
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Error("there was no error")
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %q, which does not say %q", err, part)
		}
	}
}

func TestCorruptedColumn(t *testing.T) {
	const where = " WHERE id = 'e1'"
	for _, c := range []struct {
		name, damage string
		want         []string
	}{
		{"content", `UPDATE events SET content = '{"parts":['` + where, []string{`event "e1": column content: `}},
		{"actions", `UPDATE events SET actions = x'7b22'` + where, []string{`event "e1": column actions: `}},
		{"timestamp", `UPDATE events SET timestamp = 'noon'` + where, []string{`event "e1": column timestamp: "noon" is not a time`}},
		{"custom metadata", `UPDATE events SET custom_metadata = '[1]'` + where, []string{`event "e1": column custom_metadata: `}},
		{"fields in metadata", `UPDATE events SET custom_metadata = '{"recap":{"event":{"modelVersion":1}}}'` + where, []string{`event "e1": column custom_metadata: `}},
		{"usage", `UPDATE events SET usage_metadata = 'x'` + where, []string{`event "e1": column usage_metadata: `}},
		{"state of the session", `UPDATE sessions SET state = '{'`, []string{`column sessions.state: `}},
		{"state of the app", `UPDATE app_states SET state = '{'`, []string{`column app_states.state: `}},
		{"state of the user", `UPDATE user_states SET state = '{'`, []string{`column user_states.state: `}},
		{"time of update", `UPDATE sessions SET update_time = '?'`, []string{`column sessions.update_time: "?" is not a time`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := newFile(t)
			service := open(t, file)
			first := say("e0", at(0), "x")
			first.Actions.StateDelta = map[string]any{"app:k": "v", "user:k": "v"}
			add(t, service, create(t, service), first, say("e1", at(1), "x"))
			execute(t, raw(t, file), c.damage)
			_, err := service.Get(t.Context(), trip)
			wantError(t, err, append(c.want, `get: session "trip-1" of user "ada" of app "travel": `)...)
			if strings.Contains(c.name, "state of") {
				_, err := service.List(t.Context(), &session.ListRequest{AppName: "travel"})
				wantError(t, err, c.want...)
				next := say("e2", at(2), "x")
				next.Actions.StateDelta = map[string]any{"app:k": "w", "user:k": "w", "k": "w"}
				if err := service.AppendEvent(t.Context(), handleOf(trip), next); err == nil {
					t.Error("AppendEvent returned no error")
				}
			}
		})
	}
}

// handleOf is a handle on a session that need not be readable.
func handleOf(req *session.GetRequest) session.Session {
	return session.NewSnapshot(session.SnapshotData{AppName: req.AppName, UserID: req.UserID, ID: req.SessionID})
}

func TestUnstorable(t *testing.T) {
	service := open(t, ":memory:")
	handle := create(t, service)
	for name, change := range map[string]func(*session.Event){
		"actions":         func(e *session.Event) { e.Actions.StateDelta = map[string]any{"k": func() {}} },
		"output_json":     func(e *session.Event) { e.Output = make(chan int) },
		"custom_metadata": func(e *session.Event) { e.CustomMetadata = map[string]any{"recap": func() {}} },
	} {
		event := say("e0", at(0), "x")
		change(event)
		wantError(t, service.AppendEvent(t.Context(), handle, event), `event "e0": column `+name+": ")
	}
	wantError(t, service.AppendEvent(t.Context(), handle, say("e0", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "x")), `event "e0": `, "10000")
	_, err := service.Create(t.Context(), &session.CreateRequest{AppName: "a", UserID: "u", State: map[string]any{"k": func() {}}})
	wantError(t, err, `create: `, `state "k": `)
	if n := get(t, service, trip).Events().Len(); n != 0 {
		t.Errorf("there are %d events", n)
	}
}

func TestNewSessionServiceRefuses(t *testing.T) {
	_, err := database.NewSessionService(nil)
	wantError(t, err, "no dialector")
	_, err = database.NewSessionService(otherDialect{sqlite.Open(":memory:")})
	wantError(t, err, `databases of kind "tape" are not supported`)
	wantError(t, database.AutoMigrate(session.InMemoryService()), "is not a service of this package")
}

type otherDialect struct{ gorm.Dialector }

func (otherDialect) Name() string { return "tape" }
