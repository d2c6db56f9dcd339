// Package replay plays a recorded conversation through a runner: the user's
// messages go in through Run, and what the model and the tools said comes out
// of the recording. All that lies between, storing, building prompts and
// compacting, is the real thing.
//
//	played, err := replay.Play(ctx, c, replay.Options{Service: sessions, Compaction: compaction.DefaultConfig()})
//	fmt.Println(played.Turns[9].PromptAfter, played.Billed)
package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/clone"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/exact"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
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
}

// Played is what happened.
type Played struct {
	Turns []Turn
	// ModelCalls is the number of model calls, Billed the tokens of all their
	// prompts together.
	ModelCalls, Billed int
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
}

// Turn is one message of the user and all until the agent's final answer.
type Turn struct {
	// PromptAfter is the size in tokens of the prompt that would be sent after
	// the turn, and after the compaction that follows it.
	PromptAfter int
	// Compacting is the time that passed on the turn between its last event
	// and its end.
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
		if err := p.play(ctx, i, turn); err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
		if opts.OnTurn != nil {
			opts.OnTurn(len(p.played.Turns))
		}
	}
	return &p.played, p.countValues(ctx)
}

type player struct {
	opts   Options
	system string
	turns  []conversation.Turn
	tape   *tape
	runner *runner.Runner
	played Played

	mu       sync.Mutex
	outcomes []compaction.Outcome
}

func newPlayer(ctx context.Context, c *conversation.Conversation, opts Options) (*player, error) {
	if opts.AppName == "" {
		opts.AppName, opts.UserID, opts.SessionID = "recap", "user", "replay"
	}
	p := &player{opts: opts, system: c.System, turns: c.Turns, tape: &tape{counter: opts.Counter}}
	a, err := llmagent.New(llmagent.Config{
		Name:  "agent",
		Model: p.tape,
		// A provider, as braces in a recorded instruction are not templates.
		InstructionProvider: func(agent.ReadonlyContext) (string, error) { return p.system, nil },
		Tools:               p.tape.tools(c),
	})
	if err != nil {
		return nil, err
	}
	_, err = opts.Service.Create(ctx, &session.CreateRequest{AppName: opts.AppName, UserID: opts.UserID, SessionID: opts.SessionID})
	if err != nil {
		return nil, err
	}
	cfg := runner.Config{AppName: opts.AppName, Agent: a, SessionService: opts.Service}
	if opts.Compaction != nil {
		compacting := *opts.Compaction
		told := compacting.OnOutcome
		compacting.OnOutcome = func(o compaction.Outcome) {
			p.mu.Lock()
			p.outcomes = append(p.outcomes, o)
			p.mu.Unlock()
			if told != nil {
				told(o)
			}
		}
		cfg.CompactionConfig = &compacting
	}
	p.runner, err = runner.New(cfg)
	return p, err
}

// play plays one recorded turn. One without a user message goes on with the
// turn before.
func (p *player) play(ctx context.Context, index int, turn conversation.Turn) error {
	p.tape.load(turn.Steps)
	finished, err := p.run(ctx, turn)
	if err != nil {
		return err
	}
	compacting := time.Since(finished)
	if err := p.runner.Flush(ctx); err != nil {
		return err
	}
	if left := p.tape.left(); left > 0 {
		return fmt.Errorf("%d of %d recorded model replies were not asked for", left, len(turn.Steps))
	}
	if turn.User != nil || index == 0 {
		p.played.Turns = append(p.played.Turns, Turn{})
	}
	last := &p.played.Turns[len(p.played.Turns)-1]
	last.Compacting += compacting
	last.Compacted = p.collectOutcomes() || last.Compacted
	p.played.ModelCalls, p.played.Billed = p.tape.calls, p.tape.billed
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
	for event, err := range p.runner.Run(ctx, p.opts.UserID, p.opts.SessionID, turn.User, agent.RunConfig{MaxLLMCalls: -1}) {
		if err != nil {
			return finished, err
		}
		finished = time.Now()
		if isToolResults(event) {
			step++
		}
		if p.brokenOff(turn, step, event) {
			break // as the recorded user did
		}
	}
	return finished, nil
}

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
// whether a summary was stored.
func (p *player) collectOutcomes() (applied bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.outcomes {
		applied = applied || o.Kind == compaction.Applied
	}
	p.played.Outcomes = append(p.played.Outcomes, p.outcomes...)
	p.outcomes = nil
	return applied
}

// prompt is what the model would be sent now.
func (p *player) prompt(ctx context.Context) ([]*genai.Content, error) {
	read, err := p.opts.Service.Get(ctx, &session.GetRequest{AppName: p.opts.AppName, UserID: p.opts.UserID, SessionID: p.opts.SessionID})
	if err != nil {
		return nil, err
	}
	events := slices.Collect(read.Session.Events().All())
	return icontext.Contents(events, icontext.Options{Agent: "agent", Compacted: p.opts.Compaction != nil}), nil
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

// tape is the recorded model and the recorded tools.
type tape struct {
	counter *tokens.Counter

	mu      sync.Mutex
	steps   []conversation.Step
	results map[string]map[string]any // of the current step, by call ID
	calls   int
	billed  int
	largest int
	before  []byte                       // the prompt before, in JSON
	reused  int                          // bytes of prompts that stood in the prompt before
	sent    int                          // bytes of prompts
	config  *genai.GenerateContentConfig // of the last call
}

func (t *tape) load(steps []conversation.Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = steps
}

func (t *tape) left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.steps)
}

// Name is "recording".
func (t *tape) Name() string { return "recording" }

// GenerateContent says what the recorded model said, or nothing where the
// recording ends.
func (t *tape) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		t.mu.Lock()
		t.config = req.Config
		if len(t.steps) == 0 {
			t.mu.Unlock()
			return
		}
		step := t.steps[0]
		t.steps = t.steps[1:]
		t.calls++
		t.billed += t.counter.Request(req.Contents, req.Config)
		t.largest = max(t.largest, t.counter.Request(req.Contents, nil))
		t.compare(req)
		t.results = map[string]map[string]any{}
		for _, r := range step.Results {
			t.results[r.CallID] = r.Response
		}
		t.mu.Unlock()
		yield(&model.LLMResponse{
			Content:       clone.Of(step.Content),
			ErrorCode:     step.ErrorCode,
			ErrorMessage:  step.ErrorMessage,
			UsageMetadata: step.Usage,
		}, nil)
	}
}

// compare finds out how much of a prompt stood at the start of the one before.
func (t *tape) compare(req *model.LLMRequest) {
	now, err := json.Marshal([]any{req.Config.SystemInstruction, req.Contents})
	if err != nil {
		return // what cannot be written as JSON cannot be compared
	}
	same := 0
	for same < min(len(now), len(t.before)) && now[same] == t.before[same] {
		same++
	}
	t.reused, t.sent, t.before = t.reused+same, t.sent+len(now), now
}

// tools are the tools that the recording knows, by their names.
func (t *tape) tools(c *conversation.Conversation) []tool.Tool {
	var names []string
	for _, turn := range c.Turns {
		for _, step := range turn.Steps {
			if step.Content == nil {
				continue
			}
			for _, part := range step.Content.Parts {
				if part.FunctionCall != nil && !slices.Contains(names, part.FunctionCall.Name) {
					names = append(names, part.FunctionCall.Name)
				}
			}
		}
	}
	slices.Sort(names)
	tools := make([]tool.Tool, len(names))
	for i, name := range names {
		tools[i] = recordedTool{name, t}
	}
	return tools
}

// recordedTool returns what was recorded. It has no declaration, as the
// recording does not tell what the model was told of it.
type recordedTool struct {
	name string
	tape *tape
}

func (r recordedTool) Name() string                            { return r.name }
func (r recordedTool) Description() string                     { return "" }
func (r recordedTool) IsLongRunning() bool                     { return false }
func (r recordedTool) Declaration() *genai.FunctionDeclaration { return nil }

func (r recordedTool) Run(ctx agent.Context, _ map[string]any) (map[string]any, error) {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	result, ok := r.tape.results[ctx.FunctionCallID()]
	if !ok {
		return nil, fmt.Errorf("the recording has no result of call %q", ctx.FunctionCallID())
	}
	return clone.Of(result), nil
}
