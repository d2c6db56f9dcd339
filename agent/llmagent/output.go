package llmagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/internal/schema"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
)

// ErrInvalidOutput ends a run whose final answer does not fit the agent's
// OutputSchema. The answer is in the log all the same.
var ErrInvalidOutput = errors.New("the answer does not fit OutputSchema")

const (
	answerTool        = "set_model_response"
	taskInstruction   = "You were given a task. Ask the user for what you need, and call " + finishTool + " as soon as it is done."
	answerInstruction = "Give your final answer by calling " + answerTool + ", and not as text. Use your other tools before, as you need them."
)

// addOwnTools declares the tools that the agent has of itself, and returns what
// its model must be told of them. A model that has functions to call is not
// asked for JSON: most providers take only one of both.
func (f *flow) addOwnTools(ctx agent.InvocationContext, req *model.LLMRequest, tools map[string]tool.Tool) (texts []string, err error) {
	var own []tool.Function
	if targets := f.targets(ctx); len(targets) > 0 {
		texts = append(texts, f.transferInstruction(targets, ctx.Invocation().Parent(f.cfg.Name)))
		own = append(own, handOver{targets})
	}
	if self := findAgent(ctx, f.cfg.Name); self != nil {
		for _, sub := range self.SubAgents() {
			if isDelegate(sub) {
				own = append(own, &delegation{sub: asLLM(sub)})
			}
		}
	}
	switch {
	case f.isTask(ctx):
		own = append(own, finishTask{f})
		texts = append(texts, taskInstruction)
	case f.output == nil:
	case len(req.Config.Tools) == 0 && len(own) == 0:
		req.Config.ResponseSchema = f.cfg.OutputSchema
		req.Config.ResponseMIMEType = "application/json"
	default:
		own = append(own, newStructuredAnswer(f.cfg.OutputSchema, f.output))
		texts = append(texts, answerInstruction)
	}
	for _, t := range own {
		if tools[t.Name()] != nil {
			return nil, fmt.Errorf("agent %q: the tool %q has the name of one that the agent has of itself", f.cfg.Name, t.Name())
		}
		tools[t.Name()] = t
		req.Tools[t.Name()] = t
		req.Config.Tools = append(req.Config.Tools, &genai.Tool{FunctionDeclarations: []*genai.FunctionDeclaration{t.Declaration()}})
	}
	return texts, nil
}

// structuredAnswer is the tool by which a model gives an answer that fits a
// schema, in one call of the model.
type structuredAnswer struct {
	parameters *genai.Schema
	wrapped    bool // the answer is no object, and stands in the argument "result"
	checker    *schema.Checker
	accepted   atomic.Pointer[string] // the answer, as JSON
}

func newStructuredAnswer(s *genai.Schema, checker *schema.Checker) *structuredAnswer {
	a := &structuredAnswer{checker: checker}
	a.parameters, a.wrapped = wrapped(s, "result")
	return a
}

func (*structuredAnswer) Name() string        { return answerTool }
func (*structuredAnswer) Description() string { return "Gives the final answer." }
func (*structuredAnswer) IsLongRunning() bool { return false }

func (a *structuredAnswer) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: a.Name(), Description: a.Description(), Parameters: a.parameters}
}

func (a *structuredAnswer) Run(_ agent.Context, args map[string]any) (map[string]any, error) {
	var answer any = args
	if a.wrapped {
		answer = args["result"]
	}
	data, err := json.Marshal(answer)
	if err == nil {
		err = a.checker.CheckJSON(data)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer does not fit: %w", err)
	}
	text := string(data)
	a.accepted.Store(&text)
	return map[string]any{"status": "accepted"}, nil
}

// structured is the final answer that was given through the tool, or nil.
func (f *flow) structured(ctx agent.InvocationContext, tools map[string]tool.Tool) *session.Event {
	t, ok := tools[answerTool].(*structuredAnswer)
	if !ok || t.accepted.Load() == nil {
		return nil
	}
	event := f.newEvent(ctx)
	event.Content = genai.NewContentFromText(*t.accepted.Load(), genai.RoleModel)
	if f.cfg.OutputKey != "" {
		event.Actions.StateDelta[f.cfg.OutputKey] = *t.accepted.Load()
	}
	return event
}

// checkAnswer checks a final answer that was given as text.
func (f *flow) checkAnswer(ctx agent.InvocationContext, event *session.Event) error {
	if f.output == nil || f.isTask(ctx) || event.Content == nil || event.ErrorCode != "" || !event.IsFinalResponse() || len(event.LongRunningToolIDs) > 0 {
		return nil
	}
	text := answerText(event.Content)
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if err := f.output.CheckJSON([]byte(text)); err != nil {
		return fmt.Errorf("agent %q: %w: %w", f.cfg.Name, ErrInvalidOutput, err)
	}
	return nil
}
