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
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt does not wait for the cleaning up
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
