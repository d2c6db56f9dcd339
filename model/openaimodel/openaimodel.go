// Package openaimodel talks to models by the Chat Completions protocol, with
// OpenAI's own client: to OpenAI, and to every server that speaks the protocol,
// such as vLLM, Ollama and llama.cpp.
//
//	llm, err := openaimodel.NewModel(ctx, "qwen3", &openaimodel.ClientConfig{
//		BaseURL: "http://localhost:8000/v1", // none: OpenAI
//	})
//	if err != nil {
//		return err
//	}
//	req := &model.LLMRequest{Contents: genai.Text("Name three rivers.")}
//	for response, err := range llm.GenerateContent(ctx, req, true) {
//		if err != nil {
//			return err
//		}
//		if response.Partial {
//			fmt.Print(response.Content.Parts[0].Text)
//		}
//	}
//
// The example of the package is this program against a local server. Imported,
// the package also serves model.NewLLM for names such as "gpt-5" and "o3", with
// everything else from the environment.
//
// # What is sent
//
// The conversation is arranged so that servers accept it: the user begins and
// ends, roles alternate, and the results of tools stand directly behind the
// calls. Calls without an ID get one. A call without a result, or a result
// without a call, is an error that names it.
//
// A user can show texts, images, sound (WAV, MP3) and PDF files; a tool answers
// in JSON. Thoughts of earlier turns are not sent. What the protocol has no
// place for is an error that names the part or the field, never left out
// silently.
//
// # What comes back
//
// Reasoning that a server shows, as reasoning_content or reasoning, becomes
// parts with Thought set. A streamed answer is complete when the server said
// why it stopped; one that ends earlier is an error. Calls are in the last
// response only, whole.
package openaimodel

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/recap-adk/recap/model"
)

const provider = "openai"

func init() {
	for _, pattern := range []string{`gpt-.*`, `chatgpt-.*`, `o[0-9]+(-.*)?`} {
		model.Register(pattern, func(ctx context.Context, name string) (model.LLM, error) {
			return NewModel(ctx, name, nil)
		})
	}
}

// ClientConfig says where the models are. The zero value takes everything from
// the environment: OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID,
// OPENAI_PROJECT_ID.
type ClientConfig struct {
	// APIKey is the credential. Empty: from the environment, or none.
	APIKey string
	// BaseURL is the address above "chat/completions". Empty: from the
	// environment, or OpenAI.
	BaseURL string
	// HTTPClient makes the requests. Nil: one of the client's own.
	HTTPClient *http.Client
	// Options are applied to every request, after the above. They set what has
	// no field here: headers, more fields of the body (option.WithJSONSet), the
	// number of retries (option.WithMaxRetries; otherwise 2).
	Options []option.RequestOption
}

// NewModel returns the model of that name. A nil cfg is an empty one. NewModel
// sends nothing and fails only if modelName is empty.
//
// Calls that fail with status 408, 409, 429 or 5xx, or without a connection, are
// tried again after the time that the server asks for. Errors are *model.Error.
// Kind is ErrTooLong for a prompt beyond the model's window, ErrRateLimit for
// status 429, ErrAuth for 401 and 403, ErrBlocked for a prompt that a content
// filter stopped. An answer that the model refused to give, or that a filter
// stopped, is no error but a response with an ErrorCode.
func NewModel(_ context.Context, modelName string, cfg *ClientConfig) (model.LLM, error) {
	if modelName == "" {
		return nil, &model.Error{Provider: provider, Err: ErrModelNameRequired}
	}
	if cfg == nil {
		cfg = &ClientConfig{}
	}
	options := []option.RequestOption{option.WithMiddleware(wordedErrors)}
	if cfg.APIKey != "" {
		options = append(options, option.WithAPIKey(cfg.APIKey))
	}
	if cfg.BaseURL != "" {
		options = append(options, option.WithBaseURL(cfg.BaseURL))
	}
	if cfg.HTTPClient != nil {
		options = append(options, option.WithHTTPClient(cfg.HTTPClient))
	}
	return &chatModel{
		name:    modelName,
		limitBy: limitField(cmp.Or(cfg.BaseURL, os.Getenv("OPENAI_BASE_URL"))),
		client:  openai.NewClient(append(options, cfg.Options...)...),
	}, nil
}

// limitField is the field that limits an answer. Compatible servers know the
// old one, and not all of them the new; OpenAI's newer models refuse the old.
func limitField(baseURL string) limit {
	if baseURL == "" {
		return maxCompletionTokens
	}
	address, err := url.Parse(baseURL)
	if err != nil {
		return maxTokens
	}
	for _, domain := range []string{"openai.com", "azure.com"} {
		if host := address.Hostname(); host == domain || strings.HasSuffix(host, "."+domain) {
			return maxCompletionTokens
		}
	}
	return maxTokens
}

type chatModel struct {
	name    string
	limitBy limit
	client  openai.Client
}

func (m *chatModel) Name() string { return m.name }

func (m *chatModel) GenerateContent(ctx context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		params, err := newParams(m.name, m.limitBy, req)
		if err != nil {
			yield(nil, &model.Error{Provider: provider, Err: err})
			return
		}
		if stream {
			m.stream(ctx, params, yield)
			return
		}
		completion, err := m.client.Chat.Completions.New(ctx, params)
		if err != nil {
			yield(nil, callError(ctx, err))
			return
		}
		yieldWhole(ctx, completionAnswer(completion), yield)
	}
}

// stream yields what arrives, then the whole.
func (m *chatModel) stream(ctx context.Context, params openai.ChatCompletionNewParams, yield func(*model.LLMResponse, error) bool) {
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := m.client.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	var whole answer
	for stream.Next() {
		if partial := whole.add(stream.Current()); partial != nil && !yield(partial, nil) {
			return
		}
	}
	err := stream.Err()
	if err == nil && whole.finish == "" {
		err = errBroken
	}
	if err != nil {
		yield(nil, callError(ctx, err))
		return
	}
	yieldWhole(ctx, &whole, yield)
}

func yieldWhole(ctx context.Context, whole *answer, yield func(*model.LLMResponse, error) bool) {
	response, err := whole.response(ctx)
	if err != nil {
		yield(nil, &model.Error{Provider: provider, Err: err})
		return
	}
	yield(response, nil)
}
