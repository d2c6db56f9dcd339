package inspector_test

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/internal/testdb"
	"github.com/recap-adk/recap/server/inspector"
	"github.com/recap-adk/recap/session"
)

var longest = flag.Int("events", 10_000, "how many events the session of BenchmarkPages has")

// BenchmarkPages opens the pages of a long session in SQLite: of one that was
// compacted as it grew, and of one that never was. With -events=100000 it is
// the size that the pages are made for.
func BenchmarkPages(b *testing.B) {
	service := testdb.Open(b, testdb.SQLite)
	fillLong(b, service, "compacted", *longest, true)
	fillLong(b, service, "raw", *longest, false)
	h := open(b, inspector.Config{SessionService: service})
	for _, id := range []string{"compacted", "raw"} {
		for _, page := range []string{"session", "prompt", "chart"} {
			b.Run(fmt.Sprintf("log=%s/page=%s", id, page), func(b *testing.B) {
				size := 0
				for b.Loop() {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/"+page+"?app=shop&user=u1&id="+id, nil))
					if size = w.Body.Len(); w.Code != http.StatusOK {
						b.Fatal(w.Code)
					}
				}
				b.ReportMetric(float64(size)/1024, "KiB/page")
			})
		}
	}
}

// fillLong makes a session of n events and, if asked to, compacts it as it grows.
func fillLong(b testing.TB, service session.Service, id string, n int, compacted bool) {
	b.Helper()
	ctx := b.Context()
	compactor, err := compaction.NewCompactor(&compaction.Config{CompactionInterval: 5, OverlapSize: 2, Summarizer: compaction.ExtractiveSummarizer{}}, service)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := service.Create(ctx, &session.CreateRequest{AppName: "shop", UserID: "u1", SessionID: id}); err != nil && !errors.Is(err, session.ErrExists) {
		b.Fatal(err)
	}
	chunk := 400
	if !compacted {
		chunk = n // each reading would be of all of it
	}
	for at := 0; at < n; at += chunk {
		handle, err := compactor.Read(ctx, "shop", "u1", id)
		if err != nil {
			b.Fatal(err)
		}
		for i, e := range logtext.Long(min(chunk, n-at), time.Date(2026, 1, 1, 0, 0, at, 0, time.UTC)) {
			e.ID, e.InvocationID = fmt.Sprintf("e%d", at+i), fmt.Sprintf("i%d", (at+i)/4)
			if err := service.AppendEvent(ctx, handle, e); err != nil {
				b.Fatal(err)
			}
		}
		if !compacted {
			continue
		}
		if o := compactor.Drain(ctx, handle); o.Kind != compaction.NothingToDo {
			b.Fatal(o)
		}
	}
}
