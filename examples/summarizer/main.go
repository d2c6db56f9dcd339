// Summarizer shows summaries that the application writes itself. This one knows
// what matters in its conversations: the agent marks decisions, and a summary
// is the list of them. Where nothing was decided an extract stands in.
//
//	GOOGLE_API_KEY=... go run ./examples/summarizer
//
// Decide a few things, and end with Ctrl-D. For summaries by a model, with a
// prompt of your own or on a cheaper model, see compaction.NewLLMSummarizer.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
)

const mark = "Decided: "

// decisions is a compaction.Summarizer.
type decisions struct{}

func (decisions) SummarizeEvents(_ context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
	var decided []string
	for _, event := range events {
		said := text(event.Content)
		if older := event.Actions.Compaction; older != nil { // summaries are merged in time
			said = older.Text()
		}
		for line := range strings.Lines(said) {
			if strings.HasPrefix(line, mark) {
				decided = append(decided, strings.TrimSpace(line))
			}
		}
	}
	if len(decided) == 0 {
		return compaction.SummarizeResult{}, nil // declines
	}
	summary := strings.Join(decided, "\n")
	return compaction.SummarizeResult{Content: genai.NewContentFromText(summary, genai.RoleModel)}, nil
}

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	clerk, err := llmagent.New(llmagent.Config{
		Name: "clerk", Model: llm,
		Instruction: "You keep the minutes. Where something is decided, say so in a line that begins with \"" + mark + "\".",
	})
	check(err)
	r, err := runner.New(runner.Config{
		AppName: "minutes", Agent: clerk, SessionService: session.InMemoryService(), AutoCreateSession: true,
		CompactionConfig: &compaction.Config{
			CompactionInterval: 2, // no OverlapSize: decisions would be listed twice
			Summarizer:         compaction.Fallback(decisions{}, compaction.ExtractiveSummarizer{}),
			OnOutcome:          report,
			Blocking:           true, // so that this terminal shows it in order
		},
	})
	check(err)
	defer r.Close(ctx)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		message := genai.NewContentFromText(in.Text(), genai.RoleUser)
		for event, err := range r.Run(ctx, "user-1", "session-1", message, agent.RunConfig{}) {
			check(err)
			fmt.Println(text(event.Content))
		}
	}
}

func report(o compaction.Outcome) {
	fmt.Println(strings.TrimSuffix(fmt.Sprintf("  [summary] %s: %s", o.Kind, o.Reason), ": "))
}

func text(content *genai.Content) string {
	if content == nil || len(content.Parts) == 0 {
		return ""
	}
	return content.Parts[0].Text
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
