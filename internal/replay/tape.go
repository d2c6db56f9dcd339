package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/tokens"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/tool"
)

// tape is the recorded model and the recorded tools.
type tape struct {
	counter *tokens.Counter
	// model, if set, answers in place of the recording.
	model       model.LLM
	window      int
	failTooLong bool

	mu      sync.Mutex
	steps   []conversation.Step
	results map[string]map[string]any // of the current step, by call ID
	calls   int
	billed  int
	cached  int
	output  int
	last    int // tokens of the last prompt
	refused bool
	peak    int
	largest int
	before  []byte                       // the prompt before, in JSON
	reused  int                          // bytes of prompts that stood in the prompt before
	sent    int                          // bytes of prompts
	config  *genai.GenerateContentConfig // of the last call
}

func (t *tape) load(steps []conversation.Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps, t.refused = steps, false
}

// wasRefused reports whether a prompt was larger than the window since load.
func (t *tape) wasRefused() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

func (t *tape) left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.steps)
}

// Name is "recording".
func (t *tape) Name() string { return "recording" }

// GenerateContent says what the recorded model said, or nothing where the
// recording ends.
func (t *tape) GenerateContent(ctx context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		if t.model != nil {
			t.ask(ctx, req, stream, yield)
			return
		}
		t.mu.Lock()
		t.config = req.Config
		if len(t.steps) == 0 {
			t.mu.Unlock()
			return
		}
		if err := t.fits(req); err != nil {
			t.mu.Unlock()
			yield(nil, err)
			return
		}
		step := t.steps[0]
		t.steps = t.steps[1:]
		t.calls++
		size, cached := t.measure(req)
		t.billed += size
		t.cached += cached
		output := t.counter.Content(step.Content)
		t.output += output
		t.results = map[string]map[string]any{}
		for _, r := range step.Results {
			t.results[r.CallID] = r.Response
		}
		t.mu.Unlock()
		yield(&model.LLMResponse{
			Content:       clone.Of(step.Content),
			ErrorCode:     step.ErrorCode,
			ErrorMessage:  step.ErrorMessage,
			UsageMetadata: played(step.Usage, size, output),
		}, nil)
	}
}

// played is what was recorded of tokens, with those of the prompt that was sent:
// the recorded one was another, and a threshold that read its size would fire at
// each call.
func played(recorded *genai.GenerateContentResponseUsageMetadata, prompt, output int) *genai.GenerateContentResponseUsageMetadata {
	if recorded == nil {
		return nil
	}
	return &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount: int32(prompt), CandidatesTokenCount: int32(output), TotalTokenCount: int32(prompt + output),
	}
}

// ask has the model answer. A call that fails is not billed.
func (t *tape) ask(ctx context.Context, req *model.LLMRequest, stream bool, yield func(*model.LLMResponse, error) bool) {
	t.mu.Lock()
	t.config = req.Config
	if err := t.fits(req); err != nil {
		t.mu.Unlock()
		yield(nil, err)
		return
	}
	size, cached := t.measure(req)
	t.mu.Unlock()
	for response, err := range t.model.GenerateContent(ctx, req, stream) {
		if err != nil {
			yield(nil, t.tooLong(err))
			return
		}
		if !response.Partial {
			t.bill(response, size, cached)
		}
		if !yield(response, nil) {
			return
		}
	}
}

// fits reports a prompt that is larger than the window.
func (t *tape) fits(req *model.LLMRequest) error {
	size := t.counter.Request(req.Contents, req.Config)
	if t.window == 0 || size <= t.window {
		return nil
	}
	t.last, t.refused = size, true
	return t.tooLong(fmt.Errorf("%w: it has %d tokens, the window %d", model.ErrTooLong, size, t.window))
}

// tooLong is the error in the form in which it is acted on, or is not.
func (t *tape) tooLong(err error) error {
	if t.failTooLong && errors.Is(err, model.ErrTooLong) {
		return errors.New(err.Error())
	}
	return err
}

// bill adds a call by what the model reported, or else by what was counted.
func (t *tape) bill(response *model.LLMResponse, size, cached int) {
	output := t.counter.Content(response.Content)
	if usage := response.UsageMetadata; usage != nil && usage.PromptTokenCount > 0 {
		size, cached = int(usage.PromptTokenCount), int(usage.CachedContentTokenCount)
		output = int(usage.CandidatesTokenCount + usage.ThoughtsTokenCount)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	t.billed, t.cached, t.output = t.billed+size, t.cached+cached, t.output+output
	t.peak = max(t.peak, size)
}

// measure counts the tokens of a prompt, and of those the ones that stood at the
// start of the one before.
func (t *tape) measure(req *model.LLMRequest) (size, cached int) {
	size = t.counter.Request(req.Contents, req.Config)
	t.last = size
	if t.model == nil {
		t.peak = max(t.peak, size)
	}
	t.largest = max(t.largest, t.counter.Request(req.Contents, nil))
	now, err := json.Marshal([]any{req.Config.SystemInstruction, req.Contents})
	if err != nil {
		return size, 0 // what cannot be written as JSON cannot be compared
	}
	same := 0
	for same < min(len(now), len(t.before)) && now[same] == t.before[same] {
		same++
	}
	t.reused, t.sent, t.before = t.reused+same, t.sent+len(now), now
	return size, size * same / len(now)
}

// tools are the tools that the recording knows, by their names.
func (t *tape) tools(c *conversation.Conversation) []tool.Tool {
	var names []string
	for _, turn := range c.Turns {
		for _, step := range turn.Steps {
			if step.Content == nil {
				continue
			}
			for _, part := range step.Content.Parts {
				if part.FunctionCall != nil && !slices.Contains(names, part.FunctionCall.Name) {
					names = append(names, part.FunctionCall.Name)
				}
			}
		}
	}
	slices.Sort(names)
	tools := make([]tool.Tool, len(names))
	for i, name := range names {
		tools[i] = recordedTool{name, t}
	}
	return tools
}

// recordedTool returns what was recorded. It has no declaration, as the
// recording does not tell what the model was told of it.
type recordedTool struct {
	name string
	tape *tape
}

func (r recordedTool) Name() string                            { return r.name }
func (r recordedTool) Description() string                     { return "" }
func (r recordedTool) IsLongRunning() bool                     { return false }
func (r recordedTool) Declaration() *genai.FunctionDeclaration { return nil }

func (r recordedTool) Run(ctx agent.Context, _ map[string]any) (map[string]any, error) {
	r.tape.mu.Lock()
	defer r.tape.mu.Unlock()
	result, ok := r.tape.results[ctx.FunctionCallID()]
	if !ok {
		return nil, fmt.Errorf("the recording has no result of call %q", ctx.FunctionCallID())
	}
	return clone.Of(result), nil
}
