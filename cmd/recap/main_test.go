package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/report"
	"github.com/recap-adk/recap/session"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"recap": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status,
			"sparse": sparse,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("TMPDIR", env.WorkDir)
			return nil
		},
	})
}

// status is the command "status N recap ...": it runs the command, which must
// exit with N and write one line on standard error and nothing else.
func status(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	stdout, stderr := ts.ReadFile("stdout"), ts.ReadFile("stderr")
	if lines := strings.Count(stderr, "\n"); got != want || lines != 1 || stdout != "" {
		ts.Fatalf("exit status %d, want %d, and %d lines on standard error", got, want, lines)
	}
}

// sparse is the command "sparse FILE SIZE".
func sparse(ts *testscript.TestScript, _ bool, args []string) {
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	file, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(file.Truncate(size))
	ts.Check(file.Close())
}

// conversations are the shipped one and, where they are, the shared ones.
func conversations(t *testing.T) map[string]string {
	found := map[string]string{}
	shipped, err := filepath.Glob("../../examples/conversations/*.json")
	if err != nil || len(shipped) == 0 {
		t.Errorf("no shipped conversation: %v", err)
	}
	for _, path := range shipped {
		found[filepath.Base(path)] = path
	}
	for _, name := range []string{"airline-support.json", "coding-session.jsonl"} {
		path := filepath.Join("../../../shared/data", name)
		if _, err := os.Stat(path); err != nil {
			t.Logf("no shared data: %v", err)
			continue
		}
		found[name] = path
	}
	return found
}

// replayJSON replays a conversation and returns what the command prints.
func replayJSON(t *testing.T, path string, args ...string) report.Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(append([]string{"replay", path, "--json"}, args...), &stdout, &stderr); status != 0 {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	var result report.Result
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// TestEveryEventIsStored: after a replay the database holds every event of the
// conversation, unchanged and in order, and the compaction events beside them.
func TestEveryEventIsStored(t *testing.T) {
	for name, path := range conversations(t) {
		t.Run(name, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "s.db")
			result := replayJSON(t, path, "--db", db, "--session", "s")
			if name == "airline-support.json" {
				checkAirline(t, result)
			}
			c, err := conversation.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := openStore(db)
			if err != nil {
				t.Fatal(err)
			}
			defer s.close(true)
			got, err := s.service.Get(t.Context(), &session.GetRequest{AppName: "recap", UserID: "user", SessionID: "s"})
			if err != nil {
				t.Fatal(err)
			}
			var stored []*genai.Part
			events, compactions := 0, 0
			for e := range got.Session.Events().All() {
				switch {
				case e.Actions.Compaction != nil:
					compactions++
				default:
					events++
					if e.Content != nil {
						stored = append(stored, e.Content.Parts...)
					}
				}
			}
			if diff := cmp.Diff(partsOf(c), stored, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("stored parts differ from the conversation's: %s", diff)
			}
			if events != result.Events || compactions != result.Compactions || compactions == 0 {
				t.Errorf("%d events and %d compaction events are stored, the report says %d and %d", events, compactions, result.Events, result.Compactions)
			}
		})
	}
}

// partsOf are all parts of a conversation in order.
func partsOf(c *conversation.Conversation) []*genai.Part {
	var parts []*genai.Part
	for _, turn := range c.Turns {
		if turn.User != nil {
			parts = append(parts, turn.User.Parts...)
		}
		for _, step := range turn.Steps {
			if step.Content == nil {
				continue
			}
			parts = append(parts, step.Content.Parts...)
			results := map[string]conversation.Result{}
			for _, r := range step.Results {
				results[r.CallID] = r
			}
			// Results are stored in the order of the calls.
			for _, part := range step.Content.Parts {
				if part.FunctionCall == nil {
					continue
				}
				if r, ok := results[part.FunctionCall.ID]; ok {
					parts = append(parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: r.CallID, Name: r.Name, Response: r.Response}})
				}
			}
		}
	}
	return parts
}

// checkAirline: the figures that compaction with the default config is made for.
func checkAirline(t *testing.T, result report.Result) {
	at10 := share(result.PromptTokensAt10)
	billed := share(result.BilledPromptTokens)
	t.Logf("prompt after 10 invocations %.1f %%, billed %.1f %%, exact values %+v", 100*at10, 100*billed, result.ExactValues)
	if result.Turns != 209 || result.ModelCalls != 344 {
		t.Errorf("%d turns, %d model calls", result.Turns, result.ModelCalls)
	}
	if !result.PerTurn[9].CompactedHere || at10 >= 0.30 {
		t.Errorf("after turn 10: %+v", result.PerTurn[9])
	}
	if billed > 0.15 {
		t.Errorf("billed: %+v", result.BilledPromptTokens)
	}
}

func share(p report.Pair) float64 { return float64(p.Compacted) / float64(p.Raw) }

// TestReadme: the README shows what its command prints, but for times and the
// name of the temporary database.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	var stdout, stderr bytes.Buffer
	db := filepath.Join(t.TempDir(), "s.db")
	if status := run([]string{"replay", "examples/conversations/kitchen-renovation.json", "--db", db}, &stdout, &stderr); status != 0 {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	for line := range strings.Lines(stdout.String()) {
		varies := strings.Contains(line, "Time a turn") || strings.Contains(line, "Database")
		if !varies && !strings.Contains(string(readme), line) {
			t.Errorf("the README lacks the line: %s", line)
		}
	}
}
