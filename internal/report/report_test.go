package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// sample is a result as of a conversation of n turns, compacted every five.
func sample(n int) *Result {
	r := &Result{
		File: "airline.json", Format: "openai-messages", Tokenizer: "o200k",
		Turns: n, ModelCalls: 2*n - 1, Events: 4*n + 1,
		SummarizerTokens: 620 * n, TurnCompactionMS: Percentiles{P50: 0.042, P99: 3.14159},
		ExactValues: ExactValues{Stated: 3 * n, InPrompt: 3*n - 1}, DB: "replay.db",
	}
	raw, compacted := 1200, 1200
	for i := 1; i <= n; i++ {
		raw += 350 + 40*(i%7)
		compacted += 350 + 40*(i%7)
		turn := Turn{Turn: i, Pair: Pair{raw, compacted}, CompactedHere: i%5 == 0}
		r.PerTurn = append(r.PerTurn, turn)
		r.BilledPromptTokens.Raw += 2 * raw
		r.BilledPromptTokens.Compacted += 2 * compacted
		r.PromptTokensAtEnd = turn.Pair
		if i == 10 {
			r.PromptTokensAt10 = turn.Pair
		}
		if turn.CompactedHere {
			compacted = 1500 + 20*i/5
			r.Compactions++
		}
	}
	return r
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestWriteTable(t *testing.T) {
	huge := sample(3)
	huge.PerTurn[2].Pair = Pair{Raw: 900, Compacted: 12_345_678}
	huge.TurnCompactionMS = Percentiles{P50: 12.34, P99: 1234.5}
	tests := map[string]*Result{
		"table-209.txt":    sample(209),
		"table-12.txt":     sample(12),
		"table-1.txt":      sample(1),
		"table-larger.txt": huge,
		"table-empty.txt":  {File: "none.json", Format: "adk-session", Tokenizer: "o200k", DB: "replay.db"},
	}
	for name, result := range tests {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := result.WriteTable(&buf); err != nil {
				t.Fatal(err)
			}
			golden(t, name, buf.Bytes())
			if lines := strings.Count(buf.String(), "\n"); lines > 25 {
				t.Errorf("%d lines", lines)
			}
		})
	}
}

func TestWriteTableError(t *testing.T) {
	r, w := io.Pipe()
	broken := errors.New("broken pipe")
	r.CloseWithError(broken)
	if err := sample(1).WriteTable(w); !errors.Is(err, broken) {
		t.Errorf("got error %v", err)
	}
}

func TestJSON(t *testing.T) {
	data, err := json.MarshalIndent(sample(2), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "result.json", append(data, '\n'))
	var back Result
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(2), &back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestListingStep(t *testing.T) {
	for n := 1; n < 20_000; n++ {
		if lines := n / listingStep(n); lines > listedTurns || n > listedTurns && lines < listedTurns/3 {
			t.Fatalf("%d turns: %d lines", n, lines)
		}
	}
}

func TestThousands(t *testing.T) {
	tests := map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"}
	for n, want := range tests {
		if got := Thousands(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestPlot(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{1, 2, 12, 209} {
		svg, image := filepath.Join(dir, "plot.svg"), filepath.Join(dir, "plot.PNG")
		for _, path := range []string{svg, image} {
			if err := sample(n).PerTurn.Plot(path, "airline.json"); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(svg)
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(data, new(struct{})); err != nil {
			t.Errorf("%d turns: SVG: %v", n, err)
		}
		want := []string{"airline.json", "prompt tokens", "without compaction", "with compaction", "Liberation Sans,Arial,sans-serif"}
		if n >= 5 {
			want = append(want, ">compaction<", ",000<")
		}
		for _, text := range want {
			if !bytes.Contains(data, []byte(text)) {
				t.Errorf("%d turns: SVG without %q", n, text)
			}
		}
		file, err := os.Open(image)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := png.Decode(file); err != nil {
			t.Errorf("%d turns: PNG: %v", n, err)
		}
	}
}

func TestPlotErrors(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "no", "plot.svg")
	tests := []struct {
		series     Series
		path, want string
	}{
		{sample(2).PerTurn, "plot.pdf", "plot.pdf: a plot is written as .svg or .png"},
		{sample(2).PerTurn, "plot", "plot: a plot is written as .svg or .png"},
		{nil, filepath.Join(dir, "plot.svg"), filepath.Join(dir, "plot.svg") + ": no turns to plot"},
		{sample(2).PerTurn, missing, missing + ": no such file or directory"},
	}
	for _, test := range tests {
		err := test.series.Plot(test.path, "title")
		if err == nil || err.Error() != test.want {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("%s was left behind", files[0].Name())
	}
}

func TestTicks(t *testing.T) {
	labels := func(lowest, highest float64) string {
		var list []string
		for _, tick := range ticks(lowest, highest) {
			list = append(list, tick.Label)
		}
		return strings.Join(list, " ")
	}
	tests := []struct {
		lowest, highest float64
		want            string
	}{
		{0, 100_000, "0 20,000 40,000 60,000 80,000 100,000"},
		{1, 209, "50 100 150 200"},
		{1, 5, "1 2 3 4 5"},
		{0, 1, "0 1"},
		{1, 1, "1"},
		{0, 35_000_000, "0 5,000,000 10,000,000 15,000,000 20,000,000 25,000,000 30,000,000 35,000,000"},
	}
	for _, test := range tests {
		if got := labels(test.lowest, test.highest); got != test.want {
			t.Errorf("%g to %g: %s, want %s", test.lowest, test.highest, got, test.want)
		}
	}
}
