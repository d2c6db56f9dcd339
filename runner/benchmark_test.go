package runner_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/internal/testdb"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
)

var turnEvents = flag.Int("events", 10_000, "the longest history of BenchmarkTurn")

// BenchmarkTurn measures a turn behind a history of so many events that was
// compacted as it grew: of a runner that reads what it needs, and of one whose
// service gives it everything. With -events=100000 or 1000000 it goes on to
// there.
func BenchmarkTurn(b *testing.B) {
	b.Run("store=memory", func(b *testing.B) { benchmarkStore(b, session.InMemoryService(), func() {}) })
	for _, kind := range testdb.Kinds {
		b.Run("store="+kind.Name, func(b *testing.B) {
			dsn := kind.Create(b)
			benchmarkStore(b, testdb.OpenDSN(b, kind, dsn), func() { testdb.Analyze(b, kind, dsn) })
		})
	}
}

func benchmarkStore(b *testing.B, service session.Service, analyze func()) {
	filled := 0
	for events := 100; events <= *turnEvents; events *= 10 {
		run := func(read string, service session.Service) {
			b.Run(fmt.Sprintf("read=%s/events=%d", read, events), func(b *testing.B) { benchmarkTurn(b, service) })
		}
		fillCompacted(b, service, filled, events)
		analyze()
		filled = events
		run("partial", service)
		if events <= 100_000 {
			run("whole", wholeReads{service})
		}
	}
}

// wholeReads is a service that does not know partial reads.
type wholeReads struct{ session.Service }

func (w wholeReads) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	whole := *req
	whole.OmitCompacted = false
	return w.Service.Get(ctx, &whole)
}

func (wholeReads) AppendsConditionally() {}

var benchmarkConfig = compaction.Config{CompactionInterval: 5, OverlapSize: 2, Summarizer: compaction.ExtractiveSummarizer{}}

// fillCompacted makes the history of a session longer, and compacts it on the
// way as runs do.
func fillCompacted(b *testing.B, service session.Service, from, to int) {
	ctx := b.Context()
	compactor, err := compaction.NewCompactor(&benchmarkConfig, service)
	if err != nil {
		b.Fatal(err)
	}
	_, err = service.Create(ctx, &session.CreateRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
	if err != nil && !errors.Is(err, session.ErrExists) {
		b.Fatal(err)
	}
	const chunk = 40
	for at := from; at < to; at += chunk {
		handle, err := compactor.Read(ctx, "app", "ada", "s1")
		if err != nil {
			b.Fatal(err)
		}
		start := time.Date(2026, 1, 1, 0, 0, at, 0, time.UTC)
		for i, e := range logtext.Long(min(chunk, to-at), start) {
			e.ID, e.InvocationID = fmt.Sprintf("e%d", at+i), fmt.Sprintf("i%d", (at+i)/4)
			if err := service.AppendEvent(ctx, handle, e); err != nil {
				b.Fatal(err)
			}
		}
		if o := compactor.Drain(ctx, handle); o.Kind != compaction.NothingToDo {
			b.Fatal(o)
		}
	}
}

func benchmarkTurn(b *testing.B, service session.Service) {
	ctx := b.Context()
	text := strings.Repeat("something that was said. ", 20)
	a, err := llmagent.New(llmagent.Config{Name: "agent", Model: modeltest.Echo{}})
	if err != nil {
		b.Fatal(err)
	}
	cfg := benchmarkConfig
	r, err := runner.New(runner.Config{AppName: "app", Agent: a, SessionService: service, CompactionConfig: &cfg})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close(context.Background())
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		if err := r.Flush(ctx); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
