package memory

import (
	"context"
	"sync"

	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/session"
)

// InMemoryService returns a Service that keeps memories in this process and
// forgets them with it. An entry fits a query if it has a word of it, in any
// case of letters. In scripts that do not set words apart, such as Chinese, two
// neighbouring characters are a word. A search returns at most 20 entries:
// those with the most words of the query, of which a rare one counts more; of
// equals the newer first.
func InMemoryService() Service {
	return &inMemoryService{users: map[userKey]map[string][]indexed{}}
}

type userKey struct{ app, user string }

type inMemoryService struct {
	mu    sync.RWMutex
	users map[userKey]map[string][]indexed // by session
}

func (s *inMemoryService) AddSessionToMemory(ctx context.Context, added session.Session) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var entries []indexed
	for e := range added.Events().All() {
		entry := Entry{ID: e.ID, Content: e.Content, Author: e.Author, Timestamp: e.Timestamp, CustomMetadata: e.CustomMetadata}
		words := words(entry.Text(), true)
		if e.Partial || e.Actions.Compaction != nil || len(words) == 0 {
			continue
		}
		entries = append(entries, indexed{clone.Of(entry), words})
	}
	key := userKey{added.AppName(), added.UserID()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users[key] == nil {
		s.users[key] = map[string][]indexed{}
	}
	s.users[key][added.ID()] = entries
	return nil
}

func (s *inMemoryService) SearchMemory(ctx context.Context, req *SearchRequest) (*SearchResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var entries []indexed
	for _, remembered := range s.users[userKey{req.AppName, req.UserID}] {
		entries = append(entries, remembered...)
	}
	return &SearchResponse{Memories: clone.Of(search(entries, req.Query))}, nil
}
