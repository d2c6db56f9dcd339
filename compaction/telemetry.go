package compaction

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/recap-adk/recap/compaction"

// startSpan starts the span of a compaction, with the name and the attributes
// that the ADK family gives it.
func (c *Compactor) startSpan(ctx context.Context, key sessionKey, w Window) (context.Context, trace.Span) {
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "compact_events"),
		attribute.String("gen_ai.conversation.id", key.id),
		attribute.String("gen_ai.compaction.trigger", w.Trigger),
		attribute.String("gen_ai.compaction.summarizer_type", typeName(c.cfg.Summarizer)),
		attribute.Int("gen_ai.compaction.event_count", len(w.Events)),
	}
	for name, value := range map[string]int{
		"compaction_interval":  c.cfg.CompactionInterval,
		"overlap_size":         c.cfg.OverlapSize,
		"token_threshold":      c.cfg.TokenThreshold,
		"event_retention_size": c.cfg.EventRetentionSize,
	} {
		if value > 0 {
			attributes = append(attributes, attribute.Int("gen_ai.compaction."+name, value))
		}
	}
	return otel.Tracer(scope).Start(ctx, "compact_events "+w.Trigger, trace.WithAttributes(attributes...))
}

// typeName is the name of a type without its package.
func typeName(v any) string {
	name := fmt.Sprintf("%T", v)
	return name[strings.LastIndex(name, ".")+1:]
}

// endSpan ends the span with how the compaction ended.
func endSpan(span trace.Span, o Outcome) {
	defer span.End()
	if o.Usage != nil {
		span.SetAttributes(
			attribute.Int("gen_ai.usage.input_tokens", int(o.Usage.PromptTokenCount)),
			attribute.Int("gen_ai.usage.output_tokens", int(o.Usage.CandidatesTokenCount+o.Usage.ThoughtsTokenCount)),
		)
	}
	switch o.Kind {
	case Applied:
		span.SetAttributes(
			attribute.String("gen_ai.compaction.result_event_id", o.EventID),
			attribute.Float64("gen_ai.compaction.start_timestamp", float64(o.Start.UnixMicro())/1e6),
			attribute.Float64("gen_ai.compaction.end_timestamp", float64(o.End.UnixMicro())/1e6),
		)
	case Failed:
		span.RecordError(o.Err)
		span.SetStatus(codes.Error, o.Reason)
	default:
		span.SetAttributes(attribute.Bool("gen_ai.compaction.declined", true))
	}
}

// measure adds the outcome to the metrics.
func measure(ctx context.Context, o Outcome) {
	meter := otel.Meter(scope)
	labels := metric.WithAttributes(
		attribute.String("gen_ai.compaction.trigger", o.Trigger),
		attribute.String("gen_ai.compaction.outcome", string(o.Kind)),
	)
	// The API returns an instrument that does nothing beside each error.
	outcomes, _ := meter.Int64Counter("gen_ai.compaction.count", metric.WithDescription("Compactions, by outcome."))
	outcomes.Add(ctx, 1, labels)
	duration, _ := meter.Float64Histogram("gen_ai.compaction.duration", metric.WithUnit("s"), metric.WithDescription("Time that compactions took."))
	duration.Record(ctx, o.Duration.Seconds(), labels)
	if o.Usage != nil {
		spent, _ := meter.Int64Counter("gen_ai.compaction.tokens_spent", metric.WithUnit("{token}"), metric.WithDescription("Tokens of summarizers."))
		spent.Add(ctx, int64(o.Usage.TotalTokenCount), labels)
	}
	if o.Kind == Applied {
		saved, _ := meter.Int64Counter("gen_ai.compaction.tokens_saved", metric.WithUnit("{token}"), metric.WithDescription("Tokens that each later prompt is smaller by."))
		saved.Add(ctx, int64(o.TokensBefore-o.TokensAfter), labels)
	}
}
