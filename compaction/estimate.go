package compaction

import (
	"encoding/json"
	"unicode"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
)

// estimateTokens estimates the tokens of a text without a tokenizer. As byte
// pair encodings do, it goes by runs of characters of one kind: words, numbers,
// marks, white space. The costs are fitted to o200k.
func estimateTokens(text string) int {
	hundredths, run := 0, 0
	kind := space
	var last rune
	for _, r := range text {
		k := kindOf(r)
		// An identifier such as getUserName is several words.
		camel := k == latin && kind == latin && unicode.IsUpper(r) && unicode.IsLower(last)
		if k != kind || camel {
			hundredths += kind.cost(run, last)
			kind, run = k, 0
		}
		if k == latin && r >= 0x80 {
			hundredths += 20 // an accent makes a word rarer
		}
		run++
		last = r
	}
	hundredths += kind.cost(run, last)
	return (hundredths + 99) / 100
}

// kind is a kind of characters that a tokenizer keeps together.
type kind int

const (
	space kind = iota
	latin
	digit
	mark
	han
	kana
	hangul
	cyrillic
	greek
	arabic
	devanagari
	brahmic
	other
)

func kindOf(r rune) kind {
	switch {
	case r == ' ' || r == '\n' || r == '\t' || r == '\r':
		return space
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		return latin
	case r >= '0' && r <= '9':
		return digit
	case r < 0x80:
		return mark
	case unicode.Is(unicode.Latin, r):
		return latin
	case unicode.Is(unicode.Han, r):
		return han
	case unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return kana
	case unicode.Is(unicode.Hangul, r):
		return hangul
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillic
	case unicode.Is(unicode.Greek, r):
		return greek
	case unicode.In(r, unicode.Arabic, unicode.Hebrew):
		return arabic
	case unicode.Is(unicode.Devanagari, r):
		return devanagari
	case unicode.In(r, unicode.Thai, unicode.Bengali, unicode.Tamil):
		return brahmic
	}
	return other
}

// cost is what n characters of the kind in a row cost, in hundredths of a
// token; last is the last of them.
func (k kind) cost(n int, last rune) int {
	switch k {
	case space:
		if n <= 1 && last == ' ' {
			return 0 // belongs to the word behind it
		}
		return 85 * min(n, 1)
	case latin:
		return 100 + 18*max(0, n-7)
	case digit:
		return 100 * ((n + 2) / 3)
	case mark:
		return 82 + 30*(n-1)
	case han:
		return 72 * n
	case kana:
		return 75 * n
	case hangul:
		return 68 * n
	case cyrillic:
		return max(100, 25*n)
	case greek:
		return max(100, 35*n)
	case arabic:
		return max(100, 32*n)
	case devanagari:
		return max(100, 31*n)
	case brahmic:
		return max(100, 39*n)
	}
	return 60 * n
}

// estimateEvents estimates the tokens that events take in a prompt.
func estimateEvents(events []*session.Event) int {
	total := 0
	for _, e := range events {
		total += estimateContent(e.Content)
		if record := e.Actions.Compaction; record != nil {
			total += estimateContent(record.CompactedContent)
		}
	}
	return total
}

// estimateRequest estimates the tokens of a whole request: instruction, tools
// and contents.
func estimateRequest(req *model.LLMRequest) int {
	if req == nil {
		return 0
	}
	total := 0
	for _, content := range req.Contents {
		total += estimateContent(content)
	}
	if req.Config != nil {
		total += estimateContent(req.Config.SystemInstruction)
		for _, t := range req.Config.Tools {
			total += estimateTokens(compactJSON(t))
		}
	}
	return total
}

func estimateContent(content *genai.Content) int {
	if content == nil {
		return 0
	}
	total := 0
	for _, part := range content.Parts {
		if part == nil || part.Thought {
			continue
		}
		total += estimateTokens(part.Text)
		if call := part.FunctionCall; call != nil {
			total += estimateTokens(call.Name) + estimateTokens(compactJSON(call.Args))
		}
		if response := part.FunctionResponse; response != nil {
			total += estimateTokens(response.Name) + estimateTokens(compactJSON(response.Response))
		}
		if part.InlineData != nil || part.FileData != nil {
			// What providers count for an image of common size.
			total += 258
		}
	}
	return total
}

func compactJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
