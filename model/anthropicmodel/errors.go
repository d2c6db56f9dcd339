package anthropicmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/recap-adk/recap/internal/dialog"
	"github.com/recap-adk/recap/model"
)

// What is wrong with a request, or with an answer. Errors of calls match these
// with errors.Is.
var (
	// ErrModelNameRequired says that NewModel was given no name.
	ErrModelNameRequired = errors.New("no model name")
	// ErrRequestNil says that there is no request.
	ErrRequestNil = errors.New("no request")
	// ErrNoContents says that a request has neither contents nor an instruction.
	ErrNoContents = errors.New("the request has no contents and no system instruction")
	// ErrEmptyJSONSchema says that a schema is there and empty.
	ErrEmptyJSONSchema = dialog.ErrEmptySchema
	// ErrFunctionCallArgs says that the arguments of a call are no JSON object.
	ErrFunctionCallArgs = errors.New("the arguments of a call are not valid")
	// ErrFieldNotSupported says that the protocol has no place for a field of
	// the configuration.
	ErrFieldNotSupported = errors.New("the field of the configuration is not supported")
	// ErrUnsupportedMIMEType says that a part, or the answer that is asked for,
	// has a type that the protocol does not know.
	ErrUnsupportedMIMEType = errors.New("the MIME type is not supported")
	// ErrUnsupportedMessageContentType says that a part has no place in the
	// message that it is in.
	ErrUnsupportedMessageContentType = errors.New("the part is not supported")
	// ErrUnsupportedContentBlockType says that an answer has a block that is
	// neither text nor thought nor call.
	ErrUnsupportedContentBlockType = errors.New("the type of the block is not supported")
)

var errBroken = fmt.Errorf("the stream ended before the answer did: %w", io.ErrUnexpectedEOF)

// serviceError is what the service said, with the client's error behind it.
type serviceError struct {
	message string
	cause   error
}

func (e *serviceError) Error() string { return e.message }
func (e *serviceError) Unwrap() error { return e.cause }

// callError is the error of a call as callers of any model know it.
func callError(ctx context.Context, err error) error {
	failed := &model.Error{Provider: provider, Err: err}
	var answered *anthropic.Error
	if errors.As(err, &answered) {
		failed.Status = statusOf(answered)
		failed.Kind = kindOf(failed.Status, strings.ToLower(answered.Message))
		if answered.Message != "" {
			failed.Err = &serviceError{message: answered.Message, cause: err}
		}
		return failed
	}
	if strings.Contains(err.Error(), "no Anthropic credentials") { // the client keeps the type to itself
		failed.Kind = model.ErrAuth
		return failed
	}
	// A connection that was cut because the caller stopped may say so in words
	// of its own.
	if stopped := ctx.Err(); stopped != nil && !errors.Is(err, stopped) {
		failed.Err = errors.Join(stopped, err)
	}
	return failed
}

// statusOf is the HTTP status of an error. One that came in a stream has the
// status of the stream, 200, and only its type tells.
func statusOf(answered *anthropic.Error) int {
	if answered.StatusCode >= http.StatusBadRequest {
		return answered.StatusCode
	}
	return map[anthropic.ErrorType]int{
		anthropic.ErrorTypeInvalidRequestError: http.StatusBadRequest,
		anthropic.ErrorTypeAuthenticationError: http.StatusUnauthorized,
		anthropic.ErrorTypeBillingError:        http.StatusPaymentRequired,
		anthropic.ErrorTypePermissionError:     http.StatusForbidden,
		anthropic.ErrorTypeNotFoundError:       http.StatusNotFound,
		anthropic.ErrorTypeRateLimitError:      http.StatusTooManyRequests,
		anthropic.ErrorTypeTimeoutError:        http.StatusGatewayTimeout,
		anthropic.ErrorTypeAPIError:            http.StatusInternalServerError,
		anthropic.ErrorTypeOverloadedError:     529,
	}[answered.Type()]
}

// kindOf reads what the service said. For a bad request only the message tells
// what was wrong.
func kindOf(status int, message string) error {
	says := func(phrase string) bool { return strings.Contains(message, phrase) }
	switch status {
	case http.StatusTooManyRequests:
		return model.ErrRateLimit
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.ErrAuth
	case http.StatusRequestEntityTooLarge:
		return model.ErrTooLong
	case http.StatusBadRequest:
		switch {
		case says("prompt is too long"), says("exceed context limit"), says("context window"):
			return model.ErrTooLong
		case says("content filter"), says("usage policy"):
			return model.ErrBlocked
		}
	}
	return nil
}
