package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
	}
}

// TestPanels: panels share a scale, names are text, and one turn or none is no
// trouble.
func TestPanels(t *testing.T) {
	panels := Panels{
		{Name: `<b>"none"`, Values: []int{100, 200, 300}, Raw: []int{100, 200, 300}},
		{Name: "short", Values: []int{100}, Failed: []int{2, 3}},
		{Name: "empty"},
	}
	file := string(panels.SVG("A & B", 2))
	wellFormed(t, file)
	each := panels.Each()
	for _, svg := range each {
		wellFormed(t, svg)
	}
	for text, want := range map[string]string{
		each[0]: `aria-label="&lt;b&gt;&#34;none&#34;: prompt tokens after each turn, 300 after the last, 300 without compaction"`,
		each[1]: `>300</text>`, // the scale of the first
		file:    `width="680" height="374"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in %s", want, text)
		}
	}
	if n := strings.Count(each[1], `class="bad"`); n != 2 {
		t.Errorf("%d failed turns are marked", n)
	}
}

func TestBars(t *testing.T) {
	svg := Bars{
		{Name: "a", First: 1, Second: 2, Of: 4, Dots: []float64{0.5, 1}},
		{Name: "b", Dots: []float64{0}},
	}.SVG("kept & lost")
	wellFormed(t, svg)
	for _, want := range []string{`>3 of 4</text>`, `class="one" x="64" y="4" width="48.0"`, `class="two" x="112.0" y="4" width="96.0"`, `aria-label="kept &amp; lost"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("there is no %s in %s", want, svg)
		}
	}
	if n := strings.Count(svg, "<circle"); n != 2 {
		t.Errorf("%d dots", n)
	}
}

func TestRoundStep(t *testing.T) {
	for _, c := range []struct{ n, most, want int }{{1, 4, 1}, {9945, 4, 5000}, {65115, 4, 20000}, {120, 5, 50}, {0, 5, 1}} {
		if got := roundStep(c.n, c.most); got != c.want {
			t.Errorf("%d in %d steps of %d, want %d", c.n, c.most, got, c.want)
		}
	}
}
