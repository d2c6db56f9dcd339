package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/recall"
	"github.com/recap-adk/recap/session"
)

// End is the end of a conversation, at which questions can be asked.
type End struct{ p *player }

// Events is the log.
func (e *End) Events(ctx context.Context) ([]*session.Event, error) {
	return e.p.events(ctx)
}

// Contents is the prompt that would be sent now, without the instruction.
func (e *End) Contents(ctx context.Context) ([]*genai.Content, error) {
	return e.p.prompt(ctx)
}

// PromptTokens is the size of that prompt, with the instruction.
func (e *End) PromptTokens() int {
	return e.p.played.Turns[len(e.p.played.Turns)-1].PromptAfter
}

// Recall is what the agent's tool finds. Without Options.Recall the agent has
// none, and nothing is found.
func (e *End) Recall(ctx context.Context, query string) (*recall.Result, error) {
	if !e.p.opts.Recall {
		return &recall.Result{}, nil
	}
	return recall.Do(ctx, e.p.opts.Service, recall.Request{
		AppName: e.p.opts.AppName, UserID: e.p.opts.UserID, SessionID: e.p.opts.SessionID,
		MaxTokens: e.p.opts.RecallTokens, Arguments: recall.Arguments{Query: query},
	})
}

// Ask has Options.Model answer a question, in a turn of its own on a copy of the
// session: no question is in the prompt of another. An error is that of the
// turn.
func (e *End) Ask(ctx context.Context, question string) (answer string, err error) {
	if e.p.opts.Model == nil {
		return "", errors.New("there is no model to ask")
	}
	copied, err := e.copySession(ctx)
	if err != nil {
		return "", err
	}
	// What it costs is not the conversation's; the window is the same.
	asked := &tape{counter: e.p.opts.Counter, model: e.p.opts.Model, window: e.p.opts.Window, failTooLong: e.p.opts.FailTooLong}
	r, err := e.p.newRunner(copied, asked, func(compaction.Outcome) {})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close(ctx)) }()
	var text strings.Builder
	message := genai.NewContentFromText(question, genai.RoleUser)
	for event, err := range r.Run(ctx, e.p.opts.UserID, e.p.opts.SessionID, message, agent.RunConfig{MaxLLMCalls: maxLiveCalls}) {
		switch {
		case err != nil:
			return "", err
		case event.ErrorCode != "":
			return "", fmt.Errorf("%s %s", event.ErrorCode, event.ErrorMessage)
		case event.Content == nil || !event.IsFinalResponse():
			continue
		}
		for _, part := range event.Content.Parts {
			if part != nil && !part.Thought {
				text.WriteString(part.Text)
			}
		}
	}
	return text.String(), nil
}

func (e *End) copySession(ctx context.Context) (session.Service, error) {
	events, err := e.p.events(ctx)
	if err != nil {
		return nil, err
	}
	service := session.InMemoryService()
	made, err := service.Create(ctx, &session.CreateRequest{AppName: e.p.opts.AppName, UserID: e.p.opts.UserID, SessionID: e.p.opts.SessionID})
	if err != nil {
		return nil, err
	}
	for _, event := range events {
		if err := service.AppendEvent(ctx, made.Session, event.Clone()); err != nil {
			return nil, err
		}
	}
	return service, nil
}

func (p *player) events(ctx context.Context) ([]*session.Event, error) {
	read, err := p.opts.Service.Get(ctx, &session.GetRequest{AppName: p.opts.AppName, UserID: p.opts.UserID, SessionID: p.opts.SessionID})
	if err != nil {
		return nil, err
	}
	return slices.Collect(read.Session.Events().All()), nil
}
