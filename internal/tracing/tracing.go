// Package tracing makes the spans of runs, with the names that OpenTelemetry
// and the ADK family give them. It uses the OpenTelemetry API only: what
// becomes of a span is decided by the application's TracerProvider.
//
//	ctx, span := tracing.Start(ctx, "execute_tool", "weather", trace.SpanKindInternal)
//	defer span.End()
//
// What was said is in no span. The text of an error is.
package tracing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/recap-adk/recap/model"
)

const scope = "github.com/recap-adk/recap"

// Start starts the span of an operation on something that has a name, such as
// the agent of "invoke_agent". Where nobody records spans the context that it
// returns is ctx itself.
func Start(ctx context.Context, operation, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	spanContext, span := otel.Tracer(scope).Start(ctx, operation+" "+name,
		trace.WithSpanKind(kind),
		trace.WithAttributes(append(attributes, attribute.String("gen_ai.operation.name", operation))...),
	)
	if !span.SpanContext().IsValid() {
		return ctx, span
	}
	return spanContext, span
}

// Fail marks the operation as failed. A nil err does nothing.
func Fail(span trace.Span, err error) {
	if err == nil || !span.IsRecording() {
		return
	}
	span.RecordError(err)
	span.SetAttributes(attribute.String("error.type", errorType(err)))
	span.SetStatus(codes.Error, err.Error())
}

// errorType is one of few words, so that errors can be counted by it.
func errorType(err error) string {
	for _, known := range []struct {
		target error
		word   string
	}{
		{context.Canceled, "canceled"},
		{context.DeadlineExceeded, "timeout"},
		{model.ErrTooLong, "too_long"},
		{model.ErrRateLimit, "rate_limit"},
		{model.ErrBlocked, "blocked"},
		{model.ErrAuth, "auth"},
	} {
		if errors.Is(err, known.target) {
			return known.word
		}
	}
	return "_OTHER"
}
