package eval

import (
	"log/slog"
	"os"
	"testing"
)

// TestMain: what the compactor logs is in the scores.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}
