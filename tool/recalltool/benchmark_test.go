package recalltool_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/recall"
	"github.com/recap-adk/recap/internal/testdb"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/sessiontest"
)

// BenchmarkRecall measures one recall in a session of 10,000 events of about 500
// bytes, all of which one summary covers. The words of the query are in each
// second of them.
func BenchmarkRecall(b *testing.B) {
	for _, store := range []struct {
		name string
		open func(testing.TB) session.Service
	}{
		{"sqlite", func(tb testing.TB) session.Service { return testdb.Open(tb, testdb.SQLite) }},
		{"memory", func(testing.TB) session.Service { return session.InMemoryService() }},
	} {
		service := store.open(b)
		fillCovered(b, service, 10_000)
		for name, args := range map[string]recall.Arguments{
			"query":  {Query: "search_flights to LIS, price 100.5, with seats for two"},
			"span":   {From: "2026-03-01T09:00:00Z"},
			"around": {Around: "e5000"},
		} {
			b.Run(fmt.Sprintf("store=%s/by=%s", store.name, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					got, err := recall.Do(b.Context(), service, recall.Request{AppName: "travel", UserID: "ada", SessionID: "trip", Arguments: args})
					if err != nil || len(got.Events) < 5 {
						b.Fatal(got, err)
					}
				}
			})
		}
	}
}

// fillCovered makes a session of n events, and a summary of all of them.
func fillCovered(tb testing.TB, service session.Service, n int) {
	ctx := tb.Context()
	handle, err := sessiontest.Fill(ctx, named{service}, "travel", "ada", "trip", n)
	if err != nil {
		tb.Fatal(err)
	}
	first, last := handle.Events().At(0).Timestamp, handle.Events().At(n-1).Timestamp
	summary := session.NewEvent(ctx, "summary")
	summary.Author, summary.Timestamp = "user", last.Add(time.Second)
	summary.Actions.Compaction = session.NewEventCompaction(first, last, genai.NewContentFromText("Flights to Lisbon.", genai.RoleModel), nil)
	session.Manifest{From: summary.Timestamp, Seen: last}.Put(summary)
	if err := service.AppendEvent(ctx, handle, summary); err != nil {
		tb.Fatal(err)
	}
}

// named gives events the IDs e0, e1, ...
type named struct{ session.Service }

func (s named) AppendEvent(ctx context.Context, handle session.Session, e *session.Event) error {
	e.ID = fmt.Sprintf("e%d", handle.Events().Len())
	return s.Service.AppendEvent(ctx, handle, e)
}
