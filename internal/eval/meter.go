package eval

import (
	"context"
	"iter"
	"sync"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/model"
)

// meter counts what a summarizer's model spends, also on summaries that are not
// used.
type meter struct {
	model.LLM
	counter *tokens.Counter

	mu    sync.Mutex
	calls int
	total Spent
}

// newSummarizer is the summarizer of a conversation, shown no more at once than
// the window holds, and its meter.
func newSummarizer(o Options, counter *tokens.Counter) (*meter, compaction.Summarizer, error) {
	m := &meter{LLM: o.Summarizer, counter: counter}
	if o.Summarizer == nil {
		return m, compaction.ExtractiveSummarizer{}, nil
	}
	characters := limitsOf(o.Window).summary
	primary, err := compaction.NewLLMSummarizer(compaction.LLMSummarizerConfig{
		Model: m, MaxTranscriptChars: characters, MaxToolContentChars: min(2000, characters/4),
	})
	return m, compaction.Fallback(primary, compaction.ExtractiveSummarizer{}), err
}

// GenerateContent counts tokens as the model reports them or, if it does not,
// as the counter does. A call that fails is not billed.
func (m *meter) GenerateContent(ctx context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		for response, err := range m.LLM.GenerateContent(ctx, req, stream) {
			if err == nil && !response.Partial {
				m.count(req, response)
			}
			if !yield(response, err) {
				return
			}
		}
	}
}

func (m *meter) count(req *model.LLMRequest, response *model.LLMResponse) {
	spent := Spent{Input: m.counter.Request(req.Contents, req.Config), Output: m.counter.Content(response.Content)}
	if usage := response.UsageMetadata; usage != nil && usage.PromptTokenCount > 0 {
		spent = Spent{int(usage.PromptTokenCount), int(usage.CachedContentTokenCount), int(usage.CandidatesTokenCount + usage.ThoughtsTokenCount)}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.total = m.total.plus(spent)
}

func (m *meter) spent() (calls int, total Spent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.total
}
