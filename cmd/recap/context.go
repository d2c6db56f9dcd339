package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"google.golang.org/genai"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/session"
)

// contextOptions are the flags of context.
type contextOptions struct {
	selection
	reader
	raw   bool
	short bool
	json  bool
}

// reader is for whom a prompt is built.
type reader struct {
	agent, branch, scope string
	maxToolOutput        int
}

func newContext() *cobra.Command {
	var o contextOptions
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Print what a model would be sent of a session now",
		Long: `Context prints the contents that an agent's model would be sent of a session if
it were called now, letter by letter, and how many tokens they have: of each, of
all, and of all without compaction. Tokens are counted with the tokenizer o200k.

The agent's instruction and tools are no part of a session, and not counted.

` + databaseHelp,
		Example: `  recap context chat.db
  recap context chat.db support-17 --agent billing --short
  recap context chat.db support-17 --raw --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	o.onSession(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.agent, "agent", "", "`name` of the agent (default: the one that spoke last)")
	flags.StringVar(&o.branch, "branch", "", "`path` of the agent's branch (default: the root)")
	flags.StringVar(&o.scope, "scope", "", "isolation `scope` of the agent")
	flags.IntVar(&o.maxToolOutput, "max-tool-output", 0, "show so many `tokens` of an older tool result, as Config.MaxToolOutput does")
	flags.BoolVar(&o.raw, "raw", false, "as it would be without compaction")
	flags.BoolVar(&o.short, "short", false, "the first line of each text")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// prompt is what a model is sent.
type prompt struct {
	Agent     string           `json:"agent"`
	Tokenizer string           `json:"tokenizer"`
	Compacted bool             `json:"compacted"`
	Contents  []countedContent `json:"contents"`
	// Tokens has the totals with and without compaction.
	Tokens struct {
		Raw       int `json:"raw"`
		Compacted int `json:"compacted"`
	} `json:"tokens"`
}

type countedContent struct {
	Tokens  int            `json:"tokens"`
	Content *genai.Content `json:"content"`
}

func (o *contextOptions) run(ctx context.Context, stdout io.Writer) (err error) {
	if o.maxToolOutput < 0 {
		return inputError{fmt.Errorf("--max-tool-output is %d; it must not be negative", o.maxToolOutput)}
	}
	d, s, err := o.find(ctx, reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(true)) }()
	events := slices.Collect(s.Events().All())
	p := o.reader.of(events).prompt(events, !o.raw)
	if o.json {
		return writeJSON(stdout, p)
	}
	screen := newScreen(stdout)
	o.print(screen, s, p)
	return screen.flush()
}

// of is the reader with the agent that spoke last where none is named.
func (r reader) of(events []*session.Event) reader {
	for _, e := range slices.Backward(events) {
		if r.agent == "" && e.Author != "user" && e.Branch == r.branch && e.IsolationScope == r.scope {
			r.agent = e.Author
		}
	}
	return r
}

// contents are what the model is sent of events.
func (r reader) contents(events []*session.Event, compacted bool) []*genai.Content {
	const perToken, recent = 4, 10 // as the compactor has it
	opts := icontext.Options{Agent: r.agent, Branch: r.branch, Scope: r.scope, Compacted: compacted}
	if compacted && r.maxToolOutput > 0 {
		opts.MaxToolOutput, opts.RecentEvents = r.maxToolOutput*perToken, recent
	}
	return icontext.Normalize(icontext.Contents(events, opts))
}

// size is the number of tokens that the model is sent of events.
func (r reader) size(counter *tokens.Counter, events []*session.Event) int {
	return counter.Request(r.contents(events, true), nil)
}

func (r reader) prompt(events []*session.Event, compacted bool) prompt {
	counter := tokens.New()
	p := prompt{Agent: r.agent, Tokenizer: tokens.Name, Compacted: compacted, Contents: []countedContent{}}
	for _, content := range r.contents(events, compacted) {
		p.Contents = append(p.Contents, countedContent{counter.Request([]*genai.Content{content}, nil), content})
	}
	p.Tokens.Compacted = r.size(counter, events)
	p.Tokens.Raw = counter.Request(r.contents(events, false), nil)
	return p
}

func (o *contextOptions) print(s *screen, log session.Session, p prompt) {
	how := "with compaction"
	if !p.Compacted {
		how = "without compaction"
	}
	who := "an agent"
	if p.Agent != "" {
		who = "agent " + p.Agent
	}
	s.printf("%s\n", s.look(bold, fmt.Sprintf("What %s is sent of session %s, %s", plain(who), plain(log.ID()), how)))
	for i, counted := range p.Contents {
		s.printf("\n%s\n", s.look(accent, fmt.Sprintf("%4d  %s, %s", i+1, counted.Content.Role, count(counted.Tokens, "token"))))
		for _, line := range logview.ContentLines(counted.Content) {
			lines := []string{short(line.String(), s.width-6)}
			if !o.short {
				lines = wrapped(line.String(), s.width-6)
			}
			for _, text := range lines {
				s.printf("      %s\n", text)
			}
		}
	}
	s.tell("\n%s", p.totals())
}

func (p prompt) totals() string {
	return fmt.Sprintf("%s, %s: %s with compaction, %s without (%s)", count(len(p.Contents), "content"), "tokens ("+p.Tokenizer+")",
		thousands(p.Tokens.Compacted), thousands(p.Tokens.Raw), percent(p.Tokens.Compacted, p.Tokens.Raw))
}
