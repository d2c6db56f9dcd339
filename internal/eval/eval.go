// Package eval measures ways of keeping a prompt short on the same conversations,
// side by side: what they cost, and what they keep.
//
//	talk, facts, err := eval.Plant(eval.Plan{Turns: 120, Facts: 40, Seed: 1})
//	report, err := eval.Run(ctx, []eval.Case{{Name: "planted", Talk: talk, Facts: facts}}, eval.Options{})
//	fmt.Println(report.Cases[0].Scores[5].Facts.Reachable())
//
// Every strategy plays every conversation through the real runner, see package
// replay; the summarizer is the same for all. Without a model nothing leaves this
// machine, and the result is the same each time but for the times that it took.
//
// What is kept is looked for at the end, letter by letter: in the prompt that
// would be sent now, then, if the agent has the recall tool, among the first five
// results for a query that does not have what is looked for. Looked for are
//
//   - facts that were planted, by the question that asks for them ([Plant]);
//   - anchors: exact values of the conversation but for its last ten turns, by
//     the words around them;
//   - the turns that answer questions of a data set, by the question
//     ([DecodeLoCoMo]).
//
// With a model, facts and questions are also asked for.
package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/replay"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/model"
)

// Case is a conversation, and what is to be remembered of it.
type Case struct {
	Name string
	Talk *conversation.Conversation
	// Seed and Facts are those of a planted conversation.
	Seed      uint64
	Facts     []Fact
	Questions []Question
}

// Options say what is compared, and how.
type Options struct {
	// Strategies are some of Strategies. None means all.
	Strategies []string
	// Window is the size of the model's window in tokens, of which thresholds
	// and limits are shares. 0 means 128,000.
	Window int
	// Last is the number of invocations that last-n sends. 0 means 10.
	Last int
	// Summarizer is that of all strategies. Nil means extracts; see Summarizer.
	Summarizer compaction.Summarizer
	// Timeout bounds a call of the summarizer; see compaction.Config.
	Timeout time.Duration
	// Model, if set, is asked for facts and questions. Live has it answer the
	// user throughout; GiveUpAfter ends a conversation after so many failed turns
	// in a row, 0 never does.
	Model       model.LLM
	Live        bool
	GiveUpAfter int
	// Prices, if set, say what it cost, by the models that PriceOf names. None
	// means all.
	Prices  *Prices
	PriceOf []string
	// OnStep, if set, is called after each turn and each question.
	OnStep func()
}

// Steps is how often OnStep is called, at most.
func (o Options) Steps(cases []Case) int {
	n := 0
	for _, c := range cases {
		n += len(c.Talk.Turns)
		if o.Model != nil {
			n += len(c.Facts) + len(c.Questions)
		}
	}
	return n * len(o.withDefaults().Strategies)
}

func (o Options) withDefaults() Options {
	if len(o.Strategies) == 0 {
		o.Strategies = Strategies
	}
	if o.Window == 0 {
		o.Window = 128_000
	}
	if o.Last == 0 {
		o.Last = 10
	}
	if o.Summarizer == nil {
		o.Summarizer = compaction.ExtractiveSummarizer{}
	}
	if o.OnStep == nil {
		o.OnStep = func() {}
	}
	return o
}

// Summarizer has a model write summaries, shown no more at once than its window
// holds. Where it fails an extract stands in.
func Summarizer(llm model.LLM, window int) (compaction.Summarizer, error) {
	characters := limitsOf(Options{Window: window}.withDefaults().Window).summary
	primary, err := compaction.NewLLMSummarizer(compaction.LLMSummarizerConfig{
		Model: llm, MaxTranscriptChars: characters, MaxToolContentChars: min(2000, characters/4),
	})
	if err != nil {
		return nil, err
	}
	return compaction.Fallback(primary, compaction.ExtractiveSummarizer{}), nil
}

// Report is what was measured. Its JSON is stable.
type Report struct {
	// Tokenizer names what tokens were counted with where no model told.
	Tokenizer  string   `json:"tokenizer"`
	Window     int      `json:"window"`
	Last       int      `json:"last"`
	Live       bool     `json:"live"`
	PriceDate  string   `json:"price_date,omitempty"`
	PriceOf    []string `json:"priced_models,omitempty"`
	Cases      []Played `json:"conversations"`
	Summarizer string   `json:"summarizer"`
	Model      string   `json:"model,omitempty"`
}

// Played is a conversation with the scores of each strategy.
type Played struct {
	Name   string  `json:"name"`
	Seed   uint64  `json:"seed,omitempty"`
	Facts  int     `json:"facts,omitempty"`
	Turns  int     `json:"turns"`
	Scores []Score `json:"strategies"`
}

// Score is how a strategy did on a conversation.
type Score struct {
	Strategy   string `json:"strategy"`
	ModelCalls int    `json:"model_calls"`
	// Billed are the tokens of all model calls of the conversation, Summaries
	// those of the summarizer. Peak is the largest prompt.
	Billed    Spent `json:"billed"`
	Summaries Spent `json:"summarizer"`
	Peak      int   `json:"peak_tokens"`
	// After10 and AtEnd are the prompt after turn 10, zero if there is none, and
	// after the last turn; PerTurn that after each.
	After10 int   `json:"prompt_tokens_at_10"`
	AtEnd   int   `json:"prompt_tokens_at_end"`
	PerTurn []int `json:"prompt_tokens_per_turn"`
	// Compactions is the number of summaries that were stored, FallbackSummaries
	// how many of them are not the summarizer's own, FailedSummaries how often
	// none was stored.
	Compactions       int `json:"compactions"`
	FallbackSummaries int `json:"fallback_summaries"`
	FailedSummaries   int `json:"failed_summaries"`
	// TurnMS is the time that a turn spent between its last event and its end.
	TurnMS Percentiles `json:"turn_compaction_ms"`
	// Reused is the share of all prompts that stood at the start of the one
	// before.
	Reused float64 `json:"prefix_reuse"`
	// Failures are the turns that failed; GaveUp says that it ended with them.
	Failures []replay.Failure `json:"failures"`
	GaveUp   bool             `json:"gave_up"`
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
	// LostFacts are the questions for the facts that were lost.
	LostFacts []string `json:"lost_facts,omitempty"`
}

// Percentiles are in milliseconds.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Run plays every case with every strategy.
func Run(ctx context.Context, cases []Case, o Options) (*Report, error) {
	o = o.withDefaults()
	switch err := CheckStrategies(o.Strategies); {
	case err != nil:
		return nil, err
	case o.Live && o.Model == nil:
		return nil, errors.New("a live conversation needs a model")
	}
	report := &Report{Tokenizer: tokens.Name, Window: o.Window, Last: o.Last, Live: o.Live, Summarizer: "extractive"}
	if o.Model != nil {
		report.Model = o.Model.Name()
	}
	if o.Prices != nil {
		report.PriceDate = o.Prices.Date
		if report.PriceOf = o.PriceOf; len(report.PriceOf) == 0 {
			report.PriceOf = o.Prices.names()
		}
	}
	counter := tokens.New()
	for _, c := range cases {
		played := Played{Name: c.Name, Seed: c.Seed, Facts: len(c.Facts)}
		for _, strategy := range o.Strategies {
			score, err := play(ctx, c, strategy, counter, o)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", c.Name, strategy, err)
			}
			for _, name := range report.PriceOf {
				score.price(name, o.Prices.Models[name])
			}
			played.Turns = max(played.Turns, len(score.PerTurn))
			played.Scores = append(played.Scores, *score)
		}
		report.Cases = append(report.Cases, played)
	}
	return report, nil
}

func play(ctx context.Context, c Case, strategy string, counter *tokens.Counter, o Options) (*Score, error) {
	score := &Score{Strategy: strategy, Failures: []replay.Failure{}}
	opts := replay.Options{
		Counter: counter, OnTurn: func(int) { o.OnStep() },
		Model: o.Model, Live: o.Live, GiveUpAfter: o.GiveUpAfter,
	}
	if o.Model != nil {
		opts.MaxOutput = limitsOf(o.Window).output
	}
	configure(strategy, o, &opts)
	opts.AtEnd = func(ctx context.Context, end *replay.End) error { return score.look(ctx, c, end, o) }
	played, err := replay.Play(ctx, c.Talk, opts)
	if err != nil {
		return nil, err
	}
	score.measure(played)
	return score, nil
}

// measure takes over what the replay counted.
func (s *Score) measure(played *replay.Played) {
	s.ModelCalls, s.Peak, s.Reused, s.GaveUp = played.ModelCalls, played.Peak, played.Reused, played.GaveUp
	s.Billed = Spent{played.Billed, played.Cached, played.Output}
	s.Failures = append(s.Failures, played.Failures...)
	var waits []time.Duration
	for i, turn := range played.Turns {
		s.PerTurn = append(s.PerTurn, turn.PromptAfter)
		s.AtEnd = turn.PromptAfter
		if i == 9 {
			s.After10 = turn.PromptAfter
		}
		waits = append(waits, turn.Compacting)
	}
	slices.Sort(waits)
	s.TurnMS = Percentiles{percentile(waits, 50), percentile(waits, 99)}
	for _, o := range played.Outcomes {
		switch {
		case o.Kind != compaction.Applied:
			s.FailedSummaries++
		case o.Reason != "":
			s.FallbackSummaries++
			fallthrough
		default:
			s.Compactions++
		}
		if o.Usage != nil {
			s.Summaries.Input += int(o.Usage.PromptTokenCount)
			s.Summaries.Cached += int(o.Usage.CachedContentTokenCount)
			s.Summaries.Output += int(o.Usage.CandidatesTokenCount + o.Usage.ThoughtsTokenCount)
		}
	}
}

// percentile is of sorted durations, in milliseconds.
func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return float64(sorted[max(rank, 1)-1].Microseconds()) / 1000
}

func (s *Score) price(model string, p Price) {
	if s.Cost == nil {
		s.Cost, s.SummaryCost = map[string]float64{}, map[string]float64{}
	}
	s.SummaryCost[model] = p.Cost(s.Summaries)
	s.Cost[model] = p.Cost(s.Billed) + s.SummaryCost[model]
}

// look looks for what is to be remembered.
func (s *Score) look(ctx context.Context, c Case, end *replay.End, o Options) error {
	v, err := viewOf(ctx, end)
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
		k, err := v.find(ctx, f.Question, f.Value)
		if err != nil {
			return err
		}
		if k.Lost > 0 {
			s.LostFacts = append(s.LostFacts, f.Question)
		}
		if o.Model != nil {
			answer, err := ask(ctx, v, f.Question)
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
			answer, err := ask(ctx, v, "Answer with as few words as you can, or with \"not mentioned\" if it was not said: "+q.Question)
			if err != nil {
				return err
			}
			k.Asked, k.Score = 1, f1(answer, q.Answer)
			if q.Answer == "" {
				k.Score = 0
				if strings.Contains(strings.ToLower(answer), "not mentioned") {
					k.Score = 1
				}
			}
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

// ask is the model's answer, empty if the turn fails.
func ask(ctx context.Context, v *view, question string) (string, error) {
	answer, err := v.end.Ask(ctx, question)
	if err != nil && ctx.Err() == nil {
		err = nil
	}
	return answer, err
}
