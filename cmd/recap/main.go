// Recap is the command of the Recap agent SDK.
//
//	recap replay conversation.json
//
// plays a recorded conversation through the SDK and shows how large the prompt
// was, turn by turn, without and with compaction.
//
// It exits with status 0, with 2 if what it was asked for or given is wrong,
// with 130 if it was interrupted, and with 1 for any other failure. An error is
// one line on standard error.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

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

func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
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
		fmt.Fprintf(stderr, "recap: %v\n", err)
		return exitInput
	}
	fmt.Fprintf(stderr, "recap: %v\n", err)
	return exitFailure
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "recap",
		Short:         "See what compaction does to the history of an agent",
		Long:          "Recap keeps the prompts of long agent sessions small.\nThis command shows what that does to a conversation.",
		Example:       "  recap replay conversation.json",
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
	root.AddCommand(newReplay())
	return root
}
