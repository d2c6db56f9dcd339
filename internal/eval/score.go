package eval

import (
	"context"
	"strings"
	"time"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/replay"
	"github.com/recap-adk/recap/internal/report"
)

// Score is how a strategy did on a conversation.
type Score struct {
	Strategy string `json:"strategy"`
	// ModelCalls and Billed are those of the conversation, SummarizerCalls and
	// Summaries those of the summarizer, none if it needs no model. Peak is the
	// largest prompt in tokens.
	ModelCalls      int   `json:"model_calls"`
	Billed          Spent `json:"billed"`
	SummarizerCalls int   `json:"summarizer_calls"`
	Summaries       Spent `json:"summarizer_tokens"`
	Peak            int   `json:"peak_tokens"`
	// After10 is the prompt after turn 10, zero if there is none, and PerTurn that
	// after each.
	After10 int   `json:"prompt_tokens_at_10,omitempty"`
	PerTurn []int `json:"prompt_tokens_per_turn"`
	// Compactions is the number of summaries that were stored, FallbackSummaries
	// how many of them are not the summarizer's own, FailedSummaries how often
	// none was fit to be stored.
	Compactions       int `json:"compactions"`
	FallbackSummaries int `json:"fallback_summaries,omitempty"`
	FailedSummaries   int `json:"failed_summaries,omitempty"`
	// TurnMS is the time that a turn waited for compaction.
	TurnMS report.Percentiles `json:"turn_compaction_ms"`
	// Reused is the share of all prompts that stood at the start of the one
	// before.
	Reused float64 `json:"prefix_reuse"`
	// Failures are the turns that failed; GaveUp says that it ended with them.
	Failures []replay.Failure `json:"failures"`
	GaveUp   bool             `json:"gave_up,omitempty"`
	// Cost is that of all tokens in US dollars, SummaryCost the part of the
	// summarizer, by model.
	Cost        map[string]float64 `json:"cost_usd,omitempty"`
	SummaryCost map[string]float64 `json:"summarizer_cost_usd,omitempty"`

	Facts       *Kept           `json:"facts,omitempty"`
	ByKind      map[string]Kept `json:"facts_by_kind,omitempty"`
	BySource    map[string]Kept `json:"facts_by_source,omitempty"`
	Anchors     *Kept           `json:"anchors,omitempty"`
	Evidence    *Kept           `json:"evidence,omitempty"`
	ByCategory  map[int]Kept    `json:"evidence_by_category,omitempty"`
	UnknownTurn int             `json:"evidence_unknown,omitempty"`
	// FailedQuestions are those that the model gave no answer to, which count as
	// wrong, and QuestionError why it gave none to the first.
	FailedQuestions int    `json:"failed_questions,omitempty"`
	QuestionError   string `json:"question_error,omitempty"`
	// LostFacts are the questions for the facts that were lost.
	LostFacts []string `json:"lost_facts,omitempty"`
}

func (s *Score) raw() *Raw {
	return &Raw{Billed: s.Billed.Input, Peak: s.Peak, After10: s.After10, PerTurn: s.PerTurn}
}

// measure takes over what the replay counted.
func (s *Score) measure(played *replay.Played) {
	s.ModelCalls, s.Peak, s.Reused, s.GaveUp = played.ModelCalls, played.Peak, played.Reused, played.GaveUp
	s.Billed = Spent{played.Billed, played.Cached, played.Output}
	s.Failures = append(s.Failures, played.Failures...)
	var waits []time.Duration
	for i, turn := range played.Turns {
		s.PerTurn = append(s.PerTurn, turn.PromptAfter)
		if i == 9 {
			s.After10 = turn.PromptAfter
		}
		waits = append(waits, turn.Compacting)
	}
	s.TurnMS = report.PercentilesOf(waits)
	for _, o := range played.Outcomes {
		switch o.Kind {
		case compaction.Applied:
			s.Compactions++
			if o.Reason != "" {
				s.FallbackSummaries++
			}
		case compaction.Failed, compaction.Declined:
			s.FailedSummaries++
		}
	}
}

func (s *Score) price(prices *Prices) {
	s.Cost, s.SummaryCost = map[string]float64{}, map[string]float64{}
	for _, name := range prices.names() {
		p := prices.Models[name]
		s.SummaryCost[name] = p.Cost(s.Summaries)
		s.Cost[name] = p.Cost(s.Billed) + s.SummaryCost[name]
	}
}

// look looks for what is to be remembered.
func (s *Score) look(ctx context.Context, c Case, end *replay.End, o Options) error {
	v, err := viewOf(ctx, end, o.Window)
	if err != nil {
		return err
	}
	if err := s.lookForAnchors(ctx, v, anchorsOf(c.Talk, o.Live)); err != nil {
		return err
	}
	if err := s.lookForFacts(ctx, v, c.Facts, o); err != nil {
		return err
	}
	return s.lookForEvidence(ctx, v, c.Questions, o)
}

func (s *Score) lookForAnchors(ctx context.Context, v *view, anchors []anchor) error {
	var sum Kept
	for _, a := range anchors {
		k, err := v.find(ctx, a.around, a.value)
		if err != nil {
			return err
		}
		sum = sum.plus(k)
	}
	if sum.Total > 0 {
		s.Anchors = &sum
	}
	return nil
}

func (s *Score) lookForFacts(ctx context.Context, v *view, facts []Fact, o Options) error {
	if len(facts) == 0 {
		return nil
	}
	s.Facts, s.ByKind, s.BySource = &Kept{}, map[string]Kept{}, map[string]Kept{}
	for _, f := range facts {
		k, err := v.find(ctx, f.Query, f.Value)
		if err != nil {
			return err
		}
		if k.Lost > 0 {
			s.LostFacts = append(s.LostFacts, f.Question)
		}
		if o.Model != nil {
			answer, err := s.ask(ctx, v, f.Question)
			if err != nil {
				return err
			}
			k.Asked = 1
			if contains(strings.ToLower(normal(answer)), strings.ToLower(f.Value)) {
				k.Answered, k.Score = 1, 1
			}
			o.OnStep()
		}
		*s.Facts = s.Facts.plus(k)
		s.ByKind[f.Kind] = s.ByKind[f.Kind].plus(k)
		s.BySource[f.Source] = s.BySource[f.Source].plus(k)
	}
	return nil
}

func (s *Score) lookForEvidence(ctx context.Context, v *view, questions []Question, o Options) error {
	if len(questions) == 0 {
		return nil
	}
	s.Evidence, s.ByCategory = &Kept{}, map[int]Kept{}
	for _, q := range questions {
		k, err := v.find(ctx, q.Question, q.Evidence...)
		if err != nil {
			return err
		}
		s.UnknownTurn += q.Unknown
		if o.Model != nil {
			answer, err := s.ask(ctx, v, "Answer with as few words as you can, or with \"not mentioned\" if it was not said: "+q.Question)
			if err != nil {
				return err
			}
			k.Asked, k.Score = 1, q.score(answer)
			if k.Score >= 0.5 {
				k.Answered = 1
			}
			o.OnStep()
		}
		*s.Evidence = s.Evidence.plus(k)
		s.ByCategory[q.Category] = s.ByCategory[q.Category].plus(k)
	}
	return nil
}

// score is how right an answer is, from 0 to 1.
func (q Question) score(answer string) float64 {
	if q.Answer != "" {
		return f1(answer, q.Answer)
	}
	if strings.Contains(strings.ToLower(answer), "not mentioned") {
		return 1
	}
	return 0
}

// ask is the model's answer, empty if the turn fails.
func (s *Score) ask(ctx context.Context, v *view, question string) (string, error) {
	answer, err := v.end.Ask(ctx, question)
	if err == nil || ctx.Err() != nil {
		return answer, ctx.Err()
	}
	if s.FailedQuestions++; s.FailedQuestions == 1 {
		s.QuestionError = err.Error()
	}
	return "", nil
}
