package model

import (
	"errors"
	"fmt"
)

// What can go wrong with a model call, as far as a caller can act on it.
// Adapters return an *Error whose Kind is one of these; match with errors.Is.
var (
	// ErrTooLong says that the prompt exceeds the model's window.
	ErrTooLong = errors.New("prompt too long for the model")
	// ErrRateLimit says that the provider wants fewer or later requests.
	ErrRateLimit = errors.New("rate limit reached")
	// ErrBlocked says that the provider refused the prompt or the answer.
	ErrBlocked = errors.New("blocked by the provider")
	// ErrAuth says that the credentials are missing, wrong or not sufficient.
	ErrAuth = errors.New("not authorized")
)

// Error is a failed model call.
type Error struct {
	// Provider names the adapter, such as "gemini".
	Provider string
	// Status is the HTTP status, or 0 where there was none.
	Status int
	// Kind is ErrTooLong, ErrRateLimit, ErrBlocked or ErrAuth, or nil.
	Kind error
	// Err is what the provider's client returned.
	Err error
}

// Error names the provider, the status, the kind and the cause.
func (e *Error) Error() string {
	text := e.Provider
	if e.Status != 0 {
		text += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Kind != nil {
		text += ": " + e.Kind.Error()
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap makes both the kind and the cause visible to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	var errs []error
	if e.Kind != nil {
		errs = append(errs, e.Kind)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}
