package eval

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
)

func Example() {
	cases, err := Planted(Plan{Turns: 60, Facts: 20, Seed: 1}, 2)
	if err != nil {
		panic(err)
	}
	report, err := Run(context.Background(), cases, Options{Strategies: []string{"none", "last-n", "default", "recall"}})
	if err != nil {
		panic(err)
	}
	for _, played := range report.Cases {
		for _, s := range played.Scores {
			fmt.Printf("%s, %s: %d facts in view, %d one recall away\n", played.Name, s.Strategy, s.Facts.InView, s.Facts.Recall)
		}
	}
	// Output:
	// seed 1, none: 20 facts in view, 0 one recall away
	// seed 1, last-n: 1 facts in view, 0 one recall away
	// seed 1, default: 10 facts in view, 0 one recall away
	// seed 1, recall: 10 facts in view, 10 one recall away
	// seed 2, none: 20 facts in view, 0 one recall away
	// seed 2, last-n: 4 facts in view, 0 one recall away
	// seed 2, default: 8 facts in view, 0 one recall away
	// seed 2, recall: 8 facts in view, 12 one recall away
}

func planted(t testing.TB, p Plan, runs int) []Case {
	t.Helper()
	cases, err := Planted(p, runs)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func mustRun(t testing.TB, cases []Case, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), cases, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (p Played) score(t testing.TB, strategy string) Score {
	t.Helper()
	i := slices.IndexFunc(p.Scores, func(s Score) bool { return s.Strategy == strategy })
	if i < 0 {
		t.Fatalf("%s was not played with %s", p.Name, strategy)
	}
	return p.Scores[i]
}

// TestRecallLosesNothing: in each of 20 conversations every planted fact is in
// the prompt or in the answer to one call of the recall tool.
func TestRecallLosesNothing(t *testing.T) {
	const facts = 40
	for _, c := range planted(t, Plan{Turns: 120, Facts: facts, Seed: 1}, 20) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := mustRun(t, []Case{c}, Options{Strategies: []string{"recall"}}).Cases[0].Scores[0]
			if s.Facts.Reachable() != facts || s.Facts.Recall == 0 {
				t.Errorf("%+v; lost are %q", *s.Facts, s.LostFacts)
			}
		})
	}
}

// TestStrategies compares what all of them do with the same conversation.
func TestStrategies(t *testing.T) {
	r := mustRun(t, planted(t, Plan{Turns: 120, Facts: 40, Seed: 3}, 1), Options{})
	played := r.Cases[0]
	none := played.score(t, "none")
	if played.Raw == nil || played.Raw.Billed != none.Billed.Input || none.Facts.InView != 40 || none.Compactions > 0 || none.Anchors.Lost > 0 {
		t.Errorf("none: %+v, raw %+v", none, played.Raw)
	}
	for _, s := range played.Scores {
		if s.ModelCalls != none.ModelCalls || s.Billed.Output != none.Billed.Output || len(s.Failures) > 0 || len(s.PerTurn) != 120 {
			t.Errorf("%s: %d model calls, %d tokens of output, %d turns, failures %v", s.Strategy, s.ModelCalls, s.Billed.Output, len(s.PerTurn), s.Failures)
		}
		if s.Strategy != "none" && (s.Billed.Input > none.Billed.Input/4 || s.Peak > none.Peak/4) {
			t.Errorf("%s: %d tokens billed, %d at most; none: %d and %d", s.Strategy, s.Billed.Input, s.Peak, none.Billed.Input, none.Peak)
		}
		if k := s.Facts; k.InView+k.Recall+k.Lost != k.Total {
			t.Errorf("%s: %+v", s.Strategy, *k)
		}
		sources := 0
		for _, k := range s.BySource {
			sources += k.Reachable()
		}
		if sources != s.Facts.Reachable() || len(s.ByKind) != len(Kinds) {
			t.Errorf("%s: by source %v, by kind %v", s.Strategy, s.BySource, s.ByKind)
		}
	}
	for _, strategy := range []string{"last-n", "rolling", "window", "default"} {
		if s := played.score(t, strategy); s.Facts.Lost == 0 || s.Facts.Recall > 0 || len(s.LostFacts) != s.Facts.Lost {
			t.Errorf("%s, which has no tool to recall: %+v", strategy, *s.Facts)
		}
	}
	// What tells them apart: the sliding window alone grows, a rolling summary
	// and merged ones do not.
	window, rolling, usual := played.score(t, "window"), played.score(t, "rolling"), played.score(t, "default")
	if window.PerTurn[119] < window.PerTurn[59]*3/2 || rolling.PerTurn[119] > rolling.PerTurn[59]*3/2 || usual.PerTurn[119] > usual.PerTurn[59]*3/2 {
		t.Errorf("after turns 60 and 120: window %d, %d; rolling %d, %d; default %d, %d", window.PerTurn[59], window.PerTurn[119],
			rolling.PerTurn[59], rolling.PerTurn[119], usual.PerTurn[59], usual.PerTurn[119])
	}
	if window.Compactions != 24 || rolling.Compactions != 24 || usual.Compactions <= 24 {
		t.Errorf("summaries: window %d, rolling %d, default %d", window.Compactions, rolling.Compactions, usual.Compactions)
	}
}

// TestWindow: a prompt that is larger than the window fails its turn, and ends
// nothing. There is nothing in a view that cannot be sent.
func TestWindow(t *testing.T) {
	r := mustRun(t, planted(t, Plan{Turns: 120, Facts: 40, Seed: 1}, 1), Options{Window: 2048, Model: modeltest.Echo{}})
	played := r.Cases[0]
	none := played.score(t, "none")
	if len(none.PerTurn) != 120 || len(none.Failures) < 60 || none.Peak > 2048 || none.Facts.InView > 0 {
		t.Errorf("none: %d turns, %d failures, %d at most, facts %+v", len(none.PerTurn), len(none.Failures), none.Peak, *none.Facts)
	}
	if played.Raw == nil || played.Raw.Peak <= 2048 || len(played.Raw.PerTurn) != 120 {
		t.Errorf("shares are of %+v", played.Raw)
	}
	if none.FailedQuestions != 40 || !strings.HasPrefix(none.QuestionError, "prompt too long") {
		t.Errorf("none: %d questions failed, %s", none.FailedQuestions, none.QuestionError)
	}
	for _, strategy := range []string{"rolling", "default", "recall"} {
		if s := played.score(t, strategy); len(s.Failures)+s.FailedQuestions > 0 || s.Facts.InView == 0 {
			t.Errorf("%s: failures %v, facts %+v", strategy, s.Failures, *s.Facts)
		}
	}
	var text bytes.Buffer
	if err := r.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	first := none.Failures[0]
	for _, want := range []string{
		fmt.Sprintf("none failed at turn %d: prompt too long for the model: it has %d tokens, the window 2048; and at %d later turns", first.Turn, first.Prompt, len(none.Failures)-1),
		"Window: 2,048.",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("there is no %q in\n%s", want, text.String())
		}
	}
}

// knowing is a model that knows what stands in its prompt, and looks up the rest
// if it can.
type knowing struct{ facts []Fact }

func (knowing) Name() string { return "knowing" }

func (k knowing) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		var prompt strings.Builder
		question, looked := "", false
		for _, content := range req.Contents {
			for _, part := range content.Parts {
				prompt.WriteString(normal(partText(part)) + "\n")
				if part.Text != "" && content.Role == genai.RoleUser {
					question = part.Text
				}
				looked = looked || part.FunctionResponse != nil
			}
		}
		answer := genai.NewPartFromText("I see.")
		for _, f := range k.facts {
			switch {
			case !strings.HasSuffix(question, f.Question):
			case contains(prompt.String(), f.Value):
				answer = genai.NewPartFromText("That is " + strings.ToUpper(f.Value) + ".")
			case len(req.Tools) > 0 && !looked:
				answer = genai.NewPartFromFunctionCall("recall", map[string]any{"query": f.Query})
			}
		}
		yield(&model.LLMResponse{
			Content:       &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{answer}},
			FinishReason:  genai.FinishReasonStop,
			UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 100, CachedContentTokenCount: 60, CandidatesTokenCount: 7, ThoughtsTokenCount: 3},
		}, nil)
	}
}

// TestLive: a model answers throughout and is asked for the facts at the end.
// What it and the summarizer reported is what it cost.
func TestLive(t *testing.T) {
	cases := planted(t, Plan{Turns: 30, Facts: 10, Seed: 5, UserOnly: true}, 1)
	llm := knowing{cases[0].Facts}
	prices, err := DecodePrices("p.json", []byte(`{"date":"2026-12-01","models":{"m":{"input":2,"cached_input":0.5,"output":10}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := mustRun(t, cases, Options{Model: llm, Live: true, Prices: prices, Summarizer: llm})
	for _, s := range r.Cases[0].Scores {
		want := Spent{Input: 3000, Cached: 1800, Output: 300}
		if s.ModelCalls != 30 || s.Billed != want {
			t.Errorf("%s: %d calls, %+v", s.Strategy, s.ModelCalls, s.Billed)
		}
		if compacts := s.Strategy != "none" && s.Strategy != "last-n"; compacts != (s.SummarizerCalls >= 6) || s.Summaries.Input != 100*s.SummarizerCalls {
			t.Errorf("%s: %d calls of the summarizer, %+v", s.Strategy, s.SummarizerCalls, s.Summaries)
		}
		n := float64(s.ModelCalls + s.SummarizerCalls)
		if cost := (n*40*2 + n*60*0.5 + n*10*10) / 1e6; s.Cost["m"] < cost*0.999 || s.Cost["m"] > cost*1.001 {
			t.Errorf("%s costs %v, want %v", s.Strategy, s.Cost, cost)
		}
		if s.Facts.Asked != 10 || s.Facts.Answered != s.Facts.Reachable() {
			t.Errorf("%s: %+v", s.Strategy, *s.Facts)
		}
	}
	if k := r.Cases[0].score(t, "recall").Facts; k.Answered != 10 {
		t.Errorf("with recall: %+v", *k)
	}
	if k := r.Cases[0].score(t, "last-n").Facts; k.Answered == 10 {
		t.Errorf("last-n: %+v", *k)
	}
}

// TestQuestions: evidence of a question set is looked for, and answers are scored.
func TestQuestions(t *testing.T) {
	cases, err := DecodeLoCoMo("set.json", []byte(sampleSet))
	if err != nil {
		t.Fatal(err)
	}
	r := mustRun(t, cases, Options{Strategies: []string{"none"}, Model: modeltest.Echo{}})
	s := r.Cases[0].Scores[0]
	if *s.Evidence != (Kept{Total: 3, InView: 3, Asked: 3, Answered: 1, Score: s.Evidence.Score}) || s.UnknownTurn != 1 || len(s.ByCategory) != 2 {
		t.Errorf("evidence %+v, %d unknown, by category %v", *s.Evidence, s.UnknownTurn, s.ByCategory)
	}
}

// TestFailingModel: a model that fails costs its turns and questions, and the
// conversation is given up in time.
func TestFailingModel(t *testing.T) {
	cases := planted(t, Plan{Turns: 12, Facts: 2, Seed: 1, UserOnly: true}, 1)
	r := mustRun(t, cases, Options{Strategies: []string{"none"}, Model: failing{}, Live: true, GiveUpAfter: 3})
	s := r.Cases[0].Scores[0]
	if len(s.Failures) != 3 || !s.GaveUp || s.FailedQuestions != 2 || s.Facts.Answered > 0 || r.Cases[0].Raw != nil {
		t.Errorf("%+v", s)
	}
	var text bytes.Buffer
	if err := r.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"none failed at turn 1: out of order; and at 2 later turns; then it was given up", "none: 2 questions got no answer, the first: out of order"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("there is no %q in\n%s", want, text.String())
		}
	}
}

type failing struct{}

func (failing) Name() string { return "failing" }
func (failing) GenerateContent(context.Context, *model.LLMRequest, bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) { yield(nil, errors.New("out of order")) }
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		`there is no strategy "best"; there are [none last-n rolling window default recall]`: {Strategies: []string{"none", "best"}},
		`the strategy "none" is named twice`:                                                 {Strategies: []string{"none", "none"}},
		"a live conversation needs a model":                                                  {Live: true},
		"a window of 100 tokens is too small: it must be at least 1024":                      {Window: 100},
		"a window and a number of invocations cannot be negative":                            {Last: -1},
	} {
		if _, err := Run(t.Context(), nil, o); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, planted(t, Plan{Turns: 2, Facts: 1}, 1), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %v", err)
	}
}

// TestLastInvocations: a message with the results of tools begins none.
func TestLastInvocations(t *testing.T) {
	result := &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{Name: "look"}}}}
	contents := []*genai.Content{
		said(genai.RoleUser, "one"), said(genai.RoleModel, "calls"), result, said(genai.RoleModel, "said"),
		said(genai.RoleUser, "two"), said(genai.RoleModel, "said"), said(genai.RoleUser, "three"),
	}
	for n, want := range map[int]int{1: 1, 2: 3, 3: 7, 9: 7} {
		if got := len(lastInvocations(contents, n)); got != want {
			t.Errorf("the last %d are %d contents, want %d", n, got, want)
		}
	}
}

// TestPage: the page is whole, names in it are text, and it needs nothing else.
func TestPage(t *testing.T) {
	cases := planted(t, Plan{Turns: 30, Facts: 10, Seed: 1}, 2)
	cases = append(cases, Case{Name: `<script>alert("x")</script>.json`, Talk: cases[0].Talk})
	r := mustRun(t, cases, Options{Window: 1024})
	var text bytes.Buffer
	if err := r.WriteHTML(&text); err != nil {
		t.Fatal(err)
	}
	for _, never := range []string{"<script", "src=", "href=", "http://", "https://", "ZgotmplZ"} {
		if strings.Contains(strings.ReplaceAll(text.String(), `xmlns="http://www.w3.org/2000/svg"`, ""), never) {
			t.Errorf("the page has %q", never)
		}
	}
	if panels := strings.Count(text.String(), `class="raw"`); panels != 2*len(Strategies) {
		t.Errorf("there are %d panels", panels)
	}
	decoder := xml.NewDecoder(bytes.NewReader(r.Plot()))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the plot: %v", err)
		}
	}
}

// TestAirline checks the figures of a real conversation that is no part of the
// repository.
func TestAirline(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "airline-support.json")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the shared data is absent: %v", err)
	}
	talk, err := conversation.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	played := mustRun(t, []Case{{Name: path, Talk: talk}}, Options{Strategies: []string{"none", "default", "recall"}}).Cases[0]
	for strategy, most := range map[string]float64{"default": 0.08, "recall": 0.09} {
		s := played.score(t, strategy)
		if share := float64(s.Billed.Input) / float64(played.Raw.Billed); share > most {
			t.Errorf("%s: %.1f %% billed", strategy, 100*share)
		}
	}
	if k := played.score(t, "recall").Anchors; k.Reachable()*10 < k.Total*9 {
		t.Errorf("anchors with recall: %+v", *k)
	}
}
