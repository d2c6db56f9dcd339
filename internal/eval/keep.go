package eval

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/exact"
	"github.com/recap-adk/recap/internal/replay"
)

// Kept says where things are that were said.
type Kept struct {
	// Total is their number. InView are in the prompt that would be sent now,
	// Recall are not but one call of the recall tool away, Lost is the rest.
	Total  int `json:"total"`
	InView int `json:"in_view"`
	Recall int `json:"one_recall_away"`
	Lost   int `json:"lost"`
	// Asked is the number of those that a model was asked for, Answered how many
	// of its answers were right and Score the sum of their scores: the share of
	// right ones, or the F1 of their words. Failed turns count as wrong.
	Asked    int     `json:"asked,omitempty"`
	Answered int     `json:"answered,omitempty"`
	Score    float64 `json:"score,omitempty"`
}

// Reachable are those that are not lost.
func (k Kept) Reachable() int { return k.InView + k.Recall }

func (k Kept) plus(other Kept) Kept {
	return Kept{
		k.Total + other.Total, k.InView + other.InView, k.Recall + other.Recall, k.Lost + other.Lost,
		k.Asked + other.Asked, k.Answered + other.Answered, k.Score + other.Score,
	}
}

// view is the end of a conversation, for looking things up.
type view struct {
	end  *replay.End
	text string // all that is in the prompt
}

// viewOf reads the prompt. Nothing is in one that is larger than the window.
func viewOf(ctx context.Context, end *replay.End, window int) (*view, error) {
	contents, err := end.Contents(ctx)
	if err != nil {
		return nil, err
	}
	if window > 0 && end.PromptTokens() > window {
		return &view{end: end}, nil
	}
	var b strings.Builder
	for _, content := range contents {
		for _, part := range content.Parts {
			b.WriteString(partText(part))
			b.WriteByte('\n')
		}
	}
	return &view{end, normal(b.String())}, nil
}

// find looks for texts, in the prompt and then in what one call of the recall
// tool answers to a query.
func (v *view) find(ctx context.Context, query string, values ...string) (Kept, error) {
	k := Kept{Total: len(values)}
	var missing []string
	for _, value := range values {
		if contains(v.text, normal(value)) {
			k.InView++
		} else {
			missing = append(missing, value)
		}
	}
	if len(missing) == 0 || strings.TrimSpace(query) == "" {
		k.Lost = len(missing)
		return k, nil
	}
	result, err := v.end.Recall(ctx, query)
	if err != nil {
		return k, fmt.Errorf("recall %q: %w", query, err)
	}
	var found []string
	for _, e := range result.Events {
		found = append(found, normal(e.Text))
	}
	for _, value := range missing {
		// In a tool's data the text is written as JSON has it.
		written := normal(strings.Trim(fmt.Sprintf("%q", value), `"`))
		if slices.ContainsFunc(found, func(text string) bool { return contains(text, normal(value)) || contains(text, written) }) {
			k.Recall++
		} else {
			k.Lost++
		}
	}
	return k, nil
}

// normal is text with single spaces.
func normal(text string) string { return strings.Join(strings.Fields(text), " ") }

// contains reports whether a value stands in a text and is no part of a longer
// word or number.
func contains(text, value string) bool {
	for from := 0; value != ""; {
		at := strings.Index(text[from:], value)
		if at < 0 {
			return false
		}
		start, end := from+at, from+at+len(value)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		first, size := utf8.DecodeRuneInString(value)
		after, _ := utf8.DecodeRuneInString(text[end:])
		last, _ := utf8.DecodeLastRuneInString(value)
		if !(joins(before) && joins(first)) && !(joins(last) && joins(after)) {
			return true
		}
		from = start + size
	}
	return false
}

// joins reports whether characters of this kind, side by side, are one word.
// Scripts without spaces have none.
func joins(r rune) bool {
	return unicode.IsDigit(r) || unicode.IsLetter(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// partText is what a part says: of data the keys and values, each as it is.
func partText(part *genai.Part) string {
	switch {
	case part == nil || part.Thought:
		return ""
	case part.FunctionCall != nil:
		return part.FunctionCall.Name + " " + dataText(part.FunctionCall.Args)
	case part.FunctionResponse != nil:
		return part.FunctionResponse.Name + " " + dataText(part.FunctionResponse.Response)
	}
	return part.Text
}

func dataText(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(key + ": " + dataText(v[key]) + "\n")
		}
		return b.String()
	case []any:
		var b strings.Builder
		for _, element := range v {
			b.WriteString(dataText(element) + "\n")
		}
		return b.String()
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// anchor is an exact value that was said, and the words around it.
type anchor struct{ value, around string }

const (
	maxAnchors = 200
	recent     = 10 // turns in which anchors are not looked for
)

// anchorsOf are exact values of a conversation that were said before its last
// turns: all of them or, if they are many, a sample that is always the same.
func anchorsOf(c *conversation.Conversation, usersOnly bool) []anchor {
	var anchors []anchor
	seen := map[string]bool{}
	add := func(content *genai.Content) {
		if content == nil {
			return
		}
		for _, part := range content.Parts {
			text := partText(part)
			for _, value := range exact.Values(text) {
				if a := (anchor{value, wordsAround(text, value)}); !seen[value] && a.around != "" {
					seen[value] = true
					anchors = append(anchors, a)
				}
			}
		}
	}
	for _, turn := range c.Turns[:max(0, len(c.Turns)-recent)] {
		add(turn.User)
		for _, step := range turn.Steps {
			if usersOnly {
				break
			}
			add(step.Content)
			for _, r := range step.Results {
				add(&genai.Content{Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{Name: r.Name, Response: r.Response}}}})
			}
		}
	}
	if len(anchors) > maxAnchors {
		random := rand.New(rand.NewPCG(7, 41))
		random.Shuffle(len(anchors), func(i, j int) { anchors[i], anchors[j] = anchors[j], anchors[i] })
		anchors = anchors[:maxAnchors]
	}
	return anchors
}

// fewestWords is the number of words around a value below which they do not ask
// for it: "bash output" stands around thousands.
const fewestWords = 4

// shortest is the length in bytes of the shortest anchor: a shorter number stands
// in the time of day as well.
const shortest = 3

// wordsAround are the eight words before a value and the eight behind it,
// without the value; empty if they are too few to ask for it.
func wordsAround(text, value string) string {
	before, after, _ := strings.Cut(text, value)
	head, tail := words(before), words(after)
	around := strings.Join(slices.Concat(head[max(0, len(head)-8):], tail[:min(8, len(tail))]), " ")
	around = normal(strings.ReplaceAll(around, value, ""))
	telling := slices.DeleteFunc(words(around), func(w string) bool { return !tells(w) })
	if len(telling) < fewestWords || !tells(value) || len(value) < shortest {
		return ""
	}
	return around
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"\\{}[](),:;", r) })
}

func tells(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// f1 is the harmonic mean of precision and recall of the words of an answer, as
// question answering is scored: without articles, marks and case.
func f1(answer, want string) float64 {
	got, wanted := answerWords(answer), answerWords(want)
	if len(got) == 0 || len(wanted) == 0 {
		if len(got) == len(wanted) {
			return 1
		}
		return 0
	}
	left := map[string]int{}
	for _, w := range wanted {
		left[w]++
	}
	same := 0.0
	for _, w := range got {
		if left[w] > 0 {
			left[w]--
			same++
		}
	}
	if same == 0 {
		return 0
	}
	precision, recall := same/float64(len(got)), same/float64(len(wanted))
	return 2 * precision * recall / (precision + recall)
}

func answerWords(text string) []string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPunct(r) && r != '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
	return slices.DeleteFunc(strings.Fields(text), func(w string) bool { return w == "a" || w == "an" || w == "the" || w == "and" })
}
