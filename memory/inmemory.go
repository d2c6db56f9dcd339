package memory

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/session"
)

// InMemoryService returns a Service that keeps memories in this process and
// forgets them with it. An entry fits a query if it has a word of it, in any
// case of letters. Entries come oldest first.
func InMemoryService() Service {
	return &inMemoryService{users: map[userKey]map[string][]remembered{}}
}

type userKey struct{ app, user string }

// remembered is an entry, and the words in it.
type remembered struct {
	entry Entry
	words map[string]bool
}

type inMemoryService struct {
	mu    sync.RWMutex
	users map[userKey]map[string][]remembered // by session
}

func (s *inMemoryService) AddSessionToMemory(ctx context.Context, added session.Session) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var entries []remembered
	for e := range added.Events().All() {
		words := wordsOf(textOf(e.Content))
		if e.Partial || e.Actions.Compaction != nil || len(words) == 0 {
			continue
		}
		entries = append(entries, remembered{
			entry: Entry{ID: e.ID, Content: clone.Of(e.Content), Author: e.Author, Timestamp: e.Timestamp, CustomMetadata: clone.Of(e.CustomMetadata)},
			words: words,
		})
	}
	key := userKey{added.AppName(), added.UserID()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users[key] == nil {
		s.users[key] = map[string][]remembered{}
	}
	s.users[key][added.ID()] = entries
	return nil
}

func (s *inMemoryService) SearchMemory(ctx context.Context, req *SearchRequest) (*SearchResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wanted := wordsOf(req.Query)
	response := &SearchResponse{Memories: []Entry{}}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, entries := range s.users[userKey{req.AppName, req.UserID}] {
		for _, e := range entries {
			if overlap(e.words, wanted) {
				response.Memories = append(response.Memories, clone.Of(e.entry))
			}
		}
	}
	slices.SortFunc(response.Memories, func(a, b Entry) int {
		if order := a.Timestamp.Compare(b.Timestamp); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return response, nil
}

func overlap(words, wanted map[string]bool) bool {
	for word := range wanted {
		if words[word] {
			return true
		}
	}
	return false
}

func textOf(content *genai.Content) string {
	var b strings.Builder
	if content != nil {
		for _, part := range content.Parts {
			if part != nil && !part.Thought {
				b.WriteString(part.Text)
				b.WriteByte(' ')
			}
		}
	}
	return b.String()
}

func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		words[word] = true
	}
	return words
}
