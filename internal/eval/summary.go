package eval

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/recap-adk/recap/internal/report"
)

// group is a conversation, or the runs of one thing, as tables show it.
type group struct {
	Title string
	Runs  []Played
	Rows  []row
}

// row is how a strategy did in all runs of a group.
type row struct {
	Strategy string
	runs     []Played
	scores   []Score // one for each run
}

func (r *Report) groups() []group {
	var groups []group
	for _, c := range r.Cases {
		if n := len(groups); c.Group != "" && n > 0 && groups[n-1].Runs[0].Group == c.Group {
			groups[n-1].Runs = append(groups[n-1].Runs, c)
			continue
		}
		groups = append(groups, group{Title: c.Name, Runs: []Played{c}})
	}
	for i := range groups {
		groups[i].fill()
	}
	return groups
}

func (g *group) fill() {
	first := g.Runs[0]
	g.Title = filepath.Base(first.Name)
	if first.Group != "" {
		g.Title = fmt.Sprintf("%s, %s", first.Group, first.Name)
		if last := g.Runs[len(g.Runs)-1]; len(g.Runs) > 1 {
			g.Title = fmt.Sprintf("%s, %s: %s to %s", first.Group, report.Plural(len(g.Runs), "run"), first.Name, last.Name)
		}
	}
	for i, score := range first.Scores {
		r := row{Strategy: score.Strategy, runs: g.Runs}
		for _, played := range g.Runs {
			r.scores = append(r.scores, played.Scores[i])
		}
		g.Rows = append(g.Rows, r)
	}
}

// About is the size of the conversations.
func (g group) About() string {
	turns, billed, peak := 0, 0, 0
	for _, p := range g.Runs {
		turns += p.Turns
		if p.Raw != nil {
			billed += p.Raw.Billed
			peak = max(peak, p.Raw.Peak)
		}
	}
	about := report.Plural(turns, "turn")
	if billed > 0 {
		about += fmt.Sprintf("; without compaction %s prompt tokens billed, %s in the largest prompt", report.Thousands(billed), report.Thousands(peak))
	}
	return about
}

func (r row) sum(of func(Score) int) int {
	n := 0
	for _, s := range r.scores {
		n += of(s)
	}
	return n
}

func (r row) largest(of func(Score) float64) float64 {
	most := 0.0
	for _, s := range r.scores {
		most = max(most, of(s))
	}
	return most
}

// share is a sum's part of the raw one. What failed on the way, or has nothing
// to be compared with, has none.
func (r row) share(of func(Score) int, raw func(Raw) int) string {
	whole := 0
	for i, s := range r.scores {
		if r.runs[i].Raw == nil || len(s.Failures) > 0 {
			return "-"
		}
		whole += raw(*r.runs[i].Raw)
	}
	return report.Percent(r.sum(of), whole)
}

// costs are the cells of a table of what strategies cost.
func (r row) costs() []string {
	reused := 0.0
	for _, s := range r.scores {
		reused += s.Reused / float64(len(r.scores))
	}
	billed := func(s Score) int { return s.Billed.Input }
	after10 := func(s Score) int { return s.After10 }
	spent := report.Thousands(r.sum(func(s Score) int { return s.Summaries.Input + s.Summaries.Output }))
	return []string{
		r.Strategy, report.Thousands(r.sum(billed)), r.share(billed, func(raw Raw) int { return raw.Billed }),
		report.Thousands(int(r.largest(func(s Score) float64 { return float64(s.Peak) }))),
		r.share(after10, func(raw Raw) int { return raw.After10 }), fmt.Sprintf("%.1f %%", 100*reused),
		report.Thousands(r.sum(func(s Score) int { return s.Compactions })),
		report.Thousands(r.sum(func(s Score) int { return s.SummarizerCalls })), spent,
		report.Milliseconds(r.largest(func(s Score) float64 { return s.TurnMS.P99 })),
	}
}

var costHeads = []string{"strategy", "billed", "of raw", "peak", "turn 10", "reused", "sums", "calls", "spent", "p99 ms"}

// memory is a kind of thing that is looked for.
type memory struct {
	name string
	of   func(Score) *Kept
}

var memories = []memory{
	{"facts", func(s Score) *Kept { return s.Facts }},
	{"anchors", func(s Score) *Kept { return s.Anchors }},
	{"evidence", func(s Score) *Kept { return s.Evidence }},
}

// kept is the sum over all runs, nil if there was nothing to keep.
func (r row) kept(m memory) *Kept {
	var sum *Kept
	for _, s := range r.scores {
		if k := m.of(s); k != nil {
			if sum == nil {
				sum = &Kept{}
			}
			*sum = sum.plus(*k)
		}
	}
	return sum
}

// memories are those that the group has.
func (g group) memories() []memory {
	return slices.DeleteFunc(slices.Clone(memories), func(m memory) bool { return g.Rows[0].kept(m) == nil })
}

// keptTable has for each kind of thing what is in view, one recall away and lost
// and, where a model was asked, what it answered right.
func (g group) keptTable() [][]string {
	table := [][]string{{"strategy"}}
	for _, r := range g.Rows {
		table = append(table, []string{r.Strategy})
	}
	for _, m := range g.memories() {
		first := g.Rows[0].kept(m)
		heads := []string{m.name, "in view", "recall", "lost"}
		if first.Asked > 0 {
			heads = append(heads, "answered")
		}
		table[0] = append(table[0], heads...)
		for i, r := range g.Rows {
			k := r.kept(m)
			cells := []string{report.Thousands(k.Total), report.Thousands(k.InView), report.Thousands(k.Recall), report.Thousands(k.Lost)}
			if first.Asked > 0 {
				cells = append(cells, fmt.Sprintf("%d of %d", k.Answered, k.Asked))
			}
			table[i+1] = append(table[i+1], cells...)
		}
	}
	return table
}

// runsTable has what is reachable in each run, for groups of more than one.
func (g group) runsTable(m memory) [][]string {
	if len(g.Runs) < 2 {
		return nil
	}
	var table [][]string
	for _, r := range g.Rows {
		cells := []string{r.Strategy}
		for _, s := range r.scores {
			k := m.of(s)
			if k == nil {
				k = &Kept{}
			}
			cells = append(cells, fmt.Sprint(k.Reachable()))
		}
		table = append(table, cells)
	}
	return table
}

// breakdown has the reachable part of facts by source and kind, or of evidence
// by category.
func (g group) breakdown() [][]string {
	parts := map[string]map[string]Kept{} // by part, then by strategy
	var names []string
	for _, r := range g.Rows {
		for _, s := range r.scores {
			for name, k := range s.parts() {
				if parts[name] == nil {
					parts[name] = map[string]Kept{}
					names = append(names, name)
				}
				parts[name][r.Strategy] = parts[name][r.Strategy].plus(k)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	table := [][]string{{"reachable", "of"}}
	for _, r := range g.Rows {
		table[0] = append(table[0], r.Strategy)
	}
	for _, name := range names {
		cells := []string{name, fmt.Sprint(parts[name][g.Rows[0].Strategy].Total)}
		for _, r := range g.Rows {
			cells = append(cells, fmt.Sprint(parts[name][r.Strategy].Reachable()))
		}
		table = append(table, cells)
	}
	return table
}

func (s Score) parts() map[string]Kept {
	parts := map[string]Kept{}
	for name, k := range s.BySource {
		parts["by "+name] = k
	}
	for name, k := range s.ByKind {
		parts["kind "+name] = k
	}
	for category, k := range s.ByCategory {
		parts[fmt.Sprintf("category %d", category)] = k
	}
	return parts
}

// priceTable is what it cost in US dollars, by model.
func (g group) priceTable(models []string) [][]string {
	if len(models) == 0 {
		return nil
	}
	table := [][]string{append([]string{"US dollars"}, models...)}
	for _, r := range g.Rows {
		cells := []string{r.Strategy}
		for _, name := range models {
			cost := 0.0
			for _, s := range r.scores {
				cost += s.Cost[name]
			}
			cells = append(cells, fmt.Sprintf("%.4f", cost))
		}
		table = append(table, cells)
	}
	return table
}

// notes are about what failed.
func (g group) notes() []string {
	var notes []string
	for _, r := range g.Rows {
		for i, s := range r.scores {
			name := s.Strategy
			if len(g.Runs) > 1 {
				name += ", " + g.Runs[i].Name
			}
			if n := len(s.Failures); n > 0 {
				first := s.Failures[0]
				note := fmt.Sprintf("%s failed at turn %d: %s", name, first.Turn, oneLine(first.Error))
				if n > 1 {
					note += fmt.Sprintf("; and at %s", report.Plural(n-1, "later turn"))
				}
				if s.GaveUp {
					note += "; then it was given up"
				}
				notes = append(notes, note)
			}
			if s.FallbackSummaries+s.FailedSummaries > 0 {
				notes = append(notes, fmt.Sprintf("%s: of %d summaries %d are extracts that stand in; %d more were not fit to be stored",
					name, s.Compactions, s.FallbackSummaries, s.FailedSummaries))
			}
			if s.FailedQuestions > 0 {
				notes = append(notes, fmt.Sprintf("%s: %s got no answer, the first: %s", name, report.Plural(s.FailedQuestions, "question"), oneLine(s.QuestionError)))
			}
			if s.UnknownTurn > 0 && r.Strategy == g.Rows[0].Strategy {
				notes = append(notes, fmt.Sprintf("%s: %s of evidence name no turn", g.Runs[i].Name, report.Plural(s.UnknownTurn, "piece")))
			}
		}
	}
	return notes
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
