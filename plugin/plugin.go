// Package plugin makes plugins: callbacks that take part in every run of a
// runner, in all of its agents, for what is the same everywhere, such as
// logging, redaction, limits and caches.
//
//	audit, err := plugin.New(plugin.Config{
//		Name: "audit",
//		BeforeToolCallback: func(ctx agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
//			log.Println(ctx.UserID(), "calls", t.Name())
//			return nil, nil
//		},
//	})
//	r, err := runner.New(runner.Config{
//		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{audit}},
//		...
//	})
//
// In a run the callbacks come in this order; those around agents, models and
// tools as often as these run:
//
//	OnUserMessage   the user's message, before it is stored
//	BeforeRun
//	  BeforeAgent
//	    BeforeModel   AfterModel   OnModelError
//	    BeforeTool    AfterTool    OnToolError
//	  AfterAgent
//	  OnEvent       each event, before it is stored and yielded
//	AfterRun        also where the run failed or its consumer stopped
//
// The plugins of a runner are asked in the order in which they were given, and
// before the callbacks of an agent. The first that returns a value other than
// nil, or an error, has decided: nobody after it is asked. Whoever returns nil
// may have changed what it was given.
//
// Many runs, and the tools of one response, run at the same time, so callbacks
// must be safe for concurrent use.
package plugin

import (
	"errors"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/session"
)

// OnUserMessageCallback may replace the user's message. An error ends the run
// before anything is stored.
type OnUserMessageCallback func(agent.InvocationContext, *genai.Content) (*genai.Content, error)

// BeforeRunCallback runs when the user's message is stored. Content that it
// returns is the answer, and the agent does not run.
type BeforeRunCallback func(agent.InvocationContext) (*genai.Content, error)

// AfterRunCallback runs when the run is over.
type AfterRunCallback func(agent.InvocationContext)

// OnEventCallback may replace an event, or change it in place, before it is
// stored and yielded. An error ends the run, and the event is not stored.
//
// It is also given each summary that compaction is about to store, as an event
// whose text is in Actions.Compaction.CompactedContent. That text it may
// change, such as to redact it; nothing else of a record, and it can neither
// make nor remove one.
type OnEventCallback func(agent.InvocationContext, *session.Event) (*session.Event, error)

// Config is what a plugin is made of. Every callback may be nil.
type Config struct {
	// Name must be set, and is unique among the plugins of a runner.
	Name string

	OnUserMessageCallback OnUserMessageCallback
	OnEventCallback       OnEventCallback
	BeforeRunCallback     BeforeRunCallback
	AfterRunCallback      AfterRunCallback

	BeforeAgentCallback agent.BeforeAgentCallback
	AfterAgentCallback  agent.AfterAgentCallback

	BeforeModelCallback  llmagent.BeforeModelCallback
	AfterModelCallback   llmagent.AfterModelCallback
	OnModelErrorCallback llmagent.OnModelErrorCallback

	BeforeToolCallback  llmagent.BeforeToolCallback
	AfterToolCallback   llmagent.AfterToolCallback
	OnToolErrorCallback llmagent.OnToolErrorCallback

	// CloseFunc is called once, by Runner.Close.
	CloseFunc func() error
}

// Plugin takes part in runs. It does not change.
type Plugin struct{ cfg Config }

// New returns the plugin that cfg describes. It fails if there is no name.
func New(cfg Config) (*Plugin, error) {
	if cfg.Name == "" {
		return nil, errors.New("plugin: Name must be set")
	}
	return &Plugin{cfg}, nil
}

// Name is the plugin's name.
func (p *Plugin) Name() string { return p.cfg.Name }

// Close calls the CloseFunc.
func (p *Plugin) Close() error {
	if p.cfg.CloseFunc == nil {
		return nil
	}
	return p.cfg.CloseFunc()
}

// OnUserMessageCallback is the one of the Config, or nil. So are all below.
func (p *Plugin) OnUserMessageCallback() OnUserMessageCallback { return p.cfg.OnUserMessageCallback }

// OnEventCallback is the one of the Config.
func (p *Plugin) OnEventCallback() OnEventCallback { return p.cfg.OnEventCallback }

// BeforeRunCallback is the one of the Config.
func (p *Plugin) BeforeRunCallback() BeforeRunCallback { return p.cfg.BeforeRunCallback }

// AfterRunCallback is the one of the Config.
func (p *Plugin) AfterRunCallback() AfterRunCallback { return p.cfg.AfterRunCallback }

// BeforeAgentCallback is the one of the Config.
func (p *Plugin) BeforeAgentCallback() agent.BeforeAgentCallback { return p.cfg.BeforeAgentCallback }

// AfterAgentCallback is the one of the Config.
func (p *Plugin) AfterAgentCallback() agent.AfterAgentCallback { return p.cfg.AfterAgentCallback }

// BeforeModelCallback is the one of the Config.
func (p *Plugin) BeforeModelCallback() llmagent.BeforeModelCallback { return p.cfg.BeforeModelCallback }

// AfterModelCallback is the one of the Config.
func (p *Plugin) AfterModelCallback() llmagent.AfterModelCallback { return p.cfg.AfterModelCallback }

// OnModelErrorCallback is the one of the Config.
func (p *Plugin) OnModelErrorCallback() llmagent.OnModelErrorCallback {
	return p.cfg.OnModelErrorCallback
}

// BeforeToolCallback is the one of the Config.
func (p *Plugin) BeforeToolCallback() llmagent.BeforeToolCallback { return p.cfg.BeforeToolCallback }

// AfterToolCallback is the one of the Config.
func (p *Plugin) AfterToolCallback() llmagent.AfterToolCallback { return p.cfg.AfterToolCallback }

// OnToolErrorCallback is the one of the Config.
func (p *Plugin) OnToolErrorCallback() llmagent.OnToolErrorCallback { return p.cfg.OnToolErrorCallback }
