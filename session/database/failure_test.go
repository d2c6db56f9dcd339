package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
)

func itoa(n int) string { return strconv.Itoa(n) }

// failing appends an event that cannot be stored: the error must say what is
// wanted, and the handle must be as it was.
func failing(t *testing.T, service session.Service, handle session.Session, event *session.Event, want ...string) error {
	t.Helper()
	before, updated, state := ids(handle), handle.LastUpdateTime(), stateOf(handle)
	err := service.AppendEvent(t.Context(), handle, event)
	wantError(t, err, append(want, `append: session "trip-1" of user "ada" of app "travel": `)...)
	if after := ids(handle); after != before || !handle.LastUpdateTime().Equal(updated) || !cmp.Equal(stateOf(handle), state) {
		t.Errorf("the handle has %s at %v, before %s at %v", after, handle.LastUpdateTime(), before, updated)
	}
	return err
}

func stateOf(s session.Session) map[string]any {
	all := map[string]any{}
	for key, value := range s.State().All() {
		all[key] = value
	}
	return all
}

// delta is an event that changes the state of every scope.
func delta(id string, n int) *session.Event {
	event := say(id, at(n), "x")
	event.Actions.StateDelta = map[string]any{"n": float64(n), "app:n": float64(n), "user:n": float64(n), "temp:n": float64(n)}
	return event
}

// works appends an event and wants the log to be the IDs that are given.
func works(t *testing.T, service session.Service, handle session.Session, event *session.Event, want string) {
	t.Helper()
	add(t, service, handle, event)
	stored := get(t, service, trip)
	if got := ids(stored); got != want {
		t.Errorf("the events are %s, want %s", got, want)
	}
	for _, key := range []string{"n", "app:n", "user:n"} {
		if got, _ := stored.State().Get(key); got != event.Actions.StateDelta[key] {
			t.Errorf("state %s is %v, want %v", key, got, event.Actions.StateDelta[key])
		}
	}
}

func TestFullDatabase(t *testing.T) {
	service := open(t, newFile(t))
	pool := database.Pool(service)
	pool.SetMaxOpenConns(1) // the limit is one of the connection
	handle := create(t, service)
	add(t, service, handle, delta("e0", 0))
	var pages int
	if err := pool.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
	large := delta("e1", 1)
	large.Content.Parts[0].Text = strings.Repeat("x", 1<<20)
	failing(t, service, handle, large, "full")
	if _, err := pool.Exec("PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	works(t, service, handle, large, "e0 e1")
}

// mount mounts a small file system in memory, where this process may.
func mount(t *testing.T, folder string) {
	t.Helper()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m,mode=777", "tmpfs", folder).CombinedOutput(); err != nil {
		t.Skipf("needs to mount a file system, which only root may: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", folder).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// fill takes the space that is left, and returns how to give it back.
func fill(t *testing.T, folder string) (free func()) {
	t.Helper()
	ballast := filepath.Join(folder, "ballast")
	err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600)
	if err == nil {
		t.Fatal("the disk is not full")
	}
	return func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run("sqlite/"+mode, func(t *testing.T) {
			folder := t.TempDir()
			mount(t, folder)
			service := open(t, filepath.Join(folder, "sessions.db")+"?_pragma=journal_mode("+mode+")")
			handle := create(t, service)
			add(t, service, handle, delta("e0", 0))
			free := fill(t, folder)
			large := delta("e1", 1)
			large.Content.Parts[0].Text = strings.Repeat("x", 1<<20)
			failing(t, service, handle, large)
			if got := ids(get(t, service, trip)); got != "e0" {
				t.Errorf("the events are %s", got)
			}
			free()
			works(t, service, handle, large, "e0 e1")
		})
	}
	t.Run("postgres", func(t *testing.T) {
		dsn := pgKind.create(t)
		folder := t.TempDir()
		mount(t, folder)
		for path := folder; path != os.TempDir() && len(path) > 1; path = filepath.Dir(path) {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		space := newName()
		place := filepath.Join(folder, "space")
		if out, err := exec.Command("install", "-d", "-m", "700", "-o", "nobody", place).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		db := pgKind.raw(t, dsn)
		if _, err := db.Exec("CREATE TABLESPACE " + space + " LOCATION '" + place + "'"); err != nil {
			t.Skipf("needs a server on this machine, of the user nobody: %v", err)
		}
		service := pgKind.open(t, postgresWith(dsn, "default_tablespace", space))
		t.Cleanup(func() {
			for _, statement := range []string{"DROP TABLE events, sessions, app_states, user_states", "DROP TABLESPACE " + space} {
				if _, err := db.Exec(statement); err != nil {
					t.Error(err)
				}
			}
		})
		handle := create(t, service)
		add(t, service, handle, delta("e0", 0))
		free := fill(t, folder)
		large := delta("e1", 1)
		large.Content.Parts[0].Text = incompressible(1 << 20)
		failing(t, service, handle, large, "No space left on device")
		free()
		works(t, service, handle, large, "e0 e1")
	})
}

// incompressible is a text that a server cannot store in much less.
func incompressible(n int) string {
	var b strings.Builder
	state := uint32(1)
	for b.Len() < n {
		state = state*1664525 + 1013904223
		b.WriteString(strconv.FormatUint(uint64(state), 36))
	}
	return b.String()
}

func TestReadOnly(t *testing.T) {
	onEach(t, kinds, func(t *testing.T, k kind) {
		dsn := k.create(t)
		writable := k.open(t, dsn)
		handle := create(t, writable)
		add(t, writable, handle, delta("e0", 0))
		var readonly, want string
		switch k.name {
		case "sqlite":
			readonly, want = "file:"+dsn+"&mode=ro", "readonly database"
		case "postgres":
			readonly, want = postgresWith(dsn, "default_transaction_read_only", "on"), "read-only transaction"
		case "mysql":
			readonly = mysqlWith(t, dsn, func(cfg *mysql.Config) { cfg.Params = map[string]string{"transaction_read_only": "1"} })
			want = "READ ONLY transaction"
			if strings.Contains(version(t, dsn), "MariaDB") {
				readonly = mysqlWith(t, dsn, func(cfg *mysql.Config) { cfg.Params = map[string]string{"tx_read_only": "1"} })
			}
		}
		failing(t, k.openAsIs(t, readonly), handle, delta("e1", 1), want)
		works(t, writable, handle, delta("e1", 1), "e0 e1")
	})
}

func version(t *testing.T, dsn string) string {
	return texts(t, mysqlKind.raw(t, dsn), "SELECT VERSION()")[0]
}

// A row that somebody else has locked is waited for as long as the server allows,
// or the caller.
func TestTimeouts(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		dsn := k.create(t)
		impatient, want := postgresWith(dsn, "statement_timeout", "1000"), "statement timeout"
		if k.name == "mysql" {
			impatient = mysqlWith(t, dsn, func(cfg *mysql.Config) { cfg.Params = map[string]string{"innodb_lock_wait_timeout": "1"} })
			want = "Lock wait timeout"
		}
		handle := create(t, k.open(t, dsn))
		service := k.openAsIs(t, impatient)
		tx, err := k.raw(t, dsn).Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("SELECT id FROM sessions FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		failing(t, service, handle, delta("e0", 0), want)

		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := k.openAsIs(t, dsn).AppendEvent(ctx, handle, delta("e0", 0)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an append with a deadline returned %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		works(t, service, handle, delta("e0", 0), "e0")
	})
}

// The connection is lost at each point of an append in turn, once before the
// server gets what the service sends there, and once after that. The same append
// works in the next try or, where only the answer was lost, the event is there.
func TestConnectionLost(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		proxy := newProxy(t, k)
		service := k.open(t, proxy.dsn)
		handle := create(t, service)
		add(t, service, handle, delta("e", 0))
		want, failures := "e", 0
		for _, reach := range []bool{false, true} {
			// Two writes may arrive as one, so an append without a cut is not yet the
			// last that can be cut.
			for n, uncut := 0, 0; uncut < 5; n++ {
				id := fmt.Sprintf("%v-%d", reach, n)
				event := delta(id, n)
				event.Actions.StateDelta["lost-"+id] = true
				before := ids(handle)
				proxy.cutAfter(n, reach)
				err := service.AppendEvent(t.Context(), handle, event)
				cut := proxy.mend()
				want += " " + id
				if err != nil {
					failures++
					wantError(t, err, "append: session")
					if ids(handle) != before {
						t.Errorf("%s: the handle has the event that failed", id)
					}
					if err = service.AppendEvent(t.Context(), handle, event); errors.Is(err, session.ErrExists) {
						handle, err = get(t, service, trip), nil
					}
				}
				if err != nil {
					t.Fatalf("%s: the next try: %v", id, err)
				}
				if cut {
					uncut = 0
				} else {
					uncut++
				}
			}
		}
		s := get(t, service, trip)
		if got := ids(s); got != want || ids(handle) != want {
			t.Errorf("the events are\n%s, of the handle\n%s, want\n%s", got, ids(handle), want)
		}
		if n := strings.Count(fmt.Sprint(stateOf(s)), "lost-"); n != s.Events().Len()-1 {
			t.Errorf("%d deltas of %d events are there", n, s.Events().Len()-1)
		}
		if failures < 4 {
			t.Errorf("%d appends failed", failures)
		}
	})
}

// Where the connection is lost at the commit, nobody knows whether the server has
// got it. The next try says so: it works, or finds the event.
func TestAcknowledgementLost(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		commit := "COMMIT\x00" // as it is sent, and not READ COMMITTED
		if k.name == "mysql" {
			commit = "\x03COMMIT"
		}
		proxy := newProxy(t, k)
		service := k.open(t, proxy.dsn)
		handle := create(t, service)
		for i, reach := range []bool{false, true} {
			event := delta(fmt.Sprint("e", i), i)
			proxy.cutAt(commit, reach)
			failing(t, service, handle, event, "commit: ")
			if !proxy.mend() {
				t.Fatal("there was no cut")
			}
			err := service.AppendEvent(t.Context(), handle, event)
			if errors.Is(err, session.ErrExists) != reach || err != nil && !reach {
				t.Errorf("the commit reached the server: %v; the next try returned %v", reach, err)
			}
		}
		if got := ids(get(t, service, trip)); got != "e0 e1" {
			t.Errorf("the events are %s", got)
		}
		works(t, service, get(t, service, trip), delta("e2", 2), "e0 e1 e2")
	})
}

// Somebody else takes the rows of an append in the opposite order, and the server
// chooses the append to be undone. It is done again.
func TestDeadlock(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		dsn := k.create(t)
		db := k.raw(t, dsn)
		mine, waiting := dsn, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'"
		if k.name == "postgres" {
			// The one that looks for deadlocks first is undone.
			mine, waiting = postgresWith(dsn, "deadlock_timeout", "100"), "SELECT '', count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%app_states%'"
		}
		service := k.open(t, mine)
		handle := create(t, service)
		add(t, service, handle, delta("e0", 0))
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		do := func(statement string) {
			t.Helper()
			if _, err := tx.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		do("UPDATE app_states SET update_time = '2026-01-01 00:00:00'")
		for i := range 50 { // the one that has done less is undone
			do(fmt.Sprintf("INSERT INTO app_states (app_name, state) VALUES ('other-%d', '{}')", i))
		}
		result := make(chan error)
		go func() { result <- service.AppendEvent(t.Context(), handle, delta("e1", 1)) }()
		for name, n := "", 0; n == 0; {
			if err := db.QueryRow(waiting).Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
		}
		do("SELECT id FROM sessions FOR UPDATE")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		works(t, service, handle, delta("e2", 2), "e0 e1 e2")
		if got := ids(handle); got != "e0 e1 e2" {
			t.Errorf("the events of the handle are %s", got)
		}
	})
}

// A server that was restarted, or that had cut idle connections, costs no append.
func TestStaleConnections(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		proxy := newProxy(t, k)
		service := k.open(t, proxy.dsn)
		handle := create(t, service)
		add(t, service, handle, delta("e0", 0))
		var idle []*sql.Conn
		for range 10 {
			conn, err := database.Pool(service).Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			idle = append(idle, conn)
		}
		for _, conn := range idle {
			conn.Close()
		}
		proxy.cutAll()
		works(t, service, handle, delta("e1", 1), "e0 e1")
	})
}
