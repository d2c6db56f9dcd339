// Package platform is where Recap takes the time and new IDs from, so that a
// test, or a runtime that replays executions, can decide both.
//
//	ctx = platform.WithTimeProvider(ctx, func() time.Time { return fixed })
//	ctx = platform.WithUUIDProvider(ctx, func() string { return "id-1" })
//	event := session.NewEvent(ctx, "invocation-1") // stamped with both
//
// Without a provider in the context the wall clock and random UUIDs are used.
package platform

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// TimeProvider returns the current time. It may be called from many goroutines.
type TimeProvider func() time.Time

// UUIDProvider returns a new unique ID. It may be called from many goroutines.
type UUIDProvider func() string

type (
	timeKey struct{}
	uuidKey struct{}
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
