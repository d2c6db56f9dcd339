// Package eval measures ways to keep a prompt short on the same conversations,
// side by side: what they cost, and what they keep.
//
//	talk, facts, err := eval.Plant(eval.Plan{Turns: 120, Facts: 40, Seed: 1})
//	report, err := eval.Run(ctx, []eval.Case{{Name: "seed 1", Talk: talk, Facts: facts}}, eval.Options{})
//	err = report.WriteTable(os.Stdout)
//
// Every strategy plays every conversation through the real runner, see package
// replay; the summarizer is the same for all. Without a model nothing leaves this
// machine, and the result is the same each time but for the times that it took.
//
// What is kept is looked for at the end, letter by letter: in the prompt that
// would be sent now, then, if the agent has the recall tool, in what one call of
// it answers to a query without what is looked for. Looked for are
//
//   - facts that were planted, by what they are about ([Plant]);
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
	"time"

	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/replay"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/model"
)

// Case is a conversation, and what is to be remembered of it.
type Case struct {
	Name string
	// Group, if it is not empty, is shared by cases that are runs of one thing.
	Group string
	Talk  *conversation.Conversation
	// Seed and Facts are those of a planted conversation.
	Seed      uint64
	Facts     []Fact
	Questions []Question
}

// Planted are so many cases with facts, from a seed on.
func Planted(p Plan, runs int) ([]Case, error) {
	var cases []Case
	for range runs {
		talk, facts, err := Plant(p)
		if err != nil {
			return nil, err
		}
		cases = append(cases, Case{
			Name: fmt.Sprintf("seed %d", p.Seed), Group: fmt.Sprintf("%d planted facts in %d turns", p.Facts, p.Turns),
			Talk: talk, Seed: p.Seed, Facts: facts,
		})
		p.Seed++
	}
	return cases, nil
}

// Options say what is compared, and how.
type Options struct {
	// Strategies are some of Strategies. None means all.
	Strategies []string
	// Window is the size of the model's window in tokens, of which thresholds
	// and limits are shares. A prompt that is larger makes its turn fail. 0 means
	// the thresholds of one of 128,000, and no bound.
	Window int
	// Last is the number of invocations that last-n sends. 0 means 10.
	Last int
	// Summarizer writes the summaries of all strategies; where it fails an
	// extract stands in. Nil means extracts throughout.
	Summarizer model.LLM
	// Timeout bounds a call of the summarizer; see compaction.Config.
	Timeout time.Duration
	// Model, if set, is asked for facts and questions. Live has it answer the
	// user throughout.
	Model model.LLM
	Live  bool
	// GiveUpAfter ends a conversation after so many failed turns in a row, 0
	// never does.
	GiveUpAfter int
	// Prices, if set, say what it cost, by each of its models.
	Prices *Prices
	// OnStep, if set, is called after each turn and each question.
	OnStep func()
}

// Steps is about how often OnStep is called.
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
	if o.Last == 0 {
		o.Last = 10
	}
	if o.OnStep == nil {
		o.OnStep = func() {}
	}
	return o
}

// Check says what is wrong with options.
func (o Options) Check() error {
	switch {
	case o.Live && o.Model == nil:
		return errors.New("a live conversation needs a model")
	case o.Window < 0 || o.Last < 0:
		return errors.New("a window and a number of invocations cannot be negative")
	case o.Window > 0 && o.Window < minWindow:
		return fmt.Errorf("a window of %d tokens is too small: it must be at least %d", o.Window, minWindow)
	}
	return CheckStrategies(o.Strategies)
}

// minWindow is a size below which no prompt has room for a summary.
const minWindow = 1024

// Report is what was measured. Its JSON is stable.
type Report struct {
	// Tokenizer names what tokens were counted with where no model told.
	Tokenizer string `json:"tokenizer"`
	// Window is 0 if there was no bound.
	Window     int    `json:"window,omitempty"`
	Last       int    `json:"last"`
	Summarizer string `json:"summarizer"`
	Model      string `json:"model,omitempty"`
	Live       bool   `json:"live,omitempty"`
	// PriceDate is that of the price table, PricedModels the models in it.
	PriceDate    string   `json:"price_date,omitempty"`
	PricedModels []string `json:"priced_models,omitempty"`
	Cases        []Played `json:"conversations"`
}

// Played is a conversation with the scores of each strategy.
type Played struct {
	Name  string `json:"name"`
	Group string `json:"group,omitempty"`
	Seed  uint64 `json:"seed,omitempty"`
	Turns int    `json:"turns"`
	// Raw is the conversation with all of it in each prompt, which shares are of.
	// A live one has none if the strategy "none" was not played or failed.
	Raw    *Raw    `json:"raw,omitempty"`
	Scores []Score `json:"strategies"`
}

// Raw are the sizes in tokens of a conversation without any strategy.
type Raw struct {
	Billed  int   `json:"billed_prompt_tokens"`
	Peak    int   `json:"peak_tokens"`
	After10 int   `json:"prompt_tokens_at_10,omitempty"`
	PerTurn []int `json:"prompt_tokens_per_turn"`
}

// Run plays every case with every strategy. A turn that fails ends nothing: the
// score says so.
func Run(ctx context.Context, cases []Case, o Options) (*Report, error) {
	o = o.withDefaults()
	if err := o.Check(); err != nil {
		return nil, err
	}
	report := &Report{Tokenizer: tokens.Name, Window: o.Window, Last: o.Last, Live: o.Live, Summarizer: "extractive"}
	if o.Summarizer != nil {
		report.Summarizer = o.Summarizer.Name()
	}
	if o.Model != nil {
		report.Model = o.Model.Name()
	}
	if o.Prices != nil {
		report.PriceDate, report.PricedModels = o.Prices.Date, o.Prices.names()
	}
	counter := tokens.New()
	for _, c := range cases {
		played := Played{Name: c.Name, Group: c.Group, Seed: c.Seed}
		for _, strategy := range o.Strategies {
			score, err := play(ctx, c, strategy, counter, o)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", c.Name, strategy, err)
			}
			played.Turns = max(played.Turns, len(score.PerTurn))
			played.Scores = append(played.Scores, *score)
		}
		var err error
		if played.Raw, err = rawOf(ctx, c, played.Scores, counter, o); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		report.Cases = append(report.Cases, played)
	}
	return report, nil
}

// rawOf is what shares are of: the score of "none", if it is whole, or else the
// recording played once more.
func rawOf(ctx context.Context, c Case, scores []Score, counter *tokens.Counter, o Options) (*Raw, error) {
	for _, s := range scores {
		if s.Strategy == "none" && len(s.Failures) == 0 {
			return s.raw(), nil
		}
	}
	if o.Live {
		return nil, nil
	}
	o = Options{OnStep: func() {}}
	s, err := play(ctx, Case{Talk: c.Talk}, "none", counter, o)
	if err != nil {
		return nil, err
	}
	return s.raw(), nil
}

func play(ctx context.Context, c Case, strategy string, counter *tokens.Counter, o Options) (*Score, error) {
	score := &Score{Strategy: strategy, Failures: []replay.Failure{}}
	spending, summarizer, err := newSummarizer(o, counter)
	if err != nil {
		return nil, err
	}
	opts := replay.Options{
		Counter: counter, OnTurn: func(int) { o.OnStep() },
		Model: o.Model, Live: o.Live, Window: o.Window, GiveUpAfter: o.GiveUpAfter,
	}
	if o.Model != nil {
		opts.MaxOutput = limitsOf(o.Window).output
	}
	configure(strategy, o, summarizer, &opts)
	opts.AtEnd = func(ctx context.Context, end *replay.End) error { return score.look(ctx, c, end, o) }
	played, err := replay.Play(ctx, c.Talk, opts)
	if err != nil {
		return nil, err
	}
	score.measure(played)
	score.SummarizerCalls, score.Summaries = spending.spent()
	if o.Prices != nil {
		score.price(o.Prices)
	}
	return score, nil
}
