// Package anthropicmodel talks to Anthropic's Claude models by the Messages
// protocol, with Anthropic's own client.
//
//	llm, err := anthropicmodel.NewModel(ctx, "claude-sonnet-4-5", &anthropicmodel.ClientConfig{
//		APIKey: os.Getenv("ANTHROPIC_API_KEY"),
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
// the package also serves model.NewLLM for names such as "claude-opus-4-5", with
// everything else from the environment.
//
// # What is sent
//
// The conversation is arranged so that the service accepts it: the user begins
// and ends, roles alternate, and the results of tools stand first in the message
// behind the calls. IDs that the service refuses are replaced. A call without a
// result, or a result without a call, is an error that names it.
//
// A user can show texts, images and PDF files, and so can a tool. What the
// protocol has no place for is an error that names the part or the field, never
// left out silently. Temperature, TopP and TopK are sent as they are; the
// service refuses them for newer models.
//
// With ClientConfig.CachePrompt the service caches the prompt up to its end, so
// that the next turn pays for what is new.
//
// # What comes back
//
// The model's thinking becomes parts with Thought set, whose ThoughtSignature
// makes them valid in the next request. Thoughts without a signature of
// Anthropic's, such as another model's, are not sent.
//
// Every call is streamed, also one without stream, which yields the last
// response alone: the service gives long answers in no other way. An answer that
// ends before the service said that it is complete is an error.
package anthropicmodel

import (
	"context"
	"iter"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"github.com/recap-adk/recap/model"
)

const provider = "anthropic"

func init() {
	model.Register(`claude-.*`, func(ctx context.Context, name string) (model.LLM, error) {
		return NewModel(ctx, name, nil)
	})
}

// ClientConfig says where the models are. The zero value takes everything from
// the environment: ANTHROPIC_API_KEY or another credential that the client
// knows, ANTHROPIC_BASE_URL.
type ClientConfig struct {
	// APIKey is the credential. Empty: from the environment.
	APIKey string
	// BaseURL is the address above "v1/messages". Empty: from the environment,
	// or Anthropic.
	BaseURL string
	// HTTPClient makes the requests. Nil: one of the client's own.
	HTTPClient *http.Client
	// Options are applied to every request, after the above. They set what has
	// no field here: headers, more fields of the body (option.WithJSONSet), the
	// number of retries (option.WithMaxRetries; otherwise 2).
	Options []option.RequestOption
	// CachePrompt makes the service cache prompts, for five minutes from the
	// last use. Writing costs a quarter more than not caching, reading a tenth.
	CachePrompt bool
}

// NewModel returns the Claude model of that name. A nil cfg is an empty one.
// NewModel sends nothing and fails only if modelName is empty.
//
// Calls that fail with status 408, 409, 429 or 5xx, or without a connection, are
// tried again after the time that the service asks for. Errors are *model.Error.
// Kind is ErrTooLong for a prompt beyond the model's window, ErrRateLimit for
// status 429, ErrAuth for 401 and 403 and for no credential at all, ErrBlocked
// for what a content filter stopped. An answer that the model refused to give is
// no error but a response with an ErrorCode.
//
// A request without MaxOutputTokens, which the service demands, may be answered
// with 16,384 tokens, and with as many more as it has for thinking.
func NewModel(_ context.Context, modelName string, cfg *ClientConfig) (model.LLM, error) {
	if modelName == "" {
		return nil, &model.Error{Provider: provider, Err: ErrModelNameRequired}
	}
	if cfg == nil {
		cfg = &ClientConfig{}
	}
	var options []option.RequestOption
	if cfg.APIKey != "" {
		options = append(options, option.WithAPIKey(cfg.APIKey))
	}
	if cfg.BaseURL != "" {
		options = append(options, option.WithBaseURL(cfg.BaseURL))
	}
	if cfg.HTTPClient != nil {
		options = append(options, option.WithHTTPClient(cfg.HTTPClient))
	}
	return &claude{
		name:   modelName,
		cache:  cfg.CachePrompt,
		client: anthropic.NewClient(append(options, cfg.Options...)...),
	}, nil
}

type claude struct {
	name   string
	cache  bool
	client anthropic.Client
}

func (m *claude) Name() string { return m.name }

func (m *claude) GenerateContent(ctx context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		params, err := newParams(m.name, req)
		if err != nil {
			yield(nil, &model.Error{Provider: provider, Err: err})
			return
		}
		if m.cache {
			params.CacheControl = anthropic.NewCacheControlEphemeralParam()
		}
		events := m.client.Messages.NewStreaming(ctx, params, sampling(req.Config)...)
		defer events.Close()
		read(ctx, events, stream, yield)
	}
}

// read yields what arrives, if partial responses are wanted, then the whole.
func read(ctx context.Context, events *ssestream.Stream[anthropic.MessageStreamEventUnion], partials bool, yield func(*model.LLMResponse, error) bool) {
	whole := answer{inputs: map[int64]string{}}
	for !whole.ended && events.Next() {
		partial, err := whole.add(events.Current())
		if err != nil {
			yield(nil, callError(ctx, err))
			return
		}
		if partial != nil && partials && !yield(partial, nil) {
			return
		}
	}
	err := events.Err()
	if err == nil && !whole.ended {
		err = errBroken
	}
	if err != nil {
		yield(nil, callError(ctx, err))
		return
	}
	response, err := whole.response(ctx)
	if err != nil {
		yield(nil, &model.Error{Provider: provider, Err: err})
		return
	}
	yield(response, nil)
}
