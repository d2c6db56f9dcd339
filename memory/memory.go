// Package memory finds in a user's earlier conversations what the current one
// needs.
//
//	service := memory.InMemoryService()
//	r, err := runner.New(runner.Config{MemoryService: service, ...})
//
// What is in memory was put there by the application, when it sees fit, such as
// when a conversation is over:
//
//	err := service.AddSessionToMemory(ctx, s)
//
// Tools search it through their context:
//
//	found, err := ctx.SearchMemory(ctx, "the hotel in Lisbon")
package memory

import (
	"context"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
)

// Service remembers sessions. Both methods are safe for concurrent use.
type Service interface {
	// AddSessionToMemory remembers what was said in a session. A session that
	// was added before is replaced.
	AddSessionToMemory(ctx context.Context, s session.Session) error
	// SearchMemory returns what fits the query, of all sessions of the user in
	// the application, the best first. That there is nothing is no error.
	SearchMemory(ctx context.Context, req *SearchRequest) (*SearchResponse, error)
}

// SearchRequest asks for memories.
type SearchRequest struct {
	Query   string
	UserID  string
	AppName string
}

// SearchResponse holds the memories that were found.
type SearchResponse struct {
	Memories []Entry
}

// Entry is a memory: something that was said.
type Entry struct {
	// ID is that of the event.
	ID      string
	Content *genai.Content
	// Author is who said it: "user" or the name of an agent.
	Author string
	// Timestamp is when it was said.
	Timestamp      time.Time
	CustomMetadata map[string]any
}

// Text is what was said, a line for each part: no thoughts, calls or files.
func (e Entry) Text() string {
	var texts []string
	if e.Content != nil {
		for _, part := range e.Content.Parts {
			if part != nil && !part.Thought && part.Text != "" {
				texts = append(texts, part.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}
