package console_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/agent/workflowagents/parallelagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/console"
	"github.com/recap-adk/recap/cmd/launcher/universal"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// genai links OpenCensus, which has a goroutine for as long as the program runs.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		// So has the package that passes signals on.
		goleak.IgnoreTopFunction("os/signal.signal_recv"),
	)
}

// terminal stands in for standard input and output until the test ends.
type terminal struct {
	tb         testing.TB
	in, out    *os.File // what is typed into and read from
	theirs     [2]*os.File
	seen       string
	unexpected string // of that, what comes behind what was expected last
}

func newTerminal(tb testing.TB) *terminal {
	tb.Helper()
	inRead, in, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, outWrite, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdin, stdout := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = inRead, outWrite
	tb.Cleanup(func() {
		os.Stdin, os.Stdout = stdin, stdout
		for _, f := range []*os.File{inRead, in, out, outWrite} {
			_ = f.Close()
		}
	})
	return &terminal{tb: tb, in: in, out: out, theirs: [2]*os.File{inRead, outWrite}}
}

func (t *terminal) write(text string) {
	if _, err := io.WriteString(t.in, text); err != nil {
		t.tb.Error(err)
	}
}

// expect reads until text was shown.
func (t *terminal) expect(text string) {
	t.tb.Helper()
	buffer := make([]byte, 1024)
	for !strings.Contains(t.unexpected, text) {
		n, err := t.out.Read(buffer)
		if err != nil {
			t.tb.Fatalf("waiting for %q: %v; seen:\n%s", text, err, t.seen)
		}
		t.seen += string(buffer[:n])
		t.unexpected += string(buffer[:n])
	}
	_, t.unexpected, _ = strings.Cut(t.unexpected, text)
}

// converse runs the console on what is typed and returns what it shows.
func converse(tb testing.TB, config *launcher.Config, args []string, typed string) (string, error) {
	tb.Helper()
	terminal := newTerminal(tb)
	go func() {
		terminal.write(typed)
		_ = terminal.in.Close()
	}()
	shown := make(chan string)
	go func() {
		data, _ := io.ReadAll(terminal.out)
		shown <- string(data)
	}()
	err := universal.NewLauncher(console.NewLauncher()).Execute(tb.Context(), config, append(args, "-session", "s1"))
	_ = terminal.theirs[1].Close()
	return <-shown, err
}

func newAgent(tb testing.TB, cfg llmagent.Config) agent.Agent {
	tb.Helper()
	if cfg.Name == "" {
		cfg.Name = "assistant"
	}
	a, err := llmagent.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func scripted(tb testing.TB, turns ...modeltest.Turn) agent.Agent {
	return newAgent(tb, llmagent.Config{Model: modeltest.NewScript(turns...), Tools: tools(tb)})
}

type order struct {
	Item string `json:"item"`
}

// tools are one that answers, one that needs consent, one whose answer comes
// later, and one that is both.
func tools(tb testing.TB) []tool.Tool {
	tb.Helper()
	var all []tool.Tool
	for _, cfg := range []functiontool.Config{
		{Name: "price", Description: "The price."},
		{Name: "buy", Description: "Buys.", RequireConfirmation: true},
		{Name: "approve", Description: "Asks the boss.", IsLongRunning: true},
		{Name: "ship", Description: "Ships.", RequireConfirmation: true, IsLongRunning: true},
	} {
		t, err := functiontool.New(cfg, func(_ agent.Context, in order) (map[string]any, error) {
			return map[string]any{cfg.Name: in.Item}, nil
		})
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, t)
	}
	return all
}

func call(id, name string) modeltest.Turn {
	return modeltest.Call(id, name, map[string]any{"item": "pen"})
}

func TestConversations(t *testing.T) {
	parts := func(parts ...*genai.Part) modeltest.Turn { return modeltest.Reply(parts...) }
	tests := []struct {
		name  string
		agent agent.Agent
		args  []string
		typed string
		want  string // behind the first line
	}{
		{
			"an answer in pieces is shown once", scripted(t, modeltest.Streamed("Hello", " there.")), nil, "Hi\n",
			"> assistant: Hello there.\n> \n",
		},
		{
			"without pieces", scripted(t, modeltest.Streamed("Hello", " there.")), []string{"-streaming_mode", "none"}, "Hi\n",
			"> assistant: Hello there.\n> \n",
		},
		{
			"/quit leaves, and what follows is not read", scripted(t), nil, "/quit\nHi\n",
			"> ",
		},
		{
			"a last line without an end", scripted(t, modeltest.Text("Hello.")), nil, "\n  \nHi",
			"> > > assistant: Hello.\n> \n",
		},
		{
			"a turn that fails", scripted(t, modeltest.Fail(errors.New("no network")), modeltest.Text("Hello.")), nil, "Hi\nHi\n",
			"> error: no network\n> assistant: Hello.\n> \n",
		},
		{
			"an answer that breaks off", scripted(t, modeltest.Turn{
				Responses: []*model.LLMResponse{{Content: genai.NewContentFromText("Hel", "model"), Partial: true}}, Err: errors.New("no network"),
			}, modeltest.Text("Hello.")), nil, "Hi\nHi\n",
			"> assistant: Hel\nerror: no network\n> assistant: Hello.\n> \n",
		},
		{
			"an answer that is refused", scripted(t, modeltest.Turn{Responses: []*model.LLMResponse{{ErrorCode: "SAFETY", ErrorMessage: "no"}}}), nil, "Hi\n",
			"> error: SAFETY: no\n> \n",
		},
		{
			"nothing that commands the terminal", scripted(t, modeltest.Text("a\x1b[2Jb\rc\u009bd\te")), nil, "Hi\n",
			"> assistant: a\ufffd[2Jb\ufffdc\ufffdd\te\n> \n",
		},
		{
			"thoughts are not shown", scripted(t, parts(&genai.Part{Text: "hmm", Thought: true}, &genai.Part{Text: "Hello."})), nil, "Hi\n",
			"> assistant: Hello.\n> \n",
		},
		{
			"a tool", scripted(t, call("c1", "price"), modeltest.Text("Two.")), nil, "Price?\n",
			`>   assistant calls price {"item":"pen"}
  price gives {"price":"pen"}
assistant: Two.
> 
`,
		},
		{
			"consent, after an answer that is neither", scripted(t, call("c1", "buy"), modeltest.Text("Bought.")), nil, "Buy\nperhaps\nYes\n",
			`>   assistant calls buy {"item":"pen"}
  buy gives {"error":"tool \"buy\" was not run: it needs the user's confirmation, which was asked for"}
May the tool buy be called? Answer this call with a ToolConfirmation.
Allow buy {"item":"pen"}? (yes/no) Allow buy {"item":"pen"}? (yes/no)   buy gives {"buy":"pen"}
assistant: Bought.
> 
`,
		},
		{
			"no consent", scripted(t, call("c1", "buy"), modeltest.Text("Then not.")), nil, "Buy\nn\n",
			`>   assistant calls buy {"item":"pen"}
  buy gives {"error":"tool \"buy\" was not run: it needs the user's confirmation, which was asked for"}
May the tool buy be called? Answer this call with a ToolConfirmation.
Allow buy {"item":"pen"}? (yes/no)   buy gives {"error":"tool \"buy\" was not run: the user did not confirm it"}
assistant: Then not.
> 
`,
		},
		{
			"leaving a question", scripted(t, call("c1", "buy")), nil, "Buy\n/quit\n",
			`>   assistant calls buy {"item":"pen"}
  buy gives {"error":"tool \"buy\" was not run: it needs the user's confirmation, which was asked for"}
May the tool buy be called? Answer this call with a ToolConfirmation.
Allow buy {"item":"pen"}? (yes/no) `,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := converse(t, &launcher.Config{AgentLoader: agent.NewSingleLoader(test.agent)}, test.args, test.typed)
			if err != nil {
				t.Fatal(err)
			}
			first, got, _ := strings.Cut(got, "\n")
			if first != "Talking to assistant in session s1. /quit or Ctrl-D ends it." {
				t.Errorf("the first line is %q", first)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

// responses are the results that a script was sent, as name=result.
func responses(llm *modeltest.Script) []string {
	var found []string
	requests := llm.Requests()
	for _, content := range requests[len(requests)-1].Contents {
		for _, part := range content.Parts {
			if r := part.FunctionResponse; r != nil {
				found = append(found, fmt.Sprintf("%s=%v", r.Name, r.Response))
			}
		}
	}
	return found
}

func TestAnswersThatComeLater(t *testing.T) {
	tests := []struct {
		name  string
		turns []modeltest.Turn
		typed string
		asked int // how often an answer was waited for
		want  string
	}{
		{
			"a text", []modeltest.Turn{call("c1", "approve"), modeltest.Text("Wait."), modeltest.Text("Done.")},
			"Ask\nfine\n", 1, "approve=map[result:fine]",
		},
		{
			"an object", []modeltest.Turn{call("c1", "approve"), modeltest.Text("Wait."), modeltest.Text("Done.")},
			"Ask\n{\"ok\": true}\n", 1, "approve=map[ok:true]",
		},
		{
			"later", []modeltest.Turn{call("c1", "approve"), modeltest.Text("Wait."), modeltest.Text("Hello.")},
			"Ask\n\nHi\n", 1, "approve=map[approve:pen]",
		},
		{
			"consent goes first", []modeltest.Turn{call("c1", "ship"), modeltest.Text("Wait."), modeltest.Text("Done.")},
			"Ship\ny\nfine\n", 1, "ship=map[result:fine]",
		},
		{
			"a call that is not made has no answer", []modeltest.Turn{call("c1", "ship"), modeltest.Text("Then not.")},
			"Ship\nn\n", 0, `ship=map[error:tool "ship" was not run: the user did not confirm it]`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			llm := modeltest.NewScript(test.turns...)
			a := newAgent(t, llmagent.Config{Model: llm, Tools: tools(t)})
			shown, err := converse(t, &launcher.Config{AgentLoader: agent.NewSingleLoader(a)}, nil, test.typed)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(shown, "waits for an answer"); n != test.asked || llm.Remaining() > 0 {
				t.Errorf("asked %d times, want %d; %d turns were not played; shown:\n%s", n, test.asked, llm.Remaining(), shown)
			}
			if got := responses(llm); len(got) == 0 || got[len(got)-1] != test.want {
				t.Errorf("the model got %v, want %s; shown:\n%s", got, test.want, shown)
			}
		})
	}
}

// Two agents ask in one turn, and each gets its answer.
func TestQuestionsOfSeveralAgents(t *testing.T) {
	var subs []agent.Agent
	var scripts []*modeltest.Script
	for _, name := range []string{"left", "right"} {
		llm := modeltest.NewScript(call("call-of-"+name, "buy"), modeltest.Text("Bought."))
		scripts = append(scripts, llm)
		subs = append(subs, newAgent(t, llmagent.Config{Name: name, Model: llm, Tools: tools(t)}))
	}
	both, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "both", SubAgents: subs}})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := converse(t, &launcher.Config{AgentLoader: agent.NewSingleLoader(both)}, nil, "Buy\ny\ny\n")
	if err != nil {
		t.Fatal(err)
	}
	for i, llm := range scripts {
		if llm.Remaining() > 0 {
			t.Errorf("agent %d has not gone on; shown:\n%s", i, shown)
		}
	}
}

// hanging is a model that says that it was called, and answers when ctx is
// done.
type hanging struct{}

func (hanging) Name() string { return "hanging" }

func (hanging) GenerateContent(ctx context.Context, _ *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		if yield(&model.LLMResponse{Content: genai.NewContentFromText("Let me think", "model"), Partial: true}, nil) {
			<-ctx.Done()
			yield(nil, ctx.Err())
		}
	}
}

func TestCtrlC(t *testing.T) {
	interrupt := func(t *testing.T, _ context.CancelFunc) {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if err := self.Signal(os.Interrupt); err != nil {
			t.Skip(err) // there are systems without
		}
	}
	cancel := func(_ *testing.T, cancel context.CancelFunc) { cancel() }
	tests := []struct {
		name  string
		typed string
		when  string // this is shown
		end   func(*testing.T, context.CancelFunc)
	}{
		{"Ctrl-C at the prompt", "", "> ", interrupt},
		{"Ctrl-C in a turn", "Hi\n", "Let me think", interrupt},
		{"the end of the context at the prompt", "", "> ", cancel},
		{"the end of the context in a turn", "Hi\n", "Let me think", cancel},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			terminal := newTerminal(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			config := &launcher.Config{AgentLoader: agent.NewSingleLoader(newAgent(t, llmagent.Config{Model: hanging{}}))}
			done := make(chan error, 1)
			go func() {
				done <- universal.NewLauncher(console.NewLauncher()).Execute(ctx, config, nil)
				_ = terminal.theirs[1].Close()
			}()
			terminal.expect("> ")
			if test.typed != "" {
				terminal.write(test.typed)
				terminal.expect(test.when)
			}
			test.end(t, cancel)
			if err := <-done; err != nil {
				t.Errorf("Execute returns %v", err)
			}
			if rest, _ := io.ReadAll(terminal.out); strings.Contains(string(rest), "error") {
				t.Errorf("shown: %q", rest)
			}
			// Standard input is the program's again.
			terminal.write("mine")
			_ = terminal.in.Close()
			if got, err := io.ReadAll(terminal.theirs[0]); string(got) != "mine" {
				t.Errorf("what is typed afterwards reaches the program as %q (%v)", got, err)
			}
		})
	}
}

// The session that a flag names goes on where it was, and is kept compact.
func TestSessionGoesOn(t *testing.T) {
	service := session.InMemoryService()
	long := strings.Repeat("It was long. ", 200)
	for range 2 {
		config := &launcher.Config{
			AgentLoader: agent.NewSingleLoader(scripted(t, modeltest.Text(long))), SessionService: service,
			CompactionConfig: &compaction.Config{CompactionInterval: 2, Summarizer: compaction.ExtractiveSummarizer{}},
		}
		if shown, err := converse(t, config, []string{"-user", "ada"}, "How was it?\n"); err != nil || !strings.Contains(shown, long) {
			t.Fatalf("error %v; shown:\n%s", err, shown)
		}
	}
	got, err := service.Get(t.Context(), &session.GetRequest{AppName: "assistant", UserID: "ada", SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	events, summaries := got.Session.Events().Len(), 0
	for e := range got.Session.Events().All() {
		if e.Actions.Compaction != nil {
			summaries++
		}
	}
	if events != 5 || summaries != 1 {
		t.Errorf("the session has %d events, of them %d summaries; want 5 and 1", events, summaries)
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-streaming_mode loud": `-streaming_mode is "loud"; it must be sse or none`,
		"-colour":              "flag provided but not defined: -colour",
		"-agent nobody":        `there is no agent "nobody"`,
		"hello":                `arguments that nothing is known of: ["hello"]`,
	} {
		t.Run(args, func(t *testing.T) {
			config := &launcher.Config{AgentLoader: agent.NewSingleLoader(scripted(t))}
			err := universal.NewLauncher(console.NewLauncher()).Execute(t.Context(), config, strings.Fields(args))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %q", err, want)
			}
		})
	}
}

// A conversation of one message. Standard input is a file, in place of somebody
// who types.
func ExampleNewLauncher() {
	typed, in, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	stdin := os.Stdin
	os.Stdin = typed
	defer func() { os.Stdin = stdin }()
	fmt.Fprintln(in, "Hello")
	in.Close()

	assistant, err := llmagent.New(llmagent.Config{Name: "assistant", Model: modeltest.Echo{}})
	if err != nil {
		panic(err)
	}
	config := &launcher.Config{AgentLoader: agent.NewSingleLoader(assistant)}
	l := universal.NewLauncher(console.NewLauncher())
	if err := l.Execute(context.Background(), config, []string{"-session", "s1"}); err != nil {
		panic(err)
	}
	// Output:
	// Talking to assistant in session s1. /quit or Ctrl-D ends it.
	// > assistant: Hello
	// >
}
