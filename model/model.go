// Package model is the seam between agents and language models.
//
// An LLM turns a request into a stream of responses:
//
//	for response, err := range llm.GenerateContent(ctx, request, true) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(response.Content.Parts[0].Text)
//	}
//
// Requests and responses are made of the types of google.golang.org/genai,
// whatever the provider: Content with its Parts, and GenerateContentConfig.
// Adapters are in the packages below this one; package modeltest has models
// for tests, which need no network.
//
// An adapter that is imported can be had by the name of a model:
//
//	import _ "github.com/recap-adk/recap/model/anthropicmodel"
//
//	llm, err := model.NewLLM(ctx, "claude-sonnet-4-5")
package model

import (
	"context"
	"iter"

	"google.golang.org/genai"
)

// LLM is a language model.
type LLM interface {
	// Name is the model's name as its provider knows it.
	Name() string

	// GenerateContent sends req and yields what comes back.
	//
	// Without stream it yields exactly one response, or one error. With stream
	// it yields responses with Partial set as they arrive, then one response
	// that is not partial and holds the whole answer; an error ends the
	// stream. A consumer may stop at any point, which releases what the call
	// holds. Errors that a caller can act on match one of ErrTooLong,
	// ErrRateLimit, ErrBlocked and ErrAuth by errors.Is.
	//
	// req is the callee's to read, not to change or keep. Implementations are
	// safe for concurrent use.
	GenerateContent(ctx context.Context, req *LLMRequest, stream bool) iter.Seq2[*LLMResponse, error]
}

// LLMRequest is one call of a model.
type LLMRequest struct {
	// Model is the name of the model; empty means the LLM's own.
	Model string
	// Contents is the conversation, oldest first.
	Contents []*genai.Content
	// Config holds the instruction, tool declarations and parameters.
	Config *genai.GenerateContentConfig
	// Tools are the tools behind the declarations in Config, by name.
	Tools map[string]any `json:"-"`
}

// LLMResponse is what a model said, whole or in part.
type LLMResponse struct {
	Content           *genai.Content                              `json:"content,omitempty"`
	CitationMetadata  *genai.CitationMetadata                     `json:"citationMetadata,omitempty"`
	GroundingMetadata *genai.GroundingMetadata                    `json:"groundingMetadata,omitempty"`
	UsageMetadata     *genai.GenerateContentResponseUsageMetadata `json:"usageMetadata,omitempty"`
	// CustomMetadata is the application's. The key "recap" in it is reserved.
	CustomMetadata      map[string]any        `json:"customMetadata,omitempty"`
	LogprobsResult      *genai.LogprobsResult `json:"logprobsResult,omitempty"`
	InputTranscription  *genai.Transcription  `json:"inputTranscription,omitempty"`
	OutputTranscription *genai.Transcription  `json:"outputTranscription,omitempty"`
	ModelVersion        string                `json:"modelVersion,omitempty"`
	// Partial marks a piece of a streamed answer. Partial responses are shown,
	// never stored.
	Partial bool `json:"partial,omitempty"`
	// TurnComplete marks the end of a model's turn in a live stream.
	TurnComplete            bool   `json:"turnComplete,omitempty"`
	Interrupted             bool   `json:"interrupted,omitempty"`
	SessionResumptionHandle string `json:"sessionResumptionHandle,omitempty"`
	// ErrorCode and ErrorMessage describe an answer that the model, as opposed
	// to the connection, refused or broke off.
	ErrorCode    string             `json:"errorCode,omitempty"`
	ErrorMessage string             `json:"errorMessage,omitempty"`
	FinishReason genai.FinishReason `json:"finishReason,omitempty"`
	AvgLogprobs  float64            `json:"avgLogprobs,omitempty"`
}
