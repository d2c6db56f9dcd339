// Package gemini talks to Google's Gemini models, over the Gemini API or
// Vertex AI, by Google's own client.
//
//	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", &genai.ClientConfig{
//		APIKey: os.Getenv("GOOGLE_API_KEY"),
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
// the package also serves model.NewLLM for names such as "gemini-2.5-flash",
// with everything else from the environment.
package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/dialog"
	"github.com/recap-adk/recap/model"
)

const (
	provider = "gemini"
	// unknownError is the ErrorCode of an answer that came without a candidate
	// and without a reason.
	unknownError = "UNKNOWN_ERROR"
)

// The patterns are those of names, and of resource names on Vertex AI.
func init() {
	for _, pattern := range []string{
		`gemini-.*`,
		`projects/.+/locations/.+/endpoints/.+`,
		`projects/.+/locations/.+/publishers/google/models/gemini-.+`,
	} {
		model.Register(pattern, func(ctx context.Context, name string) (model.LLM, error) {
			return NewModel(ctx, name, nil)
		})
	}
}

// NewModel returns the Gemini model of that name. cfg is as for
// genai.NewClient; nil takes everything from the environment. NewModel sends
// nothing: it fails only if modelName is empty or cfg lacks what the backend
// needs.
//
// Errors of calls are *model.Error. Kind is ErrRateLimit for status 429,
// ErrAuth for 401, 403 and a key that is not valid, ErrTooLong for a prompt
// with too many tokens. An answer, or a prompt, that the provider refused is no
// error but a response with an ErrorCode.
func NewModel(ctx context.Context, modelName string, cfg *genai.ClientConfig) (model.LLM, error) {
	if modelName == "" {
		return nil, errors.New("gemini: no model name")
	}
	var own genai.ClientConfig // the client writes to its configuration
	if cfg != nil {
		own = *cfg
		own.HTTPOptions.Headers = cfg.HTTPOptions.Headers.Clone()
	}
	client, err := genai.NewClient(ctx, &own)
	if err != nil {
		// The client's errors end in the whole configuration, keys included.
		reason, _, _ := strings.Cut(err.Error(), " ClientConfig:")
		return nil, fmt.Errorf("gemini: %s", reason)
	}
	return &geminiModel{name: modelName, client: client}, nil
}

type geminiModel struct {
	name   string
	client *genai.Client
}

func (m *geminiModel) Name() string { return m.name }

func (m *geminiModel) GenerateContent(ctx context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		name := req.Model
		if name == "" {
			name = m.name
		}
		contents, config := endingWithUser(req.Contents), ownConfig(req.Config)
		if stream {
			m.stream(ctx, name, contents, config, yield)
			return
		}
		response, err := m.client.Models.GenerateContent(ctx, name, contents, config)
		if err != nil {
			yield(nil, callError(ctx, err))
			return
		}
		yield(wholeResponse(response), nil)
	}
}

// stream yields what arrives, then the whole.
func (m *geminiModel) stream(ctx context.Context, name string, contents []*genai.Content, config *genai.GenerateContentConfig, yield func(*model.LLMResponse, error) bool) {
	var whole aggregate
	for response, err := range m.client.Models.GenerateContentStream(ctx, name, contents, config) {
		if err != nil {
			yield(nil, callError(ctx, err))
			return
		}
		whole.add(response)
		if partial := partialResponse(response); partial != nil && !yield(partial, nil) {
			return
		}
	}
	if !whole.ended() {
		yield(nil, callError(ctx, fmt.Errorf("the stream ended before the answer did: %w", io.ErrUnexpectedEOF)))
		return
	}
	yield(wholeResponse(whole.response()), nil)
}

// endingWithUser is contents with a last word of the user, which the service
// demands: there is none where an agent starts without a message.
func endingWithUser(contents []*genai.Content) []*genai.Content {
	if n := len(contents); n > 0 && contents[n-1].Role != genai.RoleModel {
		return contents
	}
	return append(contents[:len(contents):len(contents)], genai.NewContentFromText(dialog.GoOn, genai.RoleUser))
}

// ownConfig is a copy of those parts of config that the client writes to.
func ownConfig(config *genai.GenerateContentConfig) *genai.GenerateContentConfig {
	if config == nil {
		return nil
	}
	own := *config
	if config.SystemInstruction != nil {
		instruction := *config.SystemInstruction
		own.SystemInstruction = &instruction
	}
	if config.HTTPOptions != nil {
		options := *config.HTTPOptions
		options.Headers = options.Headers.Clone()
		own.HTTPOptions = &options
	}
	return &own
}

// partialResponse is a piece of a stream, or nil if there is nothing to show
// in it.
func partialResponse(piece *genai.GenerateContentResponse) *model.LLMResponse {
	candidate := firstCandidate(piece)
	if candidate == nil || candidate.Content == nil || len(candidate.Content.Parts) == 0 {
		return nil
	}
	return &model.LLMResponse{Content: candidate.Content, ModelVersion: piece.ModelVersion, Partial: true}
}

// wholeResponse is the first candidate, or why there is none.
func wholeResponse(response *genai.GenerateContentResponse) *model.LLMResponse {
	whole := &model.LLMResponse{UsageMetadata: response.UsageMetadata, ModelVersion: response.ModelVersion}
	candidate := firstCandidate(response)
	if candidate == nil {
		whole.ErrorCode, whole.ErrorMessage = unknownError, "the answer has no candidate"
		if feedback := response.PromptFeedback; feedback != nil && feedback.BlockReason != "" {
			whole.ErrorCode = string(feedback.BlockReason)
			whole.ErrorMessage = cmp.Or(feedback.BlockReasonMessage, "the prompt was blocked")
		}
		return whole
	}
	whole.Content = candidate.Content
	whole.CitationMetadata = candidate.CitationMetadata
	whole.GroundingMetadata = candidate.GroundingMetadata
	whole.LogprobsResult = candidate.LogprobsResult
	whole.AvgLogprobs = candidate.AvgLogprobs
	whole.FinishReason = candidate.FinishReason
	if brokenOff(candidate) {
		whole.ErrorCode = string(candidate.FinishReason)
		whole.ErrorMessage = cmp.Or(candidate.FinishMessage, "the answer was broken off")
	}
	return whole
}

// brokenOff reports whether the candidate is not an answer that the model
// meant to give. One that ran into the token limit is, as far as it goes.
func brokenOff(candidate *genai.Candidate) bool {
	switch candidate.FinishReason {
	case "", genai.FinishReasonUnspecified, genai.FinishReasonStop:
		return false
	case genai.FinishReasonMaxTokens:
		return candidate.Content == nil || len(candidate.Content.Parts) == 0
	}
	return true
}

func firstCandidate(response *genai.GenerateContentResponse) *genai.Candidate {
	if len(response.Candidates) == 0 {
		return nil
	}
	return response.Candidates[0]
}

// callError is the error of a call as callers of any model know it.
func callError(ctx context.Context, err error) error {
	failed := &model.Error{Provider: provider, Err: err}
	var answer genai.APIError
	if errors.As(err, &answer) {
		failed.Status = answer.Code
		failed.Kind = kindOf(answer)
		return failed
	}
	// A connection that was cut because the caller stopped may say so in words
	// of its own.
	if stopped := ctx.Err(); stopped != nil && !errors.Is(err, stopped) {
		failed.Err = errors.Join(stopped, err)
	}
	return failed
}

// kindOf reads the service's answer. For status 400 only the message tells
// what was wrong.
func kindOf(answer genai.APIError) error {
	message := strings.ToLower(answer.Message)
	switch {
	case answer.Code == http.StatusTooManyRequests:
		return model.ErrRateLimit
	case answer.Code == http.StatusUnauthorized, answer.Code == http.StatusForbidden:
		return model.ErrAuth
	case answer.Code != http.StatusBadRequest:
		return nil
	case strings.Contains(message, "api key"):
		return model.ErrAuth
	case strings.Contains(message, "token count") &&
		(strings.Contains(message, "exceeds") || strings.Contains(message, "only supports up to")):
		return model.ErrTooLong
	}
	return nil
}
