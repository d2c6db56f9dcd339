package plugin_test

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/artifact"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/plugin"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
)

// A plugin that keeps card numbers out of the log, and out of the prompts and
// summaries that are made of it.
func Example() {
	redact := func(content *genai.Content) {
		if content != nil {
			for _, part := range content.Parts {
				part.Text = strings.ReplaceAll(part.Text, "4111", "****")
			}
		}
	}
	redaction, err := plugin.New(plugin.Config{
		Name: "redaction",
		OnUserMessageCallback: func(_ agent.InvocationContext, message *genai.Content) (*genai.Content, error) {
			redact(message)
			return message, nil
		},
		OnEventCallback: func(_ agent.InvocationContext, event *session.Event) (*session.Event, error) {
			redact(event.Content)
			if summary := event.Actions.Compaction; summary != nil {
				redact(summary.CompactedContent)
			}
			return nil, nil
		},
	})
	if err != nil {
		panic(err)
	}
	a, err := llmagent.New(llmagent.Config{Name: "clerk", Model: modeltest.Echo{}})
	if err != nil {
		panic(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "shop", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{redaction}},
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	message := genai.NewContentFromText("My card is 4111.", genai.RoleUser)
	for event, err := range r.Run(ctx, "ada", "s1", message, agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(event.Content.Parts[0].Text)
	}
	// Output: My card is ****.
}

// A plugin that keeps what each model call was asked, as an artifact of the
// session.
func ExampleConfig() {
	keeper, err := plugin.New(plugin.Config{
		Name: "keeper",
		BeforeModelCallback: func(ctx agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
			_, err := ctx.Artifacts().Save(ctx, "prompt", genai.NewPartFromText(fmt.Sprint(len(req.Contents), " contents")))
			return nil, err
		},
	})
	if err != nil {
		panic(err)
	}
	a, err := llmagent.New(llmagent.Config{Name: "clerk", Model: modeltest.Echo{}})
	if err != nil {
		panic(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "shop", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true,
		ArtifactService: artifact.InMemoryService(),
		PluginConfig:    runner.PluginConfig{Plugins: []*plugin.Plugin{keeper}},
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for range 2 {
		for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("Hello.", genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				panic(err)
			}
			fmt.Println(event.Content.Parts[0].Text, event.Actions.ArtifactDelta)
		}
	}
	// Output:
	// Hello. map[prompt:1]
	// Hello. map[prompt:2]
}
