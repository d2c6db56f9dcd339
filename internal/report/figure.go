package report

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// Panel is a small plot: the prompt's size turn by turn under one strategy, and
// behind it, in grey, without any.
type Panel struct {
	Name   string
	Values []int
	// Raw may be nil. Failed are the turns, from 1, that failed.
	Raw    []int
	Failed []int
}

// Panels are drawn to one scale.
type Panels []Panel

// Bar is a share of things: kept in one way, in another, and the rest.
type Bar struct {
	Name              string
	First, Second, Of int
	// Dots are shares from 0 to 1, one for each run; fewer than two are not drawn.
	Dots []float64
}

// Bars are drawn one below the other.
type Bars []Bar

// FigureStyle is the style sheet of panels and bars, for pages that have them
// inline. It follows the reader's light or dark scheme.
const FigureStyle = `svg.figure{--ink:#24292f;--soft:#5b6470;--line:#d5d9df;--raw:#9aa3ad;--one:#0072b2;--two:#7cc0ea;--bad:#c2410c;max-width:100%;height:auto;font-family:system-ui,"Liberation Sans",Arial,sans-serif}
@media (prefers-color-scheme:dark){svg.figure{--ink:#e6edf3;--soft:#a3adb8;--line:#3a424c;--raw:#7d8794;--one:#58b0ee;--two:#2b6a99;--bad:#ff9e64}}
svg.figure text{fill:var(--soft);font-size:11px}
svg.figure text.name{fill:var(--ink);font-size:13px;font-weight:600}
svg.figure .grid{stroke:var(--line);stroke-width:1}
svg.figure .raw{fill:none;stroke:var(--raw);stroke-width:1.5;stroke-dasharray:4 3}
svg.figure .area{fill:var(--one);fill-opacity:.18}
svg.figure .line{fill:none;stroke:var(--one);stroke-width:1.75}
svg.figure .bad{stroke:var(--bad);stroke-width:1}
svg.figure .one{fill:var(--one)}
svg.figure .two{fill:var(--two)}
svg.figure .rest{fill:none;stroke:var(--line);stroke-width:1}
svg.figure .dot{fill:var(--one);fill-opacity:.55}
`

// The sizes of a panel, of its margins, and of a bar.
const (
	panelWidth, panelHeight         = 340, 170
	marginLeft, marginRight         = 56, 8
	marginTop, marginBottom         = 24, 22
	barLeft, barRight, barRowHeight = 64, 84, 34
)

// Each draws each panel as an element of its own.
func (p Panels) Each() []string {
	var list []string
	for _, panel := range p {
		var b bytes.Buffer
		open(&b, panelWidth, panelHeight, panel.label())
		panel.draw(&b, p.largest())
		b.WriteString("</svg>")
		list = append(list, b.String())
	}
	return list
}

// SVG draws all panels into one file, so many side by side.
func (p Panels) SVG(title string, columns int) []byte {
	var b bytes.Buffer
	const head = 34
	columns = min(columns, len(p))
	rows := (len(p) + columns - 1) / columns
	open(&b, columns*panelWidth, head+rows*panelHeight, title)
	fmt.Fprintf(&b, "<style>%ssvg.figure{background:#fff}@media (prefers-color-scheme:dark){svg.figure{background:#0d1117}}</style>", FigureStyle)
	fmt.Fprintf(&b, `<text class="name" x="%d" y="20">%s</text>`, 8, html.EscapeString(title))
	for i, panel := range p {
		fmt.Fprintf(&b, `<g transform="translate(%d,%d)">`, i%columns*panelWidth, head+i/columns*panelHeight)
		panel.draw(&b, p.largest())
		b.WriteString("</g>")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func open(b *bytes.Buffer, width, height int, label string) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" class="figure" role="img" aria-label="%s" width="%d" height="%d" viewBox="0 0 %d %d">`,
		html.EscapeString(label), width, height, width, height)
}

func (p Panels) largest() int {
	most := 1
	for _, panel := range p {
		for _, n := range panel.Values {
			most = max(most, n)
		}
		for _, n := range panel.Raw {
			most = max(most, n)
		}
	}
	return most
}

func (p Panel) label() string {
	label := p.Name + ": prompt tokens after each turn"
	if n := len(p.Values); n > 0 {
		label += fmt.Sprintf(", %s after the last", Thousands(p.Values[n-1]))
	}
	if n := len(p.Raw); n > 0 {
		label += fmt.Sprintf(", %s without compaction", Thousands(p.Raw[n-1]))
	}
	return label
}

func (p Panel) draw(b *bytes.Buffer, largest int) {
	turns := max(len(p.Values), len(p.Raw), 2)
	x := func(turn int) float64 {
		return marginLeft + float64(turn-1)/float64(turns-1)*(panelWidth-marginLeft-marginRight)
	}
	y := func(tokens int) float64 {
		return panelHeight - marginBottom - float64(tokens)/float64(largest)*(panelHeight-marginTop-marginBottom)
	}
	fmt.Fprintf(b, `<text class="name" x="%d" y="15">%s</text>`, marginLeft, html.EscapeString(p.Name))
	for step, at := roundStep(largest, 4), 0; at <= largest; at += step {
		fmt.Fprintf(b, `<path class="grid" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`,
			marginLeft, y(at), panelWidth-marginRight, marginLeft-6, y(at)+4, Thousands(at))
	}
	step := roundStep(turns, 5)
	for at := step; at <= turns; at += step {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`, min(x(at), panelWidth-marginRight-8), panelHeight-6, at)
	}
	for _, turn := range p.Failed {
		fmt.Fprintf(b, `<path class="bad" d="M%.1f %dv-7"/>`, x(turn), panelHeight-marginBottom)
	}
	line := func(values []int) string {
		var path strings.Builder
		for i, n := range values {
			fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], x(i+1), y(n))
		}
		return path.String()
	}
	if len(p.Values) > 0 {
		own := line(p.Values)
		fmt.Fprintf(b, `<path class="area" d="%sL%.1f %.1fL%.1f %.1fZ"/><path class="line" d="%s"/>`,
			own, x(len(p.Values)), y(0), x(1), y(0), own)
	}
	if len(p.Raw) > 0 {
		fmt.Fprintf(b, `<path class="raw" d="%s"/>`, line(p.Raw))
	}
}

// roundStep is a round number of which at most so many fit in n.
func roundStep(n, most int) int {
	for unit := 1; ; unit *= 10 {
		for _, step := range []int{unit, 2 * unit, 5 * unit} {
			if n <= step*most {
				return step
			}
		}
	}
}

// SVG draws the bars as one element.
func (bars Bars) SVG(label string) string {
	var b bytes.Buffer
	open(&b, panelWidth, len(bars)*barRowHeight+4, label)
	const width = panelWidth - barLeft - barRight
	for i, bar := range bars {
		top := i*barRowHeight + 4
		part := func(n int) float64 { return float64(n) / float64(max(bar.Of, 1)) * width }
		fmt.Fprintf(&b, `<text class="name" x="0" y="%d">%s</text>`, top+13, html.EscapeString(bar.Name))
		fmt.Fprintf(&b, `<rect class="rest" x="%d" y="%d" width="%d" height="16"/>`, barLeft, top, width)
		fmt.Fprintf(&b, `<rect class="one" x="%d" y="%d" width="%.1f" height="16"/>`, barLeft, top, part(bar.First))
		fmt.Fprintf(&b, `<rect class="two" x="%.1f" y="%d" width="%.1f" height="16"/>`, barLeft+part(bar.First), top, part(bar.Second))
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s of %s</text>`, barLeft+width+8, top+13, Thousands(bar.First+bar.Second), Thousands(bar.Of))
		if len(bar.Dots) > 1 {
			for _, share := range bar.Dots {
				fmt.Fprintf(&b, `<circle class="dot" cx="%.1f" cy="%d" r="3"/>`, barLeft+share*width, top+22)
			}
		}
	}
	b.WriteString("</svg>")
	return b.String()
}
