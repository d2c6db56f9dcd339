// Package retryandreflect has a plugin that, where a tool failed, tells the
// model what went wrong and to try otherwise, and after some tries to give up.
//
//	retry, err := retryandreflect.New(retryandreflect.WithMaxRetries(2))
//	r, err := runner.New(runner.Config{
//		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{retry}},
//		...
//	})
//
// Without it a model is told the error alone. Failures in a row are counted
// for each tool; a success starts the count anew.
package retryandreflect

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/plugin"
	"github.com/recap-adk/recap/tool"
)

// TrackingScope says over what failures are counted.
type TrackingScope string

const (
	// Invocation counts the failures of each run for itself.
	Invocation TrackingScope = "invocation"
	// Global counts the failures of all runs together.
	Global TrackingScope = "global"
)

// PluginOption is a setting of the plugin.
type PluginOption func(*retryAndReflect)

// WithMaxRetries sets how often a tool may be tried again. It is 3 by default;
// 0 is never.
func WithMaxRetries(maxRetries int) PluginOption {
	return func(r *retryAndReflect) { r.maxRetries = maxRetries }
}

// WithErrorIfRetryExceeded makes the last failure an ordinary one: the model is
// told the error of the tool. Otherwise it is told to stop using the tool.
func WithErrorIfRetryExceeded(errorIfRetryExceeded bool) PluginOption {
	return func(r *retryAndReflect) { r.errorIfExceeded = errorIfRetryExceeded }
}

// WithTrackingScope sets over what failures are counted, by default Invocation.
func WithTrackingScope(scope TrackingScope) PluginOption {
	return func(r *retryAndReflect) { r.scope = scope }
}

// responseType marks the answers that the plugin gives in a tool's place.
const responseType = "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN"

// failureKey says of what failures are counted. The invocation is empty where
// all are counted together.
type failureKey struct{ invocation, tool string }

type retryAndReflect struct {
	maxRetries      int
	errorIfExceeded bool
	scope           TrackingScope

	mu       sync.Mutex
	failures map[failureKey]int
}

// New returns the plugin. It fails if there are fewer than 0 retries, or if
// there is no such scope.
func New(opts ...PluginOption) (*plugin.Plugin, error) {
	r := &retryAndReflect{maxRetries: 3, scope: Invocation, failures: map[failureKey]int{}}
	for _, opt := range opts {
		opt(r)
	}
	if r.maxRetries < 0 {
		return nil, fmt.Errorf("retryandreflect: the number of retries is negative (%d)", r.maxRetries)
	}
	if r.scope != Invocation && r.scope != Global {
		return nil, fmt.Errorf("retryandreflect: there is no scope %q", r.scope)
	}
	return plugin.New(plugin.Config{
		Name:                "RetryAndReflectPlugin",
		OnToolErrorCallback: r.onToolError,
		AfterToolCallback:   r.afterTool,
		AfterRunCallback:    r.afterRun,
	})
}

// MustNew is New that panics where New fails.
func MustNew(opts ...PluginOption) *plugin.Plugin {
	p, err := New(opts...)
	if err != nil {
		panic(err)
	}
	return p
}

func (r *retryAndReflect) key(ctx agent.InvocationContext, toolName string) failureKey {
	if r.scope == Global {
		return failureKey{tool: toolName}
	}
	return failureKey{ctx.InvocationID(), toolName}
}

func (r *retryAndReflect) onToolError(ctx agent.Context, t tool.Tool, args map[string]any, cause error) (map[string]any, error) {
	r.mu.Lock()
	key := r.key(ctx, t.Name())
	r.failures[key]++
	n := r.failures[key]
	r.mu.Unlock()

	guidance := fmt.Sprintf("Try %d of %d failed. Think about why: is the tool the right one, are all arguments there, of the right type, and meant as they are? Then call it again with other arguments, or do otherwise. Do not repeat the same call. It was called with: %s",
		n, r.maxRetries, argsText(args))
	if n > r.maxRetries {
		if r.errorIfExceeded {
			return nil, nil
		}
		n = r.maxRetries
		guidance = fmt.Sprintf("The tool has failed too often. Do not use %s again for this; find another way, or tell the user what is not possible. It was called with: %s",
			t.Name(), argsText(args))
	}
	return map[string]any{
		"response_type":       responseType,
		"error_type":          fmt.Sprintf("%T", root(cause)),
		"error_details":       cause.Error(),
		"retry_count":         n,
		"reflection_guidance": guidance,
	}, nil
}

// afterTool forgets the failures of a tool that has succeeded.
func (r *retryAndReflect) afterTool(ctx agent.Context, t tool.Tool, _, result map[string]any, err error) (map[string]any, error) {
	if err == nil && result["response_type"] != responseType {
		r.mu.Lock()
		delete(r.failures, r.key(ctx, t.Name()))
		r.mu.Unlock()
	}
	return nil, nil
}

// afterRun forgets what is counted for the run.
func (r *retryAndReflect) afterRun(ctx agent.InvocationContext) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.failures {
		if key.invocation == ctx.InvocationID() {
			delete(r.failures, key)
		}
	}
}

// root is the innermost error of a chain.
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

func argsText(args map[string]any) string {
	data, err := json.Marshal(args)
	if err != nil {
		return fmt.Sprint(args)
	}
	return string(data)
}
