package agent

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/recap-adk/recap/internal/tracing"
)

// startSpan starts the span of an agent that runs, and returns the context that
// whatever the agent does belongs to.
func (a *agent) startSpan(ctx InvocationContext) (InvocationContext, trace.Span) {
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.agent.name", a.cfg.Name),
		attribute.String("gcp.vertex.agent.invocation_id", ctx.InvocationID()),
	}
	if a.cfg.Description != "" {
		attributes = append(attributes, attribute.String("gen_ai.agent.description", a.cfg.Description))
	}
	if s := ctx.Session(); s != nil {
		attributes = append(attributes, attribute.String("gen_ai.conversation.id", s.ID()))
	}
	spanContext, span := tracing.Start(ctx, "invoke_agent", a.cfg.Name, trace.SpanKindInternal, attributes...)
	if !span.SpanContext().IsValid() {
		return ctx, span
	}
	return ctx.WithContext(spanContext), span
}
