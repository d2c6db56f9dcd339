package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/gemini"
)

// newSummarizer returns what --summarizer names and, if that asks a model, the
// model.
func newSummarizer(ctx context.Context, name string) (compaction.Summarizer, *watchedModel, error) {
	if name == "extractive" {
		return compaction.ExtractiveSummarizer{}, nil, nil
	}
	modelName, ok := strings.CutPrefix(name, "gemini:")
	if !ok || modelName == "" {
		return nil, nil, fmt.Errorf("--summarizer is %q; it must be extractive or gemini:MODEL", name)
	}
	if cmp.Or(os.Getenv("GOOGLE_API_KEY"), os.Getenv("GEMINI_API_KEY")) == "" {
		return nil, nil, fmt.Errorf("--summarizer %s needs an API key in GOOGLE_API_KEY or GEMINI_API_KEY", name)
	}
	llm, err := gemini.NewModel(ctx, modelName, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("--summarizer %s: %w", name, err)
	}
	watched := &watchedModel{LLM: llm}
	primary, err := compaction.NewLLMSummarizer(compaction.LLMSummarizerConfig{Model: watched})
	if err != nil {
		return nil, nil, fmt.Errorf("--summarizer %s: %w", name, err)
	}
	return compaction.Fallback(primary, compaction.ExtractiveSummarizer{}), watched, nil
}

// watchedModel counts the calls of a model that failed: nothing in the log
// tells a summary of the model from the extract that stands in for it, and the
// figures must not be taken for the model's.
type watchedModel struct {
	model.LLM

	mu            sync.Mutex
	calls, failed int
	first         error
}

// GenerateContent asks the model.
func (m *watchedModel) GenerateContent(ctx context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		var failure error
		defer func() { m.count(failure) }()
		for response, err := range m.LLM.GenerateContent(ctx, req, stream) {
			switch {
			case err != nil:
				failure = err
			case response.ErrorCode != "":
				failure = errors.New(strings.TrimSpace(response.ErrorCode + " " + response.ErrorMessage))
			}
			if !yield(response, err) {
				return
			}
		}
	}
}

func (m *watchedModel) count(failure error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if failure == nil {
		return
	}
	if m.failed++; m.failed == 1 {
		m.first = failure
	}
}

// notes has a line if calls failed.
func (m *watchedModel) notes() []string {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d calls of %s failed, and extracts stand in: %v", m.failed, m.calls, m.Name(), m.first)}
}
