package tool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// box is a toolset that can be closed.
type box struct {
	tools  []tool.Tool
	err    error
	closed *int
}

func (b box) Name() string                                     { return "box" }
func (b box) Tools(agent.ReadonlyContext) ([]tool.Tool, error) { return b.tools, b.err }
func (b box) Close() error                                     { *b.closed++; return b.err }

// fn is a function that counts its calls.
type fn struct {
	name string
	runs *int
}

func (f fn) Name() string                            { return f.name }
func (fn) Description() string                       { return "" }
func (fn) IsLongRunning() bool                       { return false }
func (f fn) Declaration() *genai.FunctionDeclaration { return &genai.FunctionDeclaration{Name: f.name} }
func (f fn) Run(agent.Context, map[string]any) (map[string]any, error) {
	*f.runs++
	return map[string]any{"ran": f.name}, nil
}

// both has a part in requests, too.
type both struct{ fn }

func (both) ProcessRequest(_ agent.Context, req *model.LLMRequest) error {
	req.Model = "processed"
	return nil
}

// processor has nothing else.
type processor struct{}

func (processor) Name() string                                          { return "processor" }
func (processor) Description() string                                   { return "" }
func (processor) IsLongRunning() bool                                   { return false }
func (processor) ProcessRequest(agent.Context, *model.LLMRequest) error { return nil }

// called is the context of a call.
func called(id string, answer *toolconfirmation.ToolConfirmation) agent.Context {
	invocation := agent.NewInvocationContext(context.Background(), agent.InvocationParams{
		Session: session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: "ada", ID: "s1"}),
	})
	return agent.NewToolContext(invocation, id, &session.EventActions{}, answer)
}

func names(t *testing.T, set tool.Toolset) string {
	t.Helper()
	tools, err := set.Tools(called("", nil))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, each := range tools {
		names = append(names, each.Name())
	}
	return strings.Join(names, " ")
}

func TestFilterToolset(t *testing.T) {
	set := box{tools: []tool.Tool{fn{name: "a"}, fn{name: "b"}, fn{name: "c"}}, closed: new(int)}
	allowed := []string{"c", "a", "absent"}
	tests := map[string]struct {
		predicate tool.Predicate
		want      string
	}{
		"allowed":           {tool.AllowedToolsPredicate(allowed), "a c"},
		"by the older name": {tool.StringPredicate([]string{"b"}), "b"},
		"none allowed":      {tool.AllowedToolsPredicate(nil), ""},
		"no predicate":      {nil, "a b c"},
		"by the context":    {func(ctx agent.ReadonlyContext, t tool.Tool) bool { return ctx.UserID() == "ada" && t.Name() > "a" }, "b c"},
	}
	allowed[0] = "b" // has no effect any more
	for name, test := range tests {
		filtered := tool.FilterToolset(set, test.predicate)
		if filtered.Name() != "box" {
			t.Errorf("%s: the set is named %q", name, filtered.Name())
		}
		for range 2 { // the set's own slice stays as it is
			if got := names(t, filtered); got != test.want {
				t.Errorf("%s: %q, want %q", name, got, test.want)
			}
		}
	}
	if got := names(t, set); got != "a b c" {
		t.Errorf("the set itself has %q", got)
	}
}

func TestToolsetsThatFail(t *testing.T) {
	down := errors.New("down")
	set := box{err: down, closed: new(int)}
	for _, derived := range []tool.Toolset{
		tool.FilterToolset(set, tool.AllowedToolsPredicate(nil)),
		tool.WithConfirmation(set, true, nil),
	} {
		if _, err := derived.Tools(called("", nil)); err != down {
			t.Errorf("error %v", err)
		}
		if err := derived.(io.Closer).Close(); err != down {
			t.Errorf("error of Close: %v", err)
		}
	}
	if *set.closed != 2 {
		t.Errorf("closed %d times", *set.closed)
	}
	// A set that cannot be closed has nothing to close.
	unclosed := tool.FilterToolset(struct{ tool.Toolset }{set}, tool.AllowedToolsPredicate(nil))
	if err := unclosed.(io.Closer).Close(); err != nil {
		t.Error(err)
	}
}

func TestWithConfirmation(t *testing.T) {
	yes, no := &toolconfirmation.ToolConfirmation{Confirmed: true}, &toolconfirmation.ToolConfirmation{}
	costly := func(name string, input any) bool {
		return name == "pay" && input.(map[string]any)["amount"].(int) > 100
	}
	tests := []struct {
		name     string
		always   bool
		provider tool.ConfirmationProvider
		amount   int
		id       string
		answer   *toolconfirmation.ToolConfirmation
		want     error
		asks     bool
	}{
		{name: "never", amount: 500, id: "c1"},
		{name: "always", always: true, id: "c1", want: tool.ErrConfirmationRequired, asks: true},
		{name: "confirmed", always: true, id: "c1", answer: yes},
		{name: "refused", always: true, id: "c1", answer: no, want: tool.ErrConfirmationRejected},
		{name: "costly", provider: costly, amount: 500, id: "c1", want: tool.ErrConfirmationRequired, asks: true},
		{name: "cheap", provider: costly, amount: 5, id: "c1"},
		{name: "cheap, but always", always: true, provider: costly, amount: 5, id: "c1", want: tool.ErrConfirmationRequired, asks: true},
		{name: "costly and confirmed", provider: costly, amount: 500, id: "c1", answer: yes},
		{name: "costly and refused", provider: costly, amount: 500, id: "c1", answer: no, want: tool.ErrConfirmationRejected},
		{name: "cheap and refused", provider: costly, amount: 5, id: "c1", answer: no, want: tool.ErrConfirmationRejected},
	}
	for _, test := range tests {
		for kind, makeTool := range map[string]func(*int) tool.Tool{
			"function": func(runs *int) tool.Tool { return fn{"pay", runs} },
			"both":     func(runs *int) tool.Tool { return both{fn{"pay", runs}} },
		} {
			t.Run(test.name+", "+kind, func(t *testing.T) {
				runs := 0
				set := tool.WithConfirmation(box{tools: []tool.Tool{makeTool(&runs), processor{}}, closed: new(int)}, test.always, test.provider)
				tools, err := set.Tools(called("", nil))
				if err != nil {
					t.Fatal(err)
				}
				ctx := called(test.id, test.answer)
				_, err = tools[0].(tool.Function).Run(ctx, map[string]any{"amount": test.amount})
				if !errors.Is(err, test.want) || (err != nil) != (runs == 0) {
					t.Errorf("error %v after %d runs, want %v", err, runs, test.want)
				}
				asked, ok := ctx.Actions().RequestedToolConfirmations["c1"]
				if ok != test.asks || ctx.Actions().SkipSummarization != test.asks || test.asks && (asked.Confirmed || !strings.Contains(asked.Hint, "pay")) {
					t.Errorf("asks for %+v", ctx.Actions().RequestedToolConfirmations)
				}
				p, ok := tools[0].(tool.RequestProcessor)
				if ok != (kind == "both") {
					t.Errorf("a request processor: %v", ok)
				} else if req := new(model.LLMRequest); ok && (p.ProcessRequest(ctx, req) != nil || req.Model != "processed") {
					t.Error("its part of the request is missing")
				}
				if _, ok := tools[1].(processor); !ok {
					t.Errorf("a tool that cannot be called became a %T", tools[1])
				}
			})
		}
	}
}

// TestUnconfirmableCall: without an ID nobody could answer.
func TestUnconfirmableCall(t *testing.T) {
	runs := 0
	set := tool.WithConfirmation(box{tools: []tool.Tool{fn{"pay", &runs}}}, true, nil)
	tools, err := set.Tools(called("", nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx := called("", nil)
	if _, err := tools[0].(tool.Function).Run(ctx, nil); err == nil || runs != 0 || len(ctx.Actions().RequestedToolConfirmations) != 0 {
		t.Errorf("error %v after %d runs", err, runs)
	}
}

func ExampleFilterToolset() {
	set := box{tools: []tool.Tool{fn{name: "read"}, fn{name: "write"}}}
	readOnly := tool.FilterToolset(set, tool.AllowedToolsPredicate([]string{"read"}))
	tools, err := readOnly.Tools(called("", nil))
	if err != nil {
		panic(err)
	}
	for _, t := range tools {
		fmt.Println(t.Name())
	}
	// Output: read
}
