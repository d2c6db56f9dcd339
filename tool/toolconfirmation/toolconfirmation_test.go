package toolconfirmation_test

import (
	"fmt"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/tool/toolconfirmation"
)

func ExampleOriginalCallFrom() {
	asked := &genai.FunctionCall{
		ID:   "c-2",
		Name: toolconfirmation.FunctionCallName,
		Args: map[string]any{"originalFunctionCall": map[string]any{
			"id": "c-1", "name": "refund", "args": map[string]any{"amount": 250.0},
		}},
	}
	call, err := toolconfirmation.OriginalCallFrom(asked)
	fmt.Println(call.ID, call.Name, call.Args["amount"], err)
	// Output: c-1 refund 250 <nil>
}

func TestOriginalCallFrom(t *testing.T) {
	direct := &genai.FunctionCall{ID: "c-1"}
	got, err := toolconfirmation.OriginalCallFrom(&genai.FunctionCall{Args: map[string]any{"originalFunctionCall": direct}})
	if err != nil || got != direct {
		t.Errorf("direct call: got %v, %v", got, err)
	}
	for name, bad := range map[string]*genai.FunctionCall{
		"nil":          nil,
		"no argument":  {ID: "c"},
		"wrong type":   {ID: "c", Args: map[string]any{"originalFunctionCall": "refund"}},
		"not for JSON": {ID: "c", Args: map[string]any{"originalFunctionCall": func() {}}},
	} {
		if call, err := toolconfirmation.OriginalCallFrom(bad); err == nil {
			t.Errorf("%s: got %v, want an error", name, call)
		}
	}
}
