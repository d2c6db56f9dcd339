// Package modeltest has models for tests, which need no network and always say
// the same.
//
// A Script plays canned turns, keeps the requests it was sent, and fails on a
// call that nobody expected:
//
//	llm := modeltest.NewScript(
//		modeltest.Call("call-1", "weather", map[string]any{"city": "Lisbon"}),
//		modeltest.Text("It is sunny."),
//	)
//	... run the agent ...
//	requests := llm.Requests()
//
// An Echo answers with what it was told last, for as long as one likes.
//
// RunAdapter is the suite for who makes a model of a service's protocol: it
// stands in for the service and checks what all adapters promise.
package modeltest

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/model"
)

// Turn is what a Script does on one call: it yields the responses, then the
// error if there is one. On a call without streaming, partial responses are
// left out.
type Turn struct {
	Responses []*model.LLMResponse
	Err       error
}

// Text is a turn that answers with a text.
func Text(text string) Turn {
	return Reply(&genai.Part{Text: text})
}

// Call is a turn that calls a tool.
func Call(id, name string, args map[string]any) Turn {
	return Reply(&genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: args}})
}

// Reply is a turn that answers with parts, such as several calls.
func Reply(parts ...*genai.Part) Turn {
	return Turn{Responses: []*model.LLMResponse{{
		Content:      &genai.Content{Role: genai.RoleModel, Parts: parts},
		FinishReason: genai.FinishReasonStop,
	}}}
}

// Streamed is a turn that answers with a text that, on a streaming call, comes
// in the given pieces first.
func Streamed(pieces ...string) Turn {
	turn := Turn{}
	for _, piece := range pieces {
		turn.Responses = append(turn.Responses, &model.LLMResponse{
			Content: genai.NewContentFromText(piece, genai.RoleModel), Partial: true,
		})
	}
	whole := Text(strings.Join(pieces, ""))
	turn.Responses = append(turn.Responses, whole.Responses...)
	return turn
}

// Fail is a turn that ends in an error.
func Fail(err error) Turn {
	return Turn{Err: err}
}

// Script is a model that plays turns in order. It is safe for concurrent use;
// calls take the turns in the order in which they start. A call whose context
// is done takes no turn.
type Script struct {
	mu       sync.Mutex
	turns    []Turn
	requests []*model.LLMRequest
}

// NewScript returns a Script that plays turns.
func NewScript(turns ...Turn) *Script {
	return &Script{turns: turns}
}

// Name is "script".
func (s *Script) Name() string { return "script" }

// Add appends turns to the script.
func (s *Script) Add(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, turns...)
}

// Requests are copies of the requests so far, oldest first. They come without
// Tools, which are no data; Config has the declarations.
func (s *Script) Requests() []*model.LLMRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*model.LLMRequest(nil), s.requests...)
}

// Remaining is the number of turns that were not played yet.
func (s *Script) Remaining() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.turns)
}

// GenerateContent plays the next turn. Where there is none it fails with an
// error that shows the end of the prompt. It stops where ctx is done.
func (s *Script) GenerateContent(ctx context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		turn, err := s.next(req)
		if err != nil {
			yield(nil, err)
			return
		}
		if play(ctx, turn.Responses, stream, yield) && turn.Err != nil {
			yield(nil, turn.Err)
		}
	}
}

// play yields the responses. It reports whether it came to the end: neither did
// the consumer stop nor ctx.
func play(ctx context.Context, responses []*model.LLMResponse, stream bool, yield func(*model.LLMResponse, error) bool) bool {
	for _, response := range responses {
		if response.Partial && !stream {
			continue
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return false
		}
		if !yield(clone.Of(response), nil) {
			return false
		}
	}
	return true
}

func (s *Script) next(req *model.LLMRequest) (Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, &model.LLMRequest{
		Model: req.Model, Contents: clone.Of(req.Contents), Config: clone.Of(req.Config),
	})
	if len(s.turns) == 0 {
		return Turn{}, fmt.Errorf("modeltest: call %d of the model is not in the script; the prompt ended with %q", len(s.requests), lastText(req))
	}
	turn := s.turns[0]
	s.turns = s.turns[1:]
	return turn, nil
}

// Echo is a model that answers with the last text of the prompt. It is safe
// for concurrent use.
type Echo struct{}

// Name is "echo".
func (Echo) Name() string { return "echo" }

// GenerateContent yields the last text of the prompt; when streaming, word by
// word first.
func (Echo) GenerateContent(ctx context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		play(ctx, Streamed(strings.SplitAfter(lastText(req), " ")...).Responses, stream, yield)
	}
}

func lastText(req *model.LLMRequest) string {
	for i := len(req.Contents) - 1; i >= 0; i-- {
		parts := req.Contents[i].Parts
		for j := len(parts) - 1; j >= 0; j-- {
			if parts[j].Text != "" {
				return parts[j].Text
			}
		}
	}
	return ""
}
