// Package recalltool has a tool by which an agent gets back what compaction took
// out of its prompt. A summary forgets; the log does not.
//
//	recall, err := recalltool.New(recalltool.Config{SessionService: sessions})
//	agent, err := llmagent.New(llmagent.Config{Name: "support", Model: llm, Tools: []tool.Tool{recall}})
//
// The model calls it with words to look for, with times, or with the ID of an
// event, and is answered with whole events, as they were said and done, within a
// number of tokens; and with the call that shows more:
//
//	recall {"query": "discount for order 7741"}
//	recall {"from": "2026-03-01T09:00:00Z", "to": "2026-03-01T10:00:00Z"}
//	recall {"around": "event-12"}
//
// Beside the summaries in its prompt the model is told of the tool and of the
// times that they stand for.
//
// It finds the events of the agent's own session that an active summary stands
// in for, as far as the agent's branch and isolation scope may see them; never
// those of another session or user, and nothing that was rewound. All else
// stands in the prompt already. In a run without compaction nothing is covered.
//
// What it returns are the words of the log: compaction.Config.RewriteSummary
// does not change them.
//
// The events are ranked by BM25, over the words and the pairs of words of the
// query. That takes one pass through the covered part of the log and no index: on
// SQLite well under a tenth of a second for ten thousand events, of which the
// package's benchmark tells more. A session.EventScanner is asked for what a
// search needs; any other service is read through Get in pages.
package recalltool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/recap-adk/recap/agent"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/recall"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

// Config says how the tool finds what was compacted.
type Config struct {
	// SessionService is the service that the runner has. It is required.
	SessionService session.Service
	// MaxTokens bounds, by estimate, each answer of the tool. 0 means 2,000;
	// what is less than 200 counts as that.
	MaxTokens int
}

// Name is the name of the tool.
const Name = icontext.RecallName

// ErrInvalidArgument is matched by errors about a call's arguments. They say
// what would do.
var ErrInvalidArgument = recall.ErrArguments

const description = `Finds what was said and done earlier in this conversation, in its exact words. The record of earlier conversation is condensed; use this tool when an exact value, wording or tool result is missing in it. Give "query" with words that stood near it, or "from" and "to" to read in order, or "around" with the ID of an event.`

// New makes the tool. It is safe for concurrent use. It fails if SessionService
// is nil or MaxTokens is negative.
func New(cfg Config) (tool.Tool, error) {
	switch {
	case cfg.SessionService == nil:
		return nil, errors.New("recalltool: no SessionService")
	case cfg.MaxTokens < 0:
		return nil, fmt.Errorf("recalltool: MaxTokens is negative (%d)", cfg.MaxTokens)
	}
	made, err := functiontool.New(functiontool.Config{Name: Name, Description: description}, cfg.run)
	if err != nil {
		return nil, fmt.Errorf("recalltool: %w", err)
	}
	return recallTool{made.(tool.Function)}, nil
}

// recallTool is a tool.Function that agents know for what it is.
type recallTool struct{ tool.Function }

// RecallsCompacted is there for recall.Tool.
func (recallTool) RecallsCompacted() {}

// answer is what the model is told.
type answer struct {
	Recalled []event  `json:"recalled"`
	More     []string `json:"more,omitempty"`
	Note     string   `json:"note,omitempty"`
}

type event struct {
	ID     string `json:"id"`
	Time   string `json:"time"`
	Author string `json:"author"`
	Text   string `json:"text"`
	Rest   string `json:"rest,omitempty"`
}

func (cfg Config) run(ctx agent.Context, args recall.Arguments) (answer, error) {
	result, err := recall.Do(ctx, cfg.SessionService, recall.Request{
		AppName: ctx.AppName(), UserID: ctx.UserID(), SessionID: ctx.SessionID(),
		Branch: ctx.Branch(), Scope: ctx.IsolationScope(),
		Known:     summaries(ctx),
		MaxTokens: cfg.MaxTokens,
		Arguments: args,
	})
	if err != nil {
		return answer{}, err
	}
	a := answer{Recalled: []event{}}
	for _, e := range result.Events {
		shown := event{ID: e.ID, Time: recall.FormatTime(e.Time), Author: e.Author, Text: e.Text}
		if e.Rest != nil {
			shown.Rest = call(*e.Rest)
		}
		a.Recalled = append(a.Recalled, shown)
	}
	for _, more := range result.More {
		a.More = append(a.More, call(more))
	}
	switch {
	case len(result.Events) > 0:
	case result.Searched > 0:
		a.Note = fmt.Sprintf("Nothing fits among %d earlier events. Try other words, or a span of time.", result.Searched)
	default:
		a.Note = "There is no earlier event besides those that you see."
	}
	return a, nil
}

// summaries are the events of the run's handle, by which its prompts are built.
// Without compaction no summary counts there, and none here.
func summaries(ctx agent.Context) []*session.Event {
	if ctx.Invocation().Compactor() == nil {
		return []*session.Event{}
	}
	return slices.AppendSeq([]*session.Event{}, ctx.Session().Events().All())
}

// call is the call with which the model gets more.
func call(args recall.Arguments) string {
	data, err := json.Marshal(args)
	if err != nil {
		return Name
	}
	return Name + " " + string(data)
}
