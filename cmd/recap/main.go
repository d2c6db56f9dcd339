// Recap is the command of the Recap agent SDK: it shows what is in a database of
// sessions and what a model is sent of it, and compacts it.
//
//	recap replay conversation.json  # what compaction does to a conversation
//	recap sessions chat.db          # which sessions there are
//	recap show chat.db              # a log, and what summaries stand in for
//	recap context chat.db           # what a model would be sent now
//	recap compact chat.db --dry-run # what a summary would cover and save
//	recap diff chat.db              # what a summary kept and lost
//	recap undo chat.db              # takes the newest summary back
//	recap export chat.db            # ADK JSON, OpenAI messages, Markdown
//	recap import session.json my.db # and back
//	recap eval                      # what ways to shorten a prompt cost and keep
//	recap chat chat.db              # talks to a model, or to an echo
//
// A database is a SQLite file, or the DSN of PostgreSQL or MySQL; its tables are
// those of adk-go. Commands that read write nothing. Each prints JSON with --json,
// and has an example in its --help.
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
