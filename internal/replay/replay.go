// Package replay plays a recorded conversation through a runner: the user's
// messages go in through Run, and what the model and the tools said comes out
// of the recording. All that lies between, storing, building prompts and
// compacting, is the real thing.
//
//	played, err := replay.Play(ctx, c, replay.Options{Service: sessions, Compaction: compaction.DefaultConfig()})
//	fmt.Println(played.Turns[9].PromptAfter, played.Billed)
//
// With a model, the conversation may also be live: the user's messages are the
// recorded ones, and the model answers them. There, and where the prompt exceeds
// Options.Window, a turn that fails is noted, and the conversation goes on.
package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/exact"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/recalltool"
)

// Options say how a conversation is played.
type Options struct {
	Service session.Service
	// AppName, UserID and SessionID name the session, which must not exist.
	// Empty means "recap", "user" and "replay".
	AppName, UserID, SessionID string
	// Compaction is nil to play without. Its Summarizer must be set.
	Compaction *compaction.Config
	// Counter counts the tokens.
	Counter *tokens.Counter
	// OnTurn, if set, is called after each turn with its number from 1.
	OnTurn func(turn int)

	// Recall gives the agent the tool of package tool/recalltool, whose answers
	// have at most RecallTokens; 0 is its own default.
	Recall       bool
	RecallTokens int
	// Shorten, if set, is what every prompt goes through before it is sent. It
	// may return some of the contents, and must not change them.
	Shorten func([]*genai.Content) []*genai.Content

	// Model answers what End.Ask asks and, if Live is set, the recorded user's
	// messages; messages of the model and of tools are then not played.
	Model model.LLM
	Live  bool
	// MaxOutput bounds the tokens of an answer of Model. 0 is no bound.
	MaxOutput int
	// Window is the number of tokens, as Counter counts them, of the largest
	// prompt that the model takes, recorded or not. 0 is no bound.
	Window int
	// FailTooLong makes a turn fail whose prompt the model finds too long;
	// otherwise compaction has more taken away, and it is sent again.
	FailTooLong bool
	// GiveUpAfter ends a conversation after so many failed turns in a row. 0 is
	// never.
	GiveUpAfter int

	// AtEnd, if set, is called after the last turn.
	AtEnd func(context.Context, *End) error
}

// Played is what happened.
type Played struct {
	Turns []Turn
	// ModelCalls is the number of model calls, Billed the tokens of all their
	// prompts together.
	ModelCalls, Billed int
	// Cached are those of the billed tokens that stood at the start of the prompt
	// before, by their share in bytes or as the model told; Output those of the
	// answers.
	Cached, Output int
	// Peak is the size in tokens of the largest prompt.
	Peak int
	// Reused is the share of all prompts, in bytes, that stood at the start of
	// the prompt before in the same way: what a provider's cache can serve.
	Reused float64
	// LargestContents is the size in tokens of the largest prompt without the
	// instruction.
	LargestContents int
	// Outcomes are the compactions.
	Outcomes []compaction.Outcome
	// ValuesStated is the number of exact values in the user's messages,
	// ValuesInPrompt how many of them stand in the last prompt.
	ValuesStated, ValuesInPrompt int
	// Failures are the turns that failed, in a live conversation or because the
	// prompt exceeded the window. GaveUp says that the conversation ended with
	// them.
	Failures []Failure
	GaveUp   bool
}

// Failure is a turn that ended without an answer.
type Failure struct {
	// Turn is its number, from 1.
	Turn int `json:"turn"`
	// Prompt is the size in tokens of the last prompt of it.
	Prompt int    `json:"prompt_tokens"`
	Error  string `json:"error"`
}

// Turn is one message of the user and all until the agent's final answer.
type Turn struct {
	// PromptAfter is the size in tokens of the prompt that would be sent after
	// the turn, and after the compaction that follows it.
	PromptAfter int
	// Compacting is the time that the user waited for compaction: before a model
	// call, and between the turn's last event and its end.
	Compacting time.Duration
	// Compacted says that the turn was followed by a compaction.
	Compacted bool
}

// Play plays a conversation and returns what happened. Between turns it waits
// for compactions in the background, as a user would by reading.
func Play(ctx context.Context, c *conversation.Conversation, opts Options) (played *Played, err error) {
	p, err := newPlayer(ctx, c, opts)
	if err != nil {
		return nil, err
	}
	defer func() {
		// Without a need to wait: Flush has, or ctx is done and whatever goes
		// on in the background is to end.
		if closeErr := p.runner.Close(ctx); err == nil {
			err = closeErr
		}
	}()
	for i, turn := range c.Turns {
		if turn.User == nil && (opts.Live || p.failed > 0) {
			continue // it goes on with what the model said
		}
		if err := p.play(ctx, i, turn); err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
		if opts.OnTurn != nil {
			opts.OnTurn(len(p.played.Turns))
		}
		if p.played.GaveUp = opts.GiveUpAfter > 0 && p.failed >= opts.GiveUpAfter; p.played.GaveUp {
			break
		}
	}
	if err := p.countValues(ctx); err != nil {
		return nil, err
	}
	if opts.AtEnd != nil {
		if err := opts.AtEnd(ctx, &End{p}); err != nil {
			return nil, err
		}
	}
	return &p.played, nil
}

type player struct {
	opts   Options
	system string
	turns  []conversation.Turn
	tape   *tape
	// recorded are the tools that the recording knows.
	recorded []tool.Tool
	runner   *runner.Runner
	played   Played
	failed   int // turns in a row

	mu       sync.Mutex
	outcomes []heard
}

// heard is an outcome, and when it came.
type heard struct {
	compaction.Outcome
	at time.Time
}

func newPlayer(ctx context.Context, c *conversation.Conversation, opts Options) (*player, error) {
	if opts.AppName == "" {
		opts.AppName, opts.UserID, opts.SessionID = "recap", "user", "replay"
	}
	if opts.Live && opts.Model == nil {
		return nil, errors.New("a live conversation needs a model")
	}
	p := &player{opts: opts, system: c.System, turns: c.Turns, tape: &tape{counter: opts.Counter, window: opts.Window, failTooLong: opts.FailTooLong}}
	if opts.Live {
		p.tape.model = opts.Model
	} else {
		p.recorded = p.tape.tools(c)
	}
	_, err := opts.Service.Create(ctx, &session.CreateRequest{AppName: opts.AppName, UserID: opts.UserID, SessionID: opts.SessionID})
	if err != nil {
		return nil, err
	}
	p.runner, err = p.newRunner(opts.Service, p.tape, p.hear)
	return p, err
}

// newRunner runs the conversation's agent with a model on a service.
func (p *player) newRunner(service session.Service, llm model.LLM, hear func(compaction.Outcome)) (*runner.Runner, error) {
	tools := slices.Clone(p.recorded)
	if p.opts.Recall {
		recall, err := recalltool.New(recalltool.Config{SessionService: service, MaxTokens: p.opts.RecallTokens})
		if err != nil {
			return nil, err
		}
		tools = append(tools, recall)
	}
	a, err := llmagent.New(llmagent.Config{
		Name:  agentName,
		Model: llm,
		// A provider, as braces in a recorded instruction are not templates.
		InstructionProvider:   func(agent.ReadonlyContext) (string, error) { return p.system, nil },
		Tools:                 tools,
		GenerateContentConfig: &genai.GenerateContentConfig{MaxOutputTokens: int32(p.opts.MaxOutput)},
		BeforeModelCallbacks:  []llmagent.BeforeModelCallback{p.shorten},
	})
	if err != nil {
		return nil, err
	}
	cfg := runner.Config{AppName: p.opts.AppName, Agent: a, SessionService: service}
	if p.opts.Compaction != nil {
		compacting := *p.opts.Compaction
		compacting.OnOutcome = hear
		cfg.CompactionConfig = &compacting
	}
	return runner.New(cfg)
}

const agentName = "agent"

func (p *player) shorten(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
	if p.opts.Shorten != nil {
		req.Contents = p.opts.Shorten(req.Contents)
	}
	return nil, nil
}

// hear notes what the compactor reports.
func (p *player) hear(o compaction.Outcome) {
	p.mu.Lock()
	p.outcomes = append(p.outcomes, heard{o, time.Now()})
	p.mu.Unlock()
	if told := p.opts.Compaction.OnOutcome; told != nil {
		told(o)
	}
}

// play plays one recorded turn. One without a user message goes on with the
// turn before.
func (p *player) play(ctx context.Context, index int, turn conversation.Turn) error {
	p.tape.load(turn.Steps)
	finished, runErr := p.run(ctx, turn)
	compacting := time.Since(finished)
	switch {
	case runErr == nil:
		p.failed = 0
	case !p.opts.Live && !p.tape.wasRefused() || ctx.Err() != nil:
		return runErr
	default:
		p.failed++
		p.played.Failures = append(p.played.Failures, Failure{len(p.played.Turns) + 1, p.tape.last, runErr.Error()})
	}
	if err := p.runner.Flush(ctx); err != nil {
		return err
	}
	if left := p.tape.left(); left > 0 && !p.opts.Live && runErr == nil {
		return fmt.Errorf("%d of %d recorded model replies were not asked for", left, len(turn.Steps))
	}
	if turn.User != nil || index == 0 {
		p.played.Turns = append(p.played.Turns, Turn{})
	}
	last := &p.played.Turns[len(p.played.Turns)-1]
	applied, before := p.collectOutcomes(finished)
	last.Compacting += before + compacting
	last.Compacted = applied || last.Compacted
	p.played.ModelCalls, p.played.Billed = p.tape.calls, p.tape.billed
	p.played.Cached, p.played.Output, p.played.Peak = p.tape.cached, p.tape.output, p.tape.peak
	p.played.Reused = float64(p.tape.reused) / float64(max(p.tape.sent, 1))
	p.played.LargestContents = p.tape.largest

	contents, err := p.prompt(ctx)
	if err != nil {
		return err
	}
	last.PromptAfter = p.opts.Counter.Request(contents, p.tape.config)
	return nil
}

// run runs the agent for a turn and returns when its last event came.
func (p *player) run(ctx context.Context, turn conversation.Turn) (finished time.Time, err error) {
	step := 0
	finished = time.Now()
	for event, err := range p.runner.Run(ctx, p.opts.UserID, p.opts.SessionID, turn.User, agent.RunConfig{MaxLLMCalls: p.maxCalls()}) {
		if err != nil {
			return finished, err
		}
		finished = time.Now()
		if p.opts.Live {
			if event.ErrorCode != "" {
				return finished, fmt.Errorf("%s %s", event.ErrorCode, event.ErrorMessage)
			}
			continue
		}
		if isToolResults(event) {
			step++
		}
		if p.brokenOff(turn, step, event) {
			break // as the recorded user did
		}
	}
	return finished, nil
}

// maxCalls bounds the model calls of a turn: a small model may call a tool again
// and again.
func (p *player) maxCalls() int {
	if p.opts.Live {
		return maxLiveCalls
	}
	return -1
}

const maxLiveCalls = 8

// brokenOff reports whether the recording of the turn ends with this event
// although the agent would go on: with calls that nothing answered, or with
// results on which no reply followed.
func (p *player) brokenOff(turn conversation.Turn, step int, event *session.Event) bool {
	if isToolResults(event) {
		return step >= len(turn.Steps)
	}
	return step < len(turn.Steps) && hasCalls(turn.Steps[step].Content) && len(turn.Steps[step].Results) == 0
}

func isToolResults(event *session.Event) bool {
	return event.Content != nil && slices.ContainsFunc(event.Content.Parts, func(part *genai.Part) bool { return part.FunctionResponse != nil })
}

func hasCalls(content *genai.Content) bool {
	return content != nil && slices.ContainsFunc(content.Parts, func(part *genai.Part) bool { return part.FunctionCall != nil })
}

// collectOutcomes takes over what the compactor reported since, and reports
// whether a summary was stored, and how long the turn had waited for summaries
// when its last event came.
func (p *player) collectOutcomes(finished time.Time) (applied bool, waited time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.outcomes {
		applied = applied || o.Kind == compaction.Applied
		if o.at.Before(finished) { // work in the background begins later
			waited += o.Duration
		}
		p.played.Outcomes = append(p.played.Outcomes, o.Outcome)
	}
	p.outcomes = nil
	return applied, waited
}

// prompt is what the model would be sent now.
func (p *player) prompt(ctx context.Context) ([]*genai.Content, error) {
	events, err := p.events(ctx)
	if err != nil {
		return nil, err
	}
	contents := icontext.Contents(events, icontext.Options{Agent: agentName, Compacted: p.opts.Compaction != nil, Recall: p.opts.Recall})
	if p.opts.Shorten != nil {
		contents = p.opts.Shorten(contents)
	}
	return contents, nil
}

// countValues looks up in the last prompt what the user stated.
func (p *player) countValues(ctx context.Context) error {
	var stated strings.Builder
	for _, turn := range p.turns {
		writeTexts(&stated, turn.User)
	}
	contents, err := p.prompt(ctx)
	if err != nil {
		return err
	}
	var prompt strings.Builder
	for _, content := range contents {
		writeTexts(&prompt, content)
	}
	values := exact.Values(stated.String())
	p.played.ValuesStated = len(values)
	p.played.ValuesInPrompt = len(values) - len(exact.Missing(values, prompt.String()))
	return nil
}

func writeTexts(b *strings.Builder, content *genai.Content) {
	if content == nil {
		return
	}
	for _, part := range content.Parts {
		b.WriteString(part.Text)
		if part.FunctionCall != nil {
			fmt.Fprint(b, part.FunctionCall.Args)
		}
		if part.FunctionResponse != nil {
			fmt.Fprint(b, part.FunctionResponse.Response)
		}
		b.WriteString("\n")
	}
}
