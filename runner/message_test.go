package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
)

// TestSaveInputBlobsAsArtifacts: files of the user's message are saved, and
// the model is told their names.
func TestSaveInputBlobsAsArtifacts(t *testing.T) {
	message := genai.NewContentFromParts([]*genai.Part{
		genai.NewPartFromText("Look:"), genai.NewPartFromBytes([]byte("abc"), "image/png"),
	}, genai.RoleUser)
	service, artifacts := session.InMemoryService(), artifact.InMemoryService()
	llm := modeltest.NewScript(modeltest.Text("nice"), modeltest.Text("nice"))
	a, err := llmagent.New(llmagent.Config{Name: "agent", Model: llm})
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, runner.Config{Agent: a, SessionService: service, ArtifactService: artifacts})
	for _, cfg := range []agent.RunConfig{{}, {SaveInputBlobsAsArtifacts: true}} {
		for _, err := range r.Run(t.Context(), "ada", "s1", message, cfg) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if message.Parts[1].InlineData == nil {
		t.Error("the caller's message was changed")
	}
	all := events(t, service, "s1")
	plain, saved := all[0], all[2]
	if plain.Content.Parts[1].InlineData == nil || len(plain.Actions.ArtifactDelta) > 0 {
		t.Errorf("saved without being asked for: %v", plain.Actions.ArtifactDelta)
	}
	name := fmt.Sprintf("artifact_%s_1", saved.InvocationID)
	if saved.Actions.ArtifactDelta[name] != 1 || len(saved.Actions.ArtifactDelta) != 1 {
		t.Errorf("artifacts %v, want %s", saved.Actions.ArtifactDelta, name)
	}
	loaded, err := artifacts.Load(t.Context(), &artifact.LoadRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: name})
	if err != nil || string(loaded.Part.InlineData.Data) != "abc" {
		t.Errorf("loaded %v, %v", loaded, err)
	}
	prompt := texts(llm.Requests()[1])
	want := fmt.Sprintf("[A file of type image/png, saved as the artifact %q.]", name)
	if !slices.ContainsFunc(prompt, func(text string) bool { return strings.Contains(text, want) }) {
		t.Errorf("prompt %q, want %s", prompt, want)
	}

	without := newRunner(t, runner.Config{Agent: says(t, "hello")})
	for _, err = range without.Run(t.Context(), "ada", "s1", message, agent.RunConfig{SaveInputBlobsAsArtifacts: true}) {
	}
	if !errors.Is(err, agent.ErrNoArtifactService) {
		t.Errorf("error %v", err)
	}
}

func TestUnknownStreamingMode(t *testing.T) {
	r := newRunner(t, runner.Config{Agent: says(t, "hello")})
	var err error
	for _, err = range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("hi", genai.RoleUser), agent.RunConfig{StreamingMode: "bidi"}) {
	}
	if err == nil || !strings.Contains(err.Error(), `there is no StreamingMode "bidi"`) {
		t.Errorf("error %v", err)
	}
}

// TestWhoGoesOnAfterCompaction: the agent that spoke last, also where all that
// it said is summarized and not read any more; and not one that was taken back.
func TestWhoGoesOnAfterCompaction(t *testing.T) {
	long := strings.Repeat(" and so on", 100)
	booking, err := llmagent.New(llmagent.Config{Name: "booking", Model: modeltest.NewScript(
		modeltest.Text("one"+long), modeltest.Text("two"+long), modeltest.Text("three"))})
	if err != nil {
		t.Fatal(err)
	}
	desk, err := llmagent.New(llmagent.Config{Name: "desk", SubAgents: []agent.Agent{booking}, Model: modeltest.NewScript(
		modeltest.Call("c1", "transfer_to_agent", map[string]any{"agent_name": "booking"}), modeltest.Text("again"))})
	if err != nil {
		t.Fatal(err)
	}
	service := frugal{session.InMemoryService()}
	r := newRunner(t, runner.Config{Agent: desk, SessionService: service, CompactionConfig: &compaction.Config{
		CompactionInterval: 1, OverlapSize: 1, Blocking: true, Summarizer: fixed("S"),
	}})
	if got := run(t, r, "hello"+long); !strings.HasPrefix(got[len(got)-1], "booking: one") {
		t.Fatalf("got %.50q", got)
	}
	for _, want := range []string{"booking: two", "booking: three"} {
		if got := run(t, r, "and"+long); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("got %.50q, want %s", got, want)
		}
	}
	all := events(t, service, "s1")
	if !slices.ContainsFunc(all, func(e *session.Event) bool { return e.Actions.Compaction != nil }) {
		t.Fatal("nothing was summarized")
	}
	got, err := service.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	rewind := session.NewEvent(t.Context(), "rewind")
	rewind.Author = "user"
	rewind.Actions.RewindBeforeInvocationID = all[0].InvocationID
	if err := service.AppendEvent(t.Context(), got.Session, rewind); err != nil {
		t.Fatal(err)
	}
	if got := run(t, r, "and"); len(got) != 1 || got[0] != "desk: again" {
		t.Errorf("got %q after all was taken back", got)
	}
}

// frugal reads nothing that is summarized where it need not.
type frugal struct{ session.Service }

func (f frugal) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	got, err := f.Service.Get(ctx, req)
	if err != nil || !req.OmitCompacted {
		return got, err
	}
	all := slices.Collect(got.Session.Events().All())
	for i, e := range slices.Backward(all) {
		if e.Actions.Compaction != nil {
			all = all[i:]
			break
		}
	}
	return &session.GetResponse{Session: session.NewSnapshot(session.SnapshotData{
		AppName: req.AppName, UserID: req.UserID, ID: req.SessionID, State: maps.Collect(got.Session.State().All()), Events: all,
	})}, nil
}
