package console

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// maxShown bounds, in characters, what is shown of a call or of its result.
const maxShown = 500

// screen shows events.
type screen struct {
	out      io.Writer
	err      error           // the first one of out
	open     bool            // the line is not ended
	author   string          // whose text the open line is
	streamed map[string]bool // the authors whose text came in pieces
}

// show shows what an event says and does. Text that was shown in pieces is not
// shown again.
func (s *screen) show(event *session.Event) {
	if event.Partial {
		if text := textOf(event.Content); text != "" {
			s.say(event.Author, text)
			if s.streamed == nil {
				s.streamed = map[string]bool{}
			}
			s.streamed[event.Author] = true
		}
		return
	}
	if text := textOf(event.Content); text != "" && !s.streamed[event.Author] {
		s.say(event.Author, text)
	}
	delete(s.streamed, event.Author)
	s.endLine()
	if event.Content != nil {
		for _, part := range event.Content.Parts {
			s.showCall(event.Author, part)
		}
	}
	if event.ErrorCode != "" || event.ErrorMessage != "" {
		s.line(strings.TrimSuffix(fmt.Sprintf("error: %s: %s", event.ErrorCode, event.ErrorMessage), ": "))
	}
}

func (s *screen) showCall(author string, part *genai.Part) {
	switch {
	case part == nil:
	case part.FunctionCall != nil && part.FunctionCall.Name != toolconfirmation.FunctionCallName:
		s.line("  " + author + " calls " + callText(part.FunctionCall))
	case part.FunctionResponse != nil:
		s.line("  " + part.FunctionResponse.Name + " gives " + shown(part.FunctionResponse.Response))
	}
}

// say goes on with what an author says.
func (s *screen) say(author, text string) {
	if !s.open || s.author != author {
		s.endLine()
		s.write(author + ": ")
	}
	s.write(text)
	s.open, s.author = true, author
}

// line shows a line of its own.
func (s *screen) line(text string) {
	s.endLine()
	s.write(text + "\n")
}

// prompt asks for input. What is typed ends the line.
func (s *screen) prompt(text string) {
	s.endLine()
	s.write(text)
}

// reset forgets what a turn that is over was about to say.
func (s *screen) reset() {
	s.endLine()
	s.streamed = nil
}

func (s *screen) endLine() {
	if s.open {
		s.write("\n")
	}
	s.open = false
}

// write writes text without what would command the terminal.
func (s *screen) write(text string) {
	if s.err != nil {
		return
	}
	_, s.err = io.WriteString(s.out, strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text))
}

func textOf(content *genai.Content) string {
	if content == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range content.Parts {
		if part != nil && !part.Thought {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

func callText(call *genai.FunctionCall) string {
	return call.Name + " " + shown(call.Args)
}

// shown is a value in JSON, and the beginning of it if it is long.
func shown(values map[string]any) string {
	if len(values) == 0 {
		return "{}"
	}
	data, err := json.Marshal(values)
	if err != nil {
		return fmt.Sprint(values)
	}
	if runes := []rune(string(data)); len(runes) > maxShown {
		return string(runes[:maxShown]) + "..."
	}
	return string(data)
}
