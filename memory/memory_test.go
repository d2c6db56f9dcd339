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
	if got := len(strings.Fields(search(t, s, "ada", "hotel"))); got != 20 {
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
