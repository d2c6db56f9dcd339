package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/telemetry"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

func TestMain(m *testing.M) {
	// genai links OpenCensus, which has a goroutine for as long as the program runs.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// record makes the spans of a test go to an exporter.
func record(tb testing.TB) *tracetest.InMemoryExporter {
	tb.Helper()
	exporter := tracetest.NewInMemoryExporter()
	providers, err := telemetry.New(tb.Context(), telemetry.WithSpanProcessors(sdktrace.NewSimpleSpanProcessor(exporter)))
	if err != nil {
		tb.Fatal(err)
	}
	before := otel.GetTracerProvider()
	providers.SetGlobalOtelProviders()
	tb.Cleanup(func() {
		otel.SetTracerProvider(before)
		if err := providers.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return exporter
}

// tree is the spans, indented below their parents, in the order in which they
// began. A span that failed has its error.type behind it.
func tree(spans tracetest.SpanStubs) string {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	var b strings.Builder
	var write func(parent trace.SpanID, indent string)
	write = func(parent trace.SpanID, indent string) {
		for _, span := range spans {
			if span.Parent.SpanID() != parent {
				continue
			}
			b.WriteString(indent + span.Name)
			if span.Status.Code == codes.Error {
				b.WriteString(" !" + attributesOf(span)["error.type"])
			}
			b.WriteString("\n")
			write(span.SpanContext.SpanID(), indent+"  ")
		}
	}
	write(trace.SpanID{}, "")
	return b.String()
}

// attributesOf are the attributes of a span, as text.
func attributesOf(span tracetest.SpanStub) map[string]string {
	found := map[string]string{}
	for _, a := range span.Attributes {
		found[string(a.Key)] = a.Value.String()
	}
	return found
}

type city struct {
	City string `json:"city"`
}

// weather is a tool that knows one city only.
func weather(tb testing.TB, consent bool) tool.Tool {
	tb.Helper()
	t, err := functiontool.New(functiontool.Config{Name: "weather", Description: "Tells the weather.", RequireConfirmation: consent},
		func(_ agent.Context, in city) (map[string]any, error) {
			if in.City != "Lisbon" {
				return nil, errors.New("no such city")
			}
			return map[string]any{"sky": "clear"}, nil
		})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func newAgent(tb testing.TB, cfg llmagent.Config) agent.Agent {
	tb.Helper()
	a, err := llmagent.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// answered is a turn with what it cost.
func answered(text string) modeltest.Turn {
	turn := modeltest.Text(text)
	turn.Responses[0].ModelVersion = "script-1"
	turn.Responses[0].UsageMetadata = &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount: 70, CandidatesTokenCount: 5, ThoughtsTokenCount: 2, CachedContentTokenCount: 60,
	}
	return turn
}

// say runs the agent on messages, one turn each.
func say(tb testing.TB, a agent.Agent, config *compaction.Config, messages ...string) {
	tb.Helper()
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true, CompactionConfig: config,
	})
	if err != nil {
		tb.Fatal(err)
	}
	for _, text := range messages {
		for _, err := range r.Run(tb.Context(), "ada", "s1", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				break // the spans tell
			}
		}
	}
	if err := r.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

func TestSpans(t *testing.T) {
	lisbon := modeltest.Call("call-1", "weather", map[string]any{"city": "Lisbon"})
	tests := []struct {
		name       string
		turns      []modeltest.Turn
		consent    bool
		compaction *compaction.Config
		messages   []string
		want       string
	}{
		{
			name:     "a tool",
			turns:    []modeltest.Turn{lisbon, modeltest.Text("Clear.")},
			messages: []string{"Weather?"},
			want: `
invoke_agent assistant
  generate_content script
  execute_tool weather
  generate_content script
`,
		},
		{
			name:     "a sub-agent that takes over",
			turns:    []modeltest.Turn{lisbon, modeltest.Call("call-2", "transfer_to_agent", map[string]any{"agent_name": "specialist"}), modeltest.Text("Clear.")},
			messages: []string{"Weather?"},
			want: `
invoke_agent assistant
  generate_content script
  execute_tool weather
  generate_content script
  execute_tool transfer_to_agent
  invoke_agent specialist
    generate_content script
`,
		},
		{
			name:     "a tool that fails, and one that there is not",
			turns:    []modeltest.Turn{modeltest.Call("call-1", "weather", map[string]any{"city": "Atlantis"}), modeltest.Call("call-2", "wether", nil), modeltest.Text("Sorry.")},
			messages: []string{"Weather?"},
			want: `
invoke_agent assistant
  generate_content script
  execute_tool weather !_OTHER
  generate_content script
  execute_tool wether !_OTHER
  generate_content script
`,
		},
		{
			name:     "a tool that waits for consent did not fail",
			turns:    []modeltest.Turn{lisbon},
			consent:  true,
			messages: []string{"Weather?"},
			want: `
invoke_agent assistant
  generate_content script
  execute_tool weather
`,
		},
		{
			name:     "a model that fails",
			turns:    []modeltest.Turn{modeltest.Fail(&model.Error{Provider: "script", Kind: model.ErrRateLimit})},
			messages: []string{"Weather?"},
			want: `
invoke_agent assistant !rate_limit
  generate_content script !rate_limit
`,
		},
		{
			name:     "a model that refuses to answer",
			turns:    []modeltest.Turn{{Responses: []*model.LLMResponse{{ErrorCode: "SAFETY", ErrorMessage: "secret"}}}},
			messages: []string{"Weather?"},
			want: `
invoke_agent assistant
  generate_content script !SAFETY
`,
		},
		{
			name:       "a compaction after two runs",
			turns:      []modeltest.Turn{modeltest.Text(strings.Repeat("It was long. ", 200)), modeltest.Text(strings.Repeat("It was longer. ", 200))},
			compaction: &compaction.Config{CompactionInterval: 2, Summarizer: compaction.ExtractiveSummarizer{}, Blocking: true},
			messages:   []string{"How was it?", "And then?"},
			want: `
invoke_agent assistant
  generate_content script
invoke_agent assistant
  generate_content script
compact_events sliding_window
`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			exporter := record(t)
			llm := modeltest.NewScript(test.turns...)
			a := newAgent(t, llmagent.Config{
				Name: "assistant", Model: llm, Tools: []tool.Tool{weather(t, test.consent)},
				SubAgents: []agent.Agent{newAgent(t, llmagent.Config{Name: "specialist", Model: llm})},
			})
			say(t, a, test.compaction, test.messages...)
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), tree(exporter.GetSpans())); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
			if n := llm.Remaining(); n > 0 {
				t.Errorf("%d turns were not played", n)
			}
		})
	}
}

// The prompt reaches the threshold: the compaction is part of the agent's run.
func TestSpanOfCompactionBeforeModel(t *testing.T) {
	exporter := record(t)
	long := strings.Repeat("It was long. ", 400)
	llm := modeltest.NewScript(modeltest.Text(long), modeltest.Text(long), modeltest.Text("Yes."))
	config := &compaction.Config{TokenThreshold: 1500, EventRetentionSize: 1, Summarizer: compaction.ExtractiveSummarizer{}, Blocking: true}
	say(t, newAgent(t, llmagent.Config{Name: "assistant", Model: llm}), config, "How was it?", "And then?", "Is that all?")
	names := map[trace.SpanID]string{}
	for _, span := range exporter.GetSpans() {
		names[span.SpanContext.SpanID()] = span.Name
	}
	for _, span := range exporter.GetSpans() {
		if span.Name == "compact_events token_threshold" && names[span.Parent.SpanID()] == "invoke_agent assistant" {
			return
		}
	}
	t.Errorf("no compaction below the agent:\n%s", tree(exporter.GetSpans()))
}

func TestAttributes(t *testing.T) {
	exporter := record(t)
	llm := modeltest.NewScript(modeltest.Call("call-1", "weather", map[string]any{"city": "Atlantis"}), answered("confidential"))
	say(t, newAgent(t, llmagent.Config{Name: "assistant", Description: "Helps.", Model: llm, Tools: []tool.Tool{weather(t, false)}}), nil, "private")

	got := map[string]map[string]string{}
	for _, span := range exporter.GetSpans() { // of the two model calls the last
		got[span.Name] = attributesOf(span)
		for key, value := range got[span.Name] {
			if strings.Contains(value, "private") || strings.Contains(value, "confidential") || strings.Contains(value, "Atlantis") {
				t.Errorf("%s: %s has what was said: %q", span.Name, key, value)
			}
		}
	}
	if got["invoke_agent assistant"]["gcp.vertex.agent.invocation_id"] == "" {
		t.Error("the agent's span does not say of which invocation it is")
	}
	delete(got["invoke_agent assistant"], "gcp.vertex.agent.invocation_id")
	want := map[string]map[string]string{
		"invoke_agent assistant": {
			"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "assistant", "gen_ai.agent.description": "Helps.",
			"gen_ai.conversation.id": "s1",
		},
		"generate_content script": {
			"gen_ai.operation.name": "generate_content", "gen_ai.agent.name": "assistant", "gen_ai.conversation.id": "s1",
			"gen_ai.request.model": "script", "gen_ai.response.model": "script-1", "gen_ai.response.finish_reasons": `["stop"]`,
			"gen_ai.usage.input_tokens": "70", "gen_ai.usage.output_tokens": "7", "gen_ai.usage.cache_read.input_tokens": "60",
		},
		"execute_tool weather": {
			"gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": "s1", "gen_ai.tool.name": "weather",
			"gen_ai.tool.type": "function", "gen_ai.tool.call.id": "call-1", "error.type": "_OTHER",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

// A consumer that stops early leaves no span open.
func TestSpansOfARunThatIsLeft(t *testing.T) {
	exporter := record(t)
	r, err := runner.NewInMemory("app", newAgent(t, llmagent.Config{Name: "assistant", Model: modeltest.Echo{}}))
	if err != nil {
		t.Fatal(err)
	}
	for range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText("some words", genai.RoleUser), agent.RunConfig{StreamingMode: agent.StreamingModeSSE}) {
		break
	}
	if got, want := tree(exporter.GetSpans()), "invoke_agent assistant\n  generate_content echo\n"; got != want {
		t.Errorf("spans:\n%swant:\n%s", got, want)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestNewRefuses(t *testing.T) {
	processor := sdktrace.NewSimpleSpanProcessor(tracetest.NewInMemoryExporter())
	tests := []struct {
		name string
		opts []telemetry.Option
		want string
	}{
		{"a nil span processor", []telemetry.Option{telemetry.WithSpanProcessors(nil)}, "a span processor is nil"},
		{"a nil log record processor", []telemetry.Option{telemetry.WithLogRecordProcessors(nil)}, "a log record processor is nil"},
		{
			"a provider and processors", []telemetry.Option{telemetry.WithTracerProvider(sdktrace.NewTracerProvider()), telemetry.WithSpanProcessors(processor)},
			"WithTracerProvider and WithSpanProcessors exclude each other",
		},
		{
			"a logger provider and processors", []telemetry.Option{
				telemetry.WithLoggerProvider(sdklog.NewLoggerProvider()), telemetry.WithLogRecordProcessors(sdklog.NewSimpleProcessor(nil)),
			},
			"WithLoggerProvider and WithLogRecordProcessors exclude each other",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := telemetry.New(t.Context(), test.opts...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestNoOptionsChangeNothing(t *testing.T) {
	tracer, logger := otel.GetTracerProvider(), otel.GetLoggerProvider()
	providers, err := telemetry.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	providers.SetGlobalOtelProviders()
	if otel.GetTracerProvider() != tracer || otel.GetLoggerProvider() != logger {
		t.Error("the global providers were replaced")
	}
	if err := providers.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestResource(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "from the environment")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "region=south")
	exporter := tracetest.NewInMemoryExporter()
	providers, err := telemetry.New(t.Context(),
		telemetry.WithSpanProcessors(sdktrace.NewSimpleSpanProcessor(exporter)),
		telemetry.WithResource(resource.NewWithAttributes("https://example.org/schema", attribute.String("service.name", "given"))),
	)
	if err != nil {
		t.Fatal(err)
	}
	_, span := providers.TracerProvider.Tracer("test").Start(t.Context(), "span")
	span.End()
	of := exporter.GetSpans()[0].Resource
	for key, want := range map[attribute.Key]string{"service.name": "given", "region": "south"} {
		if value, _ := of.Set().Value(key); value.AsString() != want {
			t.Errorf("%s is %q, want %q", key, value.AsString(), want)
		}
	}
	if err := providers.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// BenchmarkTurn is a turn of an agent with one tool: as it is without
// telemetry, and with all spans recorded.
func BenchmarkTurn(b *testing.B) {
	off := func(testing.TB) { otel.SetTracerProvider(noop.NewTracerProvider()) }
	on := func(tb testing.TB) {
		provider := sdktrace.NewTracerProvider()
		provider.RegisterSpanProcessor(discard{})
		otel.SetTracerProvider(provider)
	}
	for name, set := range map[string]func(testing.TB){"off": off, "on": on} {
		b.Run("spans="+name, func(b *testing.B) {
			before := otel.GetTracerProvider()
			defer otel.SetTracerProvider(before)
			set(b)
			llm := modeltest.NewScript()
			a := newAgent(b, llmagent.Config{Name: "assistant", Model: llm, Tools: []tool.Tool{weather(b, false)}})
			b.ReportAllocs()
			for b.Loop() {
				llm.Add(modeltest.Call("call-1", "weather", map[string]any{"city": "Lisbon"}), modeltest.Text("Clear."))
				say(b, a, nil, "Weather?")
			}
		})
	}
}

type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

// The spans of a run go where the program wants them; here, to its output.
func ExampleNew() {
	ctx := context.Background()
	exporter := tracetest.NewInMemoryExporter() // or one that sends them
	providers, err := telemetry.New(ctx, telemetry.WithSpanProcessors(sdktrace.NewSimpleSpanProcessor(exporter)))
	if err != nil {
		panic(err)
	}
	before := otel.GetTracerProvider()
	providers.SetGlobalOtelProviders()
	defer otel.SetTracerProvider(before) // for the other tests

	assistant, err := llmagent.New(llmagent.Config{Name: "assistant", Model: modeltest.Echo{}})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("app", assistant)
	if err != nil {
		panic(err)
	}
	for _, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("Hello", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
	}
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.Name)
	}
	if err := errors.Join(r.Close(ctx), providers.Shutdown(ctx)); err != nil {
		panic(err)
	}
	// Output:
	// generate_content echo
	// invoke_agent assistant
}
