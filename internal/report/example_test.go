package report_test

import (
	"fmt"
	"os"

	"github.com/recap-adk/recap/internal/report"
)

func Example() {
	result := report.Result{
		File: "seat.jsonl", Format: "openai-messages", Tokenizer: "o200k",
		Turns: 3, ModelCalls: 4, Events: 9, Compactions: 1,
		PromptTokensAtEnd:  report.Pair{Raw: 3000, Compacted: 1200},
		BilledPromptTokens: report.Pair{Raw: 7000, Compacted: 5200},
		SummarizerTokens:   800,
		TurnCompactionMS:   report.Percentiles{P50: 0.05, P99: 0.31},
		ExactValues:        report.ExactValues{Stated: 4, InPrompt: 4},
		DB:                 "seat.db",
		PerTurn: report.Series{
			{Turn: 1, Pair: report.Pair{Raw: 1000, Compacted: 1000}},
			{Turn: 2, Pair: report.Pair{Raw: 2000, Compacted: 2000}, CompactedHere: true},
			{Turn: 3, Pair: report.Pair{Raw: 3000, Compacted: 1200}},
		},
	}
	if err := result.WriteTable(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// seat.jsonl (openai-messages): 3 turns, 4 model calls, 9 events, 1 compaction
	//
	//   Tokens (o200k)                            raw  compacted   share
	//   Prompt at the end                       3,000      1,200  40.0 %
	//   Billed prompts, whole conversation      7,000      5,200  74.3 %
	//   Spent by the summarizer                              800  11.4 %
	//
	//   Time a turn spent in compaction   p50 0.05 ms, p99 0.31 ms
	//   Exact values in the final prompt  4 of the 4 that the user stated
	//   Database                          seat.db
	//
	//   turn    raw  compacted  compactions  prompt: █ compacted, █░ raw
	//      1  1,000      1,000            0  ████████████
	//      2  2,000      2,000            1  ████████████████████████
	//      3  3,000      1,200            1  ██████████████░░░░░░░░░░░░░░░░░░░░░░
}
