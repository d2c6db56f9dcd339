package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/recap-adk/recap/internal/tracing"
	"github.com/recap-adk/recap/model"
)

// use makes provider the program's until the test ends.
func use(tb testing.TB, provider trace.TracerProvider) {
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(provider)
	tb.Cleanup(func() { otel.SetTracerProvider(before) })
}

func TestNobodyRecords(t *testing.T) {
	use(t, noop.NewTracerProvider())
	ctx, span := tracing.Start(t.Context(), "execute_tool", "weather", trace.SpanKindInternal)
	defer span.End()
	tracing.Fail(span, errors.New("failed"))
	if ctx != t.Context() {
		t.Error("the context is another one")
	}
}

func TestFail(t *testing.T) {
	tests := []struct {
		err  error
		want string // error.type; empty: not failed
	}{
		{nil, ""},
		{errors.New("a secret"), "_OTHER"},
		{fmt.Errorf("tool: %w", context.Canceled), "canceled"},
		{context.DeadlineExceeded, "timeout"},
		{&model.Error{Provider: "p", Kind: model.ErrTooLong}, "too_long"},
		{&model.Error{Provider: "p", Kind: model.ErrRateLimit}, "rate_limit"},
		{&model.Error{Provider: "p", Kind: model.ErrBlocked}, "blocked"},
		{&model.Error{Provider: "p", Kind: model.ErrAuth}, "auth"},
	}
	spans := tracetest.NewSpanRecorder()
	use(t, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	for i, test := range tests {
		t.Run(fmt.Sprint(test.err), func(t *testing.T) {
			_, span := tracing.Start(t.Context(), "execute_tool", "weather", trace.SpanKindInternal)
			tracing.Fail(span, test.err)
			span.End()
			ended := spans.Ended()[i]
			got := ""
			for _, a := range ended.Attributes() {
				if a.Key == "error.type" {
					got = a.Value.AsString()
				}
			}
			if failed := ended.Status().Code == codes.Error; got != test.want || failed != (test.want != "") {
				t.Errorf("error.type is %q and the status %v, want %q", got, ended.Status(), test.want)
			}
		})
	}
}

// BenchmarkStart is what a span costs where nobody records it.
func BenchmarkStart(b *testing.B) {
	use(b, noop.NewTracerProvider())
	b.ReportAllocs()
	for b.Loop() {
		_, span := tracing.Start(b.Context(), "execute_tool", "weather", trace.SpanKindInternal,
			attribute.String("gen_ai.tool.name", "weather"), attribute.String("gen_ai.tool.call.id", "call-1"))
		span.End()
	}
}
