package model_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/recap-adk/recap/model"
)

func TestError(t *testing.T) {
	tests := []struct {
		name    string
		err     *model.Error
		text    string
		matches []error
	}{
		{"the provider alone", &model.Error{Provider: "gemini"}, "gemini", nil},
		{"a cause", &model.Error{Provider: "gemini", Err: io.ErrUnexpectedEOF}, "gemini: unexpected EOF", []error{io.ErrUnexpectedEOF}},
		{"a kind", &model.Error{Provider: "gemini", Kind: model.ErrAuth}, "gemini: not authorized", []error{model.ErrAuth}},
		{
			"everything",
			&model.Error{Provider: "gemini", Status: 429, Kind: model.ErrRateLimit, Err: fmt.Errorf("slow down: %w", context.Canceled)},
			"gemini (status 429): rate limit reached: slow down: context canceled",
			[]error{model.ErrRateLimit, context.Canceled},
		},
	}
	kinds := []error{model.ErrTooLong, model.ErrRateLimit, model.ErrBlocked, model.ErrAuth}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.err.Error(); got != test.text {
				t.Errorf("text is %q, want %q", got, test.text)
			}
			for _, target := range test.matches {
				if !errors.Is(test.err, target) {
					t.Errorf("does not match %v", target)
				}
			}
			for _, kind := range kinds {
				if kind != test.err.Kind && errors.Is(test.err, kind) {
					t.Errorf("matches %v", kind)
				}
			}
		})
	}
}

func TestErrorIsFoundInAChain(t *testing.T) {
	err := fmt.Errorf("turn 3: %w", &model.Error{Provider: "gemini", Status: 429, Kind: model.ErrRateLimit})
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Status != 429 {
		t.Errorf("found %+v", failed)
	}
}
