package loggingplugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/plugin"
	"github.com/recap-adk/recap/plugin/loggingplugin"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

// handler is a handler of logs without the time.
func handler(w interface{ Write([]byte) (int, error) }) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
}

// play runs a message through an agent whose model plays turns.
func play(p *plugin.Plugin, text string, turns ...modeltest.Turn) error {
	fails, err := functiontool.New(functiontool.Config{Name: "work"}, func(agent.Context, struct{}) (string, error) { return "", errors.New("down") })
	if err != nil {
		return err
	}
	a, err := llmagent.New(llmagent.Config{Name: "clerk", Model: modeltest.NewScript(turns...), Tools: []tool.Tool{fails}})
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{p}},
	})
	if err != nil {
		return err
	}
	n := 0
	ctx := platform.WithUUIDProvider(context.Background(), func() string { n++; return fmt.Sprint(n) })
	defer r.Close(ctx)
	for _, err = range r.Run(ctx, "ada", "s1", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}) {
	}
	return err
}

func Example() {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(handler(os.Stdout)))
	if err := play(loggingplugin.MustNew("log"), "Hello.", modeltest.Text("Hello Ada.")); err != nil {
		panic(err)
	}
	// Output:
	// level=INFO msg="user message" plugin=log invocation=e-1 agent=clerk user=ada session=s1 content=Hello.
	// level=INFO msg="run starts" plugin=log invocation=e-1 agent=clerk
	// level=INFO msg="agent starts" plugin=log invocation=e-1 agent=clerk branch=""
	// level=INFO msg="model call" plugin=log invocation=e-1 agent=clerk model=script contents=1 tools=1
	// level=INFO msg="model response" plugin=log invocation=e-1 agent=clerk partial=false content="Hello Ada." usage="" error_code=""
	// level=INFO msg=event plugin=log invocation=e-1 agent=clerk id=4 author=clerk final=true content="Hello Ada."
	// level=INFO msg="agent ended" plugin=log invocation=e-1 agent=clerk
	// level=INFO msg="run ended" plugin=log invocation=e-1 agent=clerk
}

// TestTrouble: what fails is in the log, and long texts are not.
func TestTrouble(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	var out bytes.Buffer
	slog.SetDefault(slog.New(handler(&out)))
	err := play(loggingplugin.MustNew(""), strings.Repeat("long ", 1000), modeltest.Call("c1", "work", nil), modeltest.Fail(errors.New("offline")))
	if err == nil || err.Error() != "offline" {
		t.Fatal(err)
	}
	for _, want := range []string{
		`msg="tool error" plugin=logging_plugin invocation=e-1 agent=clerk tool=work call=c1 error=down`,
		`msg="tool result" plugin=logging_plugin invocation=e-1 agent=clerk tool=work call=c1 result=null error=down`,
		`msg="model error" plugin=logging_plugin invocation=e-1 agent=clerk error=offline`,
		`content="call of work"`, `content="response of work"`, `long ..."`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, out.String())
		}
	}
	if out.Len() > 5000 {
		t.Errorf("%d characters", out.Len())
	}
}
