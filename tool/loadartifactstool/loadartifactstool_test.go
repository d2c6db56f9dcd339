package loadartifactstool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/loadartifactstool"
)

// filled is a service with artifacts of ada's session s1.
func filled(artifacts map[string]*genai.Part) artifact.Service {
	service := artifact.InMemoryService()
	for name, part := range artifacts {
		if _, err := service.Save(context.Background(), &artifact.SaveRequest{AppName: "app", UserID: "ada", SessionID: "s1", FileName: name, Part: part}); err != nil {
			panic(err)
		}
	}
	return service
}

// last is the last content that a model was sent, a line for each part.
func last(req *model.LLMRequest) string {
	var lines []string
	for _, part := range req.Contents[len(req.Contents)-1].Parts {
		switch {
		case part.InlineData != nil:
			lines = append(lines, fmt.Sprintf("(%d bytes of %s)", len(part.InlineData.Data), part.InlineData.MIMEType))
		case part.FunctionResponse != nil:
			lines = append(lines, fmt.Sprint(part.FunctionResponse.Response))
		default:
			lines = append(lines, part.Text)
		}
	}
	return strings.Join(lines, "\n")
}

func Example() {
	llm := modeltest.NewScript(
		modeltest.Call("c1", "load_artifacts", map[string]any{"artifact_names": []any{"cat.png"}}),
		modeltest.Text("It shows a cat."),
		modeltest.Text("Anything else?"),
	)
	a, err := llmagent.New(llmagent.Config{Name: "viewer", Model: llm, Tools: []tool.Tool{loadartifactstool.New()}})
	if err != nil {
		panic(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true,
		ArtifactService: filled(map[string]*genai.Part{"cat.png": genai.NewPartFromBytes([]byte("meow"), "image/png")}),
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for _, text := range []string{"What is in the picture?", "Thanks."} {
		for _, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				panic(err)
			}
		}
	}
	for _, req := range llm.Requests() {
		fmt.Println(last(req))
	}
	// Output:
	// What is in the picture?
	// map[artifact_names:[cat.png]]
	// Artifact "cat.png":
	// (4 bytes of image/png)
	// Thanks.
}

func newContext(service artifact.Service) agent.Context {
	return agent.NewContext(agent.NewInvocationContext(context.Background(), agent.InvocationParams{
		Session: session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: "ada", ID: "s1"}), ArtifactService: service,
	}))
}

// TestShown: how each kind of artifact is shown to the model.
func TestShown(t *testing.T) {
	service := filled(map[string]*genai.Part{
		"note":    genai.NewPartFromText("a note"),
		"table":   genai.NewPartFromBytes([]byte("a,b"), "text/csv; charset=utf-8"),
		"data":    genai.NewPartFromBytes([]byte(`{"a":1}`), "application/json"),
		"latin":   genai.NewPartFromBytes([]byte("caf\xe9"), "text/plain"),
		"cat.png": genai.NewPartFromBytes([]byte("meow"), "image/png"),
		"long":    genai.NewPartFromText(strings.Repeat("é", 200<<10)),
	})
	for name, want := range map[string]string{
		"note":      "Artifact \"note\":\na note",
		"table":     "Artifact \"table\":\na,b",
		"data":      "Artifact \"data\":\n{\"a\":1}",
		"latin":     "Artifact \"latin\":\n(4 bytes of text/plain)",
		"cat.png":   "Artifact \"cat.png\":\n(4 bytes of image/png)",
		"long":      "Artifact \"long\", the first 262144 of 409600 bytes:\n" + strings.Repeat("é", 128<<10),
		"absent":    `There is no artifact "absent".`,
		"bad\nname": `There is no artifact "bad\nname".`,
	} {
		req := &model.LLMRequest{Contents: []*genai.Content{answered(map[string]any{"artifact_names": []any{name}})}}
		if err := loadartifactstool.New().(tool.RequestProcessor).ProcessRequest(newContext(service), req); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := last(req); got != want {
			t.Errorf("%s: %.200q, want %.200q", name, got, want)
		}
	}
}

func answered(responses ...map[string]any) *genai.Content {
	content := &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{nil, {Text: "text"}}}
	for _, response := range responses {
		content.Parts = append(content.Parts, genai.NewPartFromFunctionResponse("load_artifacts", response))
	}
	return content
}

// TestWhatIsShown: what was asked for last, each once; nothing else.
func TestWhatIsShown(t *testing.T) {
	service := filled(map[string]*genai.Part{"a": genai.NewPartFromText("of a"), "b": genai.NewPartFromText("of b")})
	ask := func(names ...any) map[string]any { return map[string]any{"artifact_names": names} }
	other := answered()
	other.Parts = append(other.Parts, genai.NewPartFromFunctionResponse("other", ask("a")))
	for _, test := range []struct {
		name     string
		contents []*genai.Content
		want     int
	}{
		{"nothing said", nil, 0},
		{"nothing asked for", []*genai.Content{answered()}, 0},
		{"one", []*genai.Content{answered(ask("a"))}, 1},
		{"two in one call", []*genai.Content{answered(ask("a", "b"))}, 2},
		{"two in two calls", []*genai.Content{answered(ask("a"), ask("b"))}, 2},
		{"one twice", []*genai.Content{answered(ask("a", "a"), ask("a"))}, 1},
		{"strings of Go", []*genai.Content{answered(map[string]any{"artifact_names": []string{"a"}})}, 1},
		{"before", []*genai.Content{answered(ask("a")), answered()}, 0},
		{"a call that failed", []*genai.Content{answered(map[string]any{"error": "x"})}, 0},
		{"another tool", []*genai.Content{other}, 0},
	} {
		req := &model.LLMRequest{Contents: test.contents}
		if err := loadartifactstool.New().(tool.RequestProcessor).ProcessRequest(newContext(service), req); err != nil {
			t.Fatal(err)
		}
		if got := len(req.Contents) - len(test.contents); got != test.want {
			t.Errorf("%s: %d shown, want %d", test.name, got, test.want)
		}
	}
}

// TestInstruction: the model is told of artifacts only where there are any.
func TestInstruction(t *testing.T) {
	for want, service := range map[string]artifact.Service{
		"":                                      filled(nil),
		`These artifacts exist: ["a","b\"\n"].`: filled(map[string]*genai.Part{"a": genai.NewPartFromText("x"), "b\"\n": genai.NewPartFromText("x")}),
	} {
		req := &model.LLMRequest{}
		if err := loadartifactstool.New().(tool.RequestProcessor).ProcessRequest(newContext(service), req); err != nil {
			t.Fatal(err)
		}
		got := ""
		if req.Config.SystemInstruction != nil {
			got = req.Config.SystemInstruction.Parts[0].Text
		}
		if !strings.HasPrefix(got, want) || (got == "") != (want == "") || len(req.Config.Tools) != 1 {
			t.Errorf("instruction %q, want %q", got, want)
		}
	}
}

// down is a service in which something is wrong.
type down struct{ artifact.Service }

var errDown = errors.New("down")

func (down) Load(context.Context, *artifact.LoadRequest) (*artifact.LoadResponse, error) {
	return nil, errDown
}

func TestErrors(t *testing.T) {
	load := loadartifactstool.New().(tool.Function)
	for name, args := range map[string]map[string]any{
		"no names":    nil,
		"one name":    {"artifact_names": "a"},
		"not a text":  {"artifact_names": []any{"a", 1}},
		"other names": {"names": []any{"a"}},
	} {
		if got, err := load.Run(nil, args); err == nil || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if load.IsLongRunning() || load.Declaration().Name != "load_artifacts" {
		t.Error("long running, or another name")
	}

	process := load.(tool.RequestProcessor).ProcessRequest
	asked := &model.LLMRequest{Contents: []*genai.Content{answered(map[string]any{"artifact_names": []any{"a"}})}}
	if err := process(newContext(down{filled(map[string]*genai.Part{"a": genai.NewPartFromText("x")})}), asked); !errors.Is(err, errDown) {
		t.Errorf("error %v", err)
	}
	if err := process(newContext(nil), &model.LLMRequest{}); !errors.Is(err, agent.ErrNoArtifactService) {
		t.Errorf("error %v", err)
	}
}
