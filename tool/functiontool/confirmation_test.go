package functiontool_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// TestConfirmation: a call that needs consent runs when it has it, and the
// question is in the call's actions until then.
func TestConfirmation(t *testing.T) {
	yes, no := &toolconfirmation.ToolConfirmation{Confirmed: true}, &toolconfirmation.ToolConfirmation{}
	longStay := func(b booking) bool { return b.Nights > 7 }
	tests := []struct {
		name   string
		cfg    functiontool.Config
		nights int
		answer *toolconfirmation.ToolConfirmation
		want   error
	}{
		{"not needed", functiontool.Config{}, 9, nil, nil},
		{"always needed", functiontool.Config{RequireConfirmation: true}, 1, nil, tool.ErrConfirmationRequired},
		{"given", functiontool.Config{RequireConfirmation: true}, 1, yes, nil},
		{"refused", functiontool.Config{RequireConfirmation: true}, 1, no, tool.ErrConfirmationRejected},
		{"needed for this call", functiontool.Config{RequireConfirmationProvider: longStay}, 9, nil, tool.ErrConfirmationRequired},
		{"given for this call", functiontool.Config{RequireConfirmationProvider: longStay}, 9, yes, nil},
		{"not needed for this call", functiontool.Config{RequireConfirmationProvider: longStay}, 1, nil, nil},
		{"always needed, whatever the provider says", functiontool.Config{RequireConfirmation: true, RequireConfirmationProvider: longStay}, 1, nil, tool.ErrConfirmationRequired},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.cfg.Name = "book"
			ran := false
			fn := build(t, test.cfg, func(agent.Context, booking) (string, error) { ran = true; return "booked", nil })
			ctx := answered(test.answer)
			_, err := fn.Run(ctx, map[string]any{"city": "Rome", "nights": test.nights})
			if !errors.Is(err, test.want) || ran != (test.want == nil) {
				t.Errorf("error %v, ran %v", err, ran)
			}
			_, asked := ctx.Actions().RequestedToolConfirmations["call-1"]
			if want := test.want == tool.ErrConfirmationRequired; asked != want || ctx.Actions().SkipSummarization != want {
				t.Errorf("asked %v, the run goes on %v", asked, !ctx.Actions().SkipSummarization)
			}
			// A call that does not fit is not worth a question.
			ctx = answered(nil)
			if _, err := fn.Run(ctx, nil); !errors.Is(err, functiontool.ErrInvalidArgument) || len(ctx.Actions().RequestedToolConfirmations) > 0 {
				t.Errorf("without arguments: %v", err)
			}
		})
	}
}

func TestUnfitConfirmationProviders(t *testing.T) {
	var none func(booking) bool
	for name, provider := range map[string]any{
		"other arguments": func(guest) bool { return true },
		"no function":     true,
		"nil":             none,
	} {
		_, err := functiontool.New(functiontool.Config{Name: "book", RequireConfirmationProvider: provider}, func(agent.Context, booking) (string, error) { return "", nil })
		if err == nil || !strings.Contains(err.Error(), "RequireConfirmationProvider") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestStreaming: the model is told the whole, or the error.
func TestStreaming(t *testing.T) {
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(t.Context())
	tests := []struct {
		name   string
		ctx    agent.Context
		stream iter.Seq2[string, error]
		want   any
		err    error
	}{
		{"pieces", newContext(), func(yield func(string, error) bool) { _ = yield("a", nil) && yield("b", nil) }, "ab", nil},
		{"nothing", newContext(), func(func(string, error) bool) {}, "", nil},
		{"an error", newContext(), func(yield func(string, error) bool) {
			if yield("a", nil) && yield("", broken) {
				t.Error("asked for more after an error")
			}
		}, nil, broken},
		{"cancelled", cancelled(ctx), func(yield func(string, error) bool) {
			cancel()
			for yield("a", nil) {
			}
		}, nil, context.Canceled},
	}
	for _, test := range tests {
		fn, err := functiontool.NewStreaming(functiontool.Config{Name: "tail"}, func(agent.Context, struct{}) iter.Seq2[string, error] { return test.stream })
		if err != nil {
			t.Fatal(err)
		}
		got, err := fn.(tool.Function).Run(test.ctx, nil)
		if got["result"] != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
	if _, err := functiontool.NewStreaming[struct{}](functiontool.Config{Name: "tail"}, nil); err == nil {
		t.Error("no handler is no error")
	}
}

// answered is the context of a call to which the user has answered.
func answered(answer *toolconfirmation.ToolConfirmation) agent.Context {
	return agent.NewToolContext(newContext(), "call-1", &session.EventActions{}, answer)
}

func cancelled(ctx context.Context) agent.Context {
	return agent.NewToolContext(newContext().WithContext(ctx), "call-1", &session.EventActions{}, nil)
}
