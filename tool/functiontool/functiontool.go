// Package functiontool makes tools of Go functions.
//
// The arguments of the tool are the fields of a struct; the schema that the
// model is shown is inferred from it:
//
//	type Args struct {
//		City string `json:"city" jsonschema:"the city to look up"`
//		Days int    `json:"days,omitempty" jsonschema:"how many days ahead"`
//	}
//	type Forecast struct {
//		Sky string `json:"sky"`
//	}
//
//	forecast, err := functiontool.New(functiontool.Config{
//		Name:        "forecast",
//		Description: "Tells the weather of the coming days.",
//	}, func(ctx agent.Context, args Args) (Forecast, error) {
//		return Forecast{Sky: "clear over " + args.City}, nil
//	})
//
// A field is required unless its tag says omitempty or omitzero. The example
// of the package runs such a tool.
//
// A tool with Config.RequireConfirmation runs only after the user has agreed:
// the first call asks, and the model is told that it does; the user's answer
// makes the call again. See package toolconfirmation.
package functiontool

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/internal/confirm"
	"github.com/recap-adk/recap/tool"
)

// ErrInvalidArgument says that a call's arguments do not fit the tool's input
// schema. The handler was not run; the model is told which argument and why.
var ErrInvalidArgument = errors.New("invalid argument")

// Func is a function that a model may call. It may be called from many
// goroutines at once. An error is told to the model as the answer.
type Func[TArgs, TResults any] func(agent.Context, TArgs) (TResults, error)

// Config describes a tool.
type Config struct {
	// Name is what the model calls: at most 64 letters, digits and "_.:-",
	// starting with a letter or "_".
	Name string
	// Description tells the model what the tool is for.
	Description string
	// InputSchema replaces the schema inferred from the arguments. Defaults in
	// it are shown to the model and not filled in. It must not change after New.
	InputSchema *jsonschema.Schema
	// OutputSchema replaces the schema inferred from the results. Results that
	// do not fit it are an error. It must not change after New.
	OutputSchema *jsonschema.Schema
	// IsLongRunning says that the answer may come after the run: the call stays
	// open where the handler returns nil.
	IsLongRunning bool
	// RequireConfirmation makes every call need the user's consent.
	RequireConfirmation bool
	// RequireConfirmationProvider, a func(TArgs) bool, says which calls need the
	// user's consent where RequireConfirmation is not set. It may be called from
	// many goroutines at once.
	RequireConfirmationProvider any
}

const longRunningNote = "This tool is long-running: its answer comes later. Do not call it again while a call is pending."

var validName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

// New makes a tool of handler. The tool implements tool.Function and is safe
// for concurrent use if handler is.
//
// TArgs is a struct, a pointer to a struct or map[string]any. Arguments are
// checked against the input schema, then decoded as JSON; what does not fit is
// an error that matches ErrInvalidArgument.
//
// The answer is the result as JSON: a struct or a map as the object that it
// is, any other value v as {"result": v}. A nil result of a long-running tool
// is no answer. A handler that panics has failed; the stack is logged.
//
// New fails if the name is not valid, handler is nil, the arguments have no
// schema of type object, or RequireConfirmationProvider takes others.
func New[TArgs, TResults any](cfg Config, handler Func[TArgs, TResults]) (tool.Tool, error) {
	t, err := newFunction(cfg, handler)
	if err != nil {
		return nil, fmt.Errorf("functiontool: tool %q: %w", cfg.Name, err)
	}
	return t, nil
}

func newFunction[TArgs, TResults any](cfg Config, handler Func[TArgs, TResults]) (*function[TArgs, TResults], error) {
	switch {
	case cfg.Name == "":
		return nil, errors.New("no name")
	case !validName.MatchString(cfg.Name):
		return nil, fmt.Errorf("the name does not match %s", validName)
	case handler == nil:
		return nil, errors.New("no handler")
	}
	t := &function[TArgs, TResults]{cfg: cfg, handler: handler}
	if provider := cfg.RequireConfirmationProvider; provider != nil {
		var ok bool
		if t.needsConsent, ok = provider.(func(TArgs) bool); !ok || t.needsConsent == nil {
			return nil, fmt.Errorf("RequireConfirmationProvider is a %T, not a %T", provider, t.needsConsent)
		}
	}
	input, err := inputSchema[TArgs](cfg.InputSchema)
	if err != nil {
		return nil, err
	}
	if t.input, err = input.Resolve(nil); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if cfg.OutputSchema != nil {
		if t.output, err = cfg.OutputSchema.Resolve(nil); err != nil {
			return nil, fmt.Errorf("output schema: %w", err)
		}
	}
	t.declaration = genai.FunctionDeclaration{
		Name: cfg.Name, Description: cfg.Description, ParametersJsonSchema: input,
	}
	if output := outputSchema[TResults](cfg.OutputSchema); output != nil {
		t.declaration.ResponseJsonSchema = output
	}
	if cfg.IsLongRunning {
		t.declaration.Description = strings.TrimSpace(cfg.Description + "\n\n" + longRunningNote)
	}
	return t, nil
}

// inputSchema is the schema given or else inferred from TArgs.
func inputSchema[TArgs any](given *jsonschema.Schema) (*jsonschema.Schema, error) {
	args := pointee(reflect.TypeFor[TArgs]())
	if args.Kind() != reflect.Struct && args != reflect.TypeFor[map[string]any]() {
		return nil, fmt.Errorf("the arguments are of type %s, not a struct or map[string]any", args)
	}
	schema := given
	if schema == nil {
		var err error
		if schema, err = jsonschema.ForType(args, nil); err != nil {
			return nil, fmt.Errorf("input schema: %w", err)
		}
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("input schema: the type is %q, not object", schema.Type)
	}
	return schema, nil
}

// outputSchema is the schema of the answers, or nil where none is known. Types
// that encode themselves or have no schema, such as recursive ones, are fine as
// results: the model can read an answer without.
func outputSchema[TResults any](given *jsonschema.Schema) *jsonschema.Schema {
	if given != nil {
		if given.Type == "object" {
			return given
		}
		return &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"result": given}, Required: []string{"result"},
		}
	}
	results := pointee(reflect.TypeFor[TResults]())
	if results.Kind() != reflect.Struct || reflect.PointerTo(results).Implements(reflect.TypeFor[json.Marshaler]()) {
		return nil
	}
	schema, err := jsonschema.ForType(results, nil)
	if err != nil {
		return nil
	}
	return schema
}

func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// function is the tool.Function that New returns.
type function[TArgs, TResults any] struct {
	cfg          Config
	handler      Func[TArgs, TResults]
	needsConsent func(TArgs) bool // nil: as cfg.RequireConfirmation
	declaration  genai.FunctionDeclaration
	input        *jsonschema.Resolved
	output       *jsonschema.Resolved // nil: results are not checked
}

func (f *function[TArgs, TResults]) Name() string        { return f.cfg.Name }
func (f *function[TArgs, TResults]) Description() string { return f.cfg.Description }
func (f *function[TArgs, TResults]) IsLongRunning() bool { return f.cfg.IsLongRunning }

func (f *function[TArgs, TResults]) Declaration() *genai.FunctionDeclaration {
	declaration := f.declaration
	return &declaration
}

func (f *function[TArgs, TResults]) Run(ctx agent.Context, args map[string]any) (map[string]any, error) {
	decoded, err := f.decode(args)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w: %w", f.cfg.Name, ErrInvalidArgument, err)
	}
	result, err := f.call(ctx, decoded)
	if err != nil {
		return nil, err
	}
	answer, err := f.encode(result)
	if err != nil {
		return nil, fmt.Errorf("tool %q: result: %w", f.cfg.Name, err)
	}
	return answer, nil
}

// decode checks args and makes a TArgs of them.
func (f *function[TArgs, TResults]) decode(args map[string]any) (decoded TArgs, err error) {
	if args == nil {
		args = map[string]any{} // null is not an object
	}
	encoded, err := json.Marshal(args)
	if err != nil {
		return decoded, err
	}
	// What is checked is what the JSON says: args may hold any Go values.
	var instance map[string]any
	if err := json.Unmarshal(encoded, &instance); err != nil {
		return decoded, err
	}
	if err := validate(f.input, instance); err != nil {
		return decoded, err
	}
	err = json.Unmarshal(encoded, &decoded)
	return decoded, err
}

// call runs the handler, if the user agrees. A panic of a tool must not end the
// program.
func (f *function[TArgs, TResults]) call(ctx agent.Context, args TArgs) (result TResults, err error) {
	defer func() {
		if value := recover(); value != nil {
			slog.ErrorContext(ctx, "a tool panicked", "tool", f.cfg.Name, "panic", value, "stack", string(debug.Stack()))
			err = fmt.Errorf("tool %q panicked: %v", f.cfg.Name, value)
		}
	}()
	err = confirm.Ask(ctx, f.cfg.Name, func() bool {
		return f.cfg.RequireConfirmation || f.needsConsent != nil && f.needsConsent(args)
	})
	if err != nil {
		return result, err
	}
	return f.handler(ctx, args)
}

// encode makes the answer of a result.
func (f *function[TArgs, TResults]) encode(result TResults) (map[string]any, error) {
	encoded, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(encoded, &value); err != nil {
		return nil, err
	}
	if value == nil && f.cfg.IsLongRunning {
		return nil, nil
	}
	if f.output != nil {
		if err := validate(f.output, value); err != nil {
			return nil, err
		}
	}
	if object, ok := value.(map[string]any); ok {
		return object, nil
	}
	return map[string]any{"result": value}, nil
}

// validate checks a JSON value. The error names the argument by its path in
// the schema.
func validate(schema *jsonschema.Resolved, value any) error {
	if err := schema.Validate(value); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "validating root: "))
	}
	return nil
}
