package full_test

import (
	"context"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/full"
	"github.com/recap-adk/recap/model/modeltest"
)

// Nobody types anything.
func TestMain(m *testing.M) {
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		log.Fatal(err)
	}
	os.Stdin = nothing
	os.Exit(m.Run())
}

func TestWebIsNotThere(t *testing.T) {
	for _, args := range [][]string{{"web"}, {"web", "api", "webui"}, {"web", "-port", "8080", "a2a"}} {
		err := full.NewLauncher().Execute(t.Context(), nil, args)
		if err == nil || !strings.Contains(err.Error(), "the web launchers (api, webui, a2a) are not part of this module") {
			t.Errorf("%v: the error is %v", args, err)
		}
	}
}

// A whole program. Its arguments, os.Args[1:], are given here, and nobody types
// anything.
func ExampleNewLauncher() {
	assistant, err := llmagent.New(llmagent.Config{Name: "assistant", Model: modeltest.Echo{}})
	if err != nil {
		log.Fatal(err)
	}
	config := &launcher.Config{AgentLoader: agent.NewSingleLoader(assistant)}
	l := full.NewLauncher()
	if err := l.Execute(context.Background(), config, []string{"console", "-session", "s1"}); err != nil {
		log.Fatalf("%v\n\n%s", err, l.CommandLineSyntax())
	}
	// Output:
	// Talking to assistant in session s1. /quit or Ctrl-D ends it.
	// >
}
