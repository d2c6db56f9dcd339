package functiontool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

type booking struct {
	City   string   `json:"city" jsonschema:"where to"`
	Nights int64    `json:"nights"`
	Smoker bool     `json:"smoker,omitempty"`
	Tags   []string `json:"tags,omitempty"`
	Guest  *guest   `json:"guest,omitempty"`
}

type guest struct {
	Name string `json:"name"`
}

func TestArgumentsAreDecoded(t *testing.T) {
	tests := []struct {
		name string
		args map[string]any
		want booking
	}{
		{"as JSON has them", map[string]any{"city": "Rome", "nights": 2.0}, booking{City: "Rome", Nights: 2}},
		{"as Go has them", map[string]any{"city": "Rome", "nights": 2, "tags": []string{"quiet"}}, booking{City: "Rome", Nights: 2, Tags: []string{"quiet"}}},
		{"an integer beyond the exact floats", map[string]any{"city": "", "nights": int64(math.MaxInt64)}, booking{Nights: math.MaxInt64}},
		{"optional ones", map[string]any{"city": "Rome", "nights": 1, "smoker": true, "guest": map[string]any{"name": "Ada"}}, booking{City: "Rome", Nights: 1, Smoker: true, Guest: &guest{Name: "Ada"}}},
		{"null where a pointer may be", map[string]any{"city": "Rome", "nights": 1, "guest": nil}, booking{City: "Rome", Nights: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var byValue booking
			run(t, newTool(t, func(_ agent.Context, args booking) (string, error) { byValue = args; return "", nil }), test.args)
			var byPointer *booking
			run(t, newTool(t, func(_ agent.Context, args *booking) (string, error) { byPointer = args; return "", nil }), test.args)
			if diff := cmp.Diff(test.want, byValue); diff != "" {
				t.Errorf("struct (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&test.want, byPointer); diff != "" {
				t.Errorf("pointer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMapArgumentsArriveAsJSON(t *testing.T) {
	var got map[string]any
	fn := newTool(t, func(_ agent.Context, args map[string]any) (string, error) { got = args; return "", nil })
	run(t, fn, map[string]any{"n": 1, "list": []string{"a"}})
	if diff := cmp.Diff(map[string]any{"n": 1.0, "list": []any{"a"}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	run(t, fn, nil)
	if got == nil || len(got) != 0 {
		t.Errorf("no arguments arrived as %#v, want an empty map", got)
	}
}

func TestInvalidArgumentsAreNamed(t *testing.T) {
	fn := newTool(t, func(agent.Context, booking) (string, error) {
		t.Error("the handler ran")
		return "", nil
	})
	tests := []struct {
		name  string
		args  map[string]any
		names string
	}{
		{"no arguments", nil, "city"},
		{"missing", map[string]any{"city": "Rome"}, "nights"},
		{"unknown", map[string]any{"city": "Rome", "nights": 1, "pets": 2}, "pets"},
		{"wrong type", map[string]any{"city": 7, "nights": 1}, "/properties/city"},
		{"not a whole number", map[string]any{"city": "Rome", "nights": 1.5}, "/properties/nights"},
		{"null where none may be", map[string]any{"city": nil, "nights": 1}, "/properties/city"},
		{"too large to decode", map[string]any{"city": "Rome", "nights": 1e300}, "nights"},
		{"wrong case", map[string]any{"City": "Rome", "nights": 1}, "City"},
		{"nested", map[string]any{"city": "Rome", "nights": 1, "guest": map[string]any{"name": 1}}, "/properties/guest/properties/name"},
		{"no JSON value", map[string]any{"city": func() {}, "nights": 1}, "func()"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := fn.Run(newContext(), test.args)
			if !errors.Is(err, functiontool.ErrInvalidArgument) {
				t.Fatalf("error is %v, want ErrInvalidArgument", err)
			}
			if !strings.Contains(err.Error(), test.names) || !strings.Contains(err.Error(), `tool "book"`) {
				t.Errorf("error %q does not name the tool and %q", err, test.names)
			}
		})
	}
}

func TestInputSchemaReplacesTheInferredOne(t *testing.T) {
	schema := &jsonschema.Schema{
		Type:       "object",
		Properties: map[string]*jsonschema.Schema{"city": {Type: "string", Enum: []any{"Rome", "Oslo"}}},
	}
	fn := build(t, functiontool.Config{Name: "book", InputSchema: schema}, func(_ agent.Context, args map[string]any) (any, error) {
		return args["city"], nil
	})
	if got := fn.Declaration().ParametersJsonSchema; got != schema {
		t.Errorf("declared schema is %v", got)
	}
	if got := run(t, fn, map[string]any{"city": "Oslo"}); got["result"] != "Oslo" {
		t.Errorf("answer is %v", got)
	}
	if _, err := fn.Run(newContext(), map[string]any{"city": "Bonn"}); !errors.Is(err, functiontool.ErrInvalidArgument) {
		t.Errorf("error is %v, want ErrInvalidArgument", err)
	}
}

func TestResults(t *testing.T) {
	when := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	tests := []struct {
		result any
		want   map[string]any
	}{
		{guest{Name: "Ada"}, map[string]any{"name": "Ada"}},
		{&guest{Name: "Ada"}, map[string]any{"name": "Ada"}},
		{map[string]any{"a": 1}, map[string]any{"a": 1.0}},
		{map[string]int{}, map[string]any{}},
		{"text", map[string]any{"result": "text"}},
		{7, map[string]any{"result": 7.0}},
		{[]guest{{Name: "Ada"}}, map[string]any{"result": []any{map[string]any{"name": "Ada"}}}},
		{when, map[string]any{"result": "2026-03-01T09:30:00Z"}},
		{nil, map[string]any{"result": nil}},
		{(*guest)(nil), map[string]any{"result": nil}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%T", test.result), func(t *testing.T) {
			fn := newTool(t, func(agent.Context, struct{}) (any, error) { return test.result, nil })
			if diff := cmp.Diff(test.want, run(t, fn, nil)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestResultsThatHaveNoJSONAreErrors(t *testing.T) {
	fn := newTool(t, func(agent.Context, struct{}) (any, error) { return math.NaN(), nil })
	if _, err := fn.Run(newContext(), nil); err == nil || !strings.Contains(err.Error(), `tool "book": result`) {
		t.Errorf("error is %v", err)
	}
}

func TestOutputSchemaIsChecked(t *testing.T) {
	fn := build(t, functiontool.Config{Name: "book", OutputSchema: &jsonschema.Schema{Type: "string"}},
		func(_ agent.Context, args struct {
			Value any `json:"value"`
		}) (any, error) {
			return args.Value, nil
		})
	if got := run(t, fn, map[string]any{"value": "fine"}); got["result"] != "fine" {
		t.Errorf("answer is %v", got)
	}
	if _, err := fn.Run(newContext(), map[string]any{"value": 3}); err == nil || errors.Is(err, functiontool.ErrInvalidArgument) {
		t.Errorf("error is %v, want one about the result", err)
	}
	if got, want := toJSON(t, fn.Declaration().ResponseJsonSchema), `{"type":"object","properties":{"result":{"type":"string"}},"required":["result"]}`; got != want {
		t.Errorf("declared response is %s\nwant %s", got, want)
	}
}

func TestLongRunningTools(t *testing.T) {
	type ticket struct {
		ID string `json:"id"`
	}
	fn := build(t, functiontool.Config{Name: "approve", Description: "Asks a person.", IsLongRunning: true},
		func(_ agent.Context, args struct {
			Known bool `json:"known"`
		}) (*ticket, error) {
			if args.Known {
				return &ticket{ID: "t-1"}, nil
			}
			return nil, nil
		})
	if got := run(t, fn, map[string]any{"known": false}); got != nil {
		t.Errorf("nil result is answered with %v, want nil: the call stays open", got)
	}
	if got := run(t, fn, map[string]any{"known": true}); got["id"] != "t-1" {
		t.Errorf("answer is %v", got)
	}
	if !fn.IsLongRunning() || fn.Description() != "Asks a person." {
		t.Errorf("long running %v, description %q", fn.IsLongRunning(), fn.Description())
	}
	if got := fn.Declaration().Description; !strings.HasPrefix(got, "Asks a person.\n\n") || !strings.Contains(got, "Do not call it again") {
		t.Errorf("declared description is %q", got)
	}
}

func TestDeclaration(t *testing.T) {
	fn := build(t, functiontool.Config{Name: "book", Description: "Books a room."}, func(agent.Context, booking) (guest, error) {
		return guest{}, nil
	})
	want := `{"description":"Books a room.","name":"book","parametersJsonSchema":{` +
		`"type":"object","properties":{` +
		`"city":{"type":"string","description":"where to"},` +
		`"nights":{"type":"integer"},` +
		`"smoker":{"type":"boolean"},` +
		`"tags":{"type":["null","array"],"items":{"type":"string"}},` +
		`"guest":{"type":["null","object"],"properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}},` +
		`"required":["city","nights"],"additionalProperties":false},` +
		`"responseJsonSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}}`
	if got := toJSON(t, fn.Declaration()); got != want {
		t.Errorf("declaration is\n%s\nwant\n%s", got, want)
	}
	fn.Declaration().Name = "changed"
	if fn.Declaration().Name != "book" {
		t.Error("a caller changed the tool's declaration")
	}
}

type tree struct {
	Children []*tree `json:"children,omitempty"`
}

type selfEncoded struct{ hidden string }

func (s selfEncoded) MarshalJSON() ([]byte, error) { return json.Marshal(s.hidden) }

func TestResultsWithoutASchemaAreNotDeclared(t *testing.T) {
	tests := map[string]tool.Function{
		"a map":            newTool(t, func(agent.Context, booking) (map[string]any, error) { return nil, nil }),
		"a recursive type": newTool(t, func(agent.Context, booking) (tree, error) { return tree{}, nil }),
		"one that encodes": newTool(t, func(agent.Context, booking) (selfEncoded, error) { return selfEncoded{}, nil }),
	}
	for name, fn := range tests {
		if got := fn.Declaration().ResponseJsonSchema; got != nil {
			t.Errorf("%s: declared response is %v, want none", name, got)
		}
	}
}

func TestErrorsOfTheHandlerAreReturned(t *testing.T) {
	full := errors.New("no rooms")
	fn := newTool(t, func(agent.Context, struct{}) (string, error) { return "ignored", full })
	if answer, err := fn.Run(newContext(), nil); err != full || answer != nil {
		t.Errorf("answer %v, error %v", answer, err)
	}
}

func TestPanicIsAnErrorThatNamesTheTool(t *testing.T) {
	fn := newTool(t, func(agent.Context, struct{}) (string, error) { panic("out of keys") })
	_, err := fn.Run(newContext(), nil)
	if err == nil || err.Error() != `tool "book" panicked: out of keys` {
		t.Errorf("error is %v", err)
	}
}

func TestGoexitIsNotSwallowed(t *testing.T) {
	fn := newTool(t, func(agent.Context, struct{}) (string, error) {
		runtime.Goexit()
		return "", nil
	})
	ended := make(chan struct{})
	returned := false
	go func() {
		defer close(ended)
		_, _ = fn.Run(newContext(), nil)
		returned = true
	}()
	<-ended
	if returned {
		t.Error("Run returned, want the goroutine to end")
	}
}

func TestNewRefuses(t *testing.T) {
	handler := func(agent.Context, booking) (string, error) { return "", nil }
	ref := &jsonschema.Schema{Ref: "#/$defs/nowhere"}
	tests := []struct {
		name string
		err  func() error
		want string
	}{
		{"no name", failure(functiontool.Config{}, handler), "no name"},
		{"a name with a space", failure(functiontool.Config{Name: "book it"}, handler), "name"},
		{"a name with a digit first", failure(functiontool.Config{Name: "1st"}, handler), "name"},
		{"a name of 65 characters", failure(functiontool.Config{Name: strings.Repeat("n", 65)}, handler), "name"},
		{"no handler", failure[booking, string](functiontool.Config{Name: "book"}, nil), "no handler"},
		{"arguments that are no object", failure(functiontool.Config{Name: "book"}, func(agent.Context, string) (string, error) { return "", nil }), "of type string"},
		{"arguments that are a time", failure(functiontool.Config{Name: "book"}, func(agent.Context, time.Time) (string, error) { return "", nil }), `"string", not object`},
		{"recursive arguments", failure(functiontool.Config{Name: "book"}, func(agent.Context, tree) (string, error) { return "", nil }), "cycle"},
		{"an input schema that is no object", failure(functiontool.Config{Name: "book", InputSchema: &jsonschema.Schema{Type: "string"}}, handler), "not object"},
		{"an input schema that does not resolve", failure(functiontool.Config{Name: "book", InputSchema: &jsonschema.Schema{Type: "object", Items: ref}}, handler), "input schema"},
		{"an output schema that does not resolve", failure(functiontool.Config{Name: "book", OutputSchema: ref}, handler), "output schema"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := test.err(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one with %q", err, test.want)
			}
		})
	}
}

func failure[TArgs, TResults any](cfg functiontool.Config, handler functiontool.Func[TArgs, TResults]) func() error {
	return func() error {
		built, err := functiontool.New(cfg, handler)
		if built != nil {
			return fmt.Errorf("there is a tool, and the error is %w", err)
		}
		return err
	}
}

func newTool[TArgs, TResults any](t *testing.T, handler functiontool.Func[TArgs, TResults]) tool.Function {
	t.Helper()
	return build(t, functiontool.Config{Name: "book"}, handler)
}

func build[TArgs, TResults any](t *testing.T, cfg functiontool.Config, handler functiontool.Func[TArgs, TResults]) tool.Function {
	t.Helper()
	built, err := functiontool.New(cfg, handler)
	if err != nil {
		t.Fatal(err)
	}
	return built.(tool.Function)
}

func run(t *testing.T, fn tool.Function, args map[string]any) map[string]any {
	t.Helper()
	answer, err := fn.Run(newContext(), args)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// newContext is the context of a tool in an invocation of its own.
func newContext() agent.Context {
	invocation := agent.NewInvocationContext(context.Background(), agent.InvocationParams{
		Session: session.NewSnapshot(session.SnapshotData{AppName: "shop", UserID: "ada", ID: "s-1"}),
	})
	return agent.NewToolContext(invocation, "call-1", &session.EventActions{}, nil)
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
