package compaction

import (
	"fmt"
	"strings"

	"google.golang.org/genai"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

// transcript writes events as a text, one line a part. Nothing that an event
// holds can start a line of its own: line breaks are written as \n, so no tool
// output can pass for a turn. Texts of at most textCap and tool data of at
// most toolCap characters are written whole, longer ones as their head and
// tail. A summary is never cut. Of what was recalled it says that it was: the
// words stand in the log where they were said.
func transcript(events []*session.Event, textCap, toolCap int) string {
	var b strings.Builder
	for _, e := range events {
		author := oneLine(e.Author)
		if author == "" {
			author = "agent"
		}
		if record := e.Actions.Compaction; record != nil {
			fmt.Fprintf(&b, "summary of what was before: %s\n", oneLine(record.Text()))
			continue
		}
		if e.Content == nil {
			continue
		}
		for _, part := range e.Content.Parts {
			if line := partLine(part, textCap, toolCap); line != "" {
				fmt.Fprintf(&b, "%s%s\n", author, line)
			}
		}
	}
	return b.String()
}

// partLine is a part as what stands behind its author's name, or empty.
func partLine(part *genai.Part, textCap, toolCap int) string {
	switch {
	case part == nil:
		return ""
	case strings.TrimSpace(part.Text) != "":
		mark := ""
		if part.Thought {
			mark = " (thought)"
		}
		return mark + ": " + oneLine(headAndTail(part.Text, textCap))
	case part.FunctionCall != nil:
		return fmt.Sprintf(" called %s: %s", oneLine(part.FunctionCall.Name), oneLine(headAndTail(compactJSON(part.FunctionCall.Args), toolCap)))
	case part.FunctionResponse != nil:
		if note, ok := icontext.Recalled(part.FunctionResponse); ok {
			return " " + note
		}
		return fmt.Sprintf(" got from %s: %s", oneLine(part.FunctionResponse.Name), oneLine(headAndTail(compactJSON(part.FunctionResponse.Response), toolCap)))
	case part.InlineData != nil:
		return fmt.Sprintf(": [attachment %s]", oneLine(part.InlineData.MIMEType))
	case part.FileData != nil:
		return fmt.Sprintf(": [file %s %s]", oneLine(part.FileData.MIMEType), oneLine(part.FileData.FileURI))
	case part.ExecutableCode != nil:
		return " ran code: " + oneLine(headAndTail(part.ExecutableCode.Code, toolCap))
	case part.CodeExecutionResult != nil:
		return " got from code: " + oneLine(headAndTail(part.CodeExecutionResult.Output, toolCap))
	}
	return ""
}

// lineBreaks are all characters that Unicode, or a model, may take for the end
// of a line.
var lineBreaks = strings.NewReplacer(
	"\r\n", `\n`, "\n", `\n`, "\r", `\n`, "\v", `\n`, "\f", `\n`,
	"\u0085", `\n`, "\u2028", `\n`, "\u2029", `\n`,
	"\x1c", `\n`, "\x1d", `\n`, "\x1e", `\n`,
)

func oneLine(text string) string {
	return lineBreaks.Replace(text)
}

// headAndTail shortens text to about limit characters: two thirds of them from
// its head, the rest from its tail, and how many were left out between. A
// limit of 0 or less is none.
func headAndTail(text string, limit int) string {
	if limit <= 0 || len(text) <= limit {
		return text
	}
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	head := limit * 2 / 3
	tail := limit - head
	return fmt.Sprintf("%s [%d characters left out] %s", string(runes[:head]), len(runes)-limit, string(runes[len(runes)-tail:]))
}
