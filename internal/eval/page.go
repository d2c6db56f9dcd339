package eval

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/recap-adk/recap/internal/report"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"tail": func(cells []string) []string { return cells[1:] },
}).Parse(pageText))

// section is a group as the page shows it.
type section struct {
	Title, About string
	Panels       []template.HTML
	// PanelsOf says which conversation the panels are of, if there are more.
	PanelsOf string
	Tables   []captioned
	Bars     []captionedBars
	Notes    []string
	Lost     []lost
}

type captioned struct {
	Caption string
	Rows    [][]string
}

type captionedBars struct {
	Caption string
	SVG     template.HTML
}

// lost are the questions that a strategy has lost the answers to.
type lost struct {
	Strategy  string
	Questions []string
}

// WriteHTML writes the report as one page that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error {
	var sections []section
	for _, g := range r.groups() {
		sections = append(sections, r.section(g))
	}
	return page.Execute(w, map[string]any{
		"Style": template.CSS(report.FigureStyle), "Setting": r.setting(), "Sections": sections, "Last": r.Last,
	})
}

func (r *Report) section(g group) section {
	s := section{Title: g.Title, About: g.About(), Notes: g.notes(), Lost: g.lost()}
	if len(g.Runs) > 1 {
		s.PanelsOf = g.Runs[0].Name
	}
	for _, svg := range g.Runs[0].panels().Each() {
		s.Panels = append(s.Panels, template.HTML(svg)) // its names are escaped
	}
	costs := [][]string{costHeads}
	for _, row := range g.Rows {
		costs = append(costs, row.costs())
	}
	s.Tables = append(s.Tables, captioned{"What it costs", costs})
	for _, table := range []captioned{
		{"US dollars, prices of " + r.PriceDate, g.priceTable(r.PricedModels)},
		{"What it keeps", g.keptTable()},
		{"Facts by who states them and by kind, in view or one recall away", g.breakdown()},
	} {
		if len(table.Rows) > 0 && len(table.Rows[0]) > 1 {
			s.Tables = append(s.Tables, table)
		}
	}
	for _, m := range g.memories() {
		s.Bars = append(s.Bars, captionedBars{m.name, template.HTML(g.bars(m).SVG(m.name + " that are in view or one recall away"))})
		if runs := g.runsTable(m); runs != nil {
			head := []string{m.name}
			for _, played := range g.Runs {
				head = append(head, played.Name)
			}
			s.Tables = append(s.Tables, captioned{m.name + " in view or one recall away, in each run", append([][]string{head}, runs...)})
		}
	}
	return s
}

func (p Played) panels() report.Panels {
	var panels report.Panels
	for _, score := range p.Scores {
		panel := report.Panel{Name: score.Strategy, Values: score.PerTurn}
		if p.Raw != nil {
			panel.Raw = p.Raw.PerTurn
		}
		for _, f := range score.Failures {
			panel.Failed = append(panel.Failed, f.Turn)
		}
		panels = append(panels, panel)
	}
	return panels
}

// Plot is an SVG image of the prompt's size, turn by turn, in the first
// conversation.
func (r *Report) Plot() []byte {
	g := r.groups()[0]
	title := "Prompt tokens after each turn: " + g.Title
	if len(g.Runs) > 1 {
		title = "Prompt tokens after each turn: " + g.Runs[0].Group + ", " + g.Runs[0].Name
	}
	return g.Runs[0].panels().SVG(title, 3)
}

func (g group) bars(m memory) report.Bars {
	var bars report.Bars
	for _, r := range g.Rows {
		k := r.kept(m)
		bar := report.Bar{Name: r.Strategy, First: k.InView, Second: k.Recall, Of: k.Total}
		for _, s := range r.scores {
			if one := m.of(s); one != nil {
				bar.Dots = append(bar.Dots, float64(one.Reachable())/float64(one.Total))
			}
		}
		bars = append(bars, bar)
	}
	return bars
}

// maxLost bounds the questions that are listed for a strategy.
const maxLost = 20

func (g group) lost() []lost {
	var all []lost
	for _, r := range g.Rows {
		l := lost{Strategy: r.Strategy}
		for i, s := range r.scores {
			for _, question := range s.LostFacts {
				l.Questions = append(l.Questions, g.Runs[i].Name+": "+question)
			}
		}
		if n := len(l.Questions); n > maxLost {
			l.Questions = append(l.Questions[:maxLost], "and "+report.Thousands(n-maxLost)+" more")
		}
		if len(l.Questions) > 0 {
			all = append(all, l)
		}
	}
	return all
}
