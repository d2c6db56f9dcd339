package instructionutil_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/util/instructionutil"
)

func newContext(state map[string]any) agent.Context {
	return agent.NewContext(agent.NewInvocationContext(context.Background(), agent.InvocationParams{
		Session:         session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: "ada", ID: "s1", State: state}),
		ArtifactService: artifact.InMemoryService(),
	}))
}

func Example() {
	ctx := newContext(map[string]any{"user:name": "Ada"})
	text, err := instructionutil.InjectSessionState(ctx, "You help {user:name}{hint?}.")
	fmt.Println(text, err)
	// Output: You help Ada. <nil>
}

func TestInjectSessionState(t *testing.T) {
	ctx := newContext(map[string]any{"n": 3, "none": nil, "nested": "{n}"})
	for name, part := range map[string]*genai.Part{
		"plan.txt": genai.NewPartFromText("go"), "user:notes": genai.NewPartFromBytes([]byte("mine"), "text/markdown"), "pic": genai.NewPartFromBytes([]byte("x"), "image/png"),
	} {
		if _, err := ctx.Artifacts().Save(ctx, name, part); err != nil {
			t.Fatal(err)
		}
	}
	for template, want := range map[string]string{
		"{n} {none}{nothing?}.": "3 .",
		"{nested}":              "{n}",
		"{artifact.plan.txt}, {artifact.user:notes}": "go, mine",
		"{artifact.nothing?}.":                       ".",
		`{"a": 1} {} {not a key} {artifact.}`:        `{"a": 1} {} {not a key} {artifact.}`,
	} {
		if got, err := instructionutil.InjectSessionState(ctx, template); got != want || err != nil {
			t.Errorf("%q: %q, %v", template, got, err)
		}
	}
	for template, want := range map[string]error{
		"{nothing}":          session.ErrStateKeyNotExist,
		"{artifact.nothing}": artifact.ErrNotFound,
	} {
		if _, err := instructionutil.InjectSessionState(ctx, template); !errors.Is(err, want) || !strings.HasPrefix(err.Error(), template) {
			t.Errorf("%q: error %v", template, err)
		}
	}
	if _, err := instructionutil.InjectSessionState(ctx, "{artifact.pic?}"); err == nil || !strings.Contains(err.Error(), "the artifact is no text but image/png") {
		t.Errorf("error %v", err)
	}
	if _, err := instructionutil.InjectSessionState(struct{ agent.ReadonlyContext }{ctx}, "{artifact.pic}"); !errors.Is(err, agent.ErrNoArtifactService) {
		t.Errorf("error %v", err)
	}
}
