package inspector

import (
	"fmt"
	"math"
	"strings"
)

// drawing is a chart in coordinates, from which the template makes an SVG. The
// template only sets numbers into attributes: colours are the style sheet's.
type drawing struct {
	Width, Height            int
	Left, Right, Top, Bottom int // of the area that lines are drawn in
	Raw, Tokens              string
	Ticks                    []tick // of the tokens
	Turns                    []tick // of the turns
	Marks                    []int  // where compactions were
	Summary                  string // in words
}

type tick struct {
	At   int
	Text string
}

// draw draws turns; nil if there are none.
func draw(turns []turn) *drawing {
	if len(turns) == 0 {
		return nil
	}
	d := &drawing{Width: 720, Height: 320, Left: 64, Right: 704, Top: 16, Bottom: 276}
	largest := 1
	for _, t := range turns {
		largest = max(largest, t.Raw, t.Tokens)
	}
	step := niceStep(largest)
	top := (largest + step - 1) / step * step
	y := func(tokens int) int {
		return d.Bottom - int(math.Round(float64(tokens)*float64(d.Bottom-d.Top)/float64(top)))
	}
	first, last := turns[0].Number, turns[len(turns)-1].Number
	x := func(number int) int {
		if last == first {
			return (d.Left + d.Right) / 2
		}
		return d.Left + (number-first)*(d.Right-d.Left)/(last-first)
	}
	var raw, tokens strings.Builder
	for _, t := range turns {
		fmt.Fprintf(&raw, "%d,%d ", x(t.Number), y(t.Raw))
		fmt.Fprintf(&tokens, "%d,%d ", x(t.Number), y(t.Tokens))
		if t.Compacted {
			d.Marks = append(d.Marks, x(t.Number))
		}
	}
	if len(turns) == 1 {
		// A line of one point cannot be seen.
		fmt.Fprintf(&raw, "%d,%d", x(first)+6, y(turns[0].Raw))
		fmt.Fprintf(&tokens, "%d,%d", x(first)+6, y(turns[0].Tokens))
	}
	d.Raw, d.Tokens = raw.String(), tokens.String()
	for n := 0; n <= top; n += step {
		d.Ticks = append(d.Ticks, tick{y(n), thousands(n)})
	}
	for i := range 5 {
		number := first + i*(last-first)/4
		if n := len(d.Turns); n == 0 || d.Turns[n-1].Text != thousands(number) {
			d.Turns = append(d.Turns, tick{x(number), thousands(number)})
		}
	}
	end := turns[len(turns)-1]
	d.Summary = fmt.Sprintf("Tokens of the prompt from turn %s to %s. At the end it has %s tokens; without compaction it would have %s.",
		thousands(first), thousands(last), thousands(end.Tokens), thousands(end.Raw))
	return d
}

// niceStep is a round number of which four or five or so reach n.
func niceStep(n int) int {
	for scale := 1; ; scale *= 10 {
		for _, step := range []int{1, 2, 5} {
			if n <= 5*step*scale {
				return step * scale
			}
		}
	}
}
