package llmagent_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libtnb/sqlite"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

// spoiled is a value that panics when it is encoded.
type spoiled struct{}

func (spoiled) MarshalJSON() ([]byte, error) { panic("rotten") }

// TestFaultsOfTools: whatever goes wrong in a tool is an answer that the model
// can act on. The turn goes on, all of it is stored in a database, and the next
// turn works.
func TestFaultsOfTools(t *testing.T) {
	type args struct {
		City string `json:"city"`
	}
	weather, err := functiontool.New(functiontool.Config{Name: "weather"}, func(_ agent.Context, in args) (string, error) { return "sunny", nil })
	if err != nil {
		t.Fatal(err)
	}
	returns := func(value any) fn {
		return answers("job", map[string]any{"r": value}, nil)
	}
	does := func(run func(agent.Context) error) fn {
		return fn{name: "job", run: func(ctx agent.Context, _ map[string]any) (map[string]any, error) { return nil, run(ctx) }}
	}
	for name, test := range map[string]struct {
		tool tool.Tool
		call modeltest.Turn
		want string // in the error that the model is told
	}{
		"an argument of the wrong type":   {weather, modeltest.Call("c1", "weather", map[string]any{"city": 7}), "city"},
		"a missing argument":              {weather, modeltest.Call("c1", "weather", nil), `missing properties: ["city"]`},
		"an argument too many":            {weather, modeltest.Call("c1", "weather", map[string]any{"city": "a", "x": 1}), "x"},
		"a tool that does not exist":      {weather, modeltest.Call("c1", "wether", nil), `there is no tool "wether"; there are: weather`},
		"a panic":                         {does(func(agent.Context) error { panic("oh") }), calls("job"), `tool "job" panicked: oh`},
		"a result that is a channel":      {returns(make(chan int)), calls("job"), `the result of tool "job" cannot be encoded`},
		"a result that is no number":      {returns(math.NaN()), calls("job"), `the result of tool "job" cannot be encoded`},
		"a result that panics":            {returns(spoiled{}), calls("job"), `tool "job" panicked: rotten`},
		"state that cannot be stored":     {does(func(ctx agent.Context) error { return ctx.State().Set("k", func() {}) }), calls("job"), `the value of state key "k" cannot be stored`},
		"an artifact without a service":   {does(func(ctx agent.Context) error { _, err := ctx.Artifacts().List(ctx); return err }), calls("job"), "ArtifactService is nil"},
		"a memory search without service": {does(func(ctx agent.Context) error { _, err := ctx.SearchMemory(ctx, "q"); return err }), calls("job"), "MemoryService is nil"},
	} {
		t.Run(name, func(t *testing.T) {
			llm := modeltest.NewScript(test.call, modeltest.Text("I see"), modeltest.Text("still here"))
			a, err := llmagent.New(llmagent.Config{Name: "agent", Model: llm, Tools: []tool.Tool{test.tool}})
			if err != nil {
				t.Fatal(err)
			}
			service := openSQLite(t)
			r, err := runner.New(runner.Config{AppName: "app", Agent: a, SessionService: service, AutoCreateSession: true})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close(context.Background())
			for _, text := range []string{"one", "two"} {
				for _, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}) {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			stored := log(load(t, service))
			if len(stored) != 6 || !strings.Contains(stored[2], "=map[error:") || !strings.Contains(stored[2], test.want) || stored[5] != "still here" {
				t.Errorf("stored:\n%s\nwant an error with %s", strings.Join(stored, "\n"), test.want)
			}
			// The next turn's model is told of it, too.
			if prompt := fmt.Sprint(contentTexts(llm.Requests()[2].Contents)); !strings.Contains(prompt, test.want) || !strings.HasSuffix(prompt, "I see two]") {
				t.Errorf("prompt %s", prompt)
			}
		})
	}
}

func openSQLite(t *testing.T) session.Service {
	t.Helper()
	service, err := database.NewSessionService(sqlite.Open(filepath.Join(t.TempDir(), "s.db")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
	})
	if err := database.AutoMigrate(service); err != nil {
		t.Fatal(err)
	}
	return service
}

// TestTempStateHoldsAnything: it is never stored.
func TestTempStateHoldsAnything(t *testing.T) {
	keeps := fn{name: "keeps", run: func(ctx agent.Context, _ map[string]any) (map[string]any, error) {
		return nil, ctx.State().Set("temp:k", make(chan int))
	}}
	got, _, err := play(t, llmagent.Config{Model: modeltest.NewScript(calls("keeps"), modeltest.Text("done")), Tools: []tool.Tool{keeps}}, agent.RunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "events", got, "call keeps", "keeps=map[]", "done")
}
