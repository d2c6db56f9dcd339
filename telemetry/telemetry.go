// Package telemetry sends the spans of runs to where an application wants
// them.
//
// Agents, models, tools and compactions make spans through the OpenTelemetry
// API whether or not anybody listens. This package puts together the
// OpenTelemetry SDK that listens, and is the only one that links it:
//
//	providers, err := telemetry.New(ctx, telemetry.WithSpanProcessors(sdktrace.NewBatchSpanProcessor(exporter)))
//	if err != nil {
//		return err
//	}
//	defer providers.Shutdown(ctx)
//	providers.SetGlobalOtelProviders()
//
// The spans of a run, with the names of OpenTelemetry's conventions for
// generative AI and of the ADK family:
//
//	invoke_agent assistant                   gen_ai.agent.name, gen_ai.conversation.id
//	├─ compact_events token_threshold        gen_ai.compaction.*, see package compaction
//	├─ generate_content gemini-2.5-flash     gen_ai.request.model, gen_ai.usage.input_tokens, gen_ai.usage.output_tokens,
//	│                                        gen_ai.response.finish_reasons
//	├─ execute_tool weather                  gen_ai.tool.name, gen_ai.tool.call.id
//	└─ invoke_agent specialist               an agent that was handed over to, or that is below
//
// Each has gen_ai.operation.name. One that failed has the status Error, and
// error.type, which is one of few words: canceled, timeout, too_long,
// rate_limit, blocked, auth, _OTHER, or the error code of the model's answer. A
// compaction after a run is a span beside that of the agent. Package compaction
// has metrics, too; they go to the global MeterProvider.
//
// No span has what was said, nor the arguments and results of tools. It does
// have the text of an error, which may quote them.
//
// Exporters are modules of their own, such as
// go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp. What adk-go
// has for Google Cloud, and the exporters that it makes of the environment
// variables OTEL_EXPORTER_OTLP_*, are not in this package.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Option is a setting of New.
type Option interface {
	apply(*config) error
}

type config struct {
	resource       *resource.Resource
	spanProcessors []sdktrace.SpanProcessor
	logProcessors  []sdklog.Processor
	tracerProvider *sdktrace.TracerProvider
	loggerProvider *sdklog.LoggerProvider
}

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }

// WithSpanProcessors adds receivers of spans.
func WithSpanProcessors(p ...sdktrace.SpanProcessor) Option {
	return option(func(c *config) error {
		if slices.Contains(p, nil) {
			return errors.New("a span processor is nil")
		}
		c.spanProcessors = append(c.spanProcessors, p...)
		return nil
	})
}

// WithLogRecordProcessors adds receivers of log records. The records are the
// application's, such as of a bridge from log/slog: this module makes none.
func WithLogRecordProcessors(p ...sdklog.Processor) Option {
	return option(func(c *config) error {
		if slices.Contains(p, nil) {
			return errors.New("a log record processor is nil")
		}
		c.logProcessors = append(c.logProcessors, p...)
		return nil
	})
}

// WithResource says what program the spans and records are of. It is added to
// what the environment, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, says,
// and wins over it.
func WithResource(r *resource.Resource) Option {
	return option(func(c *config) error {
		c.resource = r
		return nil
	})
}

// WithTracerProvider takes a TracerProvider as it is. WithSpanProcessors cannot
// be used beside it.
func WithTracerProvider(tp *sdktrace.TracerProvider) Option {
	return option(func(c *config) error {
		c.tracerProvider = tp
		return nil
	})
}

// WithLoggerProvider takes a LoggerProvider as it is. WithLogRecordProcessors
// cannot be used beside it.
func WithLoggerProvider(lp *sdklog.LoggerProvider) Option {
	return option(func(c *config) error {
		c.loggerProvider = lp
		return nil
	})
}

// Providers are what spans and log records go through. A provider that nothing
// was given for is nil.
type Providers struct {
	TracerProvider *sdktrace.TracerProvider
	LoggerProvider *sdklog.LoggerProvider
}

// New returns the providers that the options ask for. Without options it has
// none, and is of no effect.
func New(ctx context.Context, opts ...Option) (*Providers, error) {
	var c config
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		if err := opt.apply(&c); err != nil {
			return nil, fmt.Errorf("telemetry: %w", err)
		}
	}
	switch {
	case c.tracerProvider != nil && len(c.spanProcessors) > 0:
		return nil, errors.New("telemetry: WithTracerProvider and WithSpanProcessors exclude each other: give the processors to the provider")
	case c.loggerProvider != nil && len(c.logProcessors) > 0:
		return nil, errors.New("telemetry: WithLoggerProvider and WithLogRecordProcessors exclude each other: give the processors to the provider")
	}
	providers := &Providers{TracerProvider: c.tracerProvider, LoggerProvider: c.loggerProvider}
	if len(c.spanProcessors)+len(c.logProcessors) == 0 {
		return providers, nil
	}
	described, err := describe(ctx, c.resource)
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	if len(c.spanProcessors) > 0 {
		options := []sdktrace.TracerProviderOption{sdktrace.WithResource(described)}
		for _, p := range c.spanProcessors {
			options = append(options, sdktrace.WithSpanProcessor(p))
		}
		providers.TracerProvider = sdktrace.NewTracerProvider(options...)
	}
	if len(c.logProcessors) > 0 {
		options := []sdklog.LoggerProviderOption{sdklog.WithResource(described)}
		for _, p := range c.logProcessors {
			options = append(options, sdklog.WithProcessor(p))
		}
		providers.LoggerProvider = sdklog.NewLoggerProvider(options...)
	}
	return providers, nil
}

// describe is what the environment says about the program, with given on top.
func describe(ctx context.Context, given *resource.Resource) (*resource.Resource, error) {
	found, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("reading the resource from the environment: %w", err)
	}
	merged, err := resource.Merge(found, given)
	if err != nil && !errors.Is(err, resource.ErrSchemaURLConflict) {
		return nil, fmt.Errorf("merging the resource: %w", err)
	}
	return merged, nil // where the schemas differ it has none
}

// SetGlobalOtelProviders makes the providers those of the program. One that is
// nil leaves the program's as it is.
func (t *Providers) SetGlobalOtelProviders() {
	if t.TracerProvider != nil {
		otel.SetTracerProvider(t.TracerProvider)
	}
	if t.LoggerProvider != nil {
		otel.SetLoggerProvider(t.LoggerProvider)
	}
}

// Shutdown sends what was not sent yet, as far as ctx gives it the time, and
// stops the providers, also those that were given to New. Spans that are made
// afterwards are lost.
func (t *Providers) Shutdown(ctx context.Context) error {
	var errs []error
	if t.TracerProvider != nil {
		errs = append(errs, t.TracerProvider.Shutdown(ctx))
	}
	if t.LoggerProvider != nil {
		errs = append(errs, t.LoggerProvider.Shutdown(ctx))
	}
	return errors.Join(errs...)
}
