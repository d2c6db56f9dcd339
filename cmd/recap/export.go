package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/internal/sessionfile"
	"github.com/recap-adk/recap/session"
)

// exportOptions are the flags of export.
type exportOptions struct {
	selection
	format    string
	output    string
	compacted bool
	force     bool
	json      bool
}

func newExport() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write a session as ADK JSON, OpenAI messages or Markdown",
		Long: `Export writes a session to standard output or a file:

  adk       the session as the ADKs have it, with nothing lost; recap import
            --trust-records makes an equal log of it
  openai    chat messages, as providers take them; with --compacted summaries
            stand in for what they cover
  markdown  for people

` + databaseHelp,
		Example: `  recap export chat.db support-17 > session.json
  recap export chat.db support-17 --format openai --compacted
  recap export chat.db support-17 --format markdown -o session.md`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	o.onSession(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.format, "format", sessionfile.ADK, strings.Join(sessionfile.Formats, ", "))
	flags.StringVarP(&o.output, "output", "o", "", "`file` to write (default: standard output)")
	flags.BoolVar(&o.compacted, "compacted", false, "openai: what a model would be sent")
	flags.BoolVar(&o.force, "force", false, "replace a file that is there")
	flags.BoolVar(&o.json, "json", false, "the same as --format adk")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(sessionfile.Formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *exportOptions) run(ctx context.Context, stdout io.Writer) (err error) {
	if err := o.check(); err != nil {
		return inputError{err}
	}
	d, s, err := o.find(ctx, reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close(true)) }()
	if o.output != "" {
		return o.writeFile(s)
	}
	return sessionfile.Write(stdout, o.format, s, sessionfile.Options{Compacted: o.compacted})
}

func (o *exportOptions) check() error {
	switch {
	case !slices.Contains(sessionfile.Formats, o.format):
		return fmt.Errorf("--format is %q; it must be one of %s", o.format, strings.Join(sessionfile.Formats, ", "))
	case o.json && o.format != sessionfile.ADK:
		return fmt.Errorf("--json is --format adk, and not %s", o.format)
	case o.compacted && o.format != sessionfile.OpenAI:
		return errors.New("--compacted is for --format openai")
	case o.output == "" || o.force:
		return nil
	}
	if _, err := os.Lstat(o.output); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: it is there already; --force replaces it", o.output)
	}
	return nil
}

// writeFile writes the file whole or not at all.
func (o *exportOptions) writeFile(s session.Session) (err error) {
	file, err := os.CreateTemp(filepath.Dir(o.output), ".recap-*")
	if err != nil {
		return inputError{fmt.Errorf("%s: %w", o.output, reason(err))}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	err = sessionfile.Write(file, o.format, s, sessionfile.Options{Compacted: o.compacted})
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", o.output, reason(err))
	}
	if err := os.Rename(file.Name(), o.output); err != nil {
		return inputError{fmt.Errorf("%s: %w", o.output, reason(err))}
	}
	return nil
}
