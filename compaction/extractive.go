package compaction

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/genai"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/exact"
	"github.com/recap-adk/recap/session"
)

// ExtractiveSummarizer summarizes without a model, at no cost and offline: it
// keeps what the user asked for and stated, what was done with which tool and
// how that went, and how the agent concluded, in the words of the
// conversation.
//
// Exact values that the user stated and the extract left out are listed at its
// end, as LLMSummarizer does.
type ExtractiveSummarizer struct {
	// MaxTokens bounds the extract, and that list, by estimate. 0 means
	// a twelfth of the tokens of the events, but not more than 54 and one for
	// every 64 of them, nor less than 40; of summaries that are merged half,
	// but not more than 88.
	MaxTokens int
}

const (
	minExtractTokens = 40
	maxMergedTokens  = 88
)

func (s ExtractiveSummarizer) budget(events []*session.Event) int {
	size := estimateEvents(events)
	budget := max(minExtractTokens, min(size/12, 54+size/64))
	if slices.ContainsFunc(events, func(e *session.Event) bool { return e.Actions.Compaction != nil }) {
		// Summaries are dense already.
		budget = min(size/2, maxMergedTokens)
	}
	if s.MaxTokens > 0 {
		budget = min(budget, s.MaxTokens)
	}
	return budget
}

// SummarizeEvents returns the extract. It fails only if ctx is done.
func (s ExtractiveSummarizer) SummarizeEvents(ctx context.Context, events []*session.Event) (SummarizeResult, error) {
	return s.summarize(ctx, material{all: events})
}

func (s ExtractiveSummarizer) summarize(ctx context.Context, m material) (SummarizeResult, error) {
	if err := ctx.Err(); err != nil {
		return SummarizeResult{}, err
	}
	events := m.fresh()
	text := render(choose(candidates(events), s.budget(events)))
	if text == "" {
		return SummarizeResult{}, nil
	}
	limit := keptValuesTokens
	if s.MaxTokens > 0 {
		limit = min(limit, s.MaxTokens)
	}
	return SummarizeResult{Content: genai.NewContentFromText(keepValues(text, events, limit), genai.RoleModel)}, nil
}

// snippet is something that may go into an extract.
type snippet struct {
	order int    // place in the conversation
	who   string // "User", "Agent" or "Done"
	text  string
	value float64
}

func (s snippet) cost() int { return estimateTokens(s.text) + 1 }

// Worth of what is said and done. What changed something comes first: it is
// what a later turn must not do again, or has to undo.
const (
	worthAction = 100
	worthUser   = 3
	worthAgent  = 1
	worthLookup = 0.5
	worthItem   = 0.1 // what an agent offers in a list or says out of courtesy
)

// candidates are all snippets of events, each with how much it tells.
func candidates(events []*session.Event) []snippet {
	x := extractor{seen: map[string]bool{}, calls: map[string]int{}, answers: answers(events)}
	for i, e := range events {
		if record := e.Actions.Compaction; record != nil {
			x.record(record.Text())
			continue
		}
		if e.Content == nil {
			continue
		}
		concludes := i == len(events)-1 || events[i+1].Author == "user"
		for _, part := range e.Content.Parts {
			switch {
			case part == nil || part.Thought:
			case part.FunctionCall != nil:
				x.call(part.FunctionCall)
			case e.Author == "user":
				x.prose("User", part.Text, worthUser)
			case concludes:
				x.prose("Agent", part.Text, worthAgent)
			}
		}
	}
	return x.snippets
}

type extractor struct {
	snippets []snippet
	seen     map[string]bool // values and snippets that stand already
	calls    map[string]int  // of each tool so far
	answers  map[*genai.FunctionCall]map[string]any
}

func (x *extractor) add(who, text string, value float64) {
	if text == "" || x.seen[who+text] {
		return
	}
	x.seen[who+text] = true
	x.snippets = append(x.snippets, snippet{order: len(x.snippets), who: who, text: text, value: value})
}

// prose adds the sentences of a text. The first one that is more than a
// greeting, and what states exact values that were not stated before, tell
// most.
func (x *extractor) prose(who, text string, worth float64) {
	opened := false
	for _, s := range sentences(text) {
		value := smallTalk
		if words := len(strings.Fields(s.text)); words > 3 || utf8.RuneCountInString(s.text) > 20 {
			value = min(float64(words), 12) / 12
			if !opened {
				value++
			}
			opened = true
		}
		for _, v := range exact.Values(s.text) {
			if !x.seen[v] {
				x.seen[v] = true
				value += 1.5
			}
		}
		if who == "Agent" && (s.item || value < 2) {
			value *= worthItem
		}
		x.add(who, headAndTail(s.text, 220), value*worth)
	}
}

// record adds the lines of an earlier summary: those of an extract as what they
// are, any other as the agent's.
func (x *extractor) record(text string) {
	for _, line := range strings.Split(text, "\n") {
		who, rest, ok := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, statedHead):
			// See keepValues.
		case ok && who == "User":
			x.prose("User", rest, worthUser)
		case ok && who == "Done":
			for _, done := range strings.Split(rest, "; ") {
				name, _, _ := strings.Cut(done, "(")
				x.action(name, done)
			}
		default:
			x.prose("Agent", strings.TrimPrefix(line, "Agent: "), worthUser)
		}
	}
}

// action adds something that was done. The tenth edit tells less than the
// first.
func (x *extractor) action(name, text string) {
	x.calls[name]++
	n := float64(x.calls[name])
	value := worthAction / (n * n)
	if lookup.MatchString(name) {
		value = worthLookup
	}
	x.add("Done", text, value)
}

// smallTalk is the value of a few words without an exact value among them.
const smallTalk = 0.01

// lookup matches names of tools that find something out rather than change
// something.
var lookup = regexp.MustCompile(`(?i)^(get|list|search|find|read|check|fetch|look|view|show|query|think|calculate|grep|ls|cat|web|browse|describe|load|recall)`)

func (x *extractor) call(call *genai.FunctionCall) {
	answer := x.answers[call]
	text := call.Name + "(" + arguments(call.Args) + ")"
	if failure := failureOf(answer); failure != "" {
		x.add("Done", text+" failed: "+brief(failure, 80), worthUser)
		return
	}
	if gist := gistOf(answer, text); gist != "" {
		text += " -> " + gist
	}
	x.action(call.Name, text)
}

// answers are the answers to the calls in events.
func answers(events []*session.Event) map[*genai.FunctionCall]map[string]any {
	found := map[*genai.FunctionCall]map[string]any{}
	pairs := icontext.NewPairs(events)
	for _, e := range events {
		for _, call := range pairs.Calls(e) {
			if latest := call.Latest(); latest != nil {
				found[call.Call] = opened(latest.Response.Response)
			}
		}
	}
	return found
}

// opened is an answer, taken out of the one string of JSON in which tools
// often have it.
func opened(answer map[string]any) map[string]any {
	for _, key := range []string{"output", "result"} {
		text, _ := answer[key].(string)
		var inner map[string]any
		if len(answer) == 1 && json.Unmarshal([]byte(text), &inner) == nil {
			return inner
		}
	}
	return answer
}

// failureOf is what a call failed with, or empty.
func failureOf(answer map[string]any) string {
	for _, key := range []string{"error", "output", "result"} {
		text, _ := answer[key].(string)
		if text != "" && (key == "error" || strings.HasPrefix(strings.ToLower(text), "error")) {
			return text
		}
	}
	return ""
}

// telling matches the keys of an answer that say how it went; whose it is, the
// conversation knows.
var (
	telling = regexp.MustCompile(`(?i)(^|_)(id|status|total|refund|amount|balance|reference|number|date)$`)
	known   = regexp.MustCompile(`(?i)^(user|session|customer|account)_?id$`)
)

// gistOf is what an answer says of how it went, besides what was said.
func gistOf(answer map[string]any, said string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(answer)) {
		if !telling.MatchString(key) || known.MatchString(key) {
			continue
		}
		switch value := answer[key].(type) {
		case string, float64, bool:
			text := brief(fmt.Sprint(value), 40)
			if text != "" && !strings.Contains(said, text) {
				list = append(list, key+" "+text)
			}
		}
	}
	return strings.Join(list[:min(len(list), 3)], ", ")
}

// arguments are the plain arguments of a call, the shortest first, in short.
func arguments(args map[string]any) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(args)) {
		switch value := args[key].(type) {
		case string, float64, bool:
			list = append(list, key+"="+brief(fmt.Sprint(value), 48))
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(len(a)/16, len(b)/16) })
	text := ""
	for i, item := range list {
		if i > 0 && len(text)+len(item) > 120 {
			return text + ", …"
		}
		if i > 0 {
			text += ", "
		}
		text += item
	}
	return text
}

// brief is text in one line of at most limit characters.
func brief(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// sentenceEnd is the end of a sentence: a mark with space behind it, one of
// the full-width marks, or a line break.
var sentenceEnd = regexp.MustCompile(`[.!?]["')]*\s+|[。！？]|\s*\n+\s*`)

// sentence is a piece of a text. An item is one that stands in a list.
type sentence struct {
	text string
	item bool
}

var listMark = regexp.MustCompile(`^\s*([-*•]\s|\d{1,2}[.)]\s|#)`)

// sentences splits a text. The number of a list item stays with the item.
func sentences(text string) []sentence {
	var list []sentence
	start := 0
	add := func(end int) {
		piece := strings.ReplaceAll(strings.Join(strings.Fields(text[start:end]), " "), "**", "")
		if piece != "" {
			list = append(list, sentence{strings.TrimLeft(piece, "-*•# "), listMark.MatchString(piece) || strings.HasSuffix(piece, ":")})
		}
		start = end
	}
	for _, loc := range sentenceEnd.FindAllStringIndex(text, -1) {
		if !isNumbering(text[start:loc[1]]) {
			add(loc[1])
		}
	}
	add(len(text))
	return list
}

func isNumbering(text string) bool {
	text = strings.TrimSpace(text)
	return len(text) <= 4 && strings.HasSuffix(text, ".") && strings.IndexFunc(text[:len(text)-1], func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

// choose takes the snippets that tell most for their tokens, within budget,
// and returns them in the order of the conversation.
func choose(all []snippet, budget int) []snippet {
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b snippet) int {
		return cmp.Compare(b.value/float64(b.cost()+6), a.value/float64(a.cost()+6))
	})
	var chosen []snippet
	for _, s := range ranked {
		if s.value < 5*smallTalk && len(chosen) > 0 {
			break // it would only fill the budget
		}
		if cost := s.cost(); cost <= budget {
			chosen = append(chosen, s)
			budget -= cost
		}
	}
	if len(chosen) == 0 && len(ranked) > 0 {
		first := ranked[0]
		first.text = brief(first.text, max(8, 3*budget))
		return []snippet{first}
	}
	slices.SortFunc(chosen, func(a, b snippet) int { return cmp.Compare(a.order, b.order) })
	return chosen
}

// render writes snippets, those of one speaker in one line.
func render(snippets []snippet) string {
	var b strings.Builder
	who := ""
	for _, s := range snippets {
		switch {
		case s.who != who:
			if who != "" {
				b.WriteString("\n")
			}
			b.WriteString(s.who + ": ")
		case s.who == "Done":
			b.WriteString("; ")
		default:
			b.WriteString(" ")
		}
		who = s.who
		b.WriteString(s.text)
	}
	return b.String()
}
