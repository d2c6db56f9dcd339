// Package launcher is what a program needs to offer its agents to a person in
// a terminal, with one line in main:
//
//	config := &launcher.Config{AgentLoader: agent.NewSingleLoader(assistant)}
//	l := full.NewLauncher()
//	if err := l.Execute(ctx, config, os.Args[1:]); err != nil {
//		log.Fatalf("%v\n\n%s", err, l.CommandLineSyntax())
//	}
//
// A Launcher takes the command line; a SubLauncher is one way to run, chosen by
// the keyword that the command line begins with. Package console has the
// conversation in a terminal, package universal makes a Launcher of
// SubLaunchers, and package full is the one to start with.
//
// The Config says what is run, and is the same for all of them. Validate tells
// before the first message whether it can be.
package launcher

import (
	"context"
	"errors"
	"fmt"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/memory"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/telemetry"
)

// Launcher runs what a command line asks for.
type Launcher interface {
	// Execute takes args, the command line without the program's name, and
	// returns when what it started is over, or ctx is done.
	Execute(ctx context.Context, config *Config, args []string) error
	// CommandLineSyntax is a text for people that says what args may be.
	CommandLineSyntax() string
}

// SubLauncher is one way to run agents.
type SubLauncher interface {
	// Keyword is the first argument, which chooses this way.
	Keyword() string
	// Parse takes the arguments behind the keyword and returns those that it
	// leaves to others. It is called before Run.
	Parse(args []string) ([]string, error)
	// CommandLineSyntax is a text for people that says what Parse takes.
	CommandLineSyntax() string
	// SimpleDescription is one line.
	SimpleDescription() string
	// Run returns when it is over, or ctx is done.
	Run(ctx context.Context, config *Config) error
}

// Config says what is run. AgentLoader must be set.
type Config struct {
	// SessionService keeps the conversations; nil keeps them while the program
	// runs.
	SessionService session.Service
	// ArtifactService and MemoryService may be nil: then there are no files,
	// and nothing is remembered across sessions.
	ArtifactService artifact.Service
	MemoryService   memory.Service
	AgentLoader     agent.Loader
	// PluginConfig are the plugins that take part in every run.
	PluginConfig runner.PluginConfig
	// TelemetryOptions say where spans go. Without any, the program's global
	// TracerProvider stays as it is.
	TelemetryOptions []telemetry.Option
	// CompactionConfig turns compaction on, for all agents; nil is off.
	CompactionConfig *compaction.Config
}

// RunnerConfig is how the agent of a name is run, the root agent for "". The
// agent's name is the name of the application.
func (c *Config) RunnerConfig(name string) (runner.Config, error) {
	if c.AgentLoader == nil {
		return runner.Config{}, errors.New("launcher: AgentLoader must be set")
	}
	a, err := c.AgentLoader.LoadAgent(name)
	if err != nil {
		return runner.Config{}, fmt.Errorf("launcher: %w", err)
	}
	if a == nil {
		return runner.Config{}, fmt.Errorf("launcher: the agent %q that AgentLoader has is nil", name)
	}
	sessions := c.SessionService
	if sessions == nil {
		sessions = session.InMemoryService()
	}
	return runner.Config{
		AppName:           a.Name(),
		Agent:             a,
		SessionService:    sessions,
		ArtifactService:   c.ArtifactService,
		MemoryService:     c.MemoryService,
		PluginConfig:      c.PluginConfig,
		AutoCreateSession: true,
		CompactionConfig:  c.CompactionConfig,
	}, nil
}

// Validate returns what is wrong with the config: for each agent, whether a
// runner can be made of it. Nothing is run, stored or closed.
func (c *Config) Validate() error {
	if c == nil {
		return errors.New("launcher: the config is nil")
	}
	if c.AgentLoader == nil {
		return errors.New("launcher: AgentLoader must be set")
	}
	names := c.AgentLoader.ListAgents()
	if len(names) == 0 {
		return errors.New("launcher: AgentLoader has no agents")
	}
	var errs []error
	for _, name := range names {
		cfg, err := c.RunnerConfig(name)
		if err == nil {
			// The runner is not closed, as that would close the plugins.
			_, err = runner.New(cfg)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("agent %q: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
