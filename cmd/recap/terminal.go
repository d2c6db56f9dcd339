package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// screen is where a command writes for people. What it is given is written at
// the end, in one go: who reads a few lines only, and closes the pipe, ends this
// process at the next write.
type screen struct {
	out  io.Writer
	text bytes.Buffer
	// terminal says that a person reads, width how many columns there are, and
	// colour that there may be colours.
	terminal bool
	width    int
	colour   bool
}

// usualWidth is taken where there is no terminal.
const usualWidth = 80

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, width: usualWidth}
	if file, ok := out.(*os.File); ok && isTerminal(out) {
		s.terminal = true
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

// short is a text on one line, with "…" for what does not fit in so many columns.
func short(text string, columns int) string {
	text = strings.Join(strings.Fields(plain(text)), " ")
	if uniseg.StringWidth(text) <= columns {
		return text
	}
	head, _ := cut(text, max(0, columns-1))
	return head + "…"
}

// padded is a text with spaces up to so many columns.
func padded(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-uniseg.StringWidth(text)))
}

// cut cuts a text behind what fits in so many columns.
func cut(text string, columns int) (head, tail string) {
	tail, state, used := text, -1, 0
	for tail != "" {
		_, rest, width, next := uniseg.FirstGraphemeClusterInString(tail, state)
		if used+width > columns {
			break
		}
		tail, state, used = rest, next, used+width
	}
	return strings.TrimSuffix(text, tail), tail
}

// wrapped are the lines of a text, none wider than so many columns.
func wrapped(text string, columns int) []string {
	var lines []string
	for paragraph := range strings.Lines(plain(text)) {
		line := strings.TrimRight(paragraph, "\n")
		for uniseg.StringWidth(line) > columns {
			head, tail := cut(line, max(columns, 2)) // no character is wider
			if at := strings.LastIndex(head, " "); at > 0 && !strings.HasPrefix(tail, " ") {
				head, tail = head[:at], line[at:]
			}
			lines = append(lines, head)
			line = strings.TrimPrefix(tail, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// tell prints a sentence, which a terminal would cut in the middle of a word.
func (s *screen) tell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.terminal {
		text = strings.Join(wrapped(text, s.width), "\n")
	}
	s.printf("%s\n", text)
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

// newProgress is invisible unless it is for a person at a terminal.
func newProgress(stderr io.Writer, what string, steps int, silent bool) *progressbar.ProgressBar {
	if silent || !isTerminal(stderr) {
		return progressbar.DefaultSilent(int64(steps))
	}
	return progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(40),
		progressbar.OptionClearOnFinish(),
	)
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// waiting tells a person at a terminal how long something has been under way,
// until stop is called, for what may take long and has no steps.
func waiting(stderr io.Writer, what string, silent bool) (stop func()) {
	if silent || !isTerminal(stderr) {
		return func() {}
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer fmt.Fprint(stderr, "\r\x1b[K")
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for seconds := 0; ; seconds++ {
			fmt.Fprintf(stderr, "\r%s (%d s)", what, seconds)
			select {
			case <-over:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() {
		close(over)
		<-done
	}
}
