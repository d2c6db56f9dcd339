package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// screen is where a command writes for people. What it is given is written at
// the end, in one go: who reads a few lines only, and closes the pipe, ends this
// process at the next write.
type screen struct {
	out    io.Writer
	text   bytes.Buffer
	width  int
	colour bool
}

// usualWidth is taken where there is no terminal.
const usualWidth = 80

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, width: usualWidth}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 20 {
			s.width = width
		}
		s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return s
}

// The looks that a line can have.
const (
	dim    = "2"
	bold   = "1"
	red    = "31"
	green  = "32"
	accent = "36"
)

// look is text as it looks in a style.
func (s *screen) look(style, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(&s.text, format, args...) }

func (s *screen) flush() error {
	_, err := s.out.Write(s.text.Bytes())
	s.text.Reset()
	return err
}

// plain is text without what a terminal would obey: what models and tools said
// must not move the cursor.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return '\uFFFD'
		}
		return r
	}, text)
}

// short is the first line of a text, with "…" for what does not fit.
func short(text string, width int) string {
	text = strings.Join(strings.Fields(plain(text)), " ")
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(0, width-1)]) + "…"
}

// wrapped are the lines of a text, none wider than width where words allow it.
func wrapped(text string, width int) []string {
	var lines []string
	for paragraph := range strings.Lines(plain(text)) {
		line := strings.TrimRight(paragraph, "\n")
		for utf8.RuneCountInString(line) > width {
			runes := []rune(line)
			at := strings.LastIndex(string(runes[:width+1]), " ")
			if at <= 0 {
				at = len(string(runes[:width]))
			}
			lines = append(lines, line[:at])
			line = strings.TrimPrefix(line[at:], " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// count is a number of things: "1 event", "2,000 events".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return thousands(n) + " " + thing + "s"
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// percent is part of whole.
func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// writeJSON prints one JSON value for programs.
func writeJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(text.Bytes())
	return err
}

// newProgress is invisible unless it is for a person at a terminal. Steps of -1
// are unknown.
func newProgress(stderr io.Writer, what string, steps int, silent bool) *progressbar.ProgressBar {
	terminal, ok := stderr.(*os.File)
	if !ok || silent || !term.IsTerminal(int(terminal.Fd())) {
		return progressbar.DefaultSilent(int64(steps))
	}
	return progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(40),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSpinnerType(14),
	)
}
