package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
)

func TestTurns(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name          string
		turn          modeltest.Turn
		whole, stream string
	}{
		{"Text", modeltest.Text("Hi."), `"Hi." STOP`, `"Hi." STOP`},
		{"Call", modeltest.Call("c-1", "forecast", map[string]any{"city": "Rome"}), `c-1 forecast map[city:Rome] STOP`, `c-1 forecast map[city:Rome] STOP`},
		{"Reply", modeltest.Reply(&genai.Part{Text: "a"}, &genai.Part{Text: "b"}), `"a" "b" STOP`, `"a" "b" STOP`},
		{"Streamed", modeltest.Streamed("a", "b"), `"ab" STOP`, `"a" partial, "b" partial, "ab" STOP`},
		{"Fail", modeltest.Fail(broken), `broken`, `broken`},
		{
			"an error half-way",
			modeltest.Turn{Responses: modeltest.Streamed("a", "b").Responses[:1], Err: broken},
			`broken`, `"a" partial, broken`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			llm := modeltest.NewScript(test.turn, test.turn)
			if got := play(t.Context(), llm, "Hello", false); got != test.whole {
				t.Errorf("whole: %s, want %s", got, test.whole)
			}
			if got := play(t.Context(), llm, "Hello", true); got != test.stream {
				t.Errorf("streamed: %s, want %s", got, test.stream)
			}
		})
	}
}

func TestScriptFailsOnACallThatIsNotInIt(t *testing.T) {
	llm := modeltest.NewScript(modeltest.Text("one"))
	llm.Add(modeltest.Text("two"))
	if got := llm.Remaining(); got != 2 {
		t.Errorf("%d turns remain, want 2", got)
	}
	play(t.Context(), llm, "first", false)
	play(t.Context(), llm, "second", false)
	got := play(t.Context(), llm, "third", false)
	if !strings.Contains(got, "call 3") || !strings.Contains(got, `"third"`) {
		t.Errorf("third call: %s; want an error with its number and its prompt", got)
	}
	if got := llm.Remaining(); got != 0 {
		t.Errorf("%d turns remain, want 0", got)
	}
}

func TestScriptKeepsCopiesOfRequests(t *testing.T) {
	llm := modeltest.NewScript(modeltest.Text("ok"))
	req := &model.LLMRequest{
		Model:    "m",
		Contents: genai.Text("Hello"),
		Config:   &genai.GenerateContentConfig{StopSequences: []string{"END"}},
	}
	for range llm.GenerateContent(t.Context(), req, false) {
	}
	req.Contents[0].Parts[0].Text = "changed"
	req.Config.StopSequences[0] = "changed"
	want := []*model.LLMRequest{{
		Model:    "m",
		Contents: genai.Text("Hello"),
		Config:   &genai.GenerateContentConfig{StopSequences: []string{"END"}},
	}}
	if diff := cmp.Diff(want, llm.Requests()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAConsumerMayChangeWhatItIsGiven(t *testing.T) {
	turn := modeltest.Call("c-1", "forecast", map[string]any{"city": "Rome"})
	llm := modeltest.NewScript(turn, turn)
	for response := range llm.GenerateContent(t.Context(), &model.LLMRequest{}, false) {
		response.Content.Parts[0].FunctionCall.Args["city"] = "changed"
	}
	if got, want := play(t.Context(), llm, "", false), "c-1 forecast map[city:Rome] STOP"; got != want {
		t.Errorf("second call: %s, want %s", got, want)
	}
}

func TestAConsumerMayStop(t *testing.T) {
	for _, llm := range []model.LLM{modeltest.NewScript(modeltest.Streamed("a", "b"), modeltest.Text("next")), modeltest.Echo{}} {
		for range llm.GenerateContent(t.Context(), &model.LLMRequest{Contents: genai.Text("a b c")}, true) {
			break
		}
		if got := play(t.Context(), llm, "next", false); got != `"next" STOP` {
			t.Errorf("%s: the call after it: %s", llm.Name(), got)
		}
	}
}

func TestCancellation(t *testing.T) {
	for _, llm := range []model.LLM{modeltest.NewScript(modeltest.Streamed("a", "b"), modeltest.Text("next")), modeltest.Echo{}} {
		t.Run(llm.Name(), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var got []string
			for response, err := range llm.GenerateContent(ctx, &model.LLMRequest{Contents: genai.Text("a b")}, true) {
				cancel()
				got = append(got, show(response, err))
			}
			if len(got) != 2 || got[1] != context.Canceled.Error() {
				t.Errorf("half-way: %v", got)
			}
			if got := play(ctx, llm, "never sent", false); got != context.Canceled.Error() {
				t.Errorf("from the start: %v", got)
			}
			if got := play(t.Context(), llm, "next", false); got != `"next" STOP` {
				t.Errorf("the call after it: %s", got)
			}
		})
	}
}

func TestScriptIsSafeForConcurrentUse(t *testing.T) {
	llm := modeltest.NewScript()
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			llm.Add(modeltest.Text("ok"))
			if got := play(context.Background(), llm, "Hello", false); got != `"ok" STOP` {
				t.Error(got)
			}
		})
	}
	calls.Wait()
	if got := len(llm.Requests()); got != 8 {
		t.Errorf("%d requests, want 8", got)
	}
}

func TestEcho(t *testing.T) {
	if got, want := play(t.Context(), modeltest.Echo{}, "How are you?", false), `"How are you?" STOP`; got != want {
		t.Errorf("whole: %s, want %s", got, want)
	}
	if got, want := play(t.Context(), modeltest.Echo{}, "How are you?", true), `"How " partial, "are " partial, "you?" partial, "How are you?" STOP`; got != want {
		t.Errorf("streamed: %s, want %s", got, want)
	}
	for response, err := range (modeltest.Echo{}).GenerateContent(t.Context(), &model.LLMRequest{}, false) {
		if got := show(response, err); got != `"" STOP` {
			t.Errorf("nothing said: %s", got)
		}
	}
}

// play calls llm with a prompt of one text and shows what comes back.
func play(ctx context.Context, llm model.LLM, prompt string, stream bool) string {
	var shown []string
	for response, err := range llm.GenerateContent(ctx, &model.LLMRequest{Contents: genai.Text(prompt)}, stream) {
		shown = append(shown, show(response, err))
	}
	return strings.Join(shown, ", ")
}

func show(response *model.LLMResponse, err error) string {
	if err != nil {
		return err.Error()
	}
	var words []string
	for _, part := range response.Content.Parts {
		if call := part.FunctionCall; call != nil {
			words = append(words, fmt.Sprint(call.ID, " ", call.Name, " ", call.Args))
		} else {
			words = append(words, fmt.Sprintf("%q", part.Text))
		}
	}
	if response.Partial {
		words = append(words, "partial")
	}
	if response.FinishReason != "" {
		words = append(words, string(response.FinishReason))
	}
	return strings.Join(words, " ")
}
