// Package llmagent has the agent that a language model drives.
//
//	weather, err := functiontool.New(functiontool.Config{
//		Name: "weather", Description: "Tells the weather in a city.",
//	}, func(ctx agent.Context, in struct{ City string }) (string, error) {
//		return "sunny in " + in.City, nil
//	})
//	a, err := llmagent.New(llmagent.Config{
//		Name:        "guide",
//		Model:       llm,
//		Instruction: "You guide visitors. Today is {today}.",
//		Tools:       []tool.Tool{weather},
//	})
//
// For each message of the user the agent calls the model with its instruction,
// its tools and the conversation; runs the tools that the model calls, those
// of one response at the same time; and goes on until the model answers
// without calling one. Every response and every round of tool results is an
// event. What goes wrong in a tool is told to the model. A run waits for its
// tools: they must return when their context ends.
//
// In an instruction {key} stands for the value of that key in the session's
// state, {artifact.name} for the text of that file, and {key?} for nothing if
// there is none.
//
// # Several agents
//
// An agent with sub-agents may hand the conversation over: it is told of the
// agents below it, above it and beside it, and of a tool transfer_to_agent.
// The agent that spoke last goes on when the user answers.
//
//	root, err := llmagent.New(llmagent.Config{
//		Name: "desk", Model: llm, SubAgents: []agent.Agent{booking, complaints},
//	})
//
// A sub-agent of ModeSingleTurn or ModeTask is called like a tool instead. It
// sees the request and its own events only. A task may put questions to the
// user: until it is finished, the user's messages are for it.
//
// # Structured answers
//
// With OutputSchema the final answer is JSON that fits the schema. Where the
// agent has tools it answers through one more, set_model_response; arguments of
// it that do not fit are refused and the model told why.
//
// # Tools that ask
//
// A tool that calls ctx.RequestConfirmation puts a question to the user: a call
// named adk_request_confirmation, which the client answers in its next message
// with a function response {"confirmed": true}. Then the tool runs again and
// finds the answer in ctx.ToolConfirmation.
package llmagent

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
)

// IncludeContents says how much of the conversation the model is sent.
type IncludeContents string

const (
	// IncludeContentsDefault sends the conversation.
	IncludeContentsDefault IncludeContents = "default"
	// IncludeContentsNone sends the current turn only.
	IncludeContentsNone IncludeContents = "none"
)

// Callbacks around the calls of the model and of tools. Of each list they run
// in order until one returns a value or an error. Those around tools run for
// the calls of one response at the same time.
type (
	// BeforeModelCallback may change the request. A response that it returns
	// is used in place of the model's.
	BeforeModelCallback func(ctx agent.Context, llmRequest *model.LLMRequest) (*model.LLMResponse, error)
	// AfterModelCallback may replace a response. When streaming it runs for
	// every piece.
	AfterModelCallback func(ctx agent.Context, llmResponse *model.LLMResponse, llmResponseError error) (*model.LLMResponse, error)
	// OnModelErrorCallback may answer in place of a model that failed.
	OnModelErrorCallback func(ctx agent.Context, llmRequest *model.LLMRequest, llmResponseError error) (*model.LLMResponse, error)
	// BeforeToolCallback may change the arguments. A result that it returns is
	// used in place of the tool's.
	BeforeToolCallback func(ctx agent.Context, tool tool.Tool, args map[string]any) (map[string]any, error)
	// AfterToolCallback may replace a result.
	AfterToolCallback func(ctx agent.Context, tool tool.Tool, args, result map[string]any, err error) (map[string]any, error)
	// OnToolErrorCallback may answer in place of a tool that failed.
	OnToolErrorCallback func(ctx agent.Context, tool tool.Tool, args map[string]any, err error) (map[string]any, error)
)

// InstructionProvider makes an instruction for a run. No templating is applied
// to what it returns: package instructionutil does that.
type InstructionProvider func(ctx agent.ReadonlyContext) (string, error)

// Config describes an agent. Name and Model must be set.
type Config struct {
	Name                 string
	Description          string
	SubAgents            []agent.Agent
	BeforeAgentCallbacks []agent.BeforeAgentCallback
	AfterAgentCallbacks  []agent.AfterAgentCallback

	Model model.LLM
	// GenerateContentConfig gives the model parameters. Instructions and tools
	// are added to it, for each call anew.
	GenerateContentConfig *genai.GenerateContentConfig
	BeforeModelCallbacks  []BeforeModelCallback
	AfterModelCallbacks   []AfterModelCallback
	OnModelErrorCallbacks []OnModelErrorCallback

	// Instruction tells the model what to do. See the package comment for the
	// templating. Where there is a provider it is not used.
	Instruction         string
	InstructionProvider InstructionProvider
	// GlobalInstruction stands before the Instruction of all agents below a
	// root agent; that of any other agent has no effect.
	GlobalInstruction         string
	GlobalInstructionProvider InstructionProvider
	IncludeContents           IncludeContents

	// DisallowTransferToParent and DisallowTransferToPeers keep the agent from
	// handing over to the agent above it, and to those beside it. An agent that
	// must not hand over to its parent does not go on with the next message of
	// the user: the root agent does.
	DisallowTransferToParent bool
	DisallowTransferToPeers  bool

	// InputSchema is what the agent takes where it is called as a tool.
	InputSchema *genai.Schema
	// OutputSchema is what the final answer must fit: an answer that does not
	// ends the run with ErrInvalidOutput.
	OutputSchema *genai.Schema

	Tools    []tool.Tool
	Toolsets []tool.Toolset
	// ToolTimeout ends the context of a tool that takes longer, and the model
	// is told so. A tool that does not heed its context is waited for. Zero is
	// no bound but that of the run.
	ToolTimeout          time.Duration
	BeforeToolCallbacks  []BeforeToolCallback
	AfterToolCallbacks   []AfterToolCallback
	OnToolErrorCallbacks []OnToolErrorCallback

	// OutputKey, if set, is the state key under which the text of the final
	// answer is stored.
	OutputKey string

	// Mode says how the agent right above this one uses it. The root agent is
	// a chat agent.
	Mode Mode
}

// New returns the agent that cfg describes.
func New(cfg Config) (agent.Agent, error) {
	if cfg.Model == nil {
		return nil, fmt.Errorf("llmagent %q: Model must be set", cfg.Name)
	}
	if c := cfg.IncludeContents; c != "" && c != IncludeContentsDefault && c != IncludeContentsNone {
		return nil, fmt.Errorf("llmagent %q: IncludeContents is %q", cfg.Name, c)
	}
	if m := cfg.Mode; !slices.Contains([]Mode{ModeUnset, ModeChat, ModeTask, ModeSingleTurn}, m) {
		return nil, fmt.Errorf("llmagent %q: Mode is %q", cfg.Name, m)
	}
	cfg.Tools = slices.Clone(cfg.Tools)
	if _, err := toolsByName(cfg.Tools); err != nil {
		return nil, fmt.Errorf("llmagent %q: %w", cfg.Name, err)
	}
	cfg.GenerateContentConfig = clone.Of(cfg.GenerateContentConfig)

	f, err := newFlow(cfg)
	if err != nil {
		return nil, fmt.Errorf("llmagent %q: %w", cfg.Name, err)
	}
	a := &llmAgent{cfg: cfg}
	base, err := agent.New(agent.Config{
		Name:                 cfg.Name,
		Description:          cfg.Description,
		SubAgents:            cfg.SubAgents,
		BeforeAgentCallbacks: cfg.BeforeAgentCallbacks,
		AfterAgentCallbacks:  cfg.AfterAgentCallbacks,
		Run:                  f.run,
	})
	if err != nil {
		return nil, err
	}
	a.Agent = base
	return a, nil
}

type llmAgent struct {
	agent.Agent
	cfg Config
}

// Run runs the agent as itself, not as the agent that it is made of.
func (a *llmAgent) Run(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
	var self agent.Agent = a
	return a.Agent.Run(ctx.WithICDelta(&agent.InvocationContextDelta{Agent: &self}))
}

// FindAgent finds this agent as itself.
func (a *llmAgent) FindAgent(name string) agent.Agent {
	if name == a.cfg.Name {
		return a
	}
	return a.FindSubAgent(name)
}

// Model is the model that drives the agent. The runner makes the default
// summarizer from it.
func (a *llmAgent) Model() model.LLM { return a.cfg.Model }

// GenerateContentConfig are the parameters of the model, not to be changed.
func (a *llmAgent) GenerateContentConfig() *genai.GenerateContentConfig {
	return a.cfg.GenerateContentConfig
}

// InputSchema is what the agent takes where it is called as a tool, not to be
// changed; nil is any text.
func (a *llmAgent) InputSchema() *genai.Schema { return a.cfg.InputSchema }

// OutputSchema is what its answers fit, not to be changed; nil is any text.
func (a *llmAgent) OutputSchema() *genai.Schema { return a.cfg.OutputSchema }

// Mode is how the agent above it uses it.
func (a *llmAgent) Mode() Mode { return a.cfg.Mode }

// TransfersToParent reports whether it may hand over to the agent above it. An
// agent without this method cannot hand over to others.
func (a *llmAgent) TransfersToParent() bool { return !a.cfg.DisallowTransferToParent }

// asLLM is a as an agent of this package, or nil.
func asLLM(a agent.Agent) *llmAgent {
	llm, _ := a.(*llmAgent)
	return llm
}

// toolsByName refuses what a model could not tell apart or the flow not use.
func toolsByName(tools []tool.Tool) (map[string]tool.Tool, error) {
	byName := make(map[string]tool.Tool, len(tools))
	for i, t := range tools {
		switch {
		case t == nil:
			return nil, fmt.Errorf("tool %d is nil", i)
		case t.Name() == "":
			return nil, fmt.Errorf("tool %d has no name", i)
		case byName[t.Name()] != nil:
			return nil, fmt.Errorf("two tools are named %q", t.Name())
		}
		_, isFunction := t.(tool.Function)
		_, isProcessor := t.(tool.RequestProcessor)
		if !isFunction && !isProcessor {
			return nil, fmt.Errorf("tool %q is neither a tool.Function nor a tool.RequestProcessor", t.Name())
		}
		byName[t.Name()] = t
	}
	return byName, nil
}
