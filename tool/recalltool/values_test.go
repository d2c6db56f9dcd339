package recalltool_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/exact"
	"github.com/recap-adk/recap/internal/recall"
	"github.com/recap-adk/recap/internal/replay"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/session"
)

// sharedData holds real conversations that are no part of the repository.
var sharedData = filepath.Join("..", "..", "..", "shared", "data")

// TestValuesAreFound: an exact value of an event that was compacted is one recall
// away, by the words that stand around it, and by time and ID.
func TestValuesAreFound(t *testing.T) {
	for _, name := range []string{"airline-support.json", "coding-session.jsonl"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(sharedData, name)
			if _, err := os.Stat(path); err != nil {
				t.Skipf("no shared data: %v", err)
			}
			service := session.InMemoryService()
			places := placesOf(t, service, path)
			random := rand.New(rand.NewPCG(7, 41))
			random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
			const n = 200
			byWords, byID, byTime, largest := 0, 0, 0, 0
			counter := tokens.New()
			for _, p := range places[:n] {
				if rank := p.rank(t, service); rank < 5 {
					byWords++
				} else {
					t.Logf("%q of %s is at %d by %q", p.value, p.event.ID, rank, p.around)
				}
				largest = max(largest, counter.Text(asJSON(recalled(t, service, recall.Arguments{Query: p.around}).Events)))
				largest = max(largest, counter.Text(asJSON(recalled(t, service, recall.Arguments{Around: p.event.ID}).Events)))
				if p.isRead(t, service, recall.Arguments{Around: p.event.ID}) {
					byID++
				}
				at := recall.FormatTime(p.event.Timestamp)
				if p.isRead(t, service, recall.Arguments{From: at, To: at}) {
					byTime++
				}
			}
			t.Logf("of %d values among %d: by words %d, by ID %d, by time %d; the largest answer has %d tokens", n, len(places), byWords, byID, byTime, largest)
			if byWords < n*95/100 || byID < n || byTime < n {
				t.Errorf("of %d values are found by words %d, by ID %d, by time %d", n, byWords, byID, byTime)
			}
			if largest > recall.DefaultMaxTokens {
				t.Errorf("an answer has %d tokens", largest)
			}
		})
	}
}

// place is where an exact value stands.
type place struct {
	event         *session.Event
	value, around string
}

// placesOf plays a conversation with compaction and returns all places of exact
// values in covered events.
func placesOf(t *testing.T, service session.Service, path string) []place {
	t.Helper()
	c, err := conversation.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	cfg := compaction.DefaultConfig()
	cfg.Summarizer = compaction.ExtractiveSummarizer{}
	if _, err := replay.Play(t.Context(), c, replay.Options{Service: service, Counter: tokens.New(), Compaction: cfg}); err != nil {
		t.Fatal(err)
	}
	got, err := service.Get(t.Context(), &session.GetRequest{AppName: "recap", UserID: "user", SessionID: "replay"})
	if err != nil {
		t.Fatal(err)
	}
	events := slices.Collect(got.Session.Events().All())
	coverage := icontext.NewCoverage(events)
	var places []place
	for i, e := range events {
		if !coverage.Covers(i, e) || e.Content == nil {
			continue
		}
		for _, part := range e.Content.Parts {
			text := said(part)
			for _, value := range exact.Values(text) {
				if around := wordsAround(text, value); around != "" {
					places = append(places, place{e, value, around})
				}
			}
		}
	}
	return places
}

// said is what a part says: of data the keys and values, each as it is.
func said(part *genai.Part) string {
	switch {
	case part.Thought:
		return ""
	case part.FunctionCall != nil:
		return part.FunctionCall.Name + " " + dataText(part.FunctionCall.Args)
	case part.FunctionResponse != nil:
		return part.FunctionResponse.Name + " " + dataText(part.FunctionResponse.Response)
	}
	return part.Text
}

func dataText(v any) string {
	var b strings.Builder
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(key + ": " + dataText(v[key]) + "\n")
		}
	case []any:
		for _, element := range v {
			b.WriteString(dataText(element) + "\n")
		}
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
	return b.String()
}

func asJSON(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v)
	return strings.TrimSpace(b.String())
}

// wordsAround are the eight words before a value and the eight behind it,
// without the value.
func wordsAround(text, value string) string {
	before, after, _ := strings.Cut(text, value)
	words := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"\\{}[](),:;", r) })
	}
	head, tail := words(before), words(after)
	around := strings.Join(append(head[max(0, len(head)-8):], tail[:min(8, len(tail))]...), " ")
	return strings.TrimSpace(strings.ReplaceAll(around, value, ""))
}

// rank is the place of the event among the results for the words around the
// value.
func (p place) rank(t *testing.T, service session.Service) int {
	got := recalled(t, service, recall.Arguments{Query: p.around})
	at := slices.IndexFunc(got.Events, func(e recall.Event) bool { return e.ID == p.event.ID })
	if at < 0 {
		return len(got.Events)
	}
	return at
}

// isRead reports whether a call, or one that reads on, shows the value in its
// event.
func (p place) isRead(t *testing.T, service session.Service, args recall.Arguments) bool {
	written := strings.Trim(asJSON(p.value), `"`)
	for text := ""; ; {
		got := recalled(t, service, args)
		at := slices.IndexFunc(got.Events, func(e recall.Event) bool { return e.ID == p.event.ID })
		if at < 0 {
			return false
		}
		text += got.Events[at].Text
		if strings.Contains(text, p.value) || strings.Contains(text, written) {
			return true
		}
		if got.Events[at].Rest == nil {
			return false
		}
		args = *got.Events[at].Rest
	}
}

func recalled(t *testing.T, service session.Service, args recall.Arguments) *recall.Result {
	t.Helper()
	got, err := recall.Do(t.Context(), service, recall.Request{AppName: "recap", UserID: "user", SessionID: "replay", Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
