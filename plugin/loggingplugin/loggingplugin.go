// Package loggingplugin has a plugin that writes all that happens in runs to
// the log of package log/slog, for looking at while an agent is made.
//
//	p, err := loggingplugin.New("log")
//	r, err := runner.New(runner.Config{
//		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{p}},
//		...
//	})
//
// It logs what users and models say. Where that must not be in a log it must
// not be used.
package loggingplugin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/plugin"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
)

// maxText is how many characters of a text are logged.
const maxText = 200

// New returns the plugin. Its name is "logging_plugin" if name is empty.
func New(name string) (*plugin.Plugin, error) {
	name = cmp.Or(name, "logging_plugin")
	log := func(ctx agent.InvocationContext, what string, attrs ...any) {
		about := []any{"plugin", name, "invocation", ctx.InvocationID()}
		if a := ctx.Agent(); a != nil {
			about = append(about, "agent", a.Name())
		}
		slog.InfoContext(ctx, what, append(about, attrs...)...)
	}
	return plugin.New(plugin.Config{
		Name: name,
		OnUserMessageCallback: func(ctx agent.InvocationContext, msg *genai.Content) (*genai.Content, error) {
			log(ctx, "user message", "user", ctx.Session().UserID(), "session", ctx.Session().ID(), "content", contentText(msg))
			return nil, nil
		},
		BeforeRunCallback: func(ctx agent.InvocationContext) (*genai.Content, error) {
			log(ctx, "run starts")
			return nil, nil
		},
		AfterRunCallback: func(ctx agent.InvocationContext) { log(ctx, "run ended") },
		OnEventCallback: func(ctx agent.InvocationContext, e *session.Event) (*session.Event, error) {
			content := e.Content
			if summary := e.Actions.Compaction; summary != nil {
				content = summary.CompactedContent
			}
			log(ctx, "event", "id", e.ID, "author", e.Author, "final", e.IsFinalResponse(), "content", contentText(content))
			return nil, nil
		},
		BeforeAgentCallback: func(ctx agent.Context) (*genai.Content, error) {
			log(ctx, "agent starts", "branch", ctx.Branch())
			return nil, nil
		},
		AfterAgentCallback: func(ctx agent.Context) (*genai.Content, error) {
			log(ctx, "agent ended")
			return nil, nil
		},
		BeforeModelCallback: func(ctx agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			log(ctx, "model call", "model", req.Model, "contents", len(req.Contents), "tools", len(req.Tools))
			return nil, nil
		},
		AfterModelCallback: func(ctx agent.Context, response *model.LLMResponse, err error) (*model.LLMResponse, error) {
			if response != nil {
				log(ctx, "model response", "partial", response.Partial, "content", contentText(response.Content), "usage", usage(response), "error_code", response.ErrorCode)
			}
			return nil, nil
		},
		OnModelErrorCallback: func(ctx agent.Context, _ *model.LLMRequest, err error) (*model.LLMResponse, error) {
			log(ctx, "model error", "error", err)
			return nil, nil
		},
		BeforeToolCallback: func(ctx agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
			log(ctx, "tool call", "tool", t.Name(), "call", ctx.FunctionCallID(), "args", jsonText(args))
			return nil, nil
		},
		AfterToolCallback: func(ctx agent.Context, t tool.Tool, _, result map[string]any, err error) (map[string]any, error) {
			log(ctx, "tool result", "tool", t.Name(), "call", ctx.FunctionCallID(), "result", jsonText(result), "error", err)
			return nil, nil
		},
		OnToolErrorCallback: func(ctx agent.Context, t tool.Tool, _ map[string]any, err error) (map[string]any, error) {
			log(ctx, "tool error", "tool", t.Name(), "call", ctx.FunctionCallID(), "error", err)
			return nil, nil
		},
	})
}

// MustNew is New that panics where New fails.
func MustNew(name string) *plugin.Plugin {
	p, err := New(name)
	if err != nil {
		panic(err)
	}
	return p
}

func contentText(content *genai.Content) string {
	if content == nil {
		return ""
	}
	var parts []string
	for _, part := range content.Parts {
		switch {
		case part == nil:
		case part.Text != "":
			parts = append(parts, shorten(part.Text))
		case part.FunctionCall != nil:
			parts = append(parts, "call of "+part.FunctionCall.Name)
		case part.FunctionResponse != nil:
			parts = append(parts, "response of "+part.FunctionResponse.Name)
		case part.InlineData != nil:
			parts = append(parts, fmt.Sprintf("%d bytes of %s", len(part.InlineData.Data), part.InlineData.MIMEType))
		default:
			parts = append(parts, "another part")
		}
	}
	return strings.Join(parts, " | ")
}

func jsonText(value map[string]any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return shorten(fmt.Sprint(value))
	}
	return shorten(string(data))
}

func usage(response *model.LLMResponse) string {
	if response.UsageMetadata == nil {
		return ""
	}
	return fmt.Sprintf("%d in, %d out", response.UsageMetadata.PromptTokenCount, response.UsageMetadata.CandidatesTokenCount)
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + "..."
	}
	return text
}
