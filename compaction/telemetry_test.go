package compaction_test

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/session"
)

// record collects the spans and metrics of what is done until the test ends.
func record(t *testing.T) (*tracetest.SpanRecorder, *sdkmetric.ManualReader) {
	spans, reader := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	tracer, meter := otel.GetTracerProvider(), otel.GetMeterProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	t.Cleanup(func() {
		otel.SetTracerProvider(tracer)
		otel.SetMeterProvider(meter)
	})
	return spans, reader
}

func attributesOf(span sdktrace.ReadOnlySpan) map[attribute.Key]any {
	found := map[attribute.Key]any{}
	for _, a := range span.Attributes() {
		found[a.Key] = a.Value.AsInterface()
	}
	return found
}

// TestSpan has case 28 and case 47 of the ADK family: the span of a compaction.
func TestSpan(t *testing.T) {
	spans, reader := record(t)
	service, handle := stored(t, twoTurns)
	c := newCompactor(t, &compaction.Config{CompactionInterval: 2, OverlapSize: 1, Summarizer: &fake{
		answer: func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
			return compaction.SummarizeResult{
				Content: genai.NewContentFromText("S", "model"),
				Usage:   &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 70, CandidatesTokenCount: 5, ThoughtsTokenCount: 2, TotalTokenCount: 77},
			}, nil
		},
	}}, service)
	outcome := c.MaybeCompact(t.Context(), handle)

	ended := spans.Ended()
	if len(ended) != 1 || ended[0].Name() != "compact_events sliding_window" || ended[0].Status().Code == codes.Error {
		t.Fatalf("spans: %v", ended)
	}
	got := attributesOf(ended[0])
	for key, want := range map[attribute.Key]any{
		"gen_ai.operation.name":                 "compact_events",
		"gen_ai.conversation.id":                "s1",
		"gen_ai.compaction.trigger":             "sliding_window",
		"gen_ai.compaction.summarizer_type":     "fake",
		"gen_ai.compaction.event_count":         int64(4),
		"gen_ai.compaction.compaction_interval": int64(2),
		"gen_ai.compaction.overlap_size":        int64(1),
		"gen_ai.compaction.result_event_id":     outcome.EventID,
		"gen_ai.compaction.start_timestamp":     float64(outcome.Start.Unix()),
		"gen_ai.compaction.end_timestamp":       float64(outcome.End.Unix()),
		"gen_ai.usage.input_tokens":             int64(70),
		"gen_ai.usage.output_tokens":            int64(7),
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if _, ok := got["gen_ai.compaction.token_threshold"]; ok {
		t.Error("a threshold that is not set is reported")
	}

	var metrics metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &metrics); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range metrics.ScopeMetrics[0].Metrics {
		names[m.Name] = true
	}
	for _, name := range []string{"gen_ai.compaction.count", "gen_ai.compaction.duration", "gen_ai.compaction.tokens_spent", "gen_ai.compaction.tokens_saved"} {
		if !names[name] {
			t.Errorf("no metric %s among %v", name, names)
		}
	}
}

// TestSpanOfFailures has case 29 of the ADK family: a summarizer that fails is
// an error on the span, one that declines is not.
func TestSpanOfFailures(t *testing.T) {
	for _, err := range []error{nil, errors.New("boom")} {
		spans, _ := record(t)
		service, handle := stored(t, twoTurns)
		c := newCompactor(t, &compaction.Config{CompactionInterval: 2, Summarizer: &fake{
			answer: func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
				return compaction.SummarizeResult{}, err
			},
		}}, service)
		c.MaybeCompact(t.Context(), handle)
		span := spans.Ended()[0]
		declined, _ := attributesOf(span)["gen_ai.compaction.declined"].(bool)
		if failed := span.Status().Code == codes.Error; failed != (err != nil) || declined != (err == nil) {
			t.Errorf("error %v: status %v, declined %v", err, span.Status(), declined)
		}
	}
}
