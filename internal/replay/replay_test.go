package replay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/replay"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/session"
)

// odd is a conversation with all that real ones have: parallel calls, calls
// that nothing answered, results that nothing followed, calls that failed, and
// a reply without a question.
const odd = `[
	{"role":"system","content":"You help."},
	{"role":"user","content":"first question about 7741"},
	{"role":"assistant","content":null,"tool_calls":[
		{"id":"a","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}},
		{"id":"b","type":"function","function":{"name":"find","arguments":"{}"}}]},
	{"role":"tool","tool_call_id":"b","content":"two"},
	{"role":"tool","tool_call_id":"a","content":"one"},
	{"role":"assistant","content":"first answer"},
	{"role":"assistant","content":"and an afterthought"},
	{"role":"user","content":"second question"},
	{"role":"assistant","content":"I look.","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"n\":2}"}}]},
	{"role":"user","content":"never mind"},
	{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"n\":3}"}}]},
	{"role":"tool","tool_call_id":"a","content":"three"},
	{"role":"user","content":"are you there?"},
	{"role":"user","content":"hello?"},
	{"role":"assistant","content":"yes"}
]`

func parse(t testing.TB, text string) *conversation.Conversation {
	t.Helper()
	c, err := conversation.Parse("odd.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func logOf(t testing.TB, service session.Service) (log []string) {
	t.Helper()
	got, err := service.Get(t.Context(), &session.GetRequest{AppName: "recap", UserID: "user", SessionID: "replay"})
	if err != nil {
		t.Fatal(err)
	}
	for e := range got.Session.Events().All() {
		line := e.Author + ":"
		if e.Actions.Compaction != nil {
			line += " summary"
		}
		if e.Content != nil {
			for _, part := range e.Content.Parts {
				line += show(part)
			}
		}
		if e.ErrorCode != "" {
			line += " failed " + e.ErrorCode
		}
		log = append(log, line)
	}
	return log
}

func show(part *genai.Part) string {
	switch {
	case part.FunctionCall != nil:
		return fmt.Sprintf(" %s(%v)", part.FunctionCall.Name, part.FunctionCall.Args["n"])
	case part.FunctionResponse != nil:
		return fmt.Sprintf(" %s=%v", part.FunctionResponse.Name, part.FunctionResponse.Response["output"])
	}
	return " " + part.Text
}

func Example() {
	c, err := conversation.Parse("chat.json", []byte(`[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]`))
	if err != nil {
		panic(err)
	}
	played, err := replay.Play(context.Background(), c, replay.Options{Service: session.InMemoryService(), Counter: tokens.New()})
	if err != nil {
		panic(err)
	}
	fmt.Println(len(played.Turns), played.ModelCalls, played.Billed, played.Turns[0].PromptAfter)
	// Output: 1 1 5 10
}

func TestPlay(t *testing.T) {
	service := session.InMemoryService()
	var turns []int
	played, err := replay.Play(t.Context(), parse(t, odd), replay.Options{
		Service: service, Counter: tokens.New(), OnTurn: func(turn int) { turns = append(turns, turn) },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"user: first question about 7741", "agent: look(1) find(<nil>)", "agent: look=one find=two", "agent: first answer",
		"agent: and an afterthought",
		"user: second question", "agent: I look. look(2)",
		"user: never mind", "agent: look(3)", "agent: look=three",
		"user: are you there?",
		"user: hello?", "agent: yes",
	}
	if log := logOf(t, service); !slices.Equal(log, want) {
		t.Errorf("log:\n%s\nwant:\n%s", strings.Join(log, "\n"), strings.Join(want, "\n"))
	}
	if len(played.Turns) != 5 || played.ModelCalls != 6 || played.ValuesStated != 1 || played.ValuesInPrompt != 1 {
		t.Errorf("played %+v", played)
	}
	if !slices.Equal(turns, []int{1, 1, 2, 3, 4, 5}) {
		t.Errorf("turns reported: %v", turns)
	}
	for i, turn := range played.Turns {
		if i > 0 && turn.PromptAfter <= played.Turns[i-1].PromptAfter && i != 1 {
			t.Errorf("the prompt does not grow: %+v", played.Turns)
		}
	}
}

func TestPlayFailedCalls(t *testing.T) {
	c := parse(t, `[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]`)
	c.Turns[0].Steps[0] = conversation.Step{ErrorCode: "ABORTED", ErrorMessage: "by the user"}
	service := session.InMemoryService()
	if _, err := replay.Play(t.Context(), c, replay.Options{Service: service, Counter: tokens.New()}); err != nil {
		t.Fatal(err)
	}
	if log := logOf(t, service); !slices.Equal(log, []string{"user: hi", "agent: failed ABORTED"}) {
		t.Errorf("log: %q", log)
	}
}

func TestPlayCompacted(t *testing.T) {
	var text strings.Builder
	text.WriteString(`[`)
	for i := range 8 {
		fmt.Fprintf(&text, `{"role":"user","content":"This is question number %d, and it is long enough for a summary."},`, i)
		fmt.Fprintf(&text, `{"role":"assistant","content":"%s"},`, strings.Repeat("This is an answer, which goes on for a while. ", 5))
	}
	chat := strings.TrimSuffix(text.String(), ",") + `]`
	play := func(cfg *compaction.Config) *replay.Played {
		played, err := replay.Play(t.Context(), parse(t, chat), replay.Options{Service: session.InMemoryService(), Counter: tokens.New(), Compaction: cfg})
		if err != nil {
			t.Fatal(err)
		}
		return played
	}
	told := 0
	raw := play(nil)
	compacted := play(&compaction.Config{CompactionInterval: 2, Summarizer: compaction.ExtractiveSummarizer{}, OnOutcome: func(compaction.Outcome) { told++ }})
	if compacted.Billed >= raw.Billed || compacted.Turns[7].PromptAfter >= raw.Turns[7].PromptAfter/2 {
		t.Errorf("compacted %+v, raw %+v", compacted, raw)
	}
	for i, turn := range compacted.Turns {
		if turn.Compacted != (i%2 == 1) {
			t.Errorf("turn %d: compacted %v", i+1, turn.Compacted)
		}
	}
	if told != len(compacted.Outcomes) || told < 4 {
		t.Errorf("%d outcomes, the hook was told %d", len(compacted.Outcomes), told)
	}
}

func TestPlayErrors(t *testing.T) {
	service := session.InMemoryService()
	options := replay.Options{Service: service, Counter: tokens.New()}
	c := parse(t, odd)
	if _, err := replay.Play(t.Context(), c, options); err != nil {
		t.Fatal(err)
	}
	if _, err := replay.Play(t.Context(), c, options); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a session that exists: %v", err)
	}
	options = replay.Options{Service: session.InMemoryService(), Counter: tokens.New(), Compaction: &compaction.Config{}}
	if _, err := replay.Play(t.Context(), c, options); err == nil {
		t.Error("a config that is not valid")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	options = replay.Options{Service: session.InMemoryService(), Counter: tokens.New()}
	if _, err := replay.Play(ctx, c, options); err == nil {
		t.Error("a context that is done")
	}
}

// hanging is a summarizer that hangs until it is told to end.
type hanging struct {
	started func()
	ended   chan<- error
}

func (h hanging) SummarizeEvents(ctx context.Context, _ []*session.Event) (compaction.SummarizeResult, error) {
	h.started()
	<-ctx.Done()
	h.ended <- ctx.Err()
	return compaction.SummarizeResult{}, ctx.Err()
}

// TestPlayInterrupted: compactions in the background end with the context, and
// not by their timeout.
func TestPlayInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	_, err := replay.Play(ctx, parse(t, odd), replay.Options{
		Service: session.InMemoryService(), Counter: tokens.New(),
		Compaction: &compaction.Config{CompactionInterval: 1, Summarizer: hanging{cancel, ended}},
	})
	if why := <-ended; !errors.Is(err, context.Canceled) || !errors.Is(why, context.Canceled) {
		t.Errorf("Play ended with %v, the summarizer with %v", err, why)
	}
}

// chatOf is a conversation of so many turns, each of about 240 tokens.
func chatOf(t testing.TB, turns int) *conversation.Conversation {
	var text strings.Builder
	for i := range turns {
		fmt.Fprintf(&text, "{\"role\":\"user\",\"content\":\"This is question number %d, and it is long enough for a summary.\"}\n", i)
		fmt.Fprintf(&text, "{\"role\":\"assistant\",\"content\":%q}\n", strings.Repeat("This is an answer, which goes on for a while. ", 20))
	}
	return parse(t, text.String())
}

// TestPlayWindow: a prompt that is larger than the window fails its turn, and
// the conversation goes on; with compaction it is made smaller and sent again.
func TestPlayWindow(t *testing.T) {
	const window = 1000
	play := func(o replay.Options) *replay.Played {
		o.Service, o.Counter = session.InMemoryService(), tokens.New()
		played, err := replay.Play(t.Context(), chatOf(t, 12), o)
		if err != nil {
			t.Fatal(err)
		}
		return played
	}
	played := play(replay.Options{Window: window})
	failed := played.Failures
	if len(played.Turns) != 12 || len(failed) == 0 || played.ModelCalls+len(failed) != 12 || played.Peak > window || failed[0].Prompt <= window {
		t.Fatalf("%d turns, %d model calls, %d tokens at most, failures %+v", len(played.Turns), played.ModelCalls, played.Peak, failed)
	}
	if want := fmt.Sprintf("prompt too long for the model: it has %d tokens, the window 1000", failed[0].Prompt); failed[0].Error != want {
		t.Errorf("it failed with %q, want %q", failed[0].Error, want)
	}
	if given := play(replay.Options{Window: window, GiveUpAfter: 2}); !given.GaveUp || len(given.Failures) != 2 || len(given.Turns) != failed[0].Turn+1 {
		t.Errorf("%d turns, failures %+v", len(given.Turns), given.Failures)
	}
	// A threshold that nothing reaches: it is the model that says it is too long.
	cfg := &compaction.Config{TokenThreshold: 100_000, EventRetentionSize: 2, Summarizer: compaction.ExtractiveSummarizer{}}
	if smaller := play(replay.Options{Window: window, Compaction: cfg}); len(smaller.Failures) > 0 || smaller.ModelCalls != 12 || len(smaller.Outcomes) == 0 {
		t.Errorf("%d model calls, failures %+v", smaller.ModelCalls, smaller.Failures)
	}
	if same := play(replay.Options{Window: window, Compaction: cfg, FailTooLong: true}); len(same.Failures) != len(failed) {
		t.Errorf("failures %+v, want %d", same.Failures, len(failed))
	}
}

// TestPlayUsage: what a recording says of its own prompts fires no threshold.
func TestPlayUsage(t *testing.T) {
	c := chatOf(t, 6)
	for i := range c.Turns {
		c.Turns[i].Steps[0].Usage = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 90_000}
	}
	played, err := replay.Play(t.Context(), c, replay.Options{
		Service: session.InMemoryService(), Counter: tokens.New(),
		Compaction: &compaction.Config{TokenThreshold: 50_000, EventRetentionSize: 2, Summarizer: compaction.ExtractiveSummarizer{}},
	})
	if err != nil || len(played.Outcomes) > 0 {
		t.Errorf("%v, compactions: %v", err, played.Outcomes)
	}
}

// TestPlayLive: a model answers the recorded user, its failures are noted, and
// what it is asked at the end leaves no trace.
func TestPlayLive(t *testing.T) {
	llm := modeltest.NewScript(modeltest.Text("one"), modeltest.Fail(errors.New("out of order")), modeltest.Text("three"),
		modeltest.Call("c", "recall", map[string]any{"query": "question"}), modeltest.Text("the answer"), modeltest.Text("another"))
	service := session.InMemoryService()
	var answers []string
	played, err := replay.Play(t.Context(), chatOf(t, 3), replay.Options{
		Service: service, Counter: tokens.New(), Model: llm, Live: true, Recall: true,
		Compaction: &compaction.Config{CompactionInterval: 5, Summarizer: compaction.ExtractiveSummarizer{}},
		AtEnd: func(ctx context.Context, end *replay.End) error {
			for range 2 {
				answer, err := end.Ask(ctx, "What was it?")
				if err != nil {
					return err
				}
				answers = append(answers, answer)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(answers, []string{"the answer", "another"}) || llm.Remaining() > 0 {
		t.Errorf("answers %q, %d turns left", answers, llm.Remaining())
	}
	if len(played.Turns) != 3 || played.ModelCalls != 2 || len(played.Failures) != 1 || played.Failures[0].Turn != 2 || played.Failures[0].Error != "out of order" {
		t.Errorf("played %+v", played)
	}
	if log := logOf(t, service); strings.Contains(strings.Join(log, "\n"), "What was it?") || !slices.Contains(log, "agent: three") {
		t.Errorf("log: %q", log)
	}
	requests := llm.Requests()
	if last := requests[5].Contents; len(last) != 6 && !strings.Contains(last[len(last)-1].Parts[0].Text, "What was it?") {
		t.Errorf("the second question came with %d contents", len(last))
	}
}
