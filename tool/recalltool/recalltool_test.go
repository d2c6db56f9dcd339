package recalltool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/internal/recall"
	"github.com/recap-adk/recap/internal/testdb"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/recalltool"
)

func Example() {
	ctx := context.Background()
	sessions := session.InMemoryService()
	made, err := recalltool.New(recalltool.Config{SessionService: sessions})
	if err != nil {
		fmt.Println(err)
		return
	}
	llm := modeltest.NewScript(
		modeltest.Text("Noted."), modeltest.Text("Hello!"),
		modeltest.Call("call-1", "recall", map[string]any{"query": "alarm code"}),
		modeltest.Text("It is 4711-B."),
	)
	a, err := llmagent.New(llmagent.Config{Name: "butler", Model: llm, Tools: []tool.Tool{made}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := runner.New(runner.Config{
		AppName: "home", Agent: a, SessionService: sessions, AutoCreateSession: true,
		CompactionConfig: &compaction.Config{CompactionInterval: 2, Blocking: true, Summarizer: forgetful{}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close(ctx)
	for _, text := range []string{"The code of the alarm system is 4711-B; do not write it down.", "Hello", "What was the code?"} {
		for event, err := range r.Run(ctx, "ada", "s", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			for _, part := range event.Content.Parts {
				if f := part.FunctionResponse; f != nil {
					fmt.Println("recalled:", f.Response["recalled"].([]any)[0].(map[string]any)["text"])
				} else if part.Text != "" {
					fmt.Println(part.Text)
				}
			}
		}
	}
	// Output:
	// Noted.
	// Hello!
	// recalled: The code of the alarm system is 4711-B; do not write it down.
	// It is 4711-B.
}

// forgetful is a summarizer that keeps nothing.
type forgetful struct{}

func (forgetful) SummarizeEvents(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
	return compaction.SummarizeResult{Content: genai.NewContentFromText("They talked.", genai.RoleModel)}, nil
}

func TestNew(t *testing.T) {
	for _, cfg := range []recalltool.Config{{}, {SessionService: session.InMemoryService(), MaxTokens: -1}} {
		if made, err := recalltool.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "recalltool: ") {
			t.Errorf("New(%+v) returned %v, %v", cfg, made, err)
		}
	}
}

// called matches a call as a model is told of it.
var called = regexp.MustCompile(`recall (\{[^}]*\})`)

// TestCallsInThePromptWork: whoever makes the calls that stand beside the
// summaries, as they stand there, gets what was summarized.
func TestCallsInThePromptWork(t *testing.T) {
	log := `
		i1 1 user: words to find are in here
		i1 2.75 agent: and here as well
		i2 3 user: what is this
		i2 4.25 agent: the end
		c1 5 summary 1-2.75: They talked.
		c2 6 summary 3-4.25: They talked on.
		i3 7 user: now`
	events, err := logtext.Parse(log)
	if err != nil {
		t.Fatal(err)
	}
	contents := icontext.Contents(events, icontext.Options{Agent: "agent", Compacted: true, Recall: true})
	var prompt strings.Builder
	for _, part := range contents[0].Parts {
		prompt.WriteString(part.Text)
	}
	made := called.FindAllStringSubmatch(prompt.String(), -1)
	if len(made) != 2 {
		t.Fatalf("the prompt is\n%s\nwith %d calls", prompt.String(), len(made))
	}
	service := session.InMemoryService()
	ctx := contextFor(t, service, events)
	for i, want := range []string{"e1", "e1 e2 e3 e4"} {
		var args map[string]any
		if err := json.Unmarshal([]byte(made[i][1]), &args); err != nil {
			t.Fatalf("%s: %v", made[i][0], err)
		}
		if got := strings.Join(run(t, service, ctx, args), " "); got != want {
			t.Errorf("%s returned %q, want %q", made[i][0], got, want)
		}
	}
}

// contextFor stores a log and returns what a tool is given in a run with it.
func contextFor(t *testing.T, service session.Service, events []*session.Event) agent.InvocationContext {
	t.Helper()
	created, err := service.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "ada", SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := service.AppendEvent(t.Context(), created.Session, e); err != nil {
			t.Fatal(err)
		}
	}
	compactor, err := compaction.NewCompactor(&compaction.Config{CompactionInterval: 1, Summarizer: forgetful{}}, service)
	if err != nil {
		t.Fatal(err)
	}
	return agent.NewInvocationContext(t.Context(), agent.InvocationParams{Session: created.Session, Compactor: compactor})
}

// run calls the tool and returns the IDs of what it recalled.
func run(t *testing.T, service session.Service, ctx agent.InvocationContext, args map[string]any) []string {
	t.Helper()
	made, err := recalltool.New(recalltool.Config{SessionService: service})
	if err != nil {
		t.Fatal(err)
	}
	got, err := made.(tool.Function).Run(agent.NewContext(ctx), args)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, e := range got["recalled"].([]any) {
		ids = append(ids, e.(map[string]any)["id"].(string))
	}
	slices.Sort(ids)
	return ids
}

func TestErrorsTellWhatWouldDo(t *testing.T) {
	service := session.InMemoryService()
	ctx := agent.NewContext(contextFor(t, service, nil))
	made, err := recalltool.New(recalltool.Config{SessionService: service})
	if err != nil {
		t.Fatal(err)
	}
	_, err = made.(tool.Function).Run(ctx, map[string]any{"from": "noon"})
	if !errors.Is(err, recalltool.ErrInvalidArgument) || !strings.Contains(err.Error(), "write it as") {
		t.Errorf("an unreadable time: %v", err)
	}
	if _, err = made.(tool.Function).Run(ctx, map[string]any{"question": "x"}); err == nil || !strings.Contains(err.Error(), "question") {
		t.Errorf("an unknown argument: %v", err)
	}
	got, err := made.(tool.Function).Run(ctx, map[string]any{"query": "anything"})
	if err != nil || !strings.Contains(fmt.Sprint(got["note"]), "no earlier event") {
		t.Errorf("nothing is covered: %v, %v", got, err)
	}
}

// TestFactsComeBack: a fact of turn 3, which no summary keeps, is asked for at
// turn 300. All prompts stay small, and what was recalled is soon in none of them.
func TestFactsComeBack(t *testing.T) {
	for _, store := range []struct {
		name    string
		service session.Service
	}{{"memory", session.InMemoryService()}, {"sqlite", testdb.Open(t, testdb.SQLite)}} {
		t.Run(store.name, func(t *testing.T) { testFactsComeBack(t, store.service) })
	}
}

func testFactsComeBack(t *testing.T, service session.Service) {
	const fact = "KX-7741-tulip"
	made, err := recalltool.New(recalltool.Config{SessionService: service})
	if err != nil {
		t.Fatal(err)
	}
	llm := &recalling{counter: tokens.New()}
	a, err := llmagent.New(llmagent.Config{Name: "agent", Model: llm, Tools: []tool.Tool{made}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: a, SessionService: service, AutoCreateSession: true,
		CompactionConfig: &compaction.Config{CompactionInterval: 5, OverlapSize: 2, Blocking: true, Summarizer: forgetful{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	for turn := 1; turn <= 340; turn++ {
		text := fmt.Sprintf("On day %d we saw %d birds in the garden, and the weather was fine.", turn, turn*7%40)
		switch turn {
		case 3:
			text = "The locker at the station has the combination " + fact + ", remember that."
		case 300:
			text = "What was the combination of the locker?"
		}
		answer := ""
		for event, err := range r.Run(t.Context(), "ada", "s", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				t.Fatal(err)
			}
			if event.IsFinalResponse() {
				answer = event.Content.Parts[0].Text
			}
		}
		if turn == 300 && !strings.Contains(answer, fact) {
			t.Errorf("the answer is %q", answer)
		}
		compacted := turn > 20 && turn < 300 || turn > 320
		if compacted && strings.Contains(llm.last, fact) {
			t.Errorf("the prompt of turn %d has the fact still", turn)
		}
	}
	if llm.largest > 3000 {
		t.Errorf("the largest prompt has %d tokens", llm.largest)
	}
	t.Logf("the largest prompt has %d tokens", llm.largest)
	sameByPartialRead(t, service)
}

// sameByPartialRead wants that who reads what a prompt is made of finds the same
// as who reads all.
func sameByPartialRead(t *testing.T, service session.Service) {
	t.Helper()
	req := &session.GetRequest{AppName: "app", UserID: "ada", SessionID: "s"}
	var found [2][]string
	for i, partial := range []bool{true, false} {
		req.OmitCompacted = partial
		got, err := service.Get(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		result, err := recall.Do(t.Context(), service, recall.Request{
			AppName: "app", UserID: "ada", SessionID: "s", Known: slices.Collect(got.Session.Events().All()),
			MaxTokens: 1 << 20, Arguments: recall.Arguments{From: "2000-01-01"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range result.Events {
			found[i] = append(found[i], e.ID)
		}
	}
	if len(found[0]) < 600 || !slices.Equal(found[0], found[1]) {
		t.Errorf("%d events are found by a partial read, %d by a full one", len(found[0]), len(found[1]))
	}
}

// recalling is a model that answers a question with what it is shown, or else
// with what the call in its prompt gets back.
type recalling struct {
	counter *tokens.Counter
	largest int
	last    string
}

func (m *recalling) Name() string { return "recalling" }

func (m *recalling) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	m.largest = max(m.largest, m.counter.Request(req.Contents, req.Config))
	data, err := json.Marshal(req.Contents)
	m.last = string(data)
	answer := &genai.Part{Text: "I see."}
	last := req.Contents[len(req.Contents)-1]
	part := last.Parts[len(last.Parts)-1]
	switch {
	case part.FunctionResponse != nil:
		answer.Text = "I recall: " + fmt.Sprint(part.FunctionResponse.Response)
	case strings.Contains(part.Text, "What was"):
		if !strings.Contains(m.last, `recall {\"query\"`) {
			err = errors.New("the prompt does not tell of recall")
		}
		answer = &genai.Part{FunctionCall: &genai.FunctionCall{Name: "recall", Args: map[string]any{"query": part.Text}}}
	}
	return func(yield func(*model.LLMResponse, error) bool) {
		yield(&model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{answer}}}, err)
	}
}

// TestOtherToolsOfThatName: the prompt tells only of a tool that can do it.
func TestOtherToolsOfThatName(t *testing.T) {
	for _, known := range []bool{true, false} {
		service := session.InMemoryService()
		made, err := recalltool.New(recalltool.Config{SessionService: service})
		if err != nil {
			t.Fatal(err)
		}
		if !known {
			made = struct{ tool.Function }{made.(tool.Function)}
		}
		llm := modeltest.NewScript(modeltest.Text("one"), modeltest.Text("two"))
		a, err := llmagent.New(llmagent.Config{Name: "agent", Model: llm, Tools: []tool.Tool{made}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := runner.New(runner.Config{
			AppName: "app", Agent: a, SessionService: service, AutoCreateSession: true,
			CompactionConfig: &compaction.Config{CompactionInterval: 1, Blocking: true, Summarizer: forgetful{}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			text := genai.NewContentFromText("A long message that says a lot of things, and then some more of them.", genai.RoleUser)
			for _, err := range r.Run(t.Context(), "ada", "s", text, agent.RunConfig{}) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		prompt, _ := json.Marshal(llm.Requests()[1].Contents)
		if told := called.Match(prompt) || strings.Contains(string(prompt), `recall {`); told != known {
			t.Errorf("the tool is one that recalls: %v; the prompt tells of it: %v\n%s", known, told, prompt)
		}
	}
}
