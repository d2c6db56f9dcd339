package compaction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/session"
)

// events reads a log in the notation of package logtext.
func events(t testing.TB, text string) []*session.Event {
	t.Helper()
	parsed, err := logtext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// showWindow writes a window as the IDs of its events, the range in seconds,
// and what is excluded.
func showWindow(w compaction.Window, ok bool) string {
	if !ok {
		return "nothing"
	}
	var ids []string
	for _, e := range w.Events {
		ids = append(ids, e.ID)
	}
	text := fmt.Sprintf("%s in %g-%g", strings.Join(ids, " "), w.Start.Sub(logtext.Base).Seconds(), w.End.Sub(logtext.Base).Seconds())
	if len(w.Excluded) > 0 {
		text += " without"
		for _, ref := range w.Excluded {
			text += fmt.Sprintf(" %g", ref.Timestamp.Sub(logtext.Base).Seconds())
		}
	}
	if w.Branch != "" || w.Scope != "" {
		text += fmt.Sprintf(" on %s!%s", w.Branch, w.Scope)
	}
	return text
}

// TestSelectEventsToCompact has the numbered cases of the ADK family about the
// sliding window. Where Recap decides otherwise the case says so, and why.
func TestSelectEventsToCompact(t *testing.T) {
	for _, tc := range []struct {
		name              string
		interval, overlap int
		log               string
		want              string
	}{
		{"case 8: no events", 2, 1, ``, "nothing"},
		{"case 10 and 83: fewer new invocations than the interval", 3, 1, `
			i1 1 agent: one
			i2 2 agent: two`, "nothing"},
		{"case 11 and 84: a backlog goes window by window, where the ADKs take all four invocations at once", 2, 1, `
			i1 1 agent: one
			i2 2 agent: two
			i3 3 agent: three
			i4 4 agent: four`, "e1 e2 in 1-2"},
		{"case 12 and 85: from one invocation before the first new one to the second new one, where the ADKs take the third as well", 2, 1, `
			i1 1 agent: one
			i2 2 agent: two
			c1 2.5 summary 1-2: S
			i3 3 agent: three
			i4 4 agent: four
			i5 5 agent: five`, "e2 e4 e5 in 2-4"},
		{"case 68: what was rewound is not summarized, and does not count", 3, 1, `
			i1 1 agent: one
			i2 2 user: the secret
			r1 3 user: rewind i2
			i3 4 agent: three`, "nothing"},
		{"case 68: the same where enough is new", 2, 1, `
			i1 1 agent: one
			i2 2 user: the secret
			r1 3 user: rewind i2
			i3 4 agent: three
			i4 5 agent: four`, "e1 e4 in 1-4"},
		{"a rewound summary is no frontier: what it covered before is new again", 2, 0, `
			i1 1 agent: one
			i2 2 agent: two
			c1 3 summary 1-2: S
			r1 4 user: rewind i2
			i3 5 agent: three`, "e1 e5 in 1-5"},
		{"case 14: a pending call steps aside, where in the ADKs only i1 is compacted", 2, 0, `
			i1 1 agent: one
			i2 2 agent: call* p job
			i3 3 agent: three
			i4 4 agent: four`, "e1 e3 in 1-3 without 2"},
		{"case 14: the same with a plain call while the user has not gone on", 2, 0, `
			i1 1 agent: one
			i2 2 agent: call p look
			i3 3 agent: three
			i4 4 agent: four`, "e1 e3 in 1-3 without 2"},
		{"case 17: call and response go together", 3, 0, `
			i1 1 agent: one
			i2 2 agent: call a look
			i2 3 agent: resp a look
			i3 4 agent: three`, "e1 e2 e3 e4 in 1-4"},
		{"case 18: a response that asks for consent keeps its call open", 2, 0, `
			i1 1 agent: one
			i2 2 agent: call a pay
			i2 3 agent: resp a pay {"status":"needs consent"} | confirm a
			i3 4 agent: three`, "e1 e4 in 1-4 without 2 3"},
		{"case 19: so does one that asks for credentials", 2, 0, `
			i1 1 agent: one
			i2 2 agent: call a pay
			i2 3 agent: resp a pay {"status":"needs key"} | auth a
			i3 4 agent: three`, "e1 e4 in 1-4 without 2 3"},
		{"case 20: a question without a known call steps aside, where in the ADKs it stops everything", 2, 0, `
			i1 1 agent: confirm a
			i2 2 agent: two
			i3 3 agent: three`, "e2 e3 in 2-3"},
		{"case 21: a question at the end, later ones go on without it", 3, 0, `
			i1 1 agent: one
			i2 2 agent: two
			i3 3 agent: call a pay
			i3 4 agent: resp a pay | confirm a
			i4 5 agent: four`, "e1 e2 e5 in 1-5 without 3 4"},
		{"case 22: answered after the question, everything goes", 3, 0, `
			i1 1 agent: one
			i2 2 agent: call a pay
			i2 3 agent: resp a pay | confirm a
			i2 4 agent: resp a pay {"paid":true}
			i3 5 agent: three`, "e1 e2 e3 e4 e5 in 1-5"},
		{"case 23: the same for credentials", 3, 0, `
			i1 1 agent: one
			i2 2 agent: call a pay
			i2 3 agent: resp a pay | auth a
			i2 4 agent: resp a pay {"paid":true}
			i3 5 agent: three`, "e1 e2 e3 e4 e5 in 1-5"},
		{"case 24: the separate call that asks is open as well", 2, 0, `
			i1 1 agent: one
			i2 2 agent: call a pay
			i2 3 agent: call* c1 adk_request_confirmation
			i2 4 agent: resp a pay | confirm a
			i3 5 agent: three`, "e1 e5 in 1-5 without 2 3 4"},
		{"case 25: once both are answered all seven go", 4, 0, `
			i1 1 agent: one
			i2 2 agent: call a pay
			i2 3 agent: call* c1 adk_request_confirmation
			i2 4 agent: resp a pay | confirm a
			i3 5 user: resp c1 adk_request_confirmation {"confirmed":true}
			i3 6 agent: resp a pay {"paid":true}
			i4 7 agent: four`, "e1 e2 e3 e4 e5 e6 e7 in 1-7"},
		{"case 26: one call open, one answered", 2, 0, `
			i1 1 agent: one
			i2 2 agent: call a pay
			i2 3 agent: confirm a
			i2 4 agent: call b look
			i2 5 agent: resp a pay {"paid":true}
			i3 6 agent: three`, "e1 e2 e3 e5 in 1-5 without 4"},
		{"case 86: all events of an invocation go", 2, 0, `
			i1 1 user: one
			i1 2 agent: answer one
			i2 3 user: two
			i2 4 agent: answer two`, "e1 e2 e3 e4 in 1-4"},
		{"case 93: an event behind the range of a summary but before it in the log is new", 2, 0, `
			i1 1 agent: one
			i2 2 agent: two
			i3 3 agent: three
			c1 4 summary 1-2: S
			i4 5 agent: four`, "e3 e5 in 3-5"},

		{"the invocation that runs stays", 2, 0, `
			i1 1 user: one
			i1 2 agent: answer
			i2 3 user: two
			i2 4 agent: call a look
			i2 5 agent: resp a look`, "nothing"},
		{"one that was cut off goes once the next began", 2, 0, `
			i1 1 user: one
			i2 2 user: two
			i2 3 agent: answer`, "e1 e2 e3 in 1-3"},
		{"a window ends before an invocation that runs beside it", 2, 0, `
			i1 1 user: one
			i1 2 agent: answer
			i2 3 user: two
			i3 4 user: three
			i2 5 agent: answer two
			i4 6 user: four
			i4 7 agent: answer four
			i3 8 agent: call a look`, "e1 e2 e3 in 1-3"},
		{"a call that was cut off before the user went on is closed", 2, 0, `
			i1 1 user: one
			i1 2 agent: call a look
			i2 3 user: two
			i2 4 agent: answer`, "e1 e2 e3 e4 in 1-4"},
		{"a long-running call with its placeholder only is open", 1, 0, `
			i1 1 user: start
			i1 2 agent: call* a job
			i1 3 agent: resp a job {"status":"started"}
			i1 4 agent: it runs`, "e1 e4 in 1-4 without 2 3"},
		{"with a later answer it is closed", 2, 0, `
			i1 1 user: start
			i1 2 agent: call* a job
			i1 3 agent: resp a job {"status":"started"}
			i1 4 agent: it runs
			i2 5 user: resp a job {"status":"done"}
			i2 6 agent: it is done`, "e1 e2 e3 e4 e5 e6 in 1-6"},
		{"a call whose answer lies outside the window stays with it", 1, 0, `
			i1 1 user: start
			i1 2 agent: call* a job
			i1 3 agent: it runs
			i2 4 user: resp a job {"status":"done"}
			i2 5 agent: it is done`, "e1 e3 in 1-3 without 2"},
		{"parallel calls are one", 1, 0, `
			i1 1 user: start
			i1 2 agent: call* a job | call b look
			i1 3 agent: resp b look
			i1 4 agent: it runs
			i2 5 user: next`, "e1 e4 in 1-4 without 2 3"},
		{"a response to a covered call goes", 1, 0, `
			i1 1 user: start
			i1 2 agent: call a look
			i1 3 user: never mind
			c1 4 summary 1-3: S
			i2 5 agent: resp a look {"r":1}
			i2 6 agent: found it`, "e5 e6 in 5-6"},
		{"excluded events at the ends are outside the range", 1, 0, `
			i1 1 agent: call* a job
			i1 2 agent: two
			i1 3 agent: call* b job
			i2 4 user: next`, "e2 in 2-2"},
		{"only what waits: nothing", 1, 0, `
			i1 1 agent: call* a job
			i2 2 user: next`, "nothing"},
		{"what waits is skipped if all of the first window does", 1, 0, `
			i1 1 agent: call* a job
			i1 2 agent: resp a job {"status":"started"}
			i2 3 user: two
			i2 4 agent: answer`, "e3 e4 in 3-4"},
		{"branches are compacted each for itself", 1, 0, `
			i1 1 user: go
			i1 2 agent@r.a: a
			i1 3 agent@r.b: b
			i1 4 agent: all done
			c1 5 summary 1-4: S`, "e2 in 2-2 on r.a!"},
		{"scopes are compacted each for itself", 1, 0, `
			i1 1 user: go
			i1 2 agent!task: did it
			i1 3 agent: done
			c1 4 summary 1-3: S`, "e2 in 2-2 on !task"},
		{"other branches in between are not excluded by name", 1, 0, `
			i1 1 user: go
			i1 2 agent@r.a: a
			i1 3 agent: done`, "e1 e3 in 1-3"},
		{"an answer on another branch keeps its call open here", 1, 0, `
			i1 1 user: go
			i1 2 agent@r.a: call* x job
			i1 3 agent: done
			c1 4 summary 1-3: S
			i2 5 user: resp x job {"r":1}
			i2 6 agent: fine`, "e6 in 6-6"},
		{"events without an invocation belong to the one before", 1, 0, `
			i1 1 user: one
			- 2 agent: loose
			i1 3 agent: done`, "e1 e2 e3 in 1-3"},
		{"interleaved invocations go as they lie", 2, 0, `
			i1 1 user: one
			i2 2 user: two
			i1 3 agent: answer one
			i2 4 agent: answer two`, "e1 e2 e3 e4 in 1-4"},
		{"an answer that came long after its question does not draw in all that was between", 1, 1, `
			i1 1 user: one
			i2 2 user: two
			i2 3 agent: answer two
			i3 4 user: three
			i3 5 agent: answer three
			c1 6 summary 1-5: S
			i1 7 agent: answer one`, "e4 e5 e7 in 4-7"},
		{"an overlap larger than the log takes what there is", 1, 9, `
			i1 1 agent: one
			c1 2 summary 1-1: S
			i2 3 agent: two`, "e1 e3 in 1-3"},
		{"a tie behind the end is excluded by name", 1, 0, `
			i1 1 user: one
			i1 2 agent: answer
			i2 2 user: tie`, "e1 e2 in 1-2 without 2"},
		{"of a tie that cannot be told apart neither is taken", 1, 0, `
			i1 1 agent: one
			i1 2 agent: call* a job
			i1 2 agent: tie
			i1 3 agent: done
			i2 4 user: next`, "e1 e4 in 1-3 without 2"},
		{"an event out of order in the range is excluded", 1, 0, `
			i1 1 user: one
			i1 4 agent: answer
			i2 3 user: early
			i2 5 agent: more`, "e1 e2 in 1-4 without 3"},
		{"records that are not valid change nothing", 1, 0, `
			i1 1 user: one
			i1 2 agent: answer
			c1 3 summary 2-1: inverted
			c2 4 summary 1-2:`, "e1 e2 in 1-2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := &compaction.Config{CompactionInterval: tc.interval, OverlapSize: tc.overlap}
			got := showWindow(compaction.SelectEventsToCompact(events(t, tc.log), cfg))
			if got != tc.want {
				t.Errorf("got  %s\nwant %s\nlog %s", got, tc.want, tc.log)
			}
		})
	}
}

func ExampleSelectEventsToCompact() {
	log, _ := logtext.Parse(`
		i1 1 user: I am Ada.
		i1 2 agent: Hello Ada.
		i2 3 user: Where is order 7741?
		i2 4 agent: At the depot.
		i3 5 user: Thanks.
	`)
	window, ok := compaction.SelectEventsToCompact(log, &compaction.Config{CompactionInterval: 2})
	fmt.Println(ok, len(window.Events), window.End.Sub(window.Start))
	// Output: true 4 3s
}
