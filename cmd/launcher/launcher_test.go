package launcher_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/plugin"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
)

func TestValidate(t *testing.T) {
	echo, err := llmagent.New(llmagent.Config{Name: "echo", Model: modeltest.Echo{}})
	if err != nil {
		t.Fatal(err)
	}
	modelless, err := agent.New(agent.Config{Name: "modelless", Run: func(agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(func(*session.Event, error) bool) {}
	}})
	if err != nil {
		t.Fatal(err)
	}
	both, err := agent.NewMultiLoader(echo, modelless)
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	counting, err := plugin.New(plugin.Config{Name: "counting", CloseFunc: func() error { closed++; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		config *launcher.Config
		want   string // part of the error; empty: none
	}{
		{"agents and nothing else", &launcher.Config{AgentLoader: both}, ""},
		{"no config", nil, "the config is nil"},
		{"no loader", &launcher.Config{}, "AgentLoader must be set"},
		{"a compaction that never fires", &launcher.Config{AgentLoader: agent.NewSingleLoader(echo), CompactionConfig: &compaction.Config{}}, `agent "echo"`},
		{
			"an agent, not the first, that has no model to summarize with",
			&launcher.Config{AgentLoader: both, CompactionConfig: compaction.DefaultConfig()}, `agent "modelless"`,
		},
		{
			"a plugin that is there twice",
			&launcher.Config{AgentLoader: both, PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{counting, counting}}}, `"counting"`,
		},
		{
			"a plugin, which stays open",
			&launcher.Config{AgentLoader: both, PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{counting}}}, "",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.config.Validate()
			if got := fmt.Sprint(err); (err == nil) != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("the error is %q, want one with %q", got, test.want)
			}
		})
	}
	if closed > 0 {
		t.Error("Validate closed a plugin")
	}
}

// once is a way to run that answers one message and is over.
type once struct{}

func (once) Run(ctx context.Context, config *launcher.Config) error {
	cfg, err := config.RunnerConfig("")
	if err != nil {
		return err
	}
	r, err := runner.New(cfg)
	if err != nil {
		return err
	}
	fmt.Println("answering for", cfg.AppName)
	return r.Close(ctx)
}

// A way to run of one's own makes its runner of the config.
func ExampleConfig_RunnerConfig() {
	assistant, err := llmagent.New(llmagent.Config{Name: "assistant", Model: modeltest.Echo{}})
	if err != nil {
		panic(err)
	}
	config := &launcher.Config{AgentLoader: agent.NewSingleLoader(assistant)}
	if err := (once{}).Run(context.Background(), config); err != nil {
		panic(err)
	}
	// Output: answering for assistant
}
