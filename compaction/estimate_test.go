package compaction_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/internal/tokens"
)

// TestEstimate: the estimate is within 15 % of what the tokenizer o200k counts.
func TestEstimate(t *testing.T) {
	counter := tokens.New()
	texts := map[string]string{}
	archive, err := txtar.ParseFile("testdata/texts.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		texts[f.Name] = string(f.Data)
	}
	for _, name := range []string{"airline-support.json", "coding-session.jsonl"} {
		c, err := conversation.Load(filepath.Join("..", "..", "shared", "data", name))
		if err != nil {
			t.Logf("no shared data: %v", err)
			continue
		}
		var b strings.Builder
		for _, turn := range c.Turns {
			if turn.User != nil {
				for _, p := range turn.User.Parts {
					b.WriteString(p.Text + "\n")
				}
			}
			for _, s := range turn.Steps {
				if s.Content != nil {
					for _, p := range s.Content.Parts {
						b.WriteString(p.Text + "\n")
						if p.FunctionCall != nil {
							data, _ := json.Marshal(p.FunctionCall.Args)
							b.Write(data)
						}
					}
				}
				for _, r := range s.Results {
					data, _ := json.Marshal(r.Response)
					b.Write(data)
				}
			}
		}
		texts[name] = b.String()
	}
	for name, text := range texts {
		real, estimate := counter.Text(text), compaction.EstimateTokens(text)
		diff := 100 * float64(estimate-real) / float64(real)
		t.Logf("%-24s %7d real %7d estimated %+6.1f %%", name, real, estimate, diff)
		if diff > 15 || diff < -15 {
			t.Errorf("%s: %d tokens, estimated %d: %+.1f %%", name, real, estimate, diff)
		}
	}
}
