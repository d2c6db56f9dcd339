package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/memory"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
)

func Example() {
	ctx := context.Background()
	service := memory.InMemoryService()
	if err := service.AddSessionToMemory(ctx, said("ada", "s1", "My hotel is the Avenida.", "Noted.")); err != nil {
		panic(err)
	}
	found, err := service.SearchMemory(ctx, &memory.SearchRequest{AppName: "app", UserID: "ada", Query: "which hotel?"})
	if err != nil {
		panic(err)
	}
	for _, entry := range found.Memories {
		fmt.Printf("%s: %s\n", entry.Author, entry.Content.Parts[0].Text)
	}
	// Output: user: My hotel is the Avenida.
}

// said is a session in which the user said texts.
func said(user, id string, texts ...string) session.Session {
	var events []*session.Event
	for i, text := range texts {
		events = append(events, &session.Event{
			ID: fmt.Sprint(id, "-", i), Author: "user", Timestamp: time.Unix(int64(i), 0),
			LLMResponse: model.LLMResponse{Content: genai.NewContentFromText(text, genai.RoleUser)},
		})
	}
	return session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: user, ID: id, Events: events})
}

func search(t *testing.T, s memory.Service, user, query string) string {
	t.Helper()
	found, err := s.SearchMemory(t.Context(), &memory.SearchRequest{AppName: "app", UserID: user, Query: query})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, entry := range found.Memories {
		ids = append(ids, entry.ID)
		entry.Content.Parts[0].Text = "changed by who searched"
	}
	return strings.Join(ids, " ")
}

func TestSearch(t *testing.T) {
	s := memory.InMemoryService()
	for _, added := range []session.Session{
		said("ada", "s1", "old words"),
		said("ada", "s1", "The Hotel Avenida.", "Straße 9", "", "..."), // replaces what was added before
		said("ada", "s2", "No hotel."),
		said("bob", "s3", "hotel of bob"),
	} {
		if err := s.AddSessionToMemory(t.Context(), added); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"HOTEL":          "s1-0 s2-0",
		"which avenida?": "s1-0",
		"straße":         "s1-1",
		"9":              "s1-1",
		"old":            "",
		"hot":            "",
		"":               "",
		"...":            "",
	} {
		if got := search(t, s, "ada", query); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	if got := search(t, s, "bob", "hotel"); got != "s3-0" {
		t.Errorf("bob finds %s", got)
	}
	if got := search(t, s, "eve", "hotel"); got != "" {
		t.Errorf("eve finds %s", got)
	}
}

// TestWords: what a word is, in several scripts and cases of letters.
func TestWords(t *testing.T) {
	for _, test := range []struct {
		text, query string
		fits        bool
	}{
		{"The hotel, booked.", "hotel?", true},
		{"The hotels", "hotel", false},
		{"ΟΔΟΣ ΕΡΜΟΥ", "οδος", true}, // the last letter has two small forms
		{"300 \u212a", "k", true},    // the sign for kelvin is a capital K
		{"naïve", "NAÏVE", true},
		{"room 12b", "12B", true},
		{"東京タワーへ行きたい", "東京タワー", true},
		{"東京タワーへ行きたい", "京都", false},
		{"我住在北京大学附近", "北京", true},
		{"我住在北京大学附近", "京", true}, // one character
		{"北京", "上海的北京", true},
		{"我住在北京", "北海", false}, // its characters, but not side by side
		{"서울에서 만나요", "서울", true},
		{"ฉันชอบกาแฟ", "กาแฟ", true},
		{"Tokyo東京", "東京", true},
		{"Tokyo東京", "tokyo", true},
		{"हिन्दी में", "हिन्दी", true},
	} {
		s := memory.InMemoryService()
		if err := s.AddSessionToMemory(t.Context(), said("ada", "s1", test.text)); err != nil {
			t.Fatal(err)
		}
		if got := search(t, s, "ada", test.query); (got != "") != test.fits {
			t.Errorf("%q finds %q: %v", test.query, test.text, got != "")
		}
	}
}

// TestOrder: what has more words of the query comes first, a rare word counts
// more, and of equals the newer one is first. There are 20 at most.
func TestOrder(t *testing.T) {
	s := memory.InMemoryService()
	for _, added := range []session.Session{
		said("ada", "s1", "the hotel", "the hotel Avenida", "the weather", "Avenida", "the rain"),
		said("bob", "s2", "Avenida", "Avenida", "Avenida", "Avenida"), // counts for bob alone
	} {
		if err := s.AddSessionToMemory(t.Context(), added); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"the hotel Avenida": "s1-1 s1-0 s1-3 s1-4 s1-2",
		"the Avenida":       "s1-1 s1-3 s1-4 s1-2 s1-0",
	} {
		if got := search(t, s, "ada", query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	many := make([]string, 100)
	for i := range many {
		many[i] = "hotel"
	}
	if err := s.AddSessionToMemory(t.Context(), said("eve", "s1", many...)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(search(t, s, "eve", "hotel")); len(got) != 20 || got[0] != "s1-99" {
		t.Errorf("%d memories, the first is %s", len(got), got[0])
	}
}

func TestText(t *testing.T) {
	content := &genai.Content{Parts: []*genai.Part{nil, {Text: "one"}, {Text: "hm", Thought: true}, {FunctionCall: &genai.FunctionCall{Name: "f"}}, {Text: "two"}}}
	if got := (memory.Entry{Content: content}).Text(); got != "one\ntwo" {
		t.Errorf("text %q", got)
	}
	if got := (memory.Entry{}).Text(); got != "" {
		t.Errorf("text %q", got)
	}
}

// TestNotRemembered: what nobody said is no memory.
func TestNotRemembered(t *testing.T) {
	summary := &session.Event{ID: "summary", LLMResponse: model.LLMResponse{Content: genai.NewContentFromText("word", "user")}}
	summary.Actions.Compaction = &session.EventCompaction{}
	thought := &session.Event{ID: "thought", LLMResponse: model.LLMResponse{Content: &genai.Content{Parts: []*genai.Part{nil, {Text: "word", Thought: true}}}}}
	partial := &session.Event{ID: "partial", LLMResponse: model.LLMResponse{Partial: true, Content: genai.NewContentFromText("word", "user")}}
	s := memory.InMemoryService()
	events := []*session.Event{summary, thought, partial, {ID: "nothing"}}
	if err := s.AddSessionToMemory(t.Context(), session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: "ada", ID: "s1", Events: events})); err != nil {
		t.Fatal(err)
	}
	if got := search(t, s, "ada", "word"); got != "" {
		t.Errorf("found %s", got)
	}
}

func TestManyAtOnce(t *testing.T) {
	s := memory.InMemoryService()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := s.AddSessionToMemory(t.Context(), said("ada", fmt.Sprint("s", i), "hotel")); err != nil {
				t.Error(err)
			}
			search(t, s, "ada", "hotel")
		})
	}
	wg.Wait()
	if got := len(strings.Fields(search(t, s, "ada", "hotel"))); got != 20 { // as many as one search returns
		t.Errorf("%d memories", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.AddSessionToMemory(ended, said("ada", "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := s.SearchMemory(ended, &memory.SearchRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
