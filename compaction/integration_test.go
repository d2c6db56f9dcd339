package compaction_test

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/anthropicmodel"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/model/openaimodel"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
)

// The tests of this file talk to a real model, over HTTP: "make integration" runs
// them against a small model on this machine. Those of a provider cost money, so
// that a key lies about in the environment is not enough for them.
var askProviders = flag.Bool("real", false, "ask the providers that have a key in the environment")

// realModel is where a model may be had.
type realModel struct {
	// set is the environment variable that must be set for it.
	set  string
	name string
	open func(ctx context.Context, name string, client *http.Client) (model.LLM, error)
}

// served is a model behind a server that speaks OpenAI's protocol.
var served = realModel{"RECAP_MODEL", os.Getenv("RECAP_MODEL"), openOpenAI}

// hosted are asked, each that has a key, where no model is served. They are small
// and answer without thinking first, which would use up what an answer may have.
var hosted = []realModel{
	{"GOOGLE_API_KEY", "gemini-2.5-flash-lite", func(ctx context.Context, name string, client *http.Client) (model.LLM, error) {
		return gemini.NewModel(ctx, name, &genai.ClientConfig{HTTPClient: client})
	}},
	{"OPENAI_API_KEY", "gpt-4.1-nano", openOpenAI},
	{"ANTHROPIC_API_KEY", "claude-haiku-4-5", func(ctx context.Context, name string, client *http.Client) (model.LLM, error) {
		return anthropicmodel.NewModel(ctx, name, &anthropicmodel.ClientConfig{HTTPClient: client})
	}},
}

func openOpenAI(ctx context.Context, name string, client *http.Client) (model.LLM, error) {
	return openaimodel.NewModel(ctx, name, &openaimodel.ClientConfig{HTTPClient: client})
}

// onRealModels runs a test on the model that is served, or on one of every
// provider that has a key.
func onRealModels(t *testing.T, test func(t *testing.T, llm model.LLM)) {
	t.Helper()
	candidates := hosted
	if os.Getenv(served.set) != "" {
		candidates = []realModel{served}
	}
	var unset []string
	for _, candidate := range candidates {
		if os.Getenv(candidate.set) == "" || candidate.set != served.set && !*askProviders {
			unset = append(unset, candidate.set)
			continue
		}
		t.Run(candidate.name, func(t *testing.T) {
			client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
			t.Cleanup(client.CloseIdleConnections)
			llm, err := candidate.open(t.Context(), candidate.name, client)
			if err != nil {
				t.Fatal(err)
			}
			test(t, llm)
		})
	}
	if len(unset) == len(candidates) {
		t.Skipf("no model: RECAP_MODEL is not set, which names one at OPENAI_BASE_URL (make integration starts one); nor is -real, and a key in %s",
			strings.Join(unset, ", "))
	}
}

// promptLimit is what a prompt may have in these tests, in tokens, whatever more
// the model could take; answerLimit is the same for an answer.
const (
	promptLimit = 2048 - answerLimit
	answerLimit = 64
)

// smallWindow is the tokens of the model's window, if it is small enough to be
// filled. Otherwise the test is skipped.
func smallWindow(t *testing.T) int {
	t.Helper()
	window, err := strconv.Atoi(cmp.Or(os.Getenv("RECAP_WINDOW"), "0"))
	if err != nil {
		t.Fatalf("RECAP_WINDOW: %v", err)
	}
	if window == 0 || window > promptLimit+answerLimit {
		t.Skipf("RECAP_WINDOW names no window of %d tokens at most (%d): this conversation would not fill it", promptLimit+answerLimit, window)
	}
	return window
}

// forSmallWindow is a config for a window of 2,048 tokens. The threshold leaves
// room for an answer, for a message, and for what the estimate and the marks
// between messages may add. What the summarizer is asked has to fit the window as
// well, with its answer; so small a model often repeats itself without an end.
func forSmallWindow(t *testing.T, llm model.LLM) *compaction.Config {
	t.Helper()
	summarizer, err := compaction.NewLLMSummarizer(compaction.LLMSummarizerConfig{
		Model:                 llm,
		PromptTemplate:        shortTemplate,
		MaxTranscriptChars:    3500,
		MaxOutputTokens:       256,
		GenerateContentConfig: parameters(0),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &compaction.Config{
		CompactionInterval: 5,
		OverlapSize:        1,
		TokenThreshold:     1400,
		EventRetentionSize: 8,
		Summarizer:         compaction.Fallback(summarizer, compaction.ExtractiveSummarizer{}),
	}
}

// shortTemplate asks for less than the usual template does, which is a sixth of
// the window, and beyond so small a model.
const shortTemplate = `Here is part of a conversation.

` + compaction.ConversationHistoryPlaceholder + `

Write down in at most 80 words what the user wants and what was decided. Copy names, numbers, dates and codes exactly.`

// parameters make a model say the same each time, as far as it can.
func parameters(maxTokens int32) *genai.GenerateContentConfig {
	return &genai.GenerateContentConfig{Temperature: genai.Ptr[float32](0), MaxOutputTokens: maxTokens}
}

// realChat is a session with an agent on a real model.
type realChat struct {
	runner *runner.Runner
	close  func()
	prompt string // the contents of the last model call, as text
}

func newRealChat(t *testing.T, llm model.LLM, maxTokens int32, cfg *compaction.Config) *realChat {
	t.Helper()
	chat := &realChat{}
	helper, err := llmagent.New(llmagent.Config{
		Name: "helper", Model: llm, GenerateContentConfig: parameters(maxTokens),
		Instruction: "You help the user plan. Answer in one or two short sentences.",
		BeforeModelCallbacks: []llmagent.BeforeModelCallback{func(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			chat.prompt = ""
			for _, content := range req.Contents {
				chat.prompt += textOf(content) + "\n"
			}
			return nil, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	chat.runner, err = runner.New(runner.Config{
		AppName: "integration", Agent: helper, SessionService: session.InMemoryService(),
		AutoCreateSession: true, CompactionConfig: cfg,
	})
	if err != nil {
		t.Fatal(err)
	}
	chat.close = sync.OnceFunc(func() {
		if err := chat.runner.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	t.Cleanup(chat.close)
	return chat
}

// turn is what came of a message of the user.
type turn struct {
	prompt, answer int // tokens, as the server counted them
	took           time.Duration
	text           string
	finish         genai.FinishReason
	partials       []string
}

// say sends a message and waits for the whole answer. onPartial, if it is not nil,
// makes the answer come in pieces and is told of each.
func (c *realChat) say(ctx context.Context, message string, onPartial func()) (turn, error) {
	var got turn
	config := agent.RunConfig{}
	if onPartial != nil {
		config.StreamingMode = agent.StreamingModeSSE
	}
	started := time.Now()
	for event, err := range c.runner.Run(ctx, "ada", "s1", genai.NewContentFromText(message, genai.RoleUser), config) {
		if err != nil {
			return got, err
		}
		text := textOf(event.Content)
		if event.Partial {
			got.partials = append(got.partials, text)
			onPartial()
			continue
		}
		got.text, got.finish = text, event.FinishReason
		if usage := event.UsageMetadata; usage != nil {
			got.prompt, got.answer = int(usage.PromptTokenCount), int(usage.CandidatesTokenCount)
		}
	}
	got.took = time.Since(started)
	return got, nil
}

func textOf(content *genai.Content) string {
	record := session.EventCompaction{CompactedContent: content}
	return record.Text()
}

// sixtyTurns is what a user says who plans a holiday, a line for each turn.
//
//go:embed testdata/sixty-turns.txt
var sixtyTurns string

// TestRealConversation has sixty turns in a window that holds about twenty.
func TestRealConversation(t *testing.T) {
	onRealModels(t, func(t *testing.T, llm model.LLM) {
		cfg := forSmallWindow(t, llm)
		var made diary
		cfg.OnOutcome = made.add
		chat := newRealChat(t, llm, answerLimit, cfg)
		var turns []turn
		for line := range strings.Lines(sixtyTurns) {
			number := made.next()
			got, err := chat.say(t.Context(), strings.TrimSpace(line), nil)
			if err != nil {
				t.Fatalf("turn %d: %v", number, err)
			}
			if got.prompt == 0 || got.prompt > promptLimit || got.answer == 0 || got.answer > answerLimit {
				t.Errorf("turn %d: a prompt of %d tokens and an answer of %d, want 1 to %d and 1 to %d", number, got.prompt, got.answer, promptLimit, answerLimit)
			}
			if got.finish != genai.FinishReasonStop && got.finish != genai.FinishReasonMaxTokens {
				t.Errorf("turn %d: the answer ended with %s", number, got.finish)
			}
			turns = append(turns, got)
		}
		chat.close() // which waits for what is compacted in the background
		t.Logf("with compaction\n%s", table(turns))
		t.Logf("%d compactions, %d of them summaries by the model itself\n%s", made.applied, made.own, strings.Join(made.lines, "\n"))
		kept := slices.DeleteFunc(slices.Clone(statedCodes), func(code string) bool { return !strings.Contains(chat.prompt, code) })
		t.Logf("%d of the %d codes that the user stated are in the last prompt: %s", len(kept), len(statedCodes), strings.Join(kept, ", "))
		if len(turns) != 60 || made.applied == 0 {
			t.Errorf("%d turns and %d compactions, want 60 and some", len(turns), made.applied)
		}
	})
}

// statedCodes are what the user of sixtyTurns states and nobody could guess.
var statedCodes = []string{"WK-448213", "QF7-2291", "AS-5530", "GR-0417", "MK-7716", "KR-9083"}

// diary notes which compaction ended during which turn.
type diary struct {
	mu           sync.Mutex
	turn         int
	lines        []string
	applied, own int
}

func (d *diary) next() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.turn++
	return d.turn
}

func (d *diary) add(o compaction.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("turn %d: %s: %s", d.turn, o.Trigger, o))
	if o.Kind == compaction.Applied {
		d.applied++
		if o.Reason == "" {
			d.own++
		}
	}
}

// table is a line for every tenth turn and one for all.
func table(turns []turn) string {
	var text strings.Builder
	text.WriteString("| turn | prompt tokens | answer tokens | time |\n|---|---|---|---|\n")
	var largest turn
	var took time.Duration
	for i, one := range turns {
		largest.prompt, largest.answer = max(largest.prompt, one.prompt), max(largest.answer, one.answer)
		largest.took, took = max(largest.took, one.took), took+one.took
		if (i+1)%10 == 0 || i+1 == len(turns) {
			fmt.Fprintf(&text, "| %d | %d | %d | %.1f s |\n", i+1, one.prompt, one.answer, one.took.Seconds())
		}
	}
	fmt.Fprintf(&text, "| largest | %d | %d | %.1f s |\n", largest.prompt, largest.answer, largest.took.Seconds())
	fmt.Fprintf(&text, "| all %d turns | | | %.1f s |\n", len(turns), took.Seconds())
	return text.String()
}

// TestRealWithoutCompaction shows what the conversation comes to by itself.
func TestRealWithoutCompaction(t *testing.T) {
	onRealModels(t, func(t *testing.T, llm model.LLM) {
		window := smallWindow(t)
		chat := newRealChat(t, llm, answerLimit, nil)
		var turns []turn
		for line := range strings.Lines(sixtyTurns) {
			got, err := chat.say(t.Context(), strings.TrimSpace(line), nil)
			if err == nil {
				turns = append(turns, got)
				continue
			}
			if !errors.Is(err, model.ErrTooLong) {
				t.Fatalf("turn %d: %v, which is not %v", len(turns)+1, err, model.ErrTooLong)
			}
			t.Logf("without compaction, turn %d fails: %v\n%s", len(turns)+1, err, table(turns))
			return
		}
		t.Errorf("the conversation fits a window of %d tokens:\n%s", window, table(turns))
	})
}

// TestRealTooLong has a prompt that the model has no room for, whole and streamed.
// That is an error of its own kind, and where there is compaction, none.
func TestRealTooLong(t *testing.T) {
	onRealModels(t, func(t *testing.T, llm model.LLM) {
		window := smallWindow(t)
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
				long := &model.LLMRequest{Contents: genai.Text(strings.Repeat("word ", 2*window)), Config: parameters(8)}
				for _, err := range llm.GenerateContent(t.Context(), long, stream) {
					if !errors.Is(err, model.ErrTooLong) {
						t.Errorf("error is %v, want %v", err, model.ErrTooLong)
					}
				}
			})
		}
		t.Run("a threshold beyond the window", func(t *testing.T) {
			cfg := forSmallWindow(t, llm)
			cfg.CompactionInterval, cfg.OverlapSize, cfg.TokenThreshold = 0, 0, 100*window
			var made diary
			cfg.OnOutcome = made.add
			chat := newRealChat(t, llm, 16, cfg)
			filled := 0 // tokens of user messages
			for filled < window+window/2 {
				made.next()
				got, err := chat.say(t.Context(), "Please remember: "+strings.Repeat("word ", window/8), nil)
				if err != nil {
					t.Fatalf("with %d tokens said: %v", filled, err)
				}
				filled += window / 8
				t.Logf("%d tokens said, a prompt of %d", filled, got.prompt)
			}
			chat.close()
			t.Log(strings.Join(made.lines, "\n"))
			if made.applied == 0 {
				t.Error("nothing was compacted")
			}
		})
	})
}

// TestRealStream has an answer that comes in pieces.
func TestRealStream(t *testing.T) {
	onRealModels(t, func(t *testing.T, llm model.LLM) {
		chat := newRealChat(t, llm, answerLimit, nil)
		got, err := chat.say(t.Context(), "Name three rivers of Europe.", func() {})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d pieces, %d tokens to answer %d, %s: %q", len(got.partials), got.answer, got.prompt, got.finish, got.text)
		if joined := strings.Join(got.partials, ""); joined != got.text || len(got.partials) < 2 {
			t.Errorf("%d pieces are %q, the whole is %q", len(got.partials), joined, got.text)
		}
		if got.finish != genai.FinishReasonStop && got.finish != genai.FinishReasonMaxTokens {
			t.Errorf("finish reason is %q", got.finish)
		}
		if got.prompt == 0 || got.answer == 0 {
			t.Errorf("usage is %d tokens of prompt and %d of answer", got.prompt, got.answer)
		}
	})
}

// TestRealCancel stops an answer in the middle. The session goes on.
func TestRealCancel(t *testing.T) {
	onRealModels(t, func(t *testing.T, llm model.LLM) {
		chat := newRealChat(t, llm, 256, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		got, err := chat.say(ctx, "Tell me a long story about a fox, of many chapters.", cancel)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want %v", err, context.Canceled)
		}
		if len(got.partials) == 0 || got.text != "" {
			t.Errorf("%d pieces came, and the answer %q", len(got.partials), got.text)
		}
		got, err = chat.say(t.Context(), "Never mind. Say only: yes.", nil)
		if err != nil || got.text == "" {
			t.Errorf("the next turn answers %q, %v", got.text, err)
		}
	})
}

// TestRealMaxTokens has an answer that may not go on.
func TestRealMaxTokens(t *testing.T) {
	onRealModels(t, func(t *testing.T, llm model.LLM) {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
				req := &model.LLMRequest{Contents: genai.Text("Tell me a long story about a fox."), Config: parameters(16)}
				var last *model.LLMResponse
				for response, err := range llm.GenerateContent(t.Context(), req, stream) {
					if err != nil {
						t.Fatal(err)
					}
					last = response
				}
				if last.FinishReason != genai.FinishReasonMaxTokens || last.ErrorCode != "" || textOf(last.Content) == "" {
					t.Errorf("the answer %q ends with %s %s, want %s", textOf(last.Content), last.FinishReason, last.ErrorCode, genai.FinishReasonMaxTokens)
				}
				if usage := last.UsageMetadata; usage == nil || usage.CandidatesTokenCount == 0 || usage.CandidatesTokenCount > 16 {
					t.Errorf("usage is %+v, want 1 to 16 tokens of answer", usage)
				}
			})
		}
	})
}
