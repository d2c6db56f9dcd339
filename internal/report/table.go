package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

const (
	listedTurns = 11 // steps of the listing, at most
	barWidth    = 36 // of the largest prompt, in characters
)

// WriteTable writes the result for people, in at most 25 lines. Up to 10
// million tokens they are no longer than 80 characters, if the names are not.
func (r *Result) WriteTable(w io.Writer) error {
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "%s (%s): %s, %s, %s, %s\n\n", r.File, r.Format,
		Plural(r.Turns, "turn"), Plural(r.ModelCalls, "model call"), Plural(r.Events, "event"), Plural(r.Compactions, "compaction"))
	r.writeTokens(&buf)
	buf.WriteByte('\n')
	r.writeFacts(&buf)
	if len(r.PerTurn) > 0 {
		buf.WriteByte('\n')
		r.PerTurn.writeListing(&buf)
	}
	_, err := w.Write(buf.Bytes())
	return err
}

func (r *Result) writeTokens(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, raw, compacted, share string) {
		fmt.Fprintf(table, "%-38s\t%s\t%s\t%s\t\n", name, raw, compacted, share)
	}
	pair := func(name string, p Pair) {
		row(name, Thousands(p.Raw), Thousands(p.Compacted), Percent(p.Compacted, p.Raw))
	}
	row("Tokens ("+r.Tokenizer+")", "raw", "compacted", "share")
	if r.Turns >= 10 {
		pair("Prompt after turn 10", r.PromptTokensAt10)
	}
	pair("Prompt at the end", r.PromptTokensAtEnd)
	pair("Billed prompts, whole conversation", r.BilledPromptTokens)
	row("Spent by the summarizer", "", Thousands(r.SummarizerTokens), Percent(r.SummarizerTokens, r.BilledPromptTokens.Raw))
	table.Flush()
}

func (r *Result) writeFacts(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "  Time a turn spent in compaction\tp50 %s ms, p99 %s ms\n", Milliseconds(r.TurnCompactionMS.P50), Milliseconds(r.TurnCompactionMS.P99))
	fmt.Fprintf(table, "  Exact values in the final prompt\t%s of the %s that the user stated\n", Thousands(r.ExactValues.InPrompt), Thousands(r.ExactValues.Stated))
	fmt.Fprintf(table, "  Database\t%s\n", r.DB)
	table.Flush()
}

// writeListing writes a line for every so many turns, with a bar.
func (s Series) writeListing(w io.Writer) {
	largest := slices.MaxFunc(s, func(a, b Turn) int { return cmp.Compare(a.largest(), b.largest()) }).largest()
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "turn\traw\tcompacted\tcompactions\t  prompt: █ compacted, █░ raw\n")
	step := listingStep(len(s))
	compactions := 0
	for i, turn := range s {
		if turn.CompactedHere {
			compactions++
		}
		if (i+1)%step == 0 || i == 0 || i == len(s)-1 {
			fmt.Fprintf(table, "%d\t%s\t%s\t%d\t  %s\n", turn.Turn, Thousands(turn.Raw), Thousands(turn.Compacted), compactions, turn.bar(largest))
		}
	}
	table.Flush()
}

// listingStep returns a round number of turns, so that there are at most
// listedTurns steps in n.
func listingStep(n int) int { return roundStep(n, listedTurns) }

func (t Turn) largest() int {
	return max(t.Raw, t.Compacted)
}

// bar shows the compacted prompt as the filled part of the raw one.
func (t Turn) bar(largest int) string {
	width := func(tokens int) int {
		if tokens <= 0 || largest <= 0 {
			return 0
		}
		return max(1, (tokens*barWidth+largest/2)/largest)
	}
	filled := width(t.Compacted)
	return strings.Repeat("█", filled) + strings.Repeat("░", max(0, width(t.Raw)-filled))
}

// Plural returns a count and what is counted.
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Thousands(n) + " " + noun
}

// Thousands returns the number with a comma before every three digits.
func Thousands(n int) string {
	digits, negative := strings.CutPrefix(strconv.Itoa(n), "-")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if negative {
		return "-" + digits
	}
	return digits
}

// Percent returns the share that a part has of the whole.
func Percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// Milliseconds returns a time with as many decimals as are of interest.
func Milliseconds(ms float64) string {
	switch {
	case ms >= 100:
		return strconv.FormatFloat(ms, 'f', 0, 64)
	case ms >= 1:
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return strconv.FormatFloat(ms, 'f', 2, 64)
}
