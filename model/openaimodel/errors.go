package openaimodel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

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
	// ErrEmptyResponse says that an answer has no choice.
	ErrEmptyResponse = errors.New("the answer has no choice")
	// ErrFunctionCallArgs says that the arguments of a call are no JSON object.
	ErrFunctionCallArgs = errors.New("the arguments of a call are not valid")
	// ErrFunctionCallMissingName says that a call does not name its function.
	ErrFunctionCallMissingName = errors.New("a call names no function")
	// ErrLabelsNotSupported says that the protocol has no labels.
	ErrLabelsNotSupported = errors.New("labels are not supported")
	// ErrMultipleCandidatesNotSupported says that there is one candidate only.
	ErrMultipleCandidatesNotSupported = errors.New("more than one candidate is not supported")
	// ErrSafetySettingsNotSupported says that the protocol has none.
	ErrSafetySettingsNotSupported = errors.New("safety settings are not supported")
	// ErrTopKNotSupported says that the protocol has no top-k.
	ErrTopKNotSupported = errors.New("topK is not supported")
	// ErrUnsupportedMIMEType says that a part, or the answer that is asked for,
	// has a type that the protocol does not know.
	ErrUnsupportedMIMEType = errors.New("the MIME type is not supported")
	// ErrUnsupportedMessageContentType says that a part has no place in the
	// message that it is in.
	ErrUnsupportedMessageContentType = errors.New("the part is not supported")
)

// Errors that adk-go's package has and this one never returns, so that programs
// that name them compile: Chat Completions has stop sequences and penalties, an
// answer without text is a response without parts, and there are no items.
var (
	ErrStopSequencesNotSupported = errors.New("stop sequences are not supported")
	ErrPenaltiesNotSupported     = errors.New("penalties are not supported")
	ErrNoTextOrToolContent       = errors.New("the answer has neither text nor calls")
	ErrNoOutputItems             = errors.New("the answer has no items")
	ErrUnsupportedOutputItemType = errors.New("the type of the item is not supported")
)

var errBroken = fmt.Errorf("the stream ended before the answer did: %w", io.ErrUnexpectedEOF)

// serverError is what a server said, with the client's error behind it, which
// says no more than the status.
type serverError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    any    `json:"code"` // a word, or with some servers the status
	cause   error
}

func (e *serverError) Error() string {
	if e.Message == "" {
		return e.cause.Error()
	}
	return e.Message
}

func (e *serverError) Unwrap() error { return e.cause }

// callError is the error of a call as callers of any model know it.
func callError(ctx context.Context, err error) error {
	failed := &model.Error{Provider: provider, Err: err}
	var answered *openai.Error
	var streamed *ssestream.StreamError
	switch {
	case errors.As(err, &answered):
		said := &serverError{cause: err}
		said.read(body(answered))
		failed.Status, failed.Err = answered.StatusCode, said
		failed.Kind = kindOf(answered.StatusCode, said)
		return failed
	case errors.As(err, &streamed):
		said := &serverError{cause: err}
		said.read(streamed.Event.Data)
		if status, ok := said.Code.(float64); ok {
			failed.Status = int(status)
		}
		failed.Err, failed.Kind = said, kindOf(failed.Status, said)
		return failed
	}
	// A connection that was cut because the caller stopped may say so in words
	// of its own.
	if stopped := ctx.Err(); stopped != nil && !errors.Is(err, stopped) {
		failed.Err = errors.Join(stopped, err)
	}
	return failed
}

// wordedErrors turns an error that is only a text, as some servers send it,
// into the object that the client insists on: it would lose the status.
func wordedErrors(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	response, err := next(r)
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	var worded struct{ Error string }
	if json.Unmarshal(body, &worded) == nil && worded.Error != "" {
		if body, err = json.Marshal(map[string]any{"error": map[string]string{"message": worded.Error}}); err != nil {
			return nil, err
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// body is the body of an answer that was an error; the client keeps it.
func body(answered *openai.Error) []byte {
	if answered.Response == nil || answered.Response.Body == nil {
		return nil
	}
	text, err := io.ReadAll(answered.Response.Body)
	if err != nil {
		return nil
	}
	return text
}

// read takes the error out of a body, in which most servers wrap it.
func (e *serverError) read(body []byte) {
	var wrapped struct{ Error, Detail json.RawMessage }
	if err := json.Unmarshal(body, &wrapped); err != nil {
		e.Message = strings.TrimSpace(string(body[:min(len(body), 500)]))
		return
	}
	switch {
	case json.Unmarshal(wrapped.Error, e) == nil:
	case wrapped.Detail != nil:
		e.Message = string(wrapped.Detail)
	default:
		_ = json.Unmarshal(body, e) // valid JSON, if of another shape
	}
}

// kindOf reads what the server said. For a bad request only the code, or with
// many servers only the message, tells what was wrong.
func kindOf(status int, said *serverError) error {
	code, _ := said.Code.(string)
	message := strings.ToLower(said.Message)
	switch {
	case code == "content_filter" || code == "content_policy_violation" || code == "moderation_blocked":
		return model.ErrBlocked
	case isTooLong(code, said.Type, message), status == http.StatusRequestEntityTooLarge:
		return model.ErrTooLong
	case status == http.StatusTooManyRequests, code == "rate_limit_exceeded", code == "insufficient_quota":
		return model.ErrRateLimit
	case status == http.StatusUnauthorized, status == http.StatusForbidden, code == "invalid_api_key":
		return model.ErrAuth
	}
	return nil
}

// isTooLong knows the words of OpenAI, vLLM, llama.cpp and their like. A single
// request beyond the limit of tokens a minute never gets through either.
func isTooLong(code, kind, message string) bool {
	if code == "context_length_exceeded" || kind == "exceed_context_size_error" {
		return true
	}
	for _, phrase := range []string{
		"maximum context length", "context length exceeded", "context window", "available context size",
		"prompt is too long", "input is too long", "maximum model length", "request too large for",
	} {
		if strings.Contains(message, phrase) {
			return true
		}
	}
	return false
}
