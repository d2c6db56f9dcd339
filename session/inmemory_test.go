package session_test

import (
	"testing"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/sessiontest"
)

func TestInMemoryService(t *testing.T) {
	sessiontest.Run(t, func(*testing.T) session.Service { return session.InMemoryService() })
	sessiontest.RunPartial(t, func(*testing.T) session.Service { return session.InMemoryService() })
}

func BenchmarkAppend(b *testing.B) {
	b.Run("store=memory", func(b *testing.B) {
		sessiontest.BenchmarkAppend(b, func(*testing.B) session.Service { return session.InMemoryService() })
	})
}

func BenchmarkGet(b *testing.B) {
	b.Run("store=memory", func(b *testing.B) {
		sessiontest.BenchmarkGet(b, func(*testing.B) session.Service { return session.InMemoryService() })
	})
}
