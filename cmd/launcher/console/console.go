// Package console is a conversation with an agent in the terminal.
//
//	l := universal.NewLauncher(console.NewLauncher())
//	err := l.Execute(ctx, config, os.Args[1:])
//
// A line that is typed is a message. The answer is shown as it comes, with the
// calls of tools and what they gave. Where a tool needs consent the question is
// put, and answered with yes or no; a call whose answer comes later, from a
// person, is answered by a text, or by an object in JSON. What goes wrong in a
// turn is shown, and the conversation goes on.
//
// The line "/quit", the end of the input (Ctrl-D) and Ctrl-C end it; so does
// the end of the context. Then the turn that is under way is canceled, the
// compactions that were started get a few seconds, and Run returns nil.
package console

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/telemetry"
)

// closeTimeout is how long the end may wait for compactions, plugins and spans.
const closeTimeout = 10 * time.Second

// NewLauncher returns the launcher, whose keyword is "console". It reads
// standard input and writes standard output.
//
// A read of a terminal cannot be broken off: the goroutine that reads is waited
// for where standard input is a pipe that has deadlines, and else ends with the
// program.
func NewLauncher() launcher.SubLauncher {
	c := &console{flags: flag.NewFlagSet("console", flag.ContinueOnError)}
	c.flags.SetOutput(io.Discard) // the error says it
	c.flags.StringVar(&c.streaming, "streaming_mode", string(agent.StreamingModeSSE), "show answers in pieces (sse) or when they are whole (none)")
	c.flags.StringVar(&c.agent, "agent", "", "the `name` of the agent to talk to; default: the root agent")
	c.flags.StringVar(&c.user, "user", "console_user", "the `ID` of the user")
	c.flags.StringVar(&c.session, "session", "", "the `ID` of the session to go on with, or to begin; default: a new one")
	return c
}

type console struct {
	flags                           *flag.FlagSet
	streaming, agent, user, session string
}

func (c *console) Keyword() string           { return "console" }
func (c *console) SimpleDescription() string { return "a conversation in the terminal" }

func (c *console) CommandLineSyntax() string {
	var b strings.Builder
	c.flags.SetOutput(&b)
	defer c.flags.SetOutput(io.Discard)
	c.flags.PrintDefaults()
	return b.String()
}

func (c *console) Parse(args []string) ([]string, error) {
	if err := c.flags.Parse(args); err != nil {
		return nil, err
	}
	switch agent.StreamingMode(c.streaming) {
	case agent.StreamingModeSSE, agent.StreamingModeNone:
		return c.flags.Args(), nil
	}
	return nil, fmt.Errorf("-streaming_mode is %q; it must be sse or none", c.streaming)
}

func (c *console) Run(ctx context.Context, config *launcher.Config) (err error) {
	if config == nil {
		return errors.New("console: the config is nil")
	}
	cfg, err := config.RunnerConfig(c.agent)
	if err != nil {
		return err
	}
	r, err := runner.New(cfg)
	if err != nil {
		return err
	}
	providers, err := telemetry.New(ctx, config.TelemetryOptions...)
	if err != nil {
		return errors.Join(err, r.Close(ctx))
	}
	providers.SetGlobalOtelProviders()

	inner, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(inner, stop) // a second Ctrl-C ends the program at once
	defer func() {
		stop()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, r.Close(ending), providers.Shutdown(ending))
	}()

	input := newLines(os.Stdin)
	defer input.close()
	if c.session == "" {
		c.session = platform.NewUUID(ctx)
	}
	t := &talk{
		runner: r, user: c.user, session: c.session,
		config: agent.RunConfig{StreamingMode: agent.StreamingMode(c.streaming)},
		input:  input, screen: &screen{out: os.Stdout},
	}
	t.screen.line(fmt.Sprintf("Talking to %s in session %s. /quit or Ctrl-D ends it.", cfg.Agent.Name(), c.session))
	return t.run(inner)
}
