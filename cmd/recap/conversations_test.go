package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/report"
	"github.com/recap-adk/recap/session"
)

// sharedData holds real conversations that are no part of the repository.
var sharedData = filepath.Join("..", "..", "..", "shared", "data")

// TestConversations replays real conversations. After that the database holds
// every event, unchanged and in order, and the compaction events beside them.
func TestConversations(t *testing.T) {
	for _, test := range []struct {
		path  string
		check func(*testing.T, report.Result)
	}{
		{filepath.Join("..", "..", "examples", "conversations", "kitchen-renovation.json"), checkKitchen},
		{filepath.Join(sharedData, "airline-support.json"), checkAirline},
		{filepath.Join(sharedData, "coding-session.jsonl"), checkCoding},
	} {
		t.Run(filepath.Base(test.path), func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(test.path); err != nil && filepath.Dir(test.path) == sharedData {
				t.Skipf("the shared data is absent: %v", err)
			}
			db := filepath.Join(t.TempDir(), "s.db")
			result := replayJSON(t, test.path, "--db", db, "--session", "s")
			t.Logf("of the raw prompt: after turn 10 %.1f %%, at the end %.1f %%, billed %.1f %%; exact values %+v; compaction %+v ms",
				100*share(result.PromptTokensAt10), 100*share(result.PromptTokensAtEnd), 100*share(result.BilledPromptTokens), result.ExactValues, result.TurnCompactionMS)
			test.check(t, result)
			checkStored(t, test.path, db, result)
		})
	}
}

func checkKitchen(t *testing.T, r report.Result) {
	if r.Turns < 40 || share(r.PromptTokensAtEnd) > 0.30 || share(r.BilledPromptTokens) > 0.30 {
		t.Errorf("%d turns, at the end %+v, billed %+v", r.Turns, r.PromptTokensAtEnd, r.BilledPromptTokens)
	}
}

// checkAirline checks the figures that the default config is made for.
func checkAirline(t *testing.T, r report.Result) {
	if r.Turns != 209 || r.ModelCalls != 344 {
		t.Errorf("%d turns, %d model calls", r.Turns, r.ModelCalls)
	}
	if !r.PerTurn[9].CompactedHere || share(r.PromptTokensAt10) >= 0.30 {
		t.Errorf("after turn 10: %+v", r.PerTurn[9])
	}
	if share(r.BilledPromptTokens) > 0.15 {
		t.Errorf("billed: %+v", r.BilledPromptTokens)
	}
}

func checkCoding(t *testing.T, r report.Result) {
	if r.Turns != 88 || r.ModelCalls != 453 {
		t.Errorf("%d turns, %d model calls", r.Turns, r.ModelCalls)
	}
}

func share(p report.Pair) float64 { return float64(p.Compacted) / float64(p.Raw) }

// replayJSON replays a conversation and returns what the command prints.
func replayJSON(t *testing.T, path string, args ...string) report.Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), append([]string{"replay", path, "--json"}, args...), &stdout, &stderr)
	if status != 0 || stderr.Len() > 0 {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	var result report.Result
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// stored is the session of a replay, read as any program would.
func stored(t *testing.T, db, id string) session.Session {
	t.Helper()
	s, err := openStore(db)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close(true)
	got, err := s.service.Get(t.Context(), &session.GetRequest{AppName: appName, UserID: userID, SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	return got.Session
}

// checkStored compares the session in the database with the recording.
func checkStored(t *testing.T, path, db string, result report.Result) {
	c, err := conversation.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var parts []*genai.Part
	var failures []string
	events, compactions := 0, 0
	for e := range stored(t, db, "s").Events().All() {
		if e.Actions.Compaction != nil {
			compactions++
			continue
		}
		events++
		if e.Content != nil {
			parts = append(parts, e.Content.Parts...)
		}
		if e.ErrorCode != "" {
			failures = append(failures, e.ErrorCode+": "+e.ErrorMessage)
		}
	}
	if diff := cmp.Diff(partsOf(c), parts, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the stored parts differ from the conversation's: %s", diff)
	}
	if diff := cmp.Diff(failuresOf(c), failures); diff != "" {
		t.Errorf("the stored failures differ from the conversation's: %s", diff)
	}
	if events != result.Events || compactions != result.Compactions || compactions == 0 {
		t.Errorf("%d events and %d compaction events are stored, the report says %d and %d", events, compactions, result.Events, result.Compactions)
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

// failuresOf are the errors of the model's replies in order.
func failuresOf(c *conversation.Conversation) []string {
	var failures []string
	for _, turn := range c.Turns {
		for _, step := range turn.Steps {
			if step.ErrorCode != "" {
				failures = append(failures, step.ErrorCode+": "+step.ErrorMessage)
			}
		}
	}
	return failures
}

// TestJSON: the keys on which programs rely.
func TestJSON(t *testing.T) {
	chat, db := writeChat(t, 12), filepath.Join(t.TempDir(), "s.db")
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"replay", chat, "--json", "--db", db}, &stdout, &stderr); status != 0 {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	decoder := json.NewDecoder(&stdout)
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		t.Fatal(err)
	}
	if decoder.More() {
		t.Error("more than one object")
	}
	for key, inner := range map[string][]string{
		"turns": nil, "events": nil, "compactions": nil, "summarizer_tokens": nil, "db": nil,
		"prompt_tokens_at_10":  {"compacted", "raw"},
		"prompt_tokens_at_end": {"compacted", "raw"},
		"billed_prompt_tokens": {"compacted", "raw"},
		"turn_compaction_ms":   {"p50", "p99"},
		"exact_values":         {"in_prompt", "stated"},
	} {
		value, ok := object[key]
		fields, _ := value.(map[string]any)
		if got := slices.Sorted(maps.Keys(fields)); !ok || !slices.Equal(got, inner) {
			t.Errorf("%s is %v", key, value)
		}
	}
	if object["turns"] != 12.0 || object["events"] != 24.0 || object["compactions"] != 2.0 || object["db"] != db {
		t.Errorf("the object is %v", object)
	}
}

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
	if status := run(t.Context(), []string{"replay", "examples/conversations/kitchen-renovation.json", "--db", db}, &stdout, &stderr); status != 0 {
		t.Fatalf("exit status %d: %s", status, stderr.String())
	}
	for line := range strings.Lines(stdout.String()) {
		varies := strings.Contains(line, "Time a turn") || strings.Contains(line, "Database")
		if !varies && !strings.Contains(string(readme), line) {
			t.Errorf("the README lacks the line: %s", line)
		}
	}
}
