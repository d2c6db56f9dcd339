package database_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/recap-adk/recap/session"
)

// childFile names, in the environment of a child process, the database that it
// appends to.
const childFile = "RECAP_TEST_DATABASE"

const (
	processes       = 3
	eventsOfProcess = 40
)

// TestManyProcesses has several processes append to one session, each of them
// from two goroutines, in both modes of the file.
func TestManyProcesses(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run(mode, func(t *testing.T) {
			file := newFile(t) + "?_pragma=journal_mode(" + mode + ")"
			service := open(t, file)
			create(t, service)
			var children []*exec.Cmd
			for p := range processes {
				child := exec.Command(os.Args[0], "-test.run=^TestAppendAsChild$", "-test.v")
				child.Env = append(os.Environ(), childFile+"="+file, "RECAP_TEST_CHILD="+fmt.Sprint(p))
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
	if want := processes * 2 * eventsOfProcess; len(seen) != want {
		t.Errorf("there are %d events, want %d", len(seen), want)
	}
	for p := range processes {
		for g := range 2 {
			key := fmt.Sprintf("last-%d-%d", p, g)
			if value, _ := s.State().Get(key); value != float64(eventsOfProcess-1) {
				t.Errorf("state %s is %v", key, value)
			}
		}
	}
}

// TestAppendAsChild is what a child process does.
func TestAppendAsChild(t *testing.T) {
	file := os.Getenv(childFile)
	if file == "" {
		t.Skip("runs in the child processes of TestManyProcesses")
	}
	service := open(t, file)
	done := make(chan error, 2)
	for g := range cap(done) {
		handle := get(t, service, trip)
		go func() {
			name := fmt.Sprintf("%s-%d", os.Getenv("RECAP_TEST_CHILD"), g)
			for i := range eventsOfProcess {
				event := say(fmt.Sprintf("%s-%d", name, i), at(0), "x")
				event.Actions.StateDelta = map[string]any{"last-" + name: i}
				if err := service.AppendEvent(t.Context(), handle, event); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
