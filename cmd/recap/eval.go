package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/eval"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/modeltest"
)

// evalOptions are the flags of eval.
type evalOptions struct {
	facts, runs, turns int
	seed               uint64
	qa                 []string
	strategies         []string
	window, last       int
	summarizer, model  string
	live               bool
	timeout            time.Duration
	prices             string
	html, plot         string
	json               bool
}

func newEval() *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use:   "eval [CONVERSATION...]",
		Short: "Measure ways to keep a prompt short: what they cost, what they keep",
		Long: `Eval plays conversations with several strategies, through the real runner and
with the same summarizer, and puts side by side what each costs and keeps:

  none     everything is sent
  last-n   the last invocations are sent, the rest is forgotten
  rolling  one summary, written anew each time from the one before
  window   a summary of every five invocations, as the ADKs' sliding window
  default  Recap's default, with a token threshold
  recall   the same, and the agent has the recall tool

Without a CONVERSATION, conversations are made up in which facts are planted,
the same for the same seed. A CONVERSATION is a file as for recap replay. A
question set is JSON in the format of LoCoMo: conversations, questions, and the
IDs of the turns that answer them; no data comes with Recap.

What is kept is looked for letter by letter: in the prompt at the end, then in
what one call of the recall tool answers to words that are not the value. With
--model a model is asked as well, and with --live it answers throughout: only
the user's messages are those of the conversation. A model is one of

` + keyHelp() + `

A turn that fails does not end the run; the report says which it was, and why.

A price table is JSON, in US dollars for a million tokens:

  {"date": "2026-12-01", "models":
    {"some-model": {"input": 1.25, "cached_input": 0.125, "output": 10}}}`,
		Example: `  recap eval
  recap eval --facts 60 --turns 300 --runs 20 --html report.html
  recap eval chat.json --strategies none,window,default --prices prices.json
  recap eval --qa locomo10.json --json
  recap eval --runs 1 --live --model gemini:gemini-2.5-flash --window 8192`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"facts", "runs", "turns", "seed"} {
				if len(args)+len(o.qa) > 0 && cmd.Flags().Changed(name) {
					return inputError{fmt.Errorf("--%s is for conversations that are made up; leave out CONVERSATION and --qa", name)}
				}
			}
			return o.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.facts, "facts", 40, "facts in each made up conversation")
	flags.IntVar(&o.turns, "turns", 120, "turns of each")
	flags.IntVar(&o.runs, "runs", 5, "number of such conversations")
	flags.Uint64Var(&o.seed, "seed", 1, "what the first is made from; the next has the next number")
	flags.StringArrayVar(&o.qa, "qa", nil, "`file` of questions in the format of LoCoMo; may be repeated")
	flags.StringSliceVar(&o.strategies, "strategies", eval.Strategies, "strategies to compare")
	flags.IntVar(&o.window, "window", 0, "`tokens` of the largest prompt that the model takes (default: no bound, and thresholds for 128000)")
	flags.IntVar(&o.last, "last", 10, "invocations that last-n sends")
	flags.StringVar(&o.summarizer, "summarizer", extractive, modelForms(extractive))
	flags.StringVar(&o.model, "model", "", "model to ask: "+modelForms(echo))
	flags.BoolVar(&o.live, "live", false, "have the model answer the user's messages")
	flags.DurationVar(&o.timeout, "timeout", 0, "bound of a call of the summarizer (default: that of compaction)")
	flags.StringVar(&o.prices, "prices", "", "`file` of what models cost")
	flags.StringVar(&o.html, "html", "", "write a page with tables and plots into this `file`")
	flags.StringVar(&o.plot, "plot", "", "draw the prompt's size in the first conversation into this `file`, .svg")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// giveUpAfter is after how many failed turns in a row a live conversation ends:
// then a provider is gone, or each further turn is too long as well.
const giveUpAfter = 5

func (o evalOptions) run(ctx context.Context, files []string, stdout, stderr io.Writer) error {
	cases, err := o.cases(files)
	if err != nil {
		return inputError{err}
	}
	opts, err := o.options(ctx)
	if err != nil {
		return inputError{err}
	}
	bar := newProgress(stderr, "playing", opts.Steps(cases), o.json)
	opts.OnStep = func() { _ = bar.Add(1) }
	report, err := eval.Run(ctx, cases, opts)
	_ = bar.Clear()
	if err != nil {
		return err
	}
	return o.show(report, stdout)
}

// cases are what is played.
func (o evalOptions) cases(files []string) ([]eval.Case, error) {
	var cases []eval.Case
	for _, file := range files {
		talk, err := conversation.Load(file)
		if err != nil {
			return nil, err
		}
		cases = append(cases, eval.Case{Name: file, Talk: talk})
	}
	for _, file := range o.qa {
		data, err := conversation.ReadFile(file)
		if err != nil {
			return nil, err
		}
		asked, err := eval.DecodeLoCoMo(file, data)
		if err != nil {
			return nil, err
		}
		cases = append(cases, asked...)
	}
	if len(cases) > 0 {
		return cases, nil
	}
	if o.runs < 1 {
		return nil, fmt.Errorf("--runs is %d; it must be at least 1", o.runs)
	}
	return eval.Planted(eval.Plan{Turns: o.turns, Facts: o.facts, Seed: o.seed, UserOnly: o.live}, o.runs)
}

// options are those of the run. All that can be wrong with them is found before
// anything is played.
func (o evalOptions) options(ctx context.Context) (eval.Options, error) {
	opts := eval.Options{Strategies: o.strategies, Window: o.window, Last: o.last, Timeout: o.timeout, Live: o.live}
	var err error
	switch o.model {
	case "":
	case echo:
		opts.Model = modeltest.Echo{}
	default:
		if opts.Model, err = openModel(ctx, "--model", echo, o.model); err != nil {
			return opts, err
		}
	}
	if opts.Summarizer, err = o.summarizerModel(ctx); err != nil {
		return opts, err
	}
	if o.live {
		opts.GiveUpAfter = giveUpAfter
	}
	if o.prices != "" {
		data, err := conversation.ReadFile(o.prices)
		if err != nil {
			return opts, err
		}
		if opts.Prices, err = eval.DecodePrices(o.prices, data); err != nil {
			return opts, err
		}
	}
	for flag, path := range map[string]string{"--html": o.html, "--plot": o.plot} {
		if err := checkWritable(path); err != nil {
			return opts, fmt.Errorf("%s: %w", flag, err)
		}
	}
	if o.plot != "" && !strings.EqualFold(filepath.Ext(o.plot), ".svg") {
		return opts, fmt.Errorf("--plot is %q; it is written as .svg", o.plot)
	}
	return opts, opts.Check()
}

func (o evalOptions) summarizerModel(ctx context.Context) (model.LLM, error) {
	if o.summarizer == extractive {
		return nil, nil
	}
	return openModel(ctx, "--summarizer", extractive, o.summarizer)
}

// show writes the files and prints the report.
func (o evalOptions) show(report *eval.Report, stdout io.Writer) error {
	if o.html != "" {
		var text bytes.Buffer
		if err := report.WriteHTML(&text); err != nil {
			return err
		}
		if err := writeFile(o.html, text.Bytes()); err != nil {
			return err
		}
	}
	if o.plot != "" {
		if err := writeFile(o.plot, report.Plot()); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(stdout, report)
	}
	return report.WriteTable(stdout)
}

func writeFile(path string, data []byte) error {
	if err := os.WriteFile(path, data, 0o666); err != nil {
		return fmt.Errorf("%s: %w", path, reason(err))
	}
	return nil
}

// checkWritable finds out whether a file can be written, as far as that can be
// told beforehand. No path is none to check.
func checkWritable(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s: is a directory", path)
	}
	info, err := os.Stat(filepath.Dir(path))
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, reason(err))
	}
	return nil
}
