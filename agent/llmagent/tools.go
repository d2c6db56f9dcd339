package llmagent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/internal/recall"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// tools are the agent's tools as of now, in the order in which they were given
// and by name.
func (f *flow) tools(ctx agent.Context) ([]tool.Tool, map[string]tool.Tool, error) {
	all := slices.Clone(f.cfg.Tools)
	for _, set := range f.cfg.Toolsets {
		tools, err := set.Tools(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("toolset %q: %w", set.Name(), err)
		}
		all = append(all, tools...)
	}
	byName, err := toolsByName(all)
	if err != nil {
		return nil, nil, fmt.Errorf("agent %q: %w", f.cfg.Name, err)
	}
	return all, byName, nil
}

// recalls reports whether a tool gets back what summaries leave out.
func recalls(t any) bool {
	_, ok := t.(recall.Tool)
	return ok
}

// declare tells the model of the tools.
func declare(ctx agent.Context, tools []tool.Tool, req *model.LLMRequest) error {
	var declarations []*genai.FunctionDeclaration
	for _, t := range tools {
		req.Tools[t.Name()] = t
		if p, ok := t.(tool.RequestProcessor); ok {
			if err := p.ProcessRequest(ctx, req); err != nil {
				return fmt.Errorf("tool %q: %w", t.Name(), err)
			}
		} else if fn, ok := t.(tool.Function); ok {
			if declaration := fn.Declaration(); declaration != nil {
				declarations = append(declarations, declaration)
			}
		}
	}
	if len(declarations) > 0 {
		req.Config.Tools = append(req.Config.Tools, &genai.Tool{FunctionDeclarations: declarations})
	}
	return nil
}

// runTools runs the calls, all at the same time, and returns the event with
// their results in the order of the calls, and their actions; nil if there are
// none.
func (f *flow) runTools(ctx agent.InvocationContext, calls []*genai.FunctionCall, confirmed confirmations, tools map[string]tool.Tool) *session.Event {
	if len(calls) == 0 {
		return nil
	}
	results := make([]map[string]any, len(calls))
	actions := make([]session.EventActions, len(calls))
	tasks := make([]func(context.Context), len(calls))
	for i, call := range calls {
		// Stays if the tool ends its goroutine instead of returning.
		results[i] = failure(fmt.Errorf("tool %q did not return", call.Name))
		tasks[i] = func(task context.Context) {
			toolContext := agent.NewToolContext(ctx.WithContext(task), call.ID, &actions[i], confirmed[call.ID])
			results[i] = f.runTool(toolContext, call, tools)
		}
	}
	platform.RunTasks(ctx, tasks)

	answer := f.newEvent(ctx)
	answer.Content = &genai.Content{Role: genai.RoleUser}
	for i, call := range calls {
		mergeActions(&answer.Actions, &actions[i])
		if results[i] == nil {
			continue // a long-running call whose answer comes later
		}
		answer.Content.Parts = append(answer.Content.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
			ID: call.ID, Name: call.Name, Response: results[i],
		}})
	}
	if len(answer.Content.Parts) == 0 {
		if !asksForAnything(&answer.Actions) {
			return nil
		}
		answer.Content = nil
	}
	return answer
}

// runTool answers one call. What goes wrong is the answer: the model can act on
// it.
func (f *flow) runTool(ctx agent.Context, call *genai.FunctionCall, tools map[string]tool.Tool) map[string]any {
	ctx, span := startTool(ctx, call)
	defer span.End()
	result, err := f.resultOf(ctx, call, tools)
	if err != nil {
		failTool(span, err)
		return failure(err)
	}
	return result
}

// resultOf is what a call gives.
func (f *flow) resultOf(ctx agent.Context, call *genai.FunctionCall, tools map[string]tool.Tool) (result map[string]any, err error) {
	defer func() {
		if value := recover(); value != nil {
			result, err = nil, panicked(ctx, call.Name, value)
		}
	}()
	t, ok := tools[call.Name].(tool.Function)
	if !ok {
		return nil, fmt.Errorf("there is no tool %q; there are: %s", call.Name, strings.Join(slices.Sorted(maps.Keys(tools)), ", "))
	}
	args := clone.Of(call.Args) // the consumer has the event, and callbacks may change them
	if args == nil {
		args = map[string]any{}
	}
	result, err = f.callTool(ctx, t, args)
	if err == nil {
		err = f.checkTransfer(ctx)
	}
	if err != nil {
		return nil, err
	}
	if result == nil && !t.IsLongRunning() {
		result = map[string]any{}
	}
	if _, err := json.Marshal(result); err != nil {
		return nil, fmt.Errorf("the result of tool %q cannot be encoded: %w", call.Name, err)
	}
	return result, nil
}

// callTool runs the tool with the callbacks around it.
func (f *flow) callTool(ctx agent.Context, t tool.Function, args map[string]any) (result map[string]any, err error) {
	for _, callback := range callbacks(ctx, plugin.BeforeToolCallback, f.cfg.BeforeToolCallbacks) {
		if result, err = callback(ctx, t, args); result != nil || err != nil {
			break
		}
	}
	if result == nil && err == nil {
		result, err = f.runInTime(ctx, t, args)
	}
	if err != nil {
		for _, callback := range callbacks(ctx, plugin.OnToolErrorCallback, f.cfg.OnToolErrorCallbacks) {
			if replaced, callbackErr := callback(ctx, t, args, err); replaced != nil || callbackErr != nil {
				result, err = replaced, callbackErr
				break
			}
		}
	}
	for _, callback := range callbacks(ctx, plugin.AfterToolCallback, f.cfg.AfterToolCallbacks) {
		if replaced, callbackErr := callback(ctx, t, args, result, err); replaced != nil || callbackErr != nil {
			return replaced, callbackErr
		}
	}
	return result, err
}

// runInTime runs a tool and ends its context when its time is over.
func (f *flow) runInTime(ctx agent.Context, t tool.Function, args map[string]any) (map[string]any, error) {
	if f.cfg.ToolTimeout <= 0 {
		return runGuarded(ctx, t, args)
	}
	inTime, cancel := ctx.WithAgentTimeout(f.cfg.ToolTimeout)
	defer cancel()
	result, err := runGuarded(inTime, t, args)
	if err != nil && inTime.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("tool %q was stopped after %v: %w", t.Name(), f.cfg.ToolTimeout, err)
	}
	return result, err
}

// runGuarded runs a tool. One that panics has failed, and callbacks may answer
// in its place.
func runGuarded(ctx agent.Context, t tool.Function, args map[string]any) (result map[string]any, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicked(ctx, t.Name(), value)
		}
	}()
	return t.Run(ctx, args)
}

// panicked logs a panic. The stack is for the log alone: the model has no use
// for it.
func panicked(ctx agent.Context, name string, value any) error {
	slog.ErrorContext(ctx, "a tool panicked", "tool", name, "panic", value, "stack", string(debug.Stack()))
	return fmt.Errorf("tool %q panicked: %v", name, value)
}

func failure(err error) map[string]any {
	return map[string]any{"error": err.Error()}
}

// mergeActions adds what from asks for to into. Compaction is not among it: no
// tool and no callback can make a summary.
func mergeActions(into, from *session.EventActions) {
	into.StateDelta = merged(into.StateDelta, from.StateDelta)
	if into.ArtifactDelta == nil {
		into.ArtifactDelta = map[string]int64{}
	}
	for name, version := range from.ArtifactDelta {
		into.ArtifactDelta[name] = max(into.ArtifactDelta[name], version)
	}
	if len(from.RequestedToolConfirmations) > 0 {
		into.RequestedToolConfirmations = merged[toolconfirmation.ToolConfirmation](into.RequestedToolConfirmations, from.RequestedToolConfirmations)
	}
	if len(from.RequestedAuthConfigs) > 0 {
		into.RequestedAuthConfigs = merged(into.RequestedAuthConfigs, from.RequestedAuthConfigs)
	}
	into.SkipSummarization = into.SkipSummarization || from.SkipSummarization
	into.Escalate = into.Escalate || from.Escalate
	if from.TransferToAgent != "" {
		into.TransferToAgent = from.TransferToAgent
	}
}

// asksForAnything reports whether actions have any effect.
func asksForAnything(a *session.EventActions) bool {
	return len(a.StateDelta) > 0 || len(a.ArtifactDelta) > 0 ||
		len(a.RequestedToolConfirmations) > 0 || len(a.RequestedAuthConfigs) > 0 ||
		a.SkipSummarization || a.Escalate || a.TransferToAgent != ""
}

func merged[V any](into, from map[string]V) map[string]V {
	if into == nil {
		into = map[string]V{}
	}
	maps.Copy(into, from)
	return into
}
