package functioncallmodifier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/plugin"
	"github.com/recap-adk/recap/plugin/functioncallmodifier"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

var withReason = functioncallmodifier.FunctionCallModifierConfig{
	Predicate: func(toolName string) bool { return toolName == "pay" },
	Args:      map[string]*genai.Schema{"reason": {Type: genai.TypeString, Description: "why"}},
}

func Example() {
	type args struct {
		Sum int `json:"sum"`
	}
	pay, err := functiontool.New(functiontool.Config{Name: "pay"}, func(ctx agent.Context, in args) (string, error) {
		reason, err := ctx.State().Get(ctx.FunctionCallID() + "/reason")
		return fmt.Sprintf("paid %d for %v", in.Sum, reason), err
	})
	if err != nil {
		panic(err)
	}
	llm := modeltest.NewScript(
		modeltest.Call("", "pay", map[string]any{"sum": 5, "reason": "a coffee"}), modeltest.Text("Done."))
	clerk, err := llmagent.New(llmagent.Config{Name: "clerk", Model: llm, Tools: []tool.Tool{pay}})
	if err != nil {
		panic(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "shop", Agent: clerk, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{functioncallmodifier.MustNewPlugin(withReason)}},
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("Pay.", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		switch part := event.Content.Parts[0]; {
		case part.FunctionCall != nil:
			fmt.Println("calls with", part.FunctionCall.Args)
		case part.FunctionResponse != nil:
			fmt.Println("gets", part.FunctionResponse.Response)
		}
	}
	// Output:
	// calls with map[sum:5]
	// gets map[result:paid 5 for a coffee]
}

// TestDeclarations: what the model is shown. The tool's own declaration stays.
func TestDeclarations(t *testing.T) {
	for name, test := range map[string]struct {
		declaration genai.FunctionDeclaration
		want        string
	}{
		"no parameters": {
			genai.FunctionDeclaration{Name: "pay", Description: "Pays."},
			`{"description":"Pays. Say why.","name":"pay","parameters":{"type":"OBJECT","properties":{"reason":{"description":"why","type":"STRING"}}}}`,
		},
		"parameters": {
			genai.FunctionDeclaration{Name: "pay", Parameters: &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"sum": {Type: genai.TypeInteger}}}},
			`{"description":" Say why.","name":"pay","parameters":{"type":"OBJECT","properties":{"reason":{"description":"why","type":"STRING"},"sum":{"type":"INTEGER"}}}}`,
		},
		"a JSON schema": {
			genai.FunctionDeclaration{Name: "pay", ParametersJsonSchema: map[string]any{"type": "object"}},
			`{"description":" Say why.","name":"pay","parametersJsonSchema":{"type":"object","properties":{"reason":{"type":"string","description":"why"}}}}`,
		},
		"another tool": {
			genai.FunctionDeclaration{Name: "look"}, `{"name":"look"}`,
		},
	} {
		cfg := withReason
		cfg.OverrideDescription = func(own string) string { return own + " Say why." }
		before := encode(t, test.declaration)
		req := &model.LLMRequest{
			Config: &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{&test.declaration}}, {}}},
			Tools:  map[string]any{"pay": 1, "look": 1},
		}
		if _, err := functioncallmodifier.MustNewPlugin(cfg).BeforeModelCallback()(nil, req); err != nil {
			t.Fatal(err)
		}
		if got := encode(t, req.Config.Tools[0].FunctionDeclarations[0]); got != normal(t, test.want) {
			t.Errorf("%s: %s", name, got)
		}
		if after := encode(t, test.declaration); after != before {
			t.Errorf("%s: the tool's own declaration was changed to %s", name, after)
		}
	}
}

func encode(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return normal(t, string(data))
}

// normal is JSON in one order.
func normal(t *testing.T, text string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestUnfit(t *testing.T) {
	for want, cfg := range map[string]functioncallmodifier.FunctionCallModifierConfig{
		"Predicate must be set":                 {},
		`argument "x": there is no type "DATE"`: {Predicate: withReason.Predicate, Args: map[string]*genai.Schema{"x": {Type: "DATE"}}},
	} {
		if _, err := functioncallmodifier.NewPlugin(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	// What is no call of interest passes.
	after := functioncallmodifier.MustNewPlugin(withReason).AfterModelCallback()
	for _, response := range []*model.LLMResponse{nil, {}, {Content: &genai.Content{Parts: []*genai.Part{nil, {Text: "x"}, {FunctionCall: &genai.FunctionCall{Name: "look"}}}}}} {
		if replaced, err := after(nil, response, nil); replaced != nil || err != nil {
			t.Errorf("%v, %v", replaced, err)
		}
	}
}
