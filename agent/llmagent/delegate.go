package llmagent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/internal/clone"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/schema"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
)

// Mode says how an agent is used by the agent right above it.
type Mode string

const (
	// ModeUnset is ModeChat.
	ModeUnset Mode = ""
	// ModeChat is an agent to which a conversation is handed over.
	ModeChat Mode = "chat"
	// ModeTask is an agent that is called as a tool and may talk to the user,
	// over any number of turns, before it answers with the tool finish_task.
	ModeTask Mode = "task"
	// ModeSingleTurn is an agent that is called as a tool and answers without
	// talking to the user.
	ModeSingleTurn Mode = "single_turn"
)

const (
	finishTool   = "finish_task"
	taskFinished = "Task completed."
)

// isDelegate reports whether a is called as a tool.
func isDelegate(a agent.Agent) bool {
	llm := asLLM(a)
	return llm != nil && (llm.cfg.Mode == ModeTask || llm.cfg.Mode == ModeSingleTurn)
}

// isTask reports whether the agent runs as a task.
func (f *flow) isTask(ctx agent.InvocationContext) bool {
	return f.cfg.Mode == ModeTask && ctx.IsolationScope() != ""
}

// delegation is the tool by which a model has another agent do something. That
// agent's events have the ID of the call as their isolation scope: it sees the
// request and what it said itself, and nobody else sees that.
type delegation struct {
	sub  *llmAgent
	emit func(*session.Event) bool // yields; it may be called by several goroutines
}

func (d *delegation) Name() string        { return d.sub.Name() }
func (d *delegation) Description() string { return d.sub.Description() }
func (d *delegation) IsLongRunning() bool { return d.sub.cfg.Mode == ModeTask }

func (d *delegation) Declaration() *genai.FunctionDeclaration {
	parameters, _ := wrapped(d.sub.cfg.InputSchema, "request")
	return &genai.FunctionDeclaration{Name: d.Name(), Description: d.Description(), Parameters: parameters}
}

// wrapped is s as the parameters of a function, which are an object: s itself,
// or an object that has it, or else a string, under a name.
func wrapped(s *genai.Schema, name string) (parameters *genai.Schema, isWrapped bool) {
	if s != nil && strings.EqualFold(string(s.Type), string(genai.TypeObject)) {
		return s, false
	}
	if s == nil {
		s = &genai.Schema{Type: genai.TypeString}
	}
	return &genai.Schema{
		Type: genai.TypeObject, Properties: map[string]*genai.Schema{name: s}, Required: []string{name},
	}, true
}

// Run runs the agent until it answers. A task that waits for the user has no
// answer yet.
func (d *delegation) Run(ctx agent.Context, args map[string]any) (map[string]any, error) {
	parameters, _ := wrapped(d.sub.cfg.InputSchema, "request")
	checker, err := schema.Compile(parameters)
	if err != nil {
		return nil, err
	}
	if err := checker.Check(args); err != nil {
		return nil, fmt.Errorf("the request does not fit: %w", err)
	}
	var self agent.Agent = d.sub
	scope := ctx.FunctionCallID()
	outcome := result{of: d.sub}
	for event, err := range d.sub.Run(ctx.WithICDelta(&agent.InvocationContextDelta{Agent: &self, IsolationScope: &scope})) {
		if err != nil {
			return nil, err
		}
		if !d.emit(event) {
			return nil, context.Canceled
		}
		outcome.add(event, scope)
	}
	return outcome.get()
}

// result is what a delegate answers, found in its events.
type result struct {
	of       *llmAgent
	finish   map[string]any // arguments of the last call of finish_task
	answer   any
	answered bool
}

func (r *result) add(event *session.Event, scope string) {
	if event.Partial || event.Content == nil || event.IsolationScope != scope || event.Author != r.of.Name() {
		return
	}
	if r.of.cfg.Mode == ModeSingleTurn {
		if event.IsFinalResponse() {
			text := answerText(event.Content)
			r.answer, r.answered = text, text != ""
			if r.of.cfg.OutputSchema != nil {
				r.answered = json.Unmarshal([]byte(text), &r.answer) == nil
			}
		}
		return
	}
	for _, part := range event.Content.Parts {
		switch {
		case part == nil:
		case part.FunctionCall != nil && part.FunctionCall.Name == finishTool:
			r.finish = part.FunctionCall.Args
		case part.FunctionResponse != nil && part.FunctionResponse.Name == finishTool && part.FunctionResponse.Response["result"] == taskFinished:
			r.answer, r.answered = any(r.finish), true
			if _, isWrapped := wrapped(r.of.cfg.OutputSchema, "result"); isWrapped {
				r.answer = r.finish["result"]
			}
		}
	}
}

func (r *result) get() (map[string]any, error) {
	switch {
	case r.answered:
		return map[string]any{"result": clone.Of(r.answer)}, nil
	case r.of.cfg.Mode == ModeTask:
		return nil, nil
	default:
		return nil, fmt.Errorf("agent %q gave no answer", r.of.Name())
	}
}

// finishTask is the tool by which a task ends.
type finishTask struct{ f *flow }

func (finishTask) Name() string        { return finishTool }
func (finishTask) Description() string { return "Ends the task and gives its result." }
func (finishTask) IsLongRunning() bool { return false }

func (t finishTask) Declaration() *genai.FunctionDeclaration {
	parameters, _ := wrapped(t.f.cfg.OutputSchema, "result")
	return &genai.FunctionDeclaration{Name: finishTool, Description: t.Description(), Parameters: parameters}
}

func (t finishTask) Run(ctx agent.Context, args map[string]any) (map[string]any, error) {
	parameters, isWrapped := wrapped(t.f.cfg.OutputSchema, "result")
	checker, err := schema.Compile(parameters)
	if err != nil {
		return nil, err
	}
	if err := checker.Check(args); err != nil {
		return nil, fmt.Errorf("the result does not fit: %w", err)
	}
	if t.f.cfg.OutputKey != "" {
		var value any = args
		if isWrapped {
			value = args["result"]
		}
		if err := ctx.State().Set(t.f.cfg.OutputKey, value); err != nil {
			return nil, err
		}
	}
	ctx.Actions().SkipSummarization = true // nothing is left to say
	return map[string]any{"result": taskFinished}, nil
}

// runDelegating is runTools where agents may be among the tools: their events
// are yielded while they run. It reports false if the consumer stopped.
func (f *flow) runDelegating(ctx agent.InvocationContext, calls []*genai.FunctionCall, confirmed confirmations, tools map[string]tool.Tool, yield yieldFunc) (answer *session.Event, ok bool) {
	var delegations []*delegation
	for _, call := range calls {
		if d, ok := tools[call.Name].(*delegation); ok {
			delegations = append(delegations, d)
		}
	}
	if len(delegations) == 0 {
		return f.runTools(ctx, calls, confirmed, tools), true
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	type item struct {
		event *session.Event
		more  chan<- bool
	}
	items := make(chan item)
	var made *session.Event // by the goroutine, before items is closed
	for _, d := range delegations {
		d.emit = func(event *session.Event) bool {
			more := make(chan bool, 1)
			items <- item{event, more}
			return <-more
		}
	}
	go func() {
		defer close(items)
		made = f.runTools(ctx.WithContext(inner), calls, confirmed, tools)
	}()
	defer func() {
		// Whatever ends this, also a panic: no agent runs on.
		cancel()
		for it := range items {
			it.more <- false
		}
	}()
	for it := range items {
		ok := yield(it.event, nil)
		it.more <- ok
		if !ok {
			return nil, false
		}
	}
	return made, true
}

// request is what the call that opened a scope asks for, or nil.
func request(events []*session.Event, scope string) *genai.Content {
	if scope == "" {
		return nil
	}
	for _, e := range events {
		for _, call := range callsOf(e) {
			if call.ID != scope || e.Author == "user" {
				continue
			}
			text, ok := call.Args["request"].(string)
			if !ok || len(call.Args) > 1 {
				data, _ := json.Marshal(call.Args)
				text = string(data)
			}
			return genai.NewContentFromText(text, genai.RoleUser)
		}
	}
	return nil
}

// OpenTask finds the task, see ModeTask, that waits for the user. It returns
// the agent that the message is for, which is the one that gave out the task,
// and the isolation scope of the message; nil if no task waits.
func OpenTask(root agent.Agent, events session.Events) (coordinator agent.Agent, scope string) {
	if !hasTasks(root) {
		return nil, ""
	}
	all := logOf(events)
	for {
		author, call := openTask(all, root, scope)
		if call == nil {
			return coordinator, scope
		}
		if scope = call.ID; coordinator == nil {
			coordinator = author
		}
	}
}

func hasTasks(a agent.Agent) bool {
	if llm := asLLM(a); llm != nil && llm.cfg.Mode == ModeTask {
		return true
	}
	return slices.ContainsFunc(a.SubAgents(), hasTasks)
}

// logOf is a log without what was taken back.
func logOf(events session.Events) []*session.Event {
	return icontext.WithoutRewound(slices.Collect(events.All()))
}

// openTask is the last call in scope of a task that has no answer, and who made
// it.
func openTask(events []*session.Event, root agent.Agent, scope string) (author agent.Agent, open *genai.FunctionCall) {
	answered := map[string]bool{}
	for _, e := range slices.Backward(events) {
		if e.IsolationScope != scope || e.Author == "user" || e.Content == nil {
			continue
		}
		for _, part := range slices.Backward(e.Content.Parts) {
			switch {
			case part == nil:
			case part.FunctionResponse != nil:
				answered[part.FunctionResponse.ID] = true
			case part.FunctionCall != nil && !answered[part.FunctionCall.ID]:
				if author := root.FindAgent(e.Author); author != nil && isTaskOf(author, part.FunctionCall.Name) {
					return author, part.FunctionCall
				}
			}
		}
	}
	return nil, nil
}

func isTaskOf(author agent.Agent, name string) bool {
	for _, sub := range author.SubAgents() {
		if llm := asLLM(sub); llm != nil && llm.cfg.Name == name {
			return llm.cfg.Mode == ModeTask
		}
	}
	return false
}

// waiting is the task of this agent that waits for the user, or nil.
func (f *flow) waiting(ctx agent.InvocationContext) *genai.FunctionCall {
	self := findAgent(ctx, f.cfg.Name)
	if self == nil || !slices.ContainsFunc(self.SubAgents(), hasTasks) {
		return nil
	}
	author, call := openTask(logOf(ctx.Session().Events()), self, ctx.IsolationScope())
	if call == nil || author.Name() != f.cfg.Name {
		return nil
	}
	return call
}

// resumeTask lets the task that waits for the user go on. It reports whether
// the run may go on.
func (f *flow) resumeTask(ctx agent.InvocationContext, yield yieldFunc) bool {
	call := f.waiting(ctx)
	if call == nil {
		return true
	}
	_, tools, err := f.build(ctx)
	if err != nil {
		yield(nil, err)
		return false
	}
	answer, ok := f.runDelegating(ctx, []*genai.FunctionCall{call}, nil, tools, yield)
	if !ok {
		return false
	}
	if err := ctx.Err(); err != nil {
		yield(nil, err)
		return false
	}
	return answer != nil && yield(answer, nil) && !ctx.Ended()
}
