package llmagent

import (
	"errors"
	"iter"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/internal/confirm"
	"github.com/recap-adk/recap/internal/tracing"
	"github.com/recap-adk/recap/model"
)

// call calls the model once, in a span of its own.
func (f *flow) call(ctx agent.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		name := req.Model // a callback may have chosen another
		if name == "" {
			name = f.cfg.Model.Name()
		}
		ctx, span := start(ctx, "generate_content", name, trace.SpanKindClient,
			attribute.String("gen_ai.request.model", name),
			attribute.String("gen_ai.agent.name", f.cfg.Name),
		)
		defer span.End()
		for response, err := range f.cfg.Model.GenerateContent(ctx, req, stream) {
			if response != nil && !response.Partial {
				describeResponse(span, response)
			}
			tracing.Fail(span, err)
			if !yield(response, err) {
				return
			}
		}
	}
}

// start starts a span in the conversation.
func start(ctx agent.Context, operation, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) (agent.Context, trace.Span) {
	if s := ctx.Session(); s != nil {
		attributes = append(attributes, attribute.String("gen_ai.conversation.id", s.ID()))
	}
	spanContext, span := tracing.Start(ctx, operation, name, kind, attributes...)
	if !span.SpanContext().IsValid() {
		return ctx, span
	}
	return ctx.WithAgentContext(spanContext), span
}

// describeResponse adds what a whole answer cost and how it ended.
func describeResponse(span trace.Span, response *model.LLMResponse) {
	if !span.IsRecording() {
		return
	}
	if response.FinishReason != "" {
		span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{strings.ToLower(string(response.FinishReason))}))
	}
	if response.ModelVersion != "" {
		span.SetAttributes(attribute.String("gen_ai.response.model", response.ModelVersion))
	}
	if usage := response.UsageMetadata; usage != nil {
		span.SetAttributes(
			attribute.Int("gen_ai.usage.input_tokens", int(usage.PromptTokenCount)),
			attribute.Int("gen_ai.usage.output_tokens", int(usage.CandidatesTokenCount+usage.ThoughtsTokenCount)),
		)
		if usage.CachedContentTokenCount > 0 {
			span.SetAttributes(attribute.Int("gen_ai.usage.cache_read.input_tokens", int(usage.CachedContentTokenCount)))
		}
	}
	if response.ErrorCode != "" {
		span.SetAttributes(attribute.String("error.type", response.ErrorCode))
		span.SetStatus(codes.Error, response.ErrorCode)
	}
}

func startTool(ctx agent.Context, call *genai.FunctionCall) (agent.Context, trace.Span) {
	return start(ctx, "execute_tool", call.Name, trace.SpanKindInternal,
		attribute.String("gen_ai.tool.name", call.Name),
		attribute.String("gen_ai.tool.type", "function"),
		attribute.String("gen_ai.tool.call.id", call.ID),
	)
}

// failTool marks the span of a tool that failed. One that waits for the user's
// consent did not.
func failTool(span trace.Span, err error) {
	if !errors.Is(err, confirm.ErrRequired) {
		tracing.Fail(span, err)
	}
}
