package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/anthropicmodel"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/model/openaimodel"
)

// provider is where models come from.
type provider struct {
	name string
	// keys are the environment variables of which one must hold the key.
	keys []string
	// also says what else the environment may tell.
	also string
	// usual is the model that is taken where none is named.
	usual string
	open  func(ctx context.Context, model string) (model.LLM, error)
}

// providers are asked in this order for a key, where no model is named.
var providers = []provider{
	{"gemini", []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}, "", "gemini-2.5-flash",
		func(ctx context.Context, name string) (model.LLM, error) { return gemini.NewModel(ctx, name, nil) }},
	{"openai", []string{"OPENAI_API_KEY"}, "; a server in OPENAI_BASE_URL", "gpt-5-mini",
		func(ctx context.Context, name string) (model.LLM, error) {
			return openaimodel.NewModel(ctx, name, nil)
		}},
	{"anthropic", []string{"ANTHROPIC_API_KEY"}, "", "claude-sonnet-4-5",
		func(ctx context.Context, name string) (model.LLM, error) {
			return anthropicmodel.NewModel(ctx, name, nil)
		}},
}

// echo is the model that needs no key and no network.
const echo = "echo"

// extractive is the summarizer that needs no model.
const extractive = "extractive"

func (p provider) hasKey() bool {
	for _, key := range p.keys {
		if os.Getenv(key) != "" {
			return true
		}
	}
	return len(p.keys) == 0
}

// modelForms is what else there is and what a model may be called, for messages.
func modelForms(others ...string) string {
	forms := others
	for _, p := range providers {
		forms = append(forms, p.name+":MODEL")
	}
	last := len(forms) - 1
	return strings.Join(forms[:last], ", ") + " or " + forms[last]
}

// keyHelp says where keys are read, a line for each provider.
func keyHelp() string {
	var lines []string
	for _, p := range providers {
		lines = append(lines, fmt.Sprintf("  %-15s  with a key in %s%s", p.name+":MODEL", strings.Join(p.keys, " or "), p.also))
	}
	return strings.Join(lines, "\n")
}

// openModel opens PROVIDER:MODEL. flag is who asks, for messages, and others
// what else it takes.
func openModel(ctx context.Context, flag, others, name string) (model.LLM, error) {
	prefix, modelName, _ := strings.Cut(name, ":")
	for _, p := range providers {
		if p.name != prefix || modelName == "" {
			continue
		}
		if !p.hasKey() {
			return nil, fmt.Errorf("%s %s needs an API key in %s", flag, name, strings.Join(p.keys, " or "))
		}
		llm, err := p.open(ctx, modelName)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, name, err)
		}
		return llm, nil
	}
	return nil, fmt.Errorf("%s is %q; it must be %s", flag, name, modelForms(others))
}

// chatModel is the model of a chat. An empty name asks for the usual one of the
// first provider that has a key and, where none has, for echo.
func chatModel(ctx context.Context, name string) (model.LLM, string, error) {
	for _, p := range providers {
		if name == "" && p.hasKey() {
			name = p.name + ":" + p.usual
		}
	}
	if name == "" || name == echo {
		return modeltest.Echo{}, echo, nil
	}
	llm, err := openModel(ctx, "--model", echo, name)
	return llm, name, err
}

// newSummarizer returns what --summarizer names. Where a model fails, an extract
// stands in, and the outcome says so.
func newSummarizer(ctx context.Context, name string) (compaction.Summarizer, error) {
	if name == extractive {
		return compaction.ExtractiveSummarizer{}, nil
	}
	llm, err := openModel(ctx, "--summarizer", extractive, name)
	if err != nil {
		return nil, err
	}
	primary, err := compaction.NewLLMSummarizer(compaction.LLMSummarizerConfig{Model: llm})
	if err != nil {
		return nil, fmt.Errorf("--summarizer %s: %w", name, err)
	}
	return compaction.Fallback(primary, compaction.ExtractiveSummarizer{}), nil
}
