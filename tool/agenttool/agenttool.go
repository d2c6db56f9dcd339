// Package agenttool makes tools of agents.
//
//	translator, err := llmagent.New(llmagent.Config{
//		Name: "translator", Description: "Translates a text to French.", Model: small,
//	})
//	writer, err := llmagent.New(llmagent.Config{
//		Name: "writer", Model: large, Tools: []tool.Tool{agenttool.New(translator, nil)},
//	})
//
// Each call runs the agent in a session of its own, in memory, which begins
// with the request as the user's message and is gone afterwards: the agent
// knows nothing of the conversation but the state, of which it has a copy. What
// it sets in the state, and its artifacts, are the caller's. Of its events the
// caller sees none; the answer is the text of the last.
//
// An agent with an InputSchema is called with arguments of that schema, which
// it is given as JSON; one without has the argument "request". An agent with an
// OutputSchema answers with JSON that fits it: with the object that it is, or
// with {"result": value}. One without answers with {"result": text}.
//
// A question to the user has no way out of such a call: where the agent, or a
// tool of it, asks for a confirmation, the call fails.
package agenttool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/internal/schema"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
)

// Config is how the tool behaves.
type Config struct {
	// SkipSummarization makes the agent's answer the last word of the run: the
	// caller's model is not asked to comment on it. Of an error it is told.
	SkipSummarization bool
}

// New returns a tool, a tool.Function, that runs the agent. It has the agent's
// name and description. A nil cfg is the zero Config. Calls run at the same
// time, each in a session of its own.
func New(agent agent.Agent, cfg *Config) tool.Tool {
	t := &agentTool{agent: agent}
	if cfg != nil {
		t.cfg = *cfg
	}
	return t
}

type agentTool struct {
	agent agent.Agent
	cfg   Config
}

func (t *agentTool) Name() string        { return t.agent.Name() }
func (t *agentTool) Description() string { return t.agent.Description() }
func (t *agentTool) IsLongRunning() bool { return false }

func (t *agentTool) Declaration() *genai.FunctionDeclaration {
	declaration := &genai.FunctionDeclaration{
		Name: t.Name(), Description: t.Description(), Parameters: t.inputSchema(), Response: t.outputSchema(),
	}
	if declaration.Parameters == nil {
		declaration.Parameters = &genai.Schema{
			Type:       genai.TypeObject,
			Properties: map[string]*genai.Schema{"request": {Type: genai.TypeString}},
			Required:   []string{"request"},
		}
	}
	return declaration
}

func (t *agentTool) inputSchema() *genai.Schema {
	if typed, ok := t.agent.(interface{ InputSchema() *genai.Schema }); ok {
		return clone.Of(typed.InputSchema())
	}
	return nil
}

func (t *agentTool) outputSchema() *genai.Schema {
	if typed, ok := t.agent.(interface{ OutputSchema() *genai.Schema }); ok {
		return clone.Of(typed.OutputSchema())
	}
	return nil
}

func (t *agentTool) Run(ctx agent.Context, args map[string]any) (map[string]any, error) {
	request, err := t.request(args)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", t.Name(), err)
	}
	last, err := t.run(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", t.Name(), err)
	}
	answer, err := t.answer(last)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", t.Name(), err)
	}
	if t.cfg.SkipSummarization {
		ctx.Actions().SkipSummarization = true
	}
	return answer, nil
}

// request is the user's message of a call.
func (t *agentTool) request(args map[string]any) (*genai.Content, error) {
	if in := t.inputSchema(); in != nil {
		checker, err := schema.Compile(in)
		if err != nil {
			return nil, fmt.Errorf("InputSchema: %w", err)
		}
		encoded, err := json.Marshal(args)
		if err != nil {
			return nil, err
		}
		if err := checker.CheckJSON(encoded); err != nil {
			return nil, fmt.Errorf("the arguments do not fit: %w", err)
		}
		return genai.NewContentFromText(string(encoded), genai.RoleUser), nil
	}
	text, ok := args["request"].(string)
	if !ok || text == "" {
		return nil, errors.New(`the argument "request", a text, is missing`)
	}
	return genai.NewContentFromText(text, genai.RoleUser), nil
}

// run runs the agent on request and returns its last event with content.
func (t *agentTool) run(ctx agent.Context, request *genai.Content) (last *session.Event, err error) {
	service := session.InMemoryService()
	state := map[string]any{}
	for key, value := range ctx.State().All() {
		state[key] = clone.Of(value)
	}
	created, err := service.Create(ctx, &session.CreateRequest{AppName: ctx.AppName(), UserID: ctx.UserID(), State: state})
	if err != nil {
		return nil, err
	}
	run := t.invocation(ctx, service, created.Session, request)
	message := session.NewEvent(run, run.InvocationID())
	message.Author = "user"
	message.Content = request
	if err := service.AppendEvent(run, run.Session(), message); err != nil {
		return nil, err
	}
	for event, err := range t.agent.Run(run) {
		if err != nil {
			return nil, err
		}
		if event == nil || event.Partial {
			continue
		}
		event.Actions.Compaction = nil // as the runner does: no agent makes a summary
		if err := service.AppendEvent(run, run.Session(), event); err != nil {
			return nil, err
		}
		if len(event.Actions.RequestedToolConfirmations) > 0 || len(event.Actions.RequestedAuthConfigs) > 0 {
			return nil, errors.New("it asked the user something, which an agent that is called as a tool cannot")
		}
		for key, value := range event.Actions.StateDelta {
			if err := ctx.State().Set(key, value); err != nil {
				return nil, err
			}
		}
		if event.Content != nil || event.ErrorCode != "" {
			last = event
		}
	}
	return last, ctx.Err()
}

// invocation is what the agent runs in.
func (t *agentTool) invocation(ctx agent.Context, service session.Service, s session.Session, request *genai.Content) agent.InvocationContext {
	config := *ctx.RunConfig()
	config.StreamingMode = agent.StreamingModeNone // nobody sees the pieces
	compactor := ctx.Invocation().Compactor()
	if compactor != nil {
		compactor = compactor.For(service) // a long run of tools is bounded here too
	}
	return agent.NewInvocationContext(context.Context(ctx), agent.InvocationParams{
		Compactor:    compactor,
		Agent:        t.agent,
		Session:      s,
		InvocationID: "e-" + platform.NewUUID(ctx),
		UserContent:  request,
		RunConfig:    config,

		ArtifactService: callersArtifacts{ctx.Artifacts()},
		MemoryService:   callersMemory{ctx.Memory()},
		Plugins:         ctx.Invocation().Plugins(),
	})
}

// answer is the last event as the caller's model is told it.
func (t *agentTool) answer(last *session.Event) (map[string]any, error) {
	if last == nil {
		return nil, errors.New("it did not answer")
	}
	text := ""
	if last.Content != nil {
		var b strings.Builder
		for _, part := range last.Content.Parts {
			switch {
			case part == nil || part.Thought:
			case part.FunctionResponse != nil:
				return part.FunctionResponse.Response, nil // a tool of it had the last word
			default:
				b.WriteString(part.Text)
			}
		}
		text = b.String()
	}
	if text == "" && last.ErrorCode != "" {
		return nil, fmt.Errorf("%s: %s", last.ErrorCode, last.ErrorMessage)
	}
	out := t.outputSchema()
	if out == nil {
		return map[string]any{"result": text}, nil
	}
	checker, err := schema.Compile(out)
	if err != nil {
		return nil, fmt.Errorf("OutputSchema: %w", err)
	}
	if err := checker.CheckJSON([]byte(text)); err != nil {
		return nil, fmt.Errorf("its answer does not fit its OutputSchema: %w", err)
	}
	var answer any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, err
	}
	if object, ok := answer.(map[string]any); ok {
		return object, nil
	}
	return map[string]any{"result": answer}, nil
}
