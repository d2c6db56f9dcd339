// Package full has the launcher with everything that this module can launch:
// the conversation in a terminal.
//
//	l := full.NewLauncher()
//	if err := l.Execute(ctx, config, os.Args[1:]); err != nil {
//		log.Fatalf("%v\n\n%s", err, l.CommandLineSyntax())
//	}
//
// ADK's launcher of this name has web servers as well (web api, web webui, web
// a2a). Asked for one, this launcher says that it has none.
package full

import (
	"context"
	"errors"

	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/console"
	"github.com/recap-adk/recap/cmd/launcher/universal"
)

// NewLauncher returns the launcher. Without arguments it is the console.
func NewLauncher() launcher.Launcher {
	return universal.NewLauncher(console.NewLauncher(), web{})
}

// web stands where ADK's has its servers.
type web struct{}

var errNoWeb = errors.New("the web launchers (api, webui, a2a) are not part of this module: serve package runner from a handler of your own, or start without arguments for a conversation in the terminal")

func (web) Keyword() string                             { return "web" }
func (web) Parse([]string) ([]string, error)            { return nil, errNoWeb }
func (web) CommandLineSyntax() string                   { return "" }
func (web) SimpleDescription() string                   { return "not part of this module" }
func (web) Run(context.Context, *launcher.Config) error { return errNoWeb }
