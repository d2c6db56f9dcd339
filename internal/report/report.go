// Package report shows what a replay found: how the prompt grows turn by turn
// with and without compaction.
//
// A [Result] is written in three ways, all from the same numbers:
//
//   - as JSON, with encoding/json, for programs;
//   - as a table that fits a terminal, with [Result.WriteTable];
//   - as a plot, SVG or PNG, with [Series.Plot].
//
// [Panels] and [Bars] are small plots for a page that compares more than two
// ways; they follow its light or dark scheme.
//
// "Raw" is the prompt without compaction, "compacted" the one that was really
// sent. A turn is one user message and everything until the agent's final
// answer; its prompt is the one that would be sent after it.
package report

import (
	"slices"
	"time"
)

// Result is what a replay found. Its JSON is stable.
type Result struct {
	// File and Format are the conversation's.
	File   string `json:"file"`
	Format string `json:"format"`
	// Tokenizer names what the tokens were counted with.
	Tokenizer string `json:"tokenizer"`

	// Turns, ModelCalls, Events and Compactions count what happened; the
	// events are those of the conversation, without compaction events.
	Turns       int `json:"turns"`
	ModelCalls  int `json:"model_calls"`
	Events      int `json:"events"`
	Compactions int `json:"compactions"`

	// PromptTokensAt10 is the prompt after turn 10, zero if there were fewer.
	PromptTokensAt10 Pair `json:"prompt_tokens_at_10"`
	// PromptTokensAtEnd is the prompt after the last turn.
	PromptTokensAtEnd Pair `json:"prompt_tokens_at_end"`
	// BilledPromptTokens is the sum over all model calls.
	BilledPromptTokens Pair `json:"billed_prompt_tokens"`
	// SummarizerTokens is what the summaries cost, prompts and answers.
	SummarizerTokens int `json:"summarizer_tokens"`

	// TurnCompactionMS is the time that turns spent in compaction.
	TurnCompactionMS Percentiles `json:"turn_compaction_ms"`
	// ExactValues tells how many of the exact values that the user stated are
	// in the final prompt.
	ExactValues ExactValues `json:"exact_values"`
	// DB is the path of the database that holds the session.
	DB string `json:"db"`

	// PerTurn has one entry for each turn.
	PerTurn Series `json:"per_turn"`
}

// Pair is a number of tokens without and with compaction.
type Pair struct {
	Raw       int `json:"raw"`
	Compacted int `json:"compacted"`
}

// Percentiles are the median and the 99th percentile, in milliseconds.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// PercentilesOf sorts the times and returns their percentiles.
func PercentilesOf(times []time.Duration) Percentiles {
	slices.Sort(times)
	at := func(p int) float64 {
		if len(times) == 0 {
			return 0
		}
		rank := (len(times)*p + 99) / 100
		return float64(times[max(rank, 1)-1].Microseconds()) / 1000
	}
	return Percentiles{P50: at(50), P99: at(99)}
}

// ExactValues counts the exact values (numbers, IDs, dates, ...) that the user
// stated, and those of them that the final prompt still has.
type ExactValues struct {
	Stated   int `json:"stated"`
	InPrompt int `json:"in_prompt"`
}

// Series is the prompt's size, turn by turn.
type Series []Turn

// Turn is the prompt's size after a turn, and after the compaction that follows.
type Turn struct {
	// Turn is the turn's number, from 1.
	Turn int `json:"turn"`
	Pair
	// CompactedHere tells that a compaction took place after this turn.
	CompactedHere bool `json:"compacted_here"`
}
