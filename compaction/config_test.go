package compaction_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/session"
)

func ExampleDefaultConfig() {
	cfg := compaction.DefaultConfig()
	fmt.Println(cfg.CompactionInterval, cfg.OverlapSize, cfg.Blocking)
	// Output: 5 2 false
}

func ExampleConfig_Validate() {
	err := (&compaction.Config{CompactionInterval: 5, TokenThreshold: 50_000}).Validate()
	fmt.Println(err)
	// Output: compaction: TokenThreshold is set without EventRetentionSize
}

// TestConfig has the numbered cases of the ADK family about the config.
func TestConfig(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  *compaction.Config
		want string // part of the error, empty for none
	}{
		{"nil is off", nil, ""},
		{"default", compaction.DefaultConfig(), ""},
		{"case 1: all four", &compaction.Config{CompactionInterval: 2, OverlapSize: 1, TokenThreshold: 50, EventRetentionSize: 2}, ""},
		{"case 2: interval and overlap only", &compaction.Config{CompactionInterval: 2, OverlapSize: 1}, ""},
		{"case 3: threshold and retention only", &compaction.Config{TokenThreshold: 50, EventRetentionSize: 2}, ""},
		{"case 4 and 35: threshold without retention, or with one of 0, which would summarize the question", &compaction.Config{TokenThreshold: 50}, "TokenThreshold is set without EventRetentionSize"},
		{"case 4: retention without threshold", &compaction.Config{CompactionInterval: 1, EventRetentionSize: 2}, "EventRetentionSize is set without TokenThreshold"},
		{"case 5: interval without overlap is an overlap of 0, as a Go int cannot be absent", &compaction.Config{CompactionInterval: 2}, ""},
		{"case 5: overlap without interval", &compaction.Config{OverlapSize: 2}, "OverlapSize is set without CompactionInterval"},
		{"case 6: nothing", &compaction.Config{}, "nothing would ever be compacted"},
		{"case 7: interval 0 is off, and alone it is nothing", &compaction.Config{CompactionInterval: 0}, "nothing would ever be compacted"},
		{"case 7: negative interval", &compaction.Config{CompactionInterval: -1}, "CompactionInterval is negative (-1)"},
		{"case 88: negative threshold", &compaction.Config{CompactionInterval: 1, TokenThreshold: -1}, "TokenThreshold is negative"},
		{"case 88: negative retention", &compaction.Config{CompactionInterval: 1, EventRetentionSize: -1}, "EventRetentionSize is negative"},
		{"negative overlap", &compaction.Config{CompactionInterval: 1, OverlapSize: -2}, "OverlapSize is negative (-2)"},
		{"negative timeout", &compaction.Config{CompactionInterval: 1, Timeout: -time.Second}, "Timeout is negative"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.cfg.Validate()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestNewCompactor(t *testing.T) {
	service := session.InMemoryService()
	good := func() *compaction.Config {
		return &compaction.Config{CompactionInterval: 2, Summarizer: compaction.ExtractiveSummarizer{}}
	}
	for _, tc := range []struct {
		name    string
		change  func(*compaction.Config) *compaction.Config
		service session.Service
		want    string
	}{
		{"no config", func(*compaction.Config) *compaction.Config { return nil }, service, "no config"},
		{"no summarizer", func(c *compaction.Config) *compaction.Config { c.Summarizer = nil; return c }, service, "Summarizer must be set"},
		{"no service", func(c *compaction.Config) *compaction.Config { return c }, nil, "no session service"},
		{"not valid", func(c *compaction.Config) *compaction.Config { c.CompactionInterval = -1; return c }, service, "negative"},
	} {
		if _, err := compaction.NewCompactor(tc.change(good()), tc.service); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %q", tc.name, err, tc.want)
		}
	}

	// Case 82: the config is copied: what the caller changes later counts for nothing.
	cfg := good()
	c, err := compaction.NewCompactor(cfg, service)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Blocking, cfg.Summarizer = true, nil
	if c.Blocking() {
		t.Error("the compactor's config changed with the caller's")
	}
	if err := c.Wait(context.Background()); err != nil {
		t.Errorf("Wait with nothing to wait for: %v", err)
	}
}
