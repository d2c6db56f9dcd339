package llmagent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/tool"
)

var citySchema = &genai.Schema{
	Type: genai.TypeObject,
	Properties: map[string]*genai.Schema{
		"city": {Type: genai.TypeString}, "nights": {Type: genai.TypeInteger},
	},
	Required: []string{"city"},
}

// An agent with tools gives its answer through one more tool.
func ExampleConfig_outputSchema() {
	llm := modeltest.NewScript(
		modeltest.Call("c1", "look", nil),
		modeltest.Call("c2", "set_model_response", map[string]any{"city": "Lisbon", "nights": "two"}),
		modeltest.Call("c3", "set_model_response", map[string]any{"city": "Lisbon", "nights": 2}),
	)
	look := answers("look", map[string]any{"found": "Lisbon"}, nil)
	guide, err := llmagent.New(llmagent.Config{Name: "guide", Model: llm, Tools: []tool.Tool{look}, OutputSchema: citySchema})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("travel", guide)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("Where to?", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(show(event))
	}
	// Output:
	// call look
	// look=map[found:Lisbon]
	// call set_model_response
	// set_model_response=map[error:the answer does not fit: validating /properties/nights: type: two has type "string", want "integer"]
	// call set_model_response
	// set_model_response=map[status:accepted]
	// {"city":"Lisbon","nights":2}
}

// TestOutputSchema: what the model is asked for, and what is made of its
// answers.
func TestOutputSchema(t *testing.T) {
	list := &genai.Schema{Type: genai.TypeArray, Items: &genai.Schema{Type: genai.TypeString}}
	for name, test := range map[string]struct {
		cfg    llmagent.Config
		turn   modeltest.Turn
		want   []string
		output string // in the state
		fails  bool
	}{
		"without tools": {
			llmagent.Config{OutputSchema: citySchema}, modeltest.Text(`{"city": "Lisbon"}`),
			[]string{`{"city": "Lisbon"}`}, `{"city": "Lisbon"}`, false,
		},
		"an answer that is no JSON": {
			llmagent.Config{OutputSchema: citySchema}, modeltest.Text("Lisbon"), []string{"Lisbon"}, "", true,
		},
		"an answer that does not fit": {
			llmagent.Config{OutputSchema: citySchema}, modeltest.Text(`{"town": 1}`), []string{`{"town": 1}`}, "", true,
		},
		"an empty answer": {
			llmagent.Config{OutputSchema: citySchema}, modeltest.Text(" "), []string{" "}, " ", false,
		},
		"no object, with tools": {
			llmagent.Config{OutputSchema: list, Tools: named("t")},
			modeltest.Call("", "set_model_response", map[string]any{"result": []any{"a", "b"}}),
			[]string{"call set_model_response", "set_model_response=map[status:accepted]", `["a","b"]`}, `["a","b"]`, false,
		},
		"text that fits, with tools": {
			llmagent.Config{OutputSchema: list, Tools: named("t")}, modeltest.Text(`["a"]`), []string{`["a"]`}, `["a"]`, false,
		},
		"text that does not, with tools": {
			llmagent.Config{OutputSchema: list, Tools: named("t")}, modeltest.Text("a"), []string{"a"}, "", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			llm := modeltest.NewScript(test.turn, modeltest.Text(`{"city": "again"}`))
			test.cfg.Model, test.cfg.OutputKey = llm, "output"
			got, stored, err := play(t, test.cfg, agent.RunConfig{})
			if test.fails != errors.Is(err, llmagent.ErrInvalidOutput) || !test.fails && err != nil {
				t.Errorf("error %v", err)
			}
			expect(t, "events", got, test.want...)
			if output, _ := stored.State().Get("output"); fmt.Sprint(output) != test.output && (output != nil || test.output != "") {
				t.Errorf("output %v, want %s", output, test.output)
			}
			config := llm.Requests()[0].Config
			byTool := len(test.cfg.Tools) > 0
			if (config.ResponseSchema == nil) != byTool || (config.ResponseMIMEType == "") != byTool || strings.Contains(strings.Join(declared(llm.Requests()[0]), " "), "set_model_response") != byTool {
				t.Errorf("schema %v, tools %v", config.ResponseSchema, declared(llm.Requests()[0]))
			}
		})
	}
}
