package universal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/universal"
	"github.com/recap-adk/recap/model/modeltest"
)

// sub is a way to run that has one flag, "-x", and says that it runs.
type sub struct {
	keyword string
	ran     *string
}

func (s sub) Keyword() string           { return s.keyword }
func (s sub) CommandLineSyntax() string { return "-x\n\tdoes nothing\n" }
func (s sub) SimpleDescription() string { return "the way " + s.keyword }

func (s sub) Parse(args []string) ([]string, error) {
	if len(args) > 0 && args[0] == "-bad" {
		return nil, errors.New("no such flag")
	}
	if len(args) > 0 && args[0] == "-x" {
		return args[1:], nil
	}
	return args, nil
}

func (s sub) Run(context.Context, *launcher.Config) error {
	*s.ran = s.keyword
	return nil
}

func config() *launcher.Config {
	a, err := llmagent.New(llmagent.Config{Name: "echo", Model: modeltest.Echo{}})
	if err != nil {
		panic(err)
	}
	return &launcher.Config{AgentLoader: agent.NewSingleLoader(a)}
}

func TestExecute(t *testing.T) {
	var ran string
	one, two := sub{"one", &ran}, sub{"two", &ran}
	tests := []struct {
		name   string
		subs   []launcher.SubLauncher
		config *launcher.Config
		args   string
		want   string // which ran, or part of the error
	}{
		{"no arguments run the first", []launcher.SubLauncher{one, two}, config(), "", "one"},
		{"a keyword chooses", []launcher.SubLauncher{one, two}, config(), "two -x", "two"},
		{"flags alone are the first one's", []launcher.SubLauncher{one, two}, config(), "-x", "one"},
		{"an unknown keyword", []launcher.SubLauncher{one, two}, config(), "three", `one: arguments that nothing is known of: ["three"]`},
		{"arguments that are left", []launcher.SubLauncher{one, two}, config(), "two -x y", `two: arguments that nothing is known of: ["y"]`},
		{"arguments that cannot be read", []launcher.SubLauncher{one, two}, config(), "two -bad", "two: no such flag"},
		{"a bad config runs nothing", []launcher.SubLauncher{one}, &launcher.Config{}, "", "AgentLoader must be set"},
		{"no launchers", nil, config(), "", "there is nothing to launch"},
		{"two of one keyword", []launcher.SubLauncher{one, one}, config(), "", `two launchers have the keyword "one"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ran = ""
			err := universal.NewLauncher(test.subs...).Execute(t.Context(), test.config, strings.Fields(test.args))
			if err == nil && ran != test.want || err != nil && (ran != "" || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("ran %q, error %v; want %q", ran, err, test.want)
			}
		})
	}
}

func ExampleNewLauncher() {
	var ran string
	l := universal.NewLauncher(sub{"one", &ran}, sub{"two", &ran})
	fmt.Fprint(os.Stdout, l.CommandLineSyntax())
	err := l.Execute(context.Background(), config(), []string{"two", "-x"})
	fmt.Println("\nran", ran, err)
	// Output:
	// Arguments: [keyword] [flags]
	//
	//   one  the way one (default)
	//     -x
	//     	does nothing
	//
	//   two  the way two
	//     -x
	//     	does nothing
	//
	// ran two <nil>
}
