package report

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Vermillion and blue of the palette by Okabe and Ito, which people with any
// kind of colour blindness can tell apart.
var (
	rawColor       = color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}
	compactedColor = color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	gridColor      = color.Gray{Y: 0xd8}
	textColor      = color.Gray{Y: 0x33}
)

const (
	plotWidth  = 24 * vg.Centimeter
	plotHeight = 13 * vg.Centimeter
	plotDPI    = 150
)

// CheckPlotPath tells whether Plot can write the kind of image that the path
// asks for.
func CheckPlotPath(path string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".svg", ".png":
		return nil
	}
	return fmt.Errorf("%s: a plot is written as .svg or .png", path)
}

// Plot draws the series into an SVG or PNG file, as the path's extension says.
func (s Series) Plot(path, title string) error {
	if err := CheckPlotPath(path); err != nil {
		return err
	}
	if len(s) == 0 {
		return fmt.Errorf("%s: no turns to plot", path)
	}
	image, err := s.draw(title, strings.ToLower(filepath.Ext(path)))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(path, image, 0o666); err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (s Series) draw(title, extension string) ([]byte, error) {
	p, err := s.plot(title)
	if err != nil {
		return nil, err
	}
	var canvas vg.CanvasWriterTo = vgsvg.New(plotWidth, plotHeight)
	if extension == ".png" {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(plotWidth, plotHeight), vgimg.UseDPI(plotDPI))}
	}
	margin := 4 * vg.Millimeter
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	var buf bytes.Buffer
	if _, err := canvas.WriteTo(&buf); err != nil {
		return nil, err
	}
	if extension == ".png" {
		return buf.Bytes(), nil
	}
	// An SVG names its font, and not every browser's machine has it.
	font := []byte("font-family:Liberation Sans")
	return bytes.ReplaceAll(buf.Bytes(), font, append(font, ",Arial,sans-serif"...)), nil
}

func (s Series) plot(title string) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text = "turn"
	p.Y.Label.Text = "prompt tokens"
	style(p)
	p.X.Tick.Marker = plot.TickerFunc(ticks)
	p.Y.Tick.Marker = plot.TickerFunc(ticks)

	var raw, compacted, marks plotter.XYs
	for _, turn := range s {
		x := float64(turn.Turn)
		raw = append(raw, plotter.XY{X: x, Y: float64(turn.Raw)})
		compacted = append(compacted, plotter.XY{X: x, Y: float64(turn.Compacted)})
		if turn.CompactedHere {
			marks = append(marks, compacted[len(compacted)-1])
		}
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color = gridColor
	grid.Vertical.Color = nil
	p.Add(grid)
	if err := addLine(p, "without compaction", raw, rawColor, []vg.Length{vg.Points(6), vg.Points(3)}); err != nil {
		return nil, err
	}
	if err := addLine(p, "with compaction", compacted, compactedColor, nil); err != nil {
		return nil, err
	}
	if len(marks) > 0 {
		scatter, err := plotter.NewScatter(marks)
		if err != nil {
			return nil, err
		}
		scatter.GlyphStyle = draw.GlyphStyle{Color: compactedColor, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
		p.Add(scatter)
		p.Legend.Add("compaction", scatter)
	}
	p.Y.Min = 0
	p.Y.Max = math.Max(1, p.Y.Max*1.25) // the legend stands above all lines
	return p, nil
}

func addLine(p *plot.Plot, name string, points plotter.XYs, c color.Color, dashes []vg.Length) error {
	if len(points) == 1 { // a line needs two ends
		only := points[0]
		points = plotter.XYs{{X: only.X - 0.3, Y: only.Y}, {X: only.X + 0.3, Y: only.Y}}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(1.8), Dashes: dashes}
	p.Add(line)
	p.Legend.Add(name, line)
	return nil
}

// style sets fonts, colours and distances.
func style(p *plot.Plot) {
	sans := func(size vg.Length) font.Font {
		return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	}
	p.Title.TextStyle.Font = sans(vg.Points(14))
	p.Title.TextStyle.Color = textColor
	p.Title.Padding = vg.Points(10)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = sans(vg.Points(12))
		axis.Label.TextStyle.Color = textColor
		axis.Label.Padding = vg.Points(6)
		axis.Tick.Label.Font = sans(vg.Points(10))
		axis.Tick.Label.Color = textColor
		axis.Tick.LineStyle.Color = textColor
		axis.LineStyle.Color = textColor
		axis.Padding = 0
	}
	p.Legend.TextStyle.Font = sans(vg.Points(11))
	p.Legend.TextStyle.Color = textColor
	p.Legend.Top = true
	p.Legend.Left = true
	p.Legend.XOffs = vg.Points(12)
	p.Legend.YOffs = vg.Points(-6)
	p.Legend.Padding = vg.Points(3)
	p.Legend.ThumbnailWidth = vg.Points(28)
}

// ticks marks whole numbers at round distances.
func ticks(lowest, highest float64) []plot.Tick {
	const about = 8
	step := math.Max(1, math.Pow(10, math.Floor(math.Log10((highest-lowest)/about))))
	for _, factor := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if (highest-lowest)/step <= about {
			break
		}
		step *= factor
	}
	var list []plot.Tick
	for value := math.Ceil(lowest/step) * step; value <= highest; value += step {
		list = append(list, plot.Tick{Value: value, Label: Thousands(int(value))})
	}
	return list
}
