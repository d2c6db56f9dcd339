package runner_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libtnb/sqlite"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/compaction"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
)

const (
	processDB    = "RECAP_TEST_PROCESS_DB"
	processTurns = 40
	overlapSize  = 1
)

func openProcessDB(tb testing.TB, path string) session.Service {
	tb.Helper()
	service, err := database.NewSessionService(sqlite.Open(path + "?_pragma=journal_mode(WAL)"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := service.(io.Closer).Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := database.AutoMigrate(service); err != nil {
		tb.Fatal(err)
	}
	return service
}

// TestProcessChild is what each process of TestTwoProcesses runs.
func TestProcessChild(t *testing.T) {
	path := os.Getenv(processDB)
	if path == "" {
		t.Skip("runs as a child of TestTwoProcesses")
	}
	r := newRunner(t, runner.Config{
		Agent: says(t, "an answer that is long enough to be worth a summary"), SessionService: openProcessDB(t, path),
		CompactionConfig: &compaction.Config{CompactionInterval: 2, OverlapSize: overlapSize, Summarizer: &counting{}},
	})
	for i := range processTurns {
		message := genai.NewContentFromText(fmt.Sprintf("question %d of process %d", i, os.Getpid()), genai.RoleUser)
		for _, err := range r.Run(t.Context(), "ada", "s1", message, agent.RunConfig{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTwoProcesses has two processes run turns of one session in one SQLite
// file and compact it: no event is lost, and there is one lineage of summaries.
func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	openProcessDB(t, path)
	var children []*exec.Cmd
	for range 2 {
		child := exec.Command(os.Args[0], "-test.run=^TestProcessChild$", "-test.count=1")
		child.Env = append(os.Environ(), processDB+"="+path)
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	for _, child := range children {
		if err := child.Wait(); err != nil {
			t.Fatal(err)
		}
	}

	got, err := openProcessDB(t, path).Get(context.Background(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	var events []*session.Event
	questions := map[string]int{}
	raw := 0
	for e := range got.Session.Events().All() {
		events = append(events, e)
		if e.Actions.Compaction == nil {
			raw++
			if e.Author == "user" {
				questions[e.Content.Parts[0].Text]++
			}
		}
	}
	if raw != 4*processTurns || len(questions) != 2*processTurns {
		t.Errorf("%d events and %d questions are stored, want %d and %d", raw, len(questions), 4*processTurns, 2*processTurns)
	}
	active := icontext.NewCoverage(events).Active(icontext.Lane{})
	if len(active) == 0 {
		t.Fatal("nothing was compacted")
	}
	for i := 1; i < len(active); i++ {
		if shared := sharedInvocations(events, active[i-1], active[i]); len(shared) > overlapSize+1 {
			// One more, as turns of the two processes may overlap in time.
			t.Errorf("summaries %d and %d share the invocations %s", i-1, i, strings.Join(shared, ", "))
		}
	}
}

// sharedInvocations are those with events in both ranges.
func sharedInvocations(events []*session.Event, a, b *icontext.Summary) (shared []string) {
	seen := map[string]bool{}
	for _, e := range events {
		at := e.Timestamp.UnixMicro()
		inBoth := a.Start <= at && at <= a.End && b.Start <= at && at <= b.End
		if e.Actions.Compaction == nil && inBoth && !seen[e.InvocationID] {
			seen[e.InvocationID] = true
			shared = append(shared, e.InvocationID)
		}
	}
	return shared
}
