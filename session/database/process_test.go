package database_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recap-adk/recap/session"
)

// In the environment of a child process: the kind of the database that it appends
// to, its DSN, and a name for the child.
const (
	childKind = "RECAP_TEST_KIND"
	childDSN  = "RECAP_TEST_DATABASE"
	childName = "RECAP_TEST_CHILD"
)

// newChild returns the command that runs a test of this binary in a process of
// its own.
func newChild(test string, k kind, dsn, name string) *exec.Cmd {
	child := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	child.Env = append(os.Environ(), childKind+"="+k.name, childDSN+"="+dsn, childName+"="+name)
	return child
}

// asChild returns what newChild was given, in the child.
func asChild(t *testing.T) (k kind, dsn, name string) {
	dsn = os.Getenv(childDSN)
	if dsn == "" {
		t.Skip("runs in the child processes of another test")
	}
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == os.Getenv(childKind) })
	return kinds[at], dsn, os.Getenv(childName)
}

const (
	processes        = 4
	writersOfProcess = 4
	eventsOfWriter   = 25
)

// TestManyProcesses has several processes append to one session, each of them
// from several goroutines.
func TestManyProcesses(t *testing.T) {
	for _, c := range []struct {
		name string
		kind kind
		dsn  func(testing.TB) string
	}{
		{"DELETE", sqliteKind, func(tb testing.TB) string { return newFile(tb) + "?_pragma=journal_mode(DELETE)" }},
		{"WAL", sqliteKind, sqliteKind.create},
		{"postgres", pgKind, pgKind.create},
		{"mysql", mysqlKind, mysqlKind.create},
	} {
		t.Run(c.name, func(t *testing.T) {
			dsn := c.dsn(t)
			service := c.kind.open(t, dsn)
			create(t, service)
			var children []*exec.Cmd
			for p := range processes {
				child := newChild("TestAppendAsChild", c.kind, dsn, fmt.Sprint(p))
				child.Stdout = new(strings.Builder)
				child.Stderr = child.Stdout
				if err := child.Start(); err != nil {
					t.Fatal(err)
				}
				children = append(children, child)
			}
			for _, child := range children {
				if err := child.Wait(); err != nil {
					t.Errorf("a child: %v\n%s", err, child.Stdout)
				}
			}
			checkAll(t, get(t, service, trip))
		})
	}
}

func checkAll(t *testing.T, s session.Session) {
	t.Helper()
	seen := map[string]bool{}
	var last time.Time
	for event := range s.Events().All() {
		if seen[event.ID] {
			t.Errorf("event %s is there twice", event.ID)
		}
		seen[event.ID] = true
		if !event.Timestamp.After(last) {
			t.Errorf("event %s is at %v, not after %v", event.ID, event.Timestamp, last)
		}
		last = event.Timestamp
	}
	if want := processes * writersOfProcess * eventsOfWriter; len(seen) != want {
		t.Errorf("there are %d events, want %d", len(seen), want)
	}
	for p := range processes {
		for g := range writersOfProcess {
			for _, scope := range []string{"", "user:", "app:"} {
				key := fmt.Sprintf("%slast-%d-%d", scope, p, g)
				if value, _ := s.State().Get(key); value != float64(eventsOfWriter-1) {
					t.Errorf("state %s is %v", key, value)
				}
			}
		}
	}
}

// TestAppendAsChild is what a child process does.
func TestAppendAsChild(t *testing.T) {
	k, dsn, child := asChild(t)
	service := k.openAsIs(t, dsn)
	done := make(chan error, writersOfProcess)
	for g := range cap(done) {
		handle := get(t, service, trip)
		go func() { done <- appendAll(t, service, handle, fmt.Sprintf("%s-%d", child, g)) }()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func appendAll(t *testing.T, service session.Service, handle session.Session, name string) error {
	for i := range eventsOfWriter {
		event := say(fmt.Sprintf("%s-%d", name, i), at(0), "x")
		event.Actions.StateDelta = map[string]any{"last-" + name: i, "user:last-" + name: i, "app:last-" + name: i}
		if err := service.AppendEvent(t.Context(), handle, event); err != nil {
			return err
		}
	}
	return nil
}

// Writers of different sessions share rows of state: those of one user, and of
// the application. None of them may fail, and no delta may be lost.
func TestManySessions(t *testing.T) {
	onEach(t, kinds, func(t *testing.T, k kind) {
		const sessions = 12
		dsn := k.create(t)
		services := []session.Service{k.open(t, dsn), k.openAsIs(t, dsn)}
		done := make(chan error, sessions)
		for i := range sessions {
			service := services[i%len(services)]
			go func() {
				created, err := service.Create(t.Context(), &session.CreateRequest{AppName: trip.AppName, UserID: fmt.Sprint("user-", i%3), State: map[string]any{fmt.Sprint("app:made-", i): true}})
				if err == nil {
					err = appendAll(t, service, created.Session, fmt.Sprint(i))
				}
				done <- err
			}()
		}
		for range sessions {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		list, err := services[0].List(t.Context(), &session.ListRequest{AppName: trip.AppName})
		if err != nil || len(list.Sessions) != sessions {
			t.Fatalf("%d sessions, %v", len(list.Sessions), err)
		}
		for _, s := range list.Sessions {
			for i := range sessions {
				for _, key := range []string{fmt.Sprint("app:last-", i), fmt.Sprint("user:last-", i)} {
					of := fmt.Sprint("user-", i%3) == s.UserID() || strings.HasPrefix(key, "app:")
					if value, _ := s.State().Get(key); of && value != float64(eventsOfWriter-1) {
						t.Errorf("state %s of a session of %s is %v", key, s.UserID(), value)
					}
				}
				if value, _ := s.State().Get(fmt.Sprint("app:made-", i)); value != true {
					t.Errorf("state app:made-%d is %v", i, value)
				}
			}
		}
	})
}
