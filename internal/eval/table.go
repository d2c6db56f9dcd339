package eval

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/recap-adk/recap/internal/report"
)

const runsInLine = 20

// WriteTable writes the report for people. Up to 100 million tokens its lines are
// no longer than 80 characters, if facts and evidence are not both looked for.
func (r *Report) WriteTable(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n", r.setting())
	for _, g := range r.groups() {
		fmt.Fprintf(&b, "\n%s\n  %s\n\n", g.Title, strings.ReplaceAll(g.About(), "; ", "\n  "))
		costs := [][]string{costHeads}
		for _, row := range g.Rows {
			costs = append(costs, row.costs())
		}
		writeCells(&b, costs)
		for _, table := range [][][]string{g.keptTable(), g.priceTable(r.PricedModels)} {
			if len(table) > 0 && len(table[0]) > 1 {
				b.WriteByte('\n')
				writeCells(&b, table)
			}
		}
		for _, m := range g.memories() {
			if m.name != "anchors" { // which are many, and much the same
				g.writeRuns(&b, m)
			}
		}
		if notes := g.notes(); len(notes) > 0 {
			fmt.Fprintf(&b, "\n  %s\n", strings.Join(notes, "\n  "))
		}
	}
	fmt.Fprintf(&b, "\n%s", legend)
	_, err := w.Write(b.Bytes())
	return err
}

const legend = `billed: tokens of all prompts; peak: the largest prompt; turn 10: the prompt after
it, of raw; reused: part of a prompt that is the start of the one before; sums:
summaries stored, calls and spent: of the summarizer's model; p99 ms: what a turn
waited. in view: in the prompt at the end; recall: in what one call of the recall
tool answers, asked without the value.
`

// setting says what was played with what.
func (r *Report) setting() string {
	text := "Tokens: " + r.Tokenizer + ". Summarizer: " + r.Summarizer + "."
	if r.Model != "" {
		text += " Model: " + r.Model
		if r.Live {
			text += ", live"
		}
		text += "."
	}
	if r.Window > 0 {
		text += " Window: " + report.Thousands(r.Window) + "."
	}
	if r.PriceDate != "" {
		text += " Prices of " + r.PriceDate + "."
	}
	return text
}

// writeRuns writes what is reachable in each run.
func (g group) writeRuns(w io.Writer, m memory) {
	table := g.runsTable(m)
	if table == nil {
		return
	}
	fmt.Fprintf(w, "\n  %s in view or one recall away, in each run:\n", m.name)
	for _, cells := range table {
		name, runs := cells[0], cells[1:]
		for len(runs) > 0 {
			n := min(runsInLine, len(runs))
			fmt.Fprintf(w, "  %-8s %s\n", name, strings.Join(runs[:n], " "))
			name, runs = "", runs[n:]
		}
	}
}

// writeCells writes rows with the first column at the left, the others at the
// right.
func writeCells(w io.Writer, table [][]string) {
	widths := make([]int, len(table[0]))
	for _, cells := range table {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range table {
		fmt.Fprintf(w, "  %-*s", widths[0], cells[0])
		for i, cell := range cells[1:] {
			fmt.Fprintf(w, "  %*s", widths[i+1], cell)
		}
		fmt.Fprintln(w)
	}
}
