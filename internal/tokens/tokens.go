// Package tokens counts the tokens of model requests.
//
//	counter := tokens.New()
//	n := counter.Request(req.Contents, req.Config)
//
// Every string is cut into the tokens of o200k, the vocabulary of OpenAI's
// current models; other models' counts differ by some percent, much less than
// any rule of so many characters a token. What is counted is what a model
// reads: text, thoughts, code and its output, calls and responses as name and
// compact JSON, the system instruction and the function declarations. The few
// tokens that a provider puts around a message are not counted, and neither
// are images and other media, whose price is not a matter of text.
//
// A conversation's history is in every prompt of it. A Counter remembers what
// it has counted, so that all prompts of a conversation together cost little
// more than the longest.
package tokens

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/tiktoken-go/tokenizer"
	"google.golang.org/genai"
)

// Name is the name of the tokenizer.
const Name = "o200k"

// Counter counts tokens. It is safe for concurrent use.
type Counter struct {
	codec tokenizer.Codec
	seed  maphash.Seed

	mu   sync.RWMutex
	memo map[key]int
}

// key stands for a string without keeping it alive. That two strings share one
// is less likely than one in a billion, even among a hundred thousand of them.
type key struct {
	hash   uint64
	length int
}

// New returns a Counter that has counted nothing yet.
func New() *Counter {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		panic(err) // the library has that vocabulary built in
	}
	codec.SetErrorMode(tokenizer.ErrorModeReplace)
	return &Counter{codec: codec, seed: maphash.MakeSeed(), memo: map[key]int{}}
}

// Text returns the number of tokens in the text.
func (c *Counter) Text(text string) int {
	if text == "" {
		return 0
	}
	k := key{maphash.String(c.seed, text), len(text)}
	if n, ok := c.known(k); ok {
		return n
	}
	return c.count(k, text)
}

// Content returns the number of tokens in the content; nil has none.
func (c *Counter) Content(content *genai.Content) int {
	if content == nil {
		return 0
	}
	n := 0
	for _, part := range content.Parts {
		n += c.part(part)
	}
	return n
}

// perContent is what a chat format spends on each message besides its text: the
// marks around it and its role.
const perContent = 4

// Request returns the number of tokens in the prompt of a model request: its
// contents, with four tokens each for the marks around them, and, from the
// config, which may be nil, the system instruction and the function
// declarations.
func (c *Counter) Request(contents []*genai.Content, config *genai.GenerateContentConfig) int {
	n := 0
	for _, content := range contents {
		if content != nil {
			n += c.Content(content) + perContent
		}
	}
	if config == nil {
		return n
	}
	if config.SystemInstruction != nil {
		n += c.Content(config.SystemInstruction) + perContent
	}
	for _, tool := range config.Tools {
		if tool == nil {
			continue
		}
		for _, declaration := range tool.FunctionDeclarations {
			n += c.json(declaration)
		}
	}
	return n
}

func (c *Counter) part(part *genai.Part) int {
	if part == nil {
		return 0
	}
	n := c.Text(part.Text)
	if call := part.FunctionCall; call != nil {
		n += c.Text(call.Name) + c.object(call.Args)
	}
	if response := part.FunctionResponse; response != nil {
		n += c.Text(response.Name) + c.object(response.Response)
	}
	if code := part.ExecutableCode; code != nil {
		n += c.Text(code.Code)
	}
	if result := part.CodeExecutionResult; result != nil {
		n += c.Text(result.Output)
	}
	return n
}

func (c *Counter) object(object map[string]any) int {
	if object == nil {
		object = map[string]any{}
	}
	return c.json(object)
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// json returns the number of tokens in the value as compact JSON.
func (c *Counter) json(v any) int {
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	encoder := json.NewEncoder(buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return c.Text(fmt.Sprint(v)) // no JSON, but somebody's value all the same
	}
	text := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	k := key{maphash.Bytes(c.seed, text), len(text)}
	if n, ok := c.known(k); ok {
		return n
	}
	return c.count(k, string(text))
}

func (c *Counter) known(k key) (int, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	n, ok := c.memo[k]
	return n, ok
}

func (c *Counter) count(k key, text string) int {
	n, err := c.codec.Count(text)
	if err != nil {
		panic(err) // only a time limit can fail, and none is set
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memo[k] = n
	return n
}
