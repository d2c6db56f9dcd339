package recall

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/estimate"
	"github.com/recap-adk/recap/session"
)

// text is an event as it is shown.
type text struct {
	event  *session.ScannedEvent
	whole  string
	tokens int
}

func textOf(e *session.ScannedEvent) text {
	var content genai.Content
	if len(e.Content) == 0 || json.Unmarshal(e.Content, &content) != nil {
		return text{event: e}
	}
	var lines []string
	for _, part := range content.Parts {
		if line := partText(part); line != "" {
			lines = append(lines, line)
		}
	}
	whole := strings.Join(lines, "\n")
	return text{e, whole, tokensOf(whole)}
}

// partText is what a part says. Of what was recalled it is that something was:
// the words are those of another event.
func partText(part *genai.Part) string {
	switch {
	case part == nil || part.Thought:
		return ""
	case part.Text != "":
		return strings.TrimSpace(part.Text)
	case part.FunctionCall != nil:
		return "called " + part.FunctionCall.Name + ": " + compactJSON(part.FunctionCall.Args)
	case part.FunctionResponse != nil:
		if note, ok := icontext.Recalled(part.FunctionResponse); ok {
			return note
		}
		return "got from " + part.FunctionResponse.Name + ": " + compactJSON(part.FunctionResponse.Response)
	case part.ExecutableCode != nil:
		return "ran code: " + part.ExecutableCode.Code
	case part.CodeExecutionResult != nil:
		return "got from code: " + part.CodeExecutionResult.Output
	case part.InlineData != nil:
		return "[attachment " + part.InlineData.MIMEType + "]"
	case part.FileData != nil:
		return "[file " + part.FileData.MIMEType + " " + part.FileData.FileURI + "]"
	}
	return ""
}

func compactJSON(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}

// tokensOf estimates the tokens of a text as a string of JSON, as which it is
// returned, and rather more than fewer.
func tokensOf(text string) int {
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(text)
	}
	return estimate.Tokens(string(quoted)) * 5 / 4
}

func (t text) show(text string) Event {
	return Event{ID: t.event.ID, Time: t.event.Timestamp, Author: t.event.Author, Text: text}
}

// from is the text from a character on, in so many tokens.
func (t text) from(offset, tokens int) Event {
	runes := []rune(t.whole)
	offset = min(offset, len(runes))
	end := offset + reach(runes[offset:], tokens)
	if end < len(runes) {
		end = offset + reach(runes[offset:], tokens-cutTokens)
	}
	event := t.cut(runes, offset, end)
	if end < len(runes) {
		event.Rest = &Arguments{Around: t.event.ID, Offset: end}
	}
	return event
}

// reach is the number of characters that so many tokens hold.
func reach(runes []rune, tokens int) int {
	runes = runes[:min(len(runes), 8*max(tokens, 0))]
	return sort.Search(len(runes), func(n int) bool { return tokensOf(string(runes[:n+1])) > tokens })
}

// cutTokens is what it costs to tell what is left out, and how to get it.
const cutTokens = 70

// cut shows the characters of the text from start to end, and how many others
// there are.
func (t text) cut(runes []rune, start, end int) Event {
	if start == 0 && end == len(runes) {
		return t.show(t.whole)
	}
	shown := string(runes[start:end])
	if start > 0 {
		shown = fmt.Sprintf("[%d characters] %s", start, shown)
	}
	if left := len(runes) - end; left > 0 {
		shown = fmt.Sprintf("%s [%d characters]", shown, left)
	}
	return t.show(shown)
}

// around is the part of the text, in so many tokens, that has the most of what
// is looked for.
func (t text) around(q *query, weights []float64, tokens int) Event {
	if t.tokens <= tokens {
		return t.show(t.whole)
	}
	hits := q.hits(t.whole)
	runes := []rune(t.whole)
	size := reach(runes, tokens-cutTokens)
	from, to := densest(hits, weights, size)
	// What was found stands in the middle.
	start := max(0, (from+to)/2-size/2)
	start = max(0, min(start, len(runes)-size))
	if start == 0 {
		return t.from(0, tokens)
	}
	event := t.cut(runes, start, start+reach(runes[start:], tokens-cutTokens))
	event.Rest = &Arguments{Around: t.event.ID}
	return event
}

// hit is a place in a text, in characters, where a term of a query stands.
type hit struct{ term, start, end int }

func (q *query) hits(text string) []hit {
	var hits []hit
	bytes, runes := 0, 0 // counted so far
	place := func(at int) int {
		if at < bytes {
			bytes, runes = 0, 0
		}
		runes += utf8.RuneCountInString(text[bytes:at])
		bytes = at
		return runes
	}
	new(splitter).each([]byte(text), func(w word) {
		if term, ok := q.terms[string(w.folded)]; ok {
			start := place(w.start)
			hits = append(hits, hit{term, start, start + utf8.RuneCountInString(text[w.start:w.end])})
		}
	})
	return hits
}

// densest returns the ends of the shortest stretch, of at most size characters,
// in which the terms tell the most; each counts once.
func densest(hits []hit, weights []float64, size int) (from, to int) {
	var best float64
	var seen [maxTerms]int
	for i, first := range hits {
		sum := 0.0
		for _, h := range hits[i:] {
			if h.end-first.start > size {
				break
			}
			if seen[h.term] <= i {
				seen[h.term] = i + 1
				sum += weights[h.term]
				// Sums of the same weights in another order may differ a little.
				if shorter := h.end-first.start < to-from; sum > best+1e-9 || sum > best-1e-9 && shorter {
					best, from, to = sum, first.start, h.end
				}
			}
		}
	}
	return from, to
}
