package database_test

import (
	"fmt"
	"testing"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/sessiontest"
)

func openWAL(tb testing.TB) session.Service {
	return open(tb, newFile(tb)+"?_pragma=journal_mode(WAL)")
}

func BenchmarkAppend(b *testing.B) {
	b.Run("store=sqlite", func(b *testing.B) {
		sessiontest.BenchmarkAppend(b, func(b *testing.B) session.Service { return openWAL(b) })
	})
}

func BenchmarkGet(b *testing.B) {
	b.Run("store=sqlite", func(b *testing.B) {
		sessiontest.BenchmarkGet(b, func(b *testing.B) session.Service { return openWAL(b) })
	})
}

func BenchmarkGetRecent(b *testing.B) {
	b.Run("store=sqlite", func(b *testing.B) {
		sessiontest.BenchmarkGetRecent(b, func(b *testing.B) session.Service { return openWAL(b) })
	})
}

// The session that is read is the same; what differs is how many rows of other
// sessions are in the table.
func BenchmarkGetAmongOthers(b *testing.B) {
	for _, others := range []int{0, 50_000} {
		b.Run(fmt.Sprintf("store=sqlite/others=%d", others), func(b *testing.B) {
			service := openWAL(b)
			ctx := b.Context()
			for i := range others / 1000 {
				if _, err := sessiontest.Fill(ctx, service, "app", "user", fmt.Sprintf("other-%d", i), 1000); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := sessiontest.Fill(ctx, service, "app", "user", "id", 100); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := service.Get(ctx, &session.GetRequest{AppName: "app", UserID: "user", SessionID: "id"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
