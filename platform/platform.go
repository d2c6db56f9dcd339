// Package platform is where Recap takes the time and new IDs from, and what runs
// tools that are called together, so that a test, or a runtime that replays
// executions, can decide all of it.
//
//	ctx = platform.WithTimeProvider(ctx, func() time.Time { return fixed })
//	ctx = platform.WithUUIDProvider(ctx, func() string { return "id-1" })
//	event := session.NewEvent(ctx, "invocation-1") // stamped with both
//
// Without a provider in the context the wall clock and random UUIDs are used.
package platform

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// TimeProvider returns the current time. It may be called from many goroutines.
type TimeProvider func() time.Time

// UUIDProvider returns a new unique ID. It may be called from many goroutines.
type UUIDProvider func() string

// TaskRunner runs tasks, in any order or at the same time, each with ctx or a
// context made of it, and returns when all have ended. It may be called from
// many goroutines.
type TaskRunner func(ctx context.Context, tasks []func(context.Context))

type (
	timeKey struct{}
	uuidKey struct{}
	taskKey struct{}
)

// WithTimeProvider returns a context whose Now is provider.
func WithTimeProvider(ctx context.Context, provider TimeProvider) context.Context {
	return context.WithValue(ctx, timeKey{}, provider)
}

// WithUUIDProvider returns a context whose NewUUID is provider.
func WithUUIDProvider(ctx context.Context, provider UUIDProvider) context.Context {
	return context.WithValue(ctx, uuidKey{}, provider)
}

// Now is the current time as ctx has it.
func Now(ctx context.Context) time.Time {
	if provider, ok := ctx.Value(timeKey{}).(TimeProvider); ok && provider != nil {
		return provider()
	}
	return time.Now()
}

// NewUUID is a new unique ID as ctx makes them.
func NewUUID(ctx context.Context) string {
	if provider, ok := ctx.Value(uuidKey{}).(UUIDProvider); ok && provider != nil {
		return provider()
	}
	return uuid.NewString()
}

// WithTaskRunner returns a context whose RunTasks is runner.
func WithTaskRunner(ctx context.Context, runner TaskRunner) context.Context {
	return context.WithValue(ctx, taskKey{}, runner)
}

// RunTasks runs tasks as ctx has it, and returns when all have ended. Without a
// TaskRunner each has a goroutine.
func RunTasks(ctx context.Context, tasks []func(context.Context)) {
	if runner, ok := ctx.Value(taskKey{}).(TaskRunner); ok && runner != nil {
		runner(ctx, tasks)
		return
	}
	var running sync.WaitGroup
	for _, task := range tasks {
		running.Go(func() { task(ctx) })
	}
	running.Wait()
}
