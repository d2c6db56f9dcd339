package model_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/recap-adk/recap/model"
)

// named is a model that has a name and nothing to say.
type named string

func (n named) Name() string { return string(n) }

func (n named) GenerateContent(context.Context, *model.LLMRequest, bool) iter.Seq2[*model.LLMResponse, error] {
	return func(func(*model.LLMResponse, error) bool) {}
}

// prefixed is a factory whose models tell which factory made them.
func prefixed(prefix string) model.Factory {
	return func(_ context.Context, name string) (model.LLM, error) { return named(prefix + name), nil }
}

func TestNewLLM(t *testing.T) {
	model.Register(`registry-.*`, prefixed("general "))
	model.Register(`registry-big|registry-huge`, prefixed("special "))
	model.Register(`registry-broken`, func(context.Context, string) (model.LLM, error) { return nil, errors.New("no key") })
	tests := []struct{ name, want, err string }{
		{"registry-small", "general registry-small", ""},
		{"registry-big", "special registry-big", ""},
		{"registry-huge", "special registry-huge", ""},
		{"registry-bigger", "general registry-bigger", ""},
		{"registry-broken", "", "no key"},
		{"my-registry-small", "", `nothing is registered for the name "my-registry-small"`},
		{"", "", "registry-.*"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			llm, err := model.NewLLM(t.Context(), test.name)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error is %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if llm.Name() != test.want {
				t.Errorf("model is %q, want %q", llm.Name(), test.want)
			}
		})
	}
}

func TestRegisterRefuses(t *testing.T) {
	tests := []struct {
		name    string
		pattern string
		factory model.Factory
	}{
		{"what is no regular expression", "(", prefixed("")},
		{"no factory", "x", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("there is no panic")
				}
			}()
			model.Register(test.pattern, test.factory)
		})
	}
}

func TestRegistryIsSafeForConcurrentUse(t *testing.T) {
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			model.Register(`concurrent`, prefixed(""))
			if _, err := model.NewLLM(t.Context(), "concurrent"); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
}
