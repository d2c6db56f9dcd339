package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	exitFailure     = 1
	exitInput       = 2
	exitInterrupted = 130
)

// inputError is an error in what the user asked for or gave.
type inputError struct{ err error }

func (e inputError) Error() string { return e.err.Error() }
func (e inputError) Unwrap() error { return e.err }

// run is the command. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	// What packages log would stand between the progress bar and the one line
	// of an error. What of it matters is in the output, as a note.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var input inputError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "recap: interrupted")
		return exitInterrupted
	case errors.As(err, &input):
		fmt.Fprintf(stderr, "recap: %s\n", oneLine(err.Error()))
		return exitInput
	}
	fmt.Fprintf(stderr, "recap: %s\n", oneLine(err.Error()))
	return exitFailure
}

// oneLine joins the lines of a text, as joined errors have them.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "recap",
		Short: "Look after the sessions of agents",
		Long: `Recap keeps the prompts of long agent sessions small: summaries stand in for old
events, which all stay in the log. This command shows what is in a database of
sessions and what a model is sent of it, and compacts it.`,
		Example: `  recap replay conversation.json
  recap eval
  recap sessions chat.db
  recap show chat.db
  recap compact chat.db --dry-run`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return inputError{fmt.Errorf("there is no command %q; see recap --help", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return inputError{err} })
	// In 80 columns, as all that the command prints.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	root.AddGroup(&cobra.Group{ID: "see", Title: "See:"}, &cobra.Group{ID: "change", Title: "Change:"}, &cobra.Group{ID: "try", Title: "Try:"})
	group := func(id string, commands ...*cobra.Command) {
		for _, command := range commands {
			command.GroupID = id
			root.AddCommand(command)
		}
	}
	group("see", newSessions(), newShow(), newContext(), newDiff(), newRecall(), newExport(), newServe())
	group("change", newCompact(), newUndo(), newImport())
	group("try", newChat(), newReplay(), newEval())
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args = func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return inputError{fmt.Errorf("there are completions for bash, zsh, fish and powershell, not for %q", args[0])}
			}
			return nil
		}
		completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	return root
}
