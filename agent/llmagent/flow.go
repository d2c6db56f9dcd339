package llmagent

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/clone"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/schema"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
)

// flow is the loop of an agent: model, tools, model, until an answer.
type flow struct {
	cfg    *Config
	output *schema.Checker // nil: any answer
}

func newFlow(cfg Config) (f *flow, err error) {
	f = &flow{cfg: &cfg}
	if cfg.InputSchema != nil {
		if _, err := schema.Compile(cfg.InputSchema); err != nil {
			return nil, fmt.Errorf("InputSchema: %w", err)
		}
	}
	if cfg.OutputSchema != nil {
		if f.output, err = schema.Compile(cfg.OutputSchema); err != nil {
			return nil, fmt.Errorf("OutputSchema: %w", err)
		}
	}
	return f, nil
}

// yieldFunc passes an event on. It reports whether the consumer wants more.
type yieldFunc func(*session.Event, error) bool

func (f *flow) run(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		if !f.resume(ctx, yield) || !f.resumeTask(ctx, yield) {
			return
		}
		for {
			last, ok := f.step(ctx, yield)
			switch {
			case !ok || last == nil || ctx.Ended():
				return
			case last.Actions.TransferToAgent != "":
				transfer(ctx, last.Actions.TransferToAgent, yield)
				return
			case last.IsFinalResponse() || f.waiting(ctx) != nil:
				return
			}
		}
	}
}

// step calls the model once and runs the tools that it calls. It returns the
// last whole event, nil if the model said nothing, and false if the run is
// over, because the consumer stopped or an error was yielded.
func (f *flow) step(ctx agent.InvocationContext, yield yieldFunc) (last *session.Event, ok bool) {
	req, tools, err := f.request(ctx)
	if err != nil {
		yield(nil, err)
		return nil, false
	}
	actions := &session.EventActions{} // what callbacks around the model set
	for response, err := range f.responses(agent.NewCallbackContext(ctx, actions), req) {
		if err != nil {
			yield(nil, err)
			return nil, false
		}
		event := f.event(ctx, response, actions, tools)
		if !yield(event, nil) {
			return nil, false
		}
		if event.Partial {
			continue
		}
		last = event
		if err := f.checkAnswer(ctx, event); err != nil {
			yield(nil, err)
			return nil, false
		}
		if ctx.Ended() {
			return last, true
		}
		for answer, err := range f.answers(ctx, event, tools) {
			if !yield(answer, err) || err != nil {
				return nil, false
			}
			if answer.IsolationScope == event.IsolationScope { // not of an agent that was called
				last = answer
			}
		}
	}
	return last, true
}

// answers are the events that follow from the calls in event: those of agents
// that are called, then the results.
func (f *flow) answers(ctx agent.InvocationContext, event *session.Event, tools map[string]tool.Tool) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		if len(callsOf(event)) == 0 {
			return
		}
		answer, ok := f.runDelegating(ctx, callsOf(event), nil, tools, yield)
		if !ok {
			return
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		if answer == nil {
			return
		}
		if question := f.question(ctx, callsOf(event), answer); question != nil && !yield(question, nil) {
			return
		}
		if !yield(answer, nil) {
			return
		}
		if final := f.structured(ctx, tools); final != nil {
			yield(final, nil)
		}
	}
}

// request is the next call of the model, and the tools it may use by name.
func (f *flow) request(ctx agent.InvocationContext) (*model.LLMRequest, map[string]tool.Tool, error) {
	req, tools, err := f.build(ctx)
	if err != nil {
		return nil, nil, err
	}
	if compactor := ctx.Invocation().Compactor(); compactor != nil && compactor.BeforeModel(ctx, f.prompt(ctx, req)) {
		return f.build(ctx) // anew: tools may have added to the conversation
	}
	return req, tools, nil
}

// build makes a request of the log as it is.
func (f *flow) build(ctx agent.InvocationContext) (*model.LLMRequest, map[string]tool.Tool, error) {
	callbackContext := agent.NewContext(ctx)
	all, tools, err := f.tools(callbackContext)
	if err != nil {
		return nil, nil, err
	}
	req := &model.LLMRequest{
		Model:    f.cfg.Model.Name(),
		Contents: f.contents(ctx, recalls(tools[icontext.RecallName])),
		Config:   clone.Of(f.cfg.GenerateContentConfig),
		Tools:    map[string]any{},
	}
	if req.Config == nil {
		req.Config = &genai.GenerateContentConfig{}
	}
	texts, err := instructions(callbackContext, f.cfg)
	if err != nil {
		return nil, nil, err
	}
	instruct(req, texts)
	if err := declare(callbackContext, all, req); err != nil {
		return nil, nil, err
	}
	if texts, err = f.addOwnTools(ctx, req, tools); err != nil {
		return nil, nil, err
	}
	instruct(req, texts)
	return req, tools, nil
}

// instruct adds texts to the system instruction.
func instruct(req *model.LLMRequest, texts []string) {
	if len(texts) == 0 {
		return
	}
	if req.Config.SystemInstruction == nil {
		req.Config.SystemInstruction = &genai.Content{Role: genai.RoleUser}
	}
	req.Config.SystemInstruction.Parts = append(req.Config.SystemInstruction.Parts, &genai.Part{Text: strings.Join(texts, "\n\n")})
}

// prompt is the request as the compactor sees it.
func (f *flow) prompt(ctx agent.InvocationContext, req *model.LLMRequest) compaction.Prompt {
	return compaction.Prompt{
		Session:      ctx.Session(),
		Agent:        f.cfg.Name,
		Branch:       ctx.Branch(),
		Scope:        ctx.IsolationScope(),
		InvocationID: ctx.InvocationID(),
		Request:      req,
	}
}

// contents is the conversation as this agent may see it. Summaries in the log
// count only in a run that has compaction on: only then is it certain who put
// them there.
func (f *flow) contents(ctx agent.InvocationContext, recall bool) []*genai.Content {
	events := make([]*session.Event, 0, ctx.Session().Events().Len())
	for e := range ctx.Session().Events().All() {
		events = append(events, e)
	}
	opts := icontext.Options{
		Agent:           f.cfg.Name,
		Branch:          ctx.Branch(),
		Scope:           ctx.IsolationScope(),
		CurrentTurnOnly: f.cfg.IncludeContents == IncludeContentsNone,
		Recall:          recall,
	}
	if compactor := ctx.Invocation().Compactor(); compactor != nil {
		opts.Compacted = true
		opts.MaxToolOutput, opts.RecentEvents = compactor.MaxToolOutput()
	}
	contents := icontext.Contents(events, opts)
	if asked := request(events, ctx.IsolationScope()); asked != nil {
		contents = slices.Insert(contents, 0, asked)
	}
	return contents
}

// responses are what the model, or a callback in its place, answers.
func (f *flow) responses(ctx agent.Context, req *model.LLMRequest) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		for _, callback := range callbacks(ctx, plugin.BeforeModelCallback, f.cfg.BeforeModelCallbacks) {
			if response, err := callback(ctx, req); response != nil || err != nil {
				yield(response, err)
				return
			}
		}
		if err := agent.CountLLMCall(ctx); err != nil {
			yield(nil, err)
			return
		}
		for response, err := range f.generate(ctx, req) {
			if err != nil {
				response, err = f.onModelError(ctx, req, err)
			}
			response, err = f.afterModel(ctx, response, err)
			if response == nil && err == nil {
				continue
			}
			if !yield(response, err) || err != nil {
				return
			}
		}
	}
}

// maxShrinks is how often a prompt that is too long for its model is shortened.
const maxShrinks = 2

// generate calls the model. If it says at once that the prompt is too long, and
// the run has compaction on, the prompt is shortened and sent again.
func (f *flow) generate(ctx agent.Context, req *model.LLMRequest) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		stream := ctx.RunConfig().StreamingMode == agent.StreamingModeSSE
		for attempt := 1; ; attempt++ {
			tooLong, answered := false, false
			sent := *req // callbacks keep what they know
			sent.Contents = icontext.Normalize(req.Contents)
			for response, err := range f.call(ctx, &sent, stream) {
				if errors.Is(err, model.ErrTooLong) && !answered && attempt <= maxShrinks && f.shrink(ctx, req, attempt) {
					tooLong = true
					break
				}
				answered = true
				if !yield(response, err) {
					return
				}
			}
			if !tooLong {
				return
			}
		}
	}
}

// shrink makes the prompt shorter and reports whether it could.
func (f *flow) shrink(ctx agent.Context, req *model.LLMRequest, attempt int) bool {
	compactor := ctx.Invocation().Compactor()
	if compactor == nil || !compactor.TooLong(ctx, f.prompt(ctx, req), attempt) {
		return false
	}
	shorter, _, err := f.build(ctx)
	if err != nil {
		return false
	}
	req.Contents = shorter.Contents
	return true
}

func (f *flow) onModelError(ctx agent.Context, req *model.LLMRequest, cause error) (*model.LLMResponse, error) {
	for _, callback := range callbacks(ctx, plugin.OnModelErrorCallback, f.cfg.OnModelErrorCallbacks) {
		if response, err := callback(ctx, req, cause); response != nil || err != nil {
			return response, err
		}
	}
	return nil, cause
}

func (f *flow) afterModel(ctx agent.Context, response *model.LLMResponse, cause error) (*model.LLMResponse, error) {
	for _, callback := range callbacks(ctx, plugin.AfterModelCallback, f.cfg.AfterModelCallbacks) {
		if replaced, err := callback(ctx, response, cause); replaced != nil || err != nil {
			return replaced, err
		}
	}
	return response, cause
}

// event is a response as an event. It completes what the rest of the turn
// relies on: IDs of calls, and which of them are long-running.
func (f *flow) event(ctx agent.InvocationContext, response *model.LLMResponse, actions *session.EventActions, tools map[string]tool.Tool) *session.Event {
	event := f.newEvent(ctx)
	event.LLMResponse = *response
	if event.Partial {
		return event
	}
	mergeActions(&event.Actions, actions)
	*actions = session.EventActions{}
	event.Content = clone.Of(response.Content) // a callback may answer with what it keeps
	for _, call := range callsOf(event) {
		if call.ID == "" {
			call.ID = "adk-" + platform.NewUUID(ctx)
		}
		if t := tools[call.Name]; t != nil && t.IsLongRunning() {
			event.LongRunningToolIDs = append(event.LongRunningToolIDs, call.ID)
		}
	}
	if f.cfg.OutputKey != "" && !f.isTask(ctx) && f.checkAnswer(ctx, event) == nil && event.IsFinalResponse() && event.Content != nil && len(event.LongRunningToolIDs) == 0 {
		event.Actions.StateDelta[f.cfg.OutputKey] = answerText(event.Content)
	}
	return event
}

// newEvent is an event of this agent, where it runs.
func (f *flow) newEvent(ctx agent.InvocationContext) *session.Event {
	event := session.NewEvent(ctx, ctx.InvocationID())
	event.Author = f.cfg.Name
	event.Branch = ctx.Branch()
	event.IsolationScope = ctx.IsolationScope()
	return event
}

func callsOf(event *session.Event) []*genai.FunctionCall {
	if event.Content == nil {
		return nil
	}
	var calls []*genai.FunctionCall
	for _, part := range event.Content.Parts {
		if part != nil && part.FunctionCall != nil {
			calls = append(calls, part.FunctionCall)
		}
	}
	return calls
}

func answerText(content *genai.Content) string {
	var b strings.Builder
	for _, part := range content.Parts {
		if part != nil && !part.Thought {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}
