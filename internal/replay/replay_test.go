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
