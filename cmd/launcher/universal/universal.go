// Package universal makes a launcher of several ways to run: the first argument
// chooses one by its keyword, and the first way is the one that runs without.
//
//	l := universal.NewLauncher(console.NewLauncher(), mine)
//	err := l.Execute(ctx, config, os.Args[1:])
package universal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/recap-adk/recap/cmd/launcher"
)

// NewLauncher returns a launcher that has the sublaunchers, the first of which
// is the default. Execute validates the config before it runs one. Two of one
// keyword, or none at all, are an error of Execute.
func NewLauncher(sublaunchers ...launcher.SubLauncher) launcher.Launcher {
	return universal(sublaunchers)
}

// universal are sublaunchers, the default first.
type universal []launcher.SubLauncher

func (u universal) Execute(ctx context.Context, config *launcher.Config, args []string) error {
	chosen, args, err := u.choose(args)
	if err != nil {
		return err
	}
	rest, err := chosen.Parse(args)
	if err != nil {
		return fmt.Errorf("%s: %w", chosen.Keyword(), err)
	}
	if err := ErrorOnUnparsedArgs(rest); err != nil {
		return fmt.Errorf("%s: %w", chosen.Keyword(), err)
	}
	if err := config.Validate(); err != nil {
		return err
	}
	return chosen.Run(ctx, config)
}

// choose returns the sublauncher that args ask for, and the arguments that are
// left to it.
func (u universal) choose(args []string) (launcher.SubLauncher, []string, error) {
	if len(u) == 0 {
		return nil, nil, errors.New("launcher: there is nothing to launch")
	}
	byKeyword := map[string]launcher.SubLauncher{}
	for _, sub := range u {
		if byKeyword[sub.Keyword()] != nil {
			return nil, nil, fmt.Errorf("launcher: two launchers have the keyword %q", sub.Keyword())
		}
		byKeyword[sub.Keyword()] = sub
	}
	if len(args) > 0 && byKeyword[args[0]] != nil {
		return byKeyword[args[0]], args[1:], nil
	}
	return u[0], args, nil
}

func (u universal) CommandLineSyntax() string {
	var b strings.Builder
	b.WriteString("Arguments: [keyword] [flags]\n")
	for i, sub := range u {
		fmt.Fprintf(&b, "\n  %s  %s", sub.Keyword(), sub.SimpleDescription())
		if i == 0 {
			b.WriteString(" (default)")
		}
		b.WriteString("\n")
		for line := range strings.Lines(sub.CommandLineSyntax()) {
			b.WriteString("    " + line)
		}
	}
	return b.String()
}

// ErrorOnUnparsedArgs returns an error that lists args, or nil if there are
// none.
func ErrorOnUnparsedArgs(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("arguments that nothing is known of: %q", args)
}
