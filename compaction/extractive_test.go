package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/session"
)

func extract(t testing.TB, s compaction.ExtractiveSummarizer, log []*session.Event) string {
	t.Helper()
	result, err := s.SummarizeEvents(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	if result.Content == nil {
		return ""
	}
	return result.Content.Parts[0].Text
}

func ExampleExtractiveSummarizer() {
	log, _ := logtext.Parse(`
		i1 1 user: Hi! I need to move my flight HAT170 to 2024-05-21.
		i1 2 agent: call a get_user_details {"user_id":"ada_77"}
		i1 3 agent: resp a get_user_details {"name":"Ada"}
		i1 4 agent: I can move it. There are three flights: HAT201, HAT202 and HAT203. Which one suits you?
		i2 5 user: HAT202, and pay with my card 7447.
		i2 6 agent: call b change {"no":"QX1","to":"HAT202"}
		i2 7 agent: resp b change {"status":"ok","terms":"see the mail"}
		i2 8 agent: Done! Your new flight is HAT202 for $112.50.
	`)
	result, err := compaction.ExtractiveSummarizer{}.SummarizeEvents(context.Background(), log)
	fmt.Println(result.Content.Parts[0].Text, err)
	// Output:
	// User: I need to move my flight HAT170 to 2024-05-21.
	// Agent: I can move it.
	// Done: change(no=QX1, to=HAT202) -> status ok
	// The user also stated: 7447 <nil>
}

// TestExtract shows what an extract keeps.
func TestExtract(t *testing.T) {
	for _, tc := range []struct{ name, log, want string }{
		{"nothing", ``, ""},
		{"what was recalled stands in the log already", `
			i1 1 agent: call a recall {"query":"code"}
			i1 2 agent: resp a recall {"recalled":[{"text":"The code is tulip 4711."}]}`, "Done: recall(query=code)"},
		{"calls without answers", `i1 1 agent: call a book {"no":"HAT170"}`, "Done: book(no=HAT170)"},
		{"a failure with its reason", `
			i1 1 agent: call a book {"no":"HAT170"}
			i1 2 agent: resp a book {"error":"no seats left on\nthis flight"}`, "Done: book(no=HAT170) failed: no seats left on this flight"},
		{"a failure told in the output", `
			i1 1 agent: call a book {"no":"HAT170"}
			i1 2 agent: resp a book {"output":"Error: card refused"}`, "Done: book(no=HAT170) failed: Error: card refused"},
		{"a result in a string of JSON", `
			i1 1 agent: call a book {"no":"HAT170"}
			i1 2 agent: resp a book {"output":"{\"reservation_id\":\"QX1\",\"user_id\":\"u\"}"}`, "Done: book(no=HAT170) -> reservation_id QX1"},
		{"thoughts are left out", `i1 1 agent: thought secret plan number 4711 | It will be there on 2026-05-01.`, "Agent: It will be there on 2026-05-01."},
		{"of earlier summaries what tells most", `
			c1 1 summary 0.1-0.2: The customer wanted a refund of 99.50 EUR for the broken lamp.
			c2 2 summary 0.3-0.4: There was some talk about the weather and about nothing in particular. And then there was some more of it, which nobody needs to know.`,
			"Agent: The customer wanted a refund of 99.50 EUR for the broken lamp."},
		{"long arguments are shortened, the short ones first", `
			i1 1 agent: call a edit {"content":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","path":"a.go","deep":{"x":1}}`, "Done: edit(path=a.go, content=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…)"},
		{"Chinese", `i1 1 user: 我想把航班HAT170改到2024年5月21日。谢谢！`, "User: 我想把航班HAT170改到2024年5月21日。"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := extract(t, compaction.ExtractiveSummarizer{}, events(t, tc.log)); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

// TestExtractKeepsWhatWasDone: what changed something is kept even where the
// talk around it is long.
func TestExtractKeepsWhatWasDone(t *testing.T) {
	log := logtext.Long(40, logtext.Base)
	log = append(log, events(t, `
		i1 100 agent: call a cancel_order {"order":"7741"}
		i1 101 agent: resp a cancel_order {"refund":19.9}`)...)
	log = append(log, logtext.Long(40, logtext.Base.Add(time.Hour))...)
	got := extract(t, compaction.ExtractiveSummarizer{}, log)
	if !strings.Contains(got, "cancel_order(order=7741) -> refund 19.9") {
		t.Errorf("extract:\n%s", got)
	}
	if size := len(got); size > 2500 {
		t.Errorf("%d characters for %d events", size, len(log))
	}
	if short := extract(t, compaction.ExtractiveSummarizer{MaxTokens: 60}, log); len(short) >= len(got) {
		t.Errorf("MaxTokens has no effect: %d and %d characters", len(short), len(got))
	}
}

func TestExtractIsDeterministic(t *testing.T) {
	log := logtext.Long(40, logtext.Base)
	first := extract(t, compaction.ExtractiveSummarizer{}, log)
	for range 20 {
		if again := extract(t, compaction.ExtractiveSummarizer{}, log); again != first {
			t.Fatalf("two extracts differ:\n%s\n%s", first, again)
		}
	}
}

func TestExtractHeedsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (compaction.ExtractiveSummarizer{}).SummarizeEvents(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
