package llmagent_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
)

// TestRequests: what the model is sent, call by call.
func TestRequests(t *testing.T) {
	llm := modeltest.NewScript(calls("look"), modeltest.Text("done"))
	_, _, err := play(t, llmagent.Config{Model: llm, Tools: named("look")}, agent.RunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{
		{"user: the question"},
		{"user: the question", "model: call look", "user: look=map[from:look]"},
	} {
		req := llm.Requests()[i]
		var got []string
		for _, content := range req.Contents {
			got = append(got, content.Role+": "+show(&session.Event{LLMResponse: model.LLMResponse{Content: content}}))
		}
		expect(t, fmt.Sprint("call ", i), got, want...)
		if req.Model != "script" || req.Config.SystemInstruction != nil {
			t.Errorf("call %d: model %q, instruction %+v", i, req.Model, req.Config.SystemInstruction)
		}
	}
}

// TestEventsAreComplete, whatever the model leaves out.
func TestEventsAreComplete(t *testing.T) {
	llm := modeltest.NewScript(modeltest.Reply(
		&genai.Part{FunctionCall: &genai.FunctionCall{Name: "look"}},
		&genai.Part{FunctionCall: &genai.FunctionCall{ID: "own", Name: "look"}},
	), modeltest.Turn{Responses: []*model.LLMResponse{{
		Content: genai.NewContentFromText("done", genai.RoleModel), ModelVersion: "v1", FinishReason: genai.FinishReasonStop,
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{TotalTokenCount: 7},
	}}})
	_, stored, err := play(t, llmagent.Config{Model: llm, Tools: named("look")}, agent.RunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	events := stored.Events()
	call, result, answer := events.At(1), events.At(2), events.At(3)
	for _, e := range []*session.Event{call, result, answer} {
		if e.Author != "agent" || e.InvocationID != events.At(0).InvocationID || e.ID == "" {
			t.Errorf("event %+v", e)
		}
	}
	for i, part := range call.Content.Parts {
		if id := part.FunctionCall.ID; id == "" || result.Content.Parts[i].FunctionResponse.ID != id {
			t.Errorf("call %d has the ID %q", i, id)
		}
	}
	if id := call.Content.Parts[1].FunctionCall.ID; id != "own" {
		t.Errorf("an ID became %q", id)
	}
	if answer.ModelVersion != "v1" || answer.FinishReason != genai.FinishReasonStop || answer.UsageMetadata.TotalTokenCount != 7 {
		t.Errorf("the answer lacks something: %+v", answer.LLMResponse)
	}
}

// TestResponsesOfCallbacksAreTheirs: a callback may answer with what it keeps,
// such as a cache does.
func TestResponsesOfCallbacksAreTheirs(t *testing.T) {
	kept := &model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{Name: "look"}}}}}
	hits := 0
	_, stored, err := play(t, llmagent.Config{
		Model: modeltest.NewScript(modeltest.Text("done")), Tools: named("look"),
		BeforeModelCallbacks: []llmagent.BeforeModelCallback{func(agent.Context, *model.LLMRequest) (*model.LLMResponse, error) {
			if hits++; hits <= 2 {
				return kept, nil
			}
			return nil, nil
		}},
	}, agent.RunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "stored", log(stored), "the question", "call look", "look=map[from:look]", "call look", "look=map[from:look]", "done")
	if id := kept.Content.Parts[0].FunctionCall.ID; id != "" {
		t.Errorf("the callback's response got the ID %q", id)
	}
	first, second := stored.Events().At(1), stored.Events().At(3)
	if first.Content.Parts[0].FunctionCall.ID == second.Content.Parts[0].FunctionCall.ID {
		t.Error("two calls have the same ID")
	}
}

// TestStateOfCallbacksIsStored with the next event, and is there for everything
// after it.
func TestStateOfCallbacksIsStored(t *testing.T) {
	llm := modeltest.NewScript(calls("look"), modeltest.Text("done"))
	_, stored, err := play(t, llmagent.Config{
		Model: llm, Tools: named("look"), Instruction: "{before?}{after?}{tool?}{temp:tool?}",
		BeforeModelCallbacks: []llmagent.BeforeModelCallback{func(ctx agent.Context, _ *model.LLMRequest) (*model.LLMResponse, error) {
			return nil, ctx.State().Set("before", "B")
		}},
		AfterModelCallbacks: []llmagent.AfterModelCallback{func(ctx agent.Context, _ *model.LLMResponse, _ error) (*model.LLMResponse, error) {
			before, err := ctx.State().Get("before")
			if before != "B" || err != nil {
				t.Errorf("after the model: %v, %v", before, err)
			}
			return nil, ctx.State().Set("after", "A")
		}},
		AfterToolCallbacks: []llmagent.AfterToolCallback{func(ctx agent.Context, _ tool.Tool, _, _ map[string]any, _ error) (map[string]any, error) {
			if err := ctx.State().Set("temp:tool", "!"); err != nil {
				return nil, err
			}
			return nil, ctx.State().Set("tool", "T")
		}},
	}, agent.RunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if got := llm.Requests()[1].Config.SystemInstruction.Parts[0].Text; got != "BAT!" {
		t.Errorf("the second instruction is %q", got)
	}
	if delta := stored.Events().At(1).Actions.StateDelta; delta["before"] != "B" || delta["after"] != "A" || len(delta) != 2 {
		t.Errorf("the event of the first answer sets %v", delta)
	}
	if v, err := stored.State().Get("tool"); v != "T" || err != nil {
		t.Errorf("stored: %v, %v", v, err)
	}
}

func TestOutputKey(t *testing.T) {
	job := answers("job", nil, nil)
	job.long = true
	for _, tc := range []struct {
		name  string
		turns []modeltest.Turn
		want  any
	}{
		{"the text of the answer", []modeltest.Turn{modeltest.Reply(&genai.Part{Text: "hm", Thought: true}, &genai.Part{Text: "It is "}, &genai.Part{Text: "noon."})}, "It is noon."},
		{"not that beside calls", []modeltest.Turn{modeltest.Reply(&genai.Part{Text: "Let me see"}, &genai.Part{FunctionCall: &genai.FunctionCall{Name: "look"}}), modeltest.Text("noon")}, "noon"},
		{"not a call whose answer comes later", []modeltest.Turn{calls("job")}, "before"},
		{"not a refusal", []modeltest.Turn{{Responses: []*model.LLMResponse{{ErrorCode: "SAFETY"}}}}, "before"},
	} {
		cfg := llmagent.Config{Model: modeltest.NewScript(tc.turns...), OutputKey: "answer", Tools: append(named("look"), job)}
		_, stored, err := play(t, cfg, agent.RunConfig{}, runner.WithStateDelta(map[string]any{"answer": "before"}))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if got, _ := stored.State().Get("answer"); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		for e := range stored.Events().All() {
			if got, ok := e.Actions.StateDelta["answer"]; ok && got != tc.want && e.Author == "agent" {
				t.Errorf("%s: meanwhile it was %q", tc.name, got)
			}
		}
	}
}

// TestRefusals: an answer that the model refused or broke off is stored, and
// ends the run.
func TestRefusals(t *testing.T) {
	refusal := modeltest.Turn{Responses: []*model.LLMResponse{{ErrorCode: "SAFETY", ErrorMessage: "no", FinishReason: genai.FinishReasonSafety}}}
	_, stored, err := play(t, llmagent.Config{Model: modeltest.NewScript(calls("look"), refusal), Tools: named("look")}, agent.RunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "stored", log(stored), "the question", "call look", "look=map[from:look]", "failed SAFETY")
	if e := stored.Events().At(3); e.ErrorMessage != "no" || e.FinishReason != genai.FinishReasonSafety {
		t.Errorf("event %+v", e.LLMResponse)
	}
}

// TestAfterModelCallbacksOfAStream run for every piece. The state that they set
// is stored with the whole.
func TestAfterModelCallbacksOfAStream(t *testing.T) {
	got, stored, err := play(t, llmagent.Config{
		Model: modeltest.NewScript(modeltest.Streamed("a", "b")),
		AfterModelCallbacks: []llmagent.AfterModelCallback{func(ctx agent.Context, r *model.LLMResponse, _ error) (*model.LLMResponse, error) {
			text := r.Content.Parts[0].Text
			return &model.LLMResponse{Content: genai.NewContentFromText("<"+text+">", genai.RoleModel), Partial: r.Partial}, ctx.State().Set("seen:"+text, true)
		}},
	}, agent.RunConfig{StreamingMode: agent.StreamingModeSSE})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "events", got, "<a>...", "<b>...", "<ab>")
	if delta := stored.Events().At(1).Actions.StateDelta; len(delta) != 3 {
		t.Errorf("stored: %v", delta)
	}
}

// TestSeveralWholeAnswers of one call are events each. What a callback set is in
// the first of them.
func TestSeveralWholeAnswers(t *testing.T) {
	turn := modeltest.Turn{Responses: append(modeltest.Text("one").Responses, modeltest.Text("two").Responses...)}
	_, stored, err := play(t, llmagent.Config{
		Model: modeltest.NewScript(turn),
		BeforeModelCallbacks: []llmagent.BeforeModelCallback{func(ctx agent.Context, _ *model.LLMRequest) (*model.LLMResponse, error) {
			return nil, ctx.State().Set("note", ", noted")
		}},
	}, agent.RunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "stored", log(stored), "the question", "one, noted", "two")
}

// TestEndedByTheModelsCallback: the answer still counts, its calls are not made.
func TestEndedByTheModelsCallback(t *testing.T) {
	got, _, err := play(t, llmagent.Config{
		Model: modeltest.NewScript(calls("look")), Tools: named("look"),
		AfterModelCallbacks: []llmagent.AfterModelCallback{func(ctx agent.Context, _ *model.LLMResponse, _ error) (*model.LLMResponse, error) {
			ctx.EndInvocation()
			return nil, nil
		}},
	}, agent.RunConfig{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "events", got, "call look")
}

// TestSilentModel: a model that yields nothing ends the run.
func TestSilentModel(t *testing.T) {
	for name, responses := range map[string][]*model.LLMResponse{"nothing": nil, "a nil": {nil}} {
		got, _, err := play(t, llmagent.Config{Model: saying(func(*model.LLMRequest) []*model.LLMResponse { return responses })}, agent.RunConfig{})
		if err != nil || len(got) != 0 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// saying is a model that is a function.
type saying func(*model.LLMRequest) []*model.LLMResponse

func (saying) Name() string { return "saying" }
func (s saying) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		for _, response := range s(req) {
			if !yield(response, nil) {
				return
			}
		}
	}
}

// TestManyRunsOfOneAgent at once share nothing.
func TestManyRunsOfOneAgent(t *testing.T) {
	llm := saying(func(req *model.LLMRequest) []*model.LLMResponse {
		turn := calls("look", "look")
		if last := req.Contents[len(req.Contents)-1]; last.Parts[0].FunctionResponse != nil {
			turn = modeltest.Text("for " + req.Config.SystemInstruction.Parts[0].Text)
		}
		return turn.Responses
	})
	r, service := newRunner(t, llmagent.Config{
		Name: "agent", Model: llm, Tools: named("look"), Instruction: "{name}", OutputKey: "answer",
		GenerateContentConfig: &genai.GenerateContentConfig{Labels: map[string]string{"team": "a"}},
		BeforeModelCallbacks: []llmagent.BeforeModelCallback{func(ctx agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			req.Config.Labels["session"] = ctx.SessionID()
			return nil, nil
		}},
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := fmt.Sprint("s", i)
			for _, err := range r.Run(t.Context(), "ada", id, question(), agent.RunConfig{}, runner.WithStateDelta(map[string]any{"name": id})) {
				if err != nil {
					t.Error(err)
				}
			}
			got, err := service.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "ada", SessionID: id})
			if err != nil {
				t.Error(err)
				return
			}
			if answer, _ := got.Session.State().Get("answer"); answer != "for "+id || got.Session.Events().Len() != 4 {
				t.Errorf("%s: %d events, %v", id, got.Session.Events().Len(), answer)
			}
		})
	}
	wg.Wait()
}

// TestConfigIsCopied: an agent does not change after New.
func TestConfigIsCopied(t *testing.T) {
	llm := modeltest.NewScript(modeltest.Text("done"))
	cfg := llmagent.Config{Name: "agent", Model: llm, Tools: named("look"), GenerateContentConfig: &genai.GenerateContentConfig{Labels: map[string]string{"team": "a"}}}
	r, _ := newRunner(t, cfg)
	cfg.Tools[0] = nil
	cfg.GenerateContentConfig.Labels["team"] = "b"
	for _, err := range r.Run(t.Context(), "ada", "s1", question(), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	req := llm.Requests()[0]
	if team := req.Config.Labels["team"]; team != "a" || len(declared(req)) != 1 {
		t.Errorf("the model is sent team %q and the tools %q", team, declared(req))
	}
}

// TestTheAgentIsItself, not the plain agent that it is made of.
func TestTheAgentIsItself(t *testing.T) {
	a, err := llmagent.New(llmagent.Config{Name: "agent", Model: modeltest.Echo{}, Description: "echoes",
		BeforeAgentCallbacks: []agent.BeforeAgentCallback{func(ctx agent.Context) (*genai.Content, error) {
			driven, ok := ctx.Agent().(interface{ Model() model.LLM })
			if !ok || driven.Model() != (modeltest.Echo{}) {
				t.Errorf("the context has the agent %T", ctx.Agent())
			}
			return nil, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if a.FindAgent("agent") != a || a.FindAgent("other") != nil || a.Description() != "echoes" {
		t.Error("FindAgent or Description")
	}
	ctx := agent.NewInvocationContext(t.Context(), agent.InvocationParams{Session: session.NewSnapshot(session.SnapshotData{})})
	for _, err := range a.Run(ctx) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSummariesCountWithCompactionOnly: without it nobody knows who put them
// into the log.
func TestSummariesCountWithCompactionOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		config *compaction.Config
		want   bool
	}{"on": {compaction.DefaultConfig(), true}, "off": {nil, false}} {
		service, llm := session.InMemoryService(), modeltest.NewScript(modeltest.Text("done"))
		created, err := service.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "ada", SessionID: "s1"})
		if err != nil {
			t.Fatal(err)
		}
		noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		old := &session.Event{ID: "old", InvocationID: "i1", Author: "user", Timestamp: noon, LLMResponse: model.LLMResponse{Content: genai.NewContentFromText("an old story", genai.RoleUser)}}
		record := &session.Event{ID: "record", InvocationID: "i2", Author: "user", Timestamp: noon.Add(time.Second), Actions: session.EventActions{
			Compaction: session.NewEventCompaction(noon, noon, genai.NewContentFromText("the gist", genai.RoleModel), nil),
		}}
		for _, e := range []*session.Event{old, record} {
			if err := service.AppendEvent(t.Context(), created.Session, e); err != nil {
				t.Fatal(err)
			}
		}
		a, err := llmagent.New(llmagent.Config{Name: "agent", Model: llm})
		if err != nil {
			t.Fatal(err)
		}
		r, err := runner.New(runner.Config{AppName: "app", Agent: a, SessionService: service, CompactionConfig: tc.config})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range r.Run(t.Context(), "ada", "s1", question(), agent.RunConfig{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var gist, story bool
		for _, content := range llm.Requests()[0].Contents {
			for _, part := range content.Parts {
				gist = gist || strings.Contains(part.Text, "the gist")
				story = story || strings.Contains(part.Text, "an old story")
			}
		}
		if gist != tc.want || story == tc.want {
			t.Errorf("compaction %s: the summary is sent: %v, what it stands for: %v", name, gist, story)
		}
	}
}
