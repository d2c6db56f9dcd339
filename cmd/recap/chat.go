package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/recall"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/mcptoolset"
	"github.com/recap-adk/recap/tool/recalltool"
)

// chatOptions are the flags of chat.
type chatOptions struct {
	db, session, app, user string
	model                  string
	instruction            string
	interval, overlap      int
	threshold              int
	mcp                    []string
	json                   bool
}

func newChat() *cobra.Command {
	var o chatOptions
	defaults := compaction.DefaultConfig()
	cmd := &cobra.Command{
		Use:   "chat DB [SESSION]",
		Short: "Talk to a model, in a session of a database",
		Long: `Chat reads what you say from standard input, a line at a time, and prints what
the model answers as it comes. All of it is in the session, compacted as you go.
DB and the session are created if they are not there; without SESSION a new one
is made.

While you talk: /context tells how large the prompt is, /compact summarizes now,
/undo takes the newest summary back, /recall finds what was summarized, /quit
ends. The model has a tool to recall it, too, and with --mcp those of a server
that speaks the Model Context Protocol, which it may call as it likes.

A model is one of

` + keyHelp() + `
  ` + echo + `             which needs no network, and says what you said

and without --model the first that there is a key for.

` + databaseHelp,
		Example: `  recap chat chat.db
  recap chat chat.db support-17 --model gemini:gemini-2.5-flash
  recap chat chat.db --mcp "notes-server --folder /srv/notes"
  echo 'Hello' | recap chat chat.db --model echo`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return inputError{errors.New("chat needs a database and, to go on with a session, its ID; see recap chat --help")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.db, o.session = args[0], ""
			if len(args) == 2 {
				o.session = args[1]
			}
			return o.run(cmd)
		},
	}
	cmd.ValidArgsFunction = completeSession(&o.app, &o.user)
	flags := cmd.Flags()
	flags.BoolVar(&o.json, "json", false, "print one JSON value a line: events as they come, and what commands tell")
	flags.StringVar(&o.app, "app", appName, "`name` of the application")
	flags.StringVar(&o.user, "user", userID, "`ID` of the user")
	flags.StringVar(&o.model, "model", "", modelForms(echo)+" (default: one that there is a key for)")
	flags.StringVar(&o.instruction, "instruction", "You are a helpful assistant.", "what the model is told first")
	flags.IntVar(&o.interval, "interval", defaults.CompactionInterval, "invocations newly in each summary")
	flags.IntVar(&o.overlap, "overlap", defaults.OverlapSize, "older invocations read again for it")
	flags.IntVar(&o.threshold, "threshold", 0, "tokens of a prompt at which older events are summarized at once; 0 is never")
	flags.StringArrayVar(&o.mcp, "mcp", nil, "`server` of tools: its URL, or the command that starts it, with words apart by spaces; may be repeated")
	return cmd
}

// chat is a conversation that goes on.
type chat struct {
	out, errs io.Writer
	prompted  bool // there is a person to prompt
	json      bool
	look      *screen
	service   session.Service
	runner    *runner.Runner
	compactor *compaction.Compactor // for what the runner has no method for
	db        string                // its name, for messages
	key       sessionName
	counter   *tokens.Counter
}

func (o *chatOptions) run(cmd *cobra.Command) (err error) {
	ctx, stdin := cmd.Context(), cmd.InOrStdin()
	llm, modelName, err := chatModel(ctx, o.model)
	if err != nil {
		return inputError{err}
	}
	cfg := &compaction.Config{CompactionInterval: o.interval, OverlapSize: o.overlap, TokenThreshold: o.threshold}
	if o.threshold > 0 {
		cfg.EventRetentionSize = 10
	}
	if err := cfg.Validate(); err != nil {
		return inputError{err}
	}
	cfg.Summarizer = compaction.ExtractiveSummarizer{}
	if modelName != echo {
		primary, err := compaction.NewLLMSummarizer(compaction.LLMSummarizerConfig{Model: llm})
		if err != nil {
			return inputError{err}
		}
		cfg.Summarizer = compaction.Fallback(primary, cfg.Summarizer)
	}
	toolsets, closeTools, err := mcpTools(o.mcp)
	if err != nil {
		return inputError{err}
	}
	defer func() { err = errors.Join(err, closeTools()) }()
	d, err := openDB(o.db, creating)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(true)) }()
	recalling, err := recalltool.New(recalltool.Config{SessionService: d.service})
	if err != nil {
		return err
	}
	assistant, err := llmagent.New(llmagent.Config{
		Name: "assistant", Model: llm, Tools: []tool.Tool{recalling}, Toolsets: toolsets,
		// No templating is applied to what a provider returns.
		InstructionProvider: func(agent.ReadonlyContext) (string, error) { return o.instruction, nil },
	})
	if err != nil {
		return err
	}
	c := &chat{out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), json: o.json, look: newScreen(cmd.OutOrStdout()), service: d.service, db: d.name, counter: tokens.New(),
		key: sessionName{o.app, o.user, cmp.Or(o.session, "chat-"+uuid.NewString()[:8])}}
	if c.runner, err = runner.New(runner.Config{AppName: o.app, Agent: assistant, SessionService: d.service, CompactionConfig: cfg}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	if c.compactor, err = compaction.NewCompactor(cfg, d.service); err != nil {
		return err
	}
	if err := c.begin(ctx, modelName, o.model == ""); err != nil {
		return err
	}
	if file, ok := stdin.(*os.File); ok {
		c.prompted = isTerminal(file) && !o.json
	}
	return c.loop(ctx, stdin)
}

// mcpTools are the tools of servers, and what ends the servers.
func mcpTools(servers []string) (toolsets []tool.Toolset, end func() error, err error) {
	end = func() (err error) {
		for _, set := range toolsets {
			if closer, ok := set.(io.Closer); ok {
				err = errors.Join(err, closer.Close())
			}
		}
		return err
	}
	for _, server := range servers {
		var cfg mcptoolset.Config
		words := strings.Fields(server)
		switch {
		case len(words) == 0:
			return nil, nil, errors.New("--mcp is empty; it must be a URL, or a command")
		case strings.HasPrefix(server, "http://"), strings.HasPrefix(server, "https://"):
			cfg.Endpoint = server
		default:
			if _, err := exec.LookPath(words[0]); err != nil {
				return nil, nil, fmt.Errorf("--mcp: %w", err)
			}
			cfg.Transport = &mcp.CommandTransport{Command: exec.Command(words[0], words[1:]...)}
		}
		set, err := mcptoolset.New(cfg)
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		toolsets = append(toolsets, set)
	}
	return toolsets, end, nil
}

// patience is how long the end of a chat waits for a summary that is under way.
const patience = 10 * time.Second

func (c *chat) close(ctx context.Context) error {
	if ctx.Err() == nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, patience)
		defer stop()
	}
	// An interrupt, or an end of patience, leaves a summary unmade: no harm.
	if err := c.runner.Close(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// begin reads the session, or creates it, and says what there is.
func (c *chat) begin(ctx context.Context, modelName string, chosen bool) error {
	events, state := 0, "new"
	s, err := c.read(ctx)
	switch {
	case errors.Is(err, session.ErrNotFound):
		_, err = c.service.Create(ctx, &session.CreateRequest{AppName: c.key.AppName, UserID: c.key.UserID, SessionID: c.key.ID})
	case err == nil:
		events = s.Events().Len()
		state = count(events, "event")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.db, err)
	}
	if c.json {
		return nil
	}
	c.look.tell("Session %s in %s (%s), model %s. /quit ends, /help tells more.", c.key.ID, c.db, state, modelName)
	if modelName == echo && chosen {
		var keys []string
		for _, p := range providers {
			keys = append(keys, p.keys...)
		}
		c.look.tell("There is no API key (%s), so this is the offline model echo: it says what you said.", strings.Join(keys, ", "))
	}
	return c.look.flush()
}

func (c *chat) read(ctx context.Context) (session.Session, error) {
	got, err := c.service.Get(ctx, &session.GetRequest{AppName: c.key.AppName, UserID: c.key.UserID, SessionID: c.key.ID})
	if err != nil {
		return nil, err
	}
	return got.Session, nil
}

// line is one that was read, or the error at which reading ended.
type line struct {
	text string
	err  error
}

// lines reads lines, each when it is asked for. A read from a terminal cannot be
// cut short, so the goroutine may outlive the chat, but not this process.
func lines(in io.Reader) (next chan<- struct{}, got <-chan line) {
	ask, answers := make(chan struct{}), make(chan line, 1)
	go func() {
		reader := bufio.NewReader(in)
		for range ask {
			text, err := reader.ReadString('\n')
			if text != "" {
				err = nil
			}
			answers <- line{strings.TrimSpace(text), err}
		}
	}()
	return ask, answers
}

func (c *chat) loop(ctx context.Context, stdin io.Reader) error {
	next, got := lines(stdin)
	defer close(next)
	for {
		if c.prompted {
			fmt.Fprint(c.out, c.look.look(bold, "\nyou> "))
		}
		next <- struct{}{}
		var said line
		select {
		case <-ctx.Done():
			return c.left()
		case said = <-got:
		}
		switch {
		case errors.Is(said.err, io.EOF), said.text == "/quit", said.text == "/exit":
			return nil
		case said.err != nil:
			return said.err
		case said.text == "":
			continue
		case strings.HasPrefix(said.text, "/"):
			c.command(ctx, said.text)
		default:
			c.say(ctx, said.text)
		}
		if ctx.Err() != nil {
			return c.left()
		}
	}
}

// left says where the session is, after an interrupt. The answer that was under
// way is not in it; everything before is.
func (c *chat) left() error {
	if c.prompted {
		fmt.Fprintln(c.out)
	}
	return context.Canceled
}

// say has the model answer and prints the answer as it comes. An error ends the
// answer and not the chat.
func (c *chat) say(ctx context.Context, text string) {
	if c.prompted {
		fmt.Fprint(c.out, c.look.look(accent, "\nassistant> "))
	}
	streamed, atStart := false, true
	message := genai.NewContentFromText(text, genai.RoleUser)
	for e, err := range c.runner.Run(ctx, c.key.UserID, c.key.ID, message, agent.RunConfig{StreamingMode: agent.StreamingModeSSE}) {
		if err != nil {
			if ctx.Err() == nil {
				c.complain(err)
			}
			return
		}
		if c.json {
			if err := c.print(e, nil); err != nil {
				c.complain(err)
				return
			}
			continue
		}
		if e.ErrorCode != "" || e.ErrorMessage != "" {
			c.complain(errors.New(strings.TrimSpace(e.ErrorCode + " " + e.ErrorMessage)))
		}
		if e.Content == nil {
			continue
		}
		for _, part := range e.Content.Parts {
			switch {
			case part == nil || part.Thought:
			case part.FunctionCall != nil && !e.Partial:
				c.called(part.FunctionCall, &atStart)
			case part.Text != "" && (e.Partial || !streamed): // else it was printed in pieces
				fmt.Fprint(c.out, plain(part.Text))
				atStart = strings.HasSuffix(part.Text, "\n")
			}
		}
		streamed = e.Partial
	}
	if !c.json {
		fmt.Fprintln(c.out)
	}
}

// called tells of a tool that is called, on a line of its own.
func (c *chat) called(call *genai.FunctionCall, atStart *bool) {
	if !*atStart || c.prompted {
		fmt.Fprintln(c.out)
	}
	args, err := json.Marshal(call.Args)
	if err != nil {
		args = []byte("?")
	}
	text := short(fmt.Sprintf("[%s %s]", call.Name, args), c.look.width)
	fmt.Fprintln(c.out, c.look.look(dim, text))
	*atStart = true
}

// print prints a value as a line of JSON, or for people.
func (c *chat) print(v any, forPeople func(*screen)) error {
	if !c.json {
		forPeople(c.look)
		return c.look.flush()
	}
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s\n", line)
	return err
}

func (c *chat) complain(err error) {
	fmt.Fprintf(c.errs, "recap: %s\n", oneLine(plain(err.Error())))
}

func (c *chat) command(ctx context.Context, text string) {
	var err error
	name, words, _ := strings.Cut(text, " ")
	switch name {
	case "/context":
		err = c.context(ctx)
	case "/compact":
		err = c.compact(ctx)
	case "/undo":
		err = c.undo(ctx)
	case "/recall":
		err = c.recall(ctx, words)
	case "/help":
		fmt.Fprint(c.out, "/context       how large the prompt is\n/compact       summarize now\n/undo          take the newest summary back\n"+
			"/recall WORDS  find what was summarized\n/quit          end\n")
	default:
		err = fmt.Errorf("there is no %s; /help tells what there is", name)
	}
	if err != nil && ctx.Err() == nil {
		c.complain(err)
	}
}

func (c *chat) context(ctx context.Context) error {
	s, err := c.read(ctx)
	if err != nil {
		return err
	}
	var events []*session.Event
	for e := range s.Events().All() {
		events = append(events, e)
	}
	p := reader{agent: "assistant"}.prompt(events, true)
	return c.print(p, func(s *screen) { s.tell("%s", p.totals()) })
}

func (c *chat) recall(ctx context.Context, words string) error {
	if strings.TrimSpace(words) == "" {
		return errors.New("/recall needs words to look for")
	}
	found, err := recalled(ctx, c.service, c.key, recall.Request{Arguments: recall.Arguments{Query: words}})
	if err != nil {
		return err
	}
	return c.print(found, func(s *screen) { found.print(s, c.db) })
}

// compact and undo first wait for a summary that is under way.

func (c *chat) compact(ctx context.Context) error {
	if err := c.runner.Flush(ctx); err != nil {
		return err
	}
	s, err := c.read(ctx)
	if err != nil {
		return err
	}
	stop := waiting(c.errs, "summarizing", c.json)
	result, err := compactAll(ctx, c.compactor, c.service, s, c.counter)
	stop()
	if err != nil {
		return err
	}
	if result.Outcome == compaction.Failed || result.Outcome == compaction.Superseded {
		return fmt.Errorf("compaction %s: %s", result.Outcome, result.Reason)
	}
	return c.print(result, result.print)
}

func (c *chat) undo(ctx context.Context) error {
	if err := c.runner.Flush(ctx); err != nil {
		return err
	}
	s, err := c.read(ctx)
	if err != nil {
		return err
	}
	result, err := undo(ctx, c.service, s)
	if err != nil {
		return err
	}
	return c.print(result, result.print)
}
