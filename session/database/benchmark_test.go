package database_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/sessiontest"
)

var others = flag.Int("others", 50_000, "how many events of other sessions BenchmarkGetAmongOthers has in the table")

// onEachStore runs a benchmark on each kind of database, those aside that are
// not there.
func onEachStore(b *testing.B, run func(*testing.B, func(*testing.B) session.Service)) {
	for _, k := range kinds {
		b.Run("store="+k.name, func(b *testing.B) {
			run(b, func(b *testing.B) session.Service { return k.open(b, k.create(b)) })
		})
	}
}

func BenchmarkAppend(b *testing.B) { onEachStore(b, sessiontest.BenchmarkAppend) }

func BenchmarkGet(b *testing.B) { onEachStore(b, sessiontest.BenchmarkGet) }

func BenchmarkGetRecent(b *testing.B) { onEachStore(b, sessiontest.BenchmarkGetRecent) }

// The session that is read is the same; what differs is how many rows of other
// sessions are in the table.
func BenchmarkGetAmongOthers(b *testing.B) {
	onEachStore(b, func(b *testing.B, open func(*testing.B) session.Service) {
		for _, n := range []int{0, *others} {
			b.Run(fmt.Sprintf("others=%d", n), func(b *testing.B) {
				service := open(b)
				if _, err := sessiontest.Fill(b.Context(), service, trip.AppName, trip.UserID, trip.SessionID, 100); err != nil {
					b.Fatal(err)
				}
				addOthers(b, service, n)
				for b.Loop() {
					if _, err := service.Get(b.Context(), trip); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}
