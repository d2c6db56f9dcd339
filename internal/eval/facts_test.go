package eval

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/recap-adk/recap/internal/conversation"
)

func textOf(c *conversation.Conversation) string {
	var b strings.Builder
	for _, turn := range c.Turns {
		b.WriteString(turn.User.Parts[0].Text + "\n")
		for _, step := range turn.Steps {
			for _, part := range step.Content.Parts {
				b.WriteString(partText(part) + "\n")
			}
			for _, r := range step.Results {
				b.WriteString(dataText(r.Response) + "\n")
			}
		}
	}
	return b.String()
}

// TestPlant: each value is said once, and nothing that asks for it has it.
func TestPlant(t *testing.T) {
	sources := map[string]int{}
	for seed := range uint64(30) {
		plan := Plan{Turns: 160, Facts: MaxFacts, Seed: seed, UserOnly: seed%2 == 1}
		c, facts, err := Plant(plan)
		if err != nil {
			t.Fatal(err)
		}
		again, _, _ := Plant(plan)
		if !reflect.DeepEqual(c, again) {
			t.Fatalf("seed %d: a second conversation is another", seed)
		}
		text := textOf(c)
		questions := map[string]bool{}
		for _, f := range facts {
			if n := strings.Count(text, f.Value); n != 1 {
				t.Errorf("seed %d: %q is said %d times", seed, f.Value, n)
			}
			if strings.Contains(f.Question, f.Value) || strings.Contains(f.Query, f.Value) || !strings.Contains(f.Question, f.Query) {
				t.Errorf("seed %d: %+v", seed, f)
			}
			if questions[f.Query] || !slices.Contains(Kinds, f.Kind) || plan.UserOnly && f.Source != "user" {
				t.Errorf("seed %d: %+v", seed, f)
			}
			questions[f.Query] = true
			sources[f.Source]++
		}
		if len(facts) != MaxFacts || len(c.Turns) != 160 {
			t.Errorf("seed %d: %d facts in %d turns", seed, len(facts), len(c.Turns))
		}
	}
	if len(sources) != 3 || sources["tool"] < 100 || sources["agent"] < 100 {
		t.Errorf("facts by source: %v", sources)
	}
}

func TestPlantErrors(t *testing.T) {
	for want, p := range map[string]Plan{
		"there can be 1 to 160 facts, not 0":           {Turns: 10},
		"there can be 1 to 160 facts, not 161":         {Turns: 1000, Facts: 161},
		"20 facts need 20 to 10000 turns, not 19":      {Turns: 19, Facts: 20},
		"20 facts need 20 to 10000 turns, not 1000000": {Turns: 1000000, Facts: 20},
	} {
		if _, _, err := Plant(p); fmt.Sprint(err) != want {
			t.Errorf("%+v: %v, want %s", p, err, want)
		}
	}
}
