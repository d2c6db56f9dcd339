package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
)

// TestSelectTail has the numbered cases of the ADK family about what is
// summarized when a prompt is too large. Where Recap decides otherwise the case
// says so, and why. A retention of 0, which several of those cases use, is
// refused in Recap's config: it would summarize the question that is being
// answered.
func TestSelectTail(t *testing.T) {
	for _, tc := range []struct {
		name       string
		retention  int
		worthwhile int
		live       string
		log        string
		want       string
	}{
		{"case 30: all but the last two", 2, 0, "", `
			i1 1 agent: one
			i2 2 agent: two
			i3 3 agent: three
			i4 4 agent: four
			i5 5 agent: five`, "e1 e2 e3 in 1-3"},
		{"case 69: what was rewound is not summarized", 1, 0, "", `
			i1 1 agent: one
			i2 2 user: the secret
			r1 3 user: rewind i2
			i3 4 agent: three
			i4 5 agent: four`, "e1 e4 in 1-4"},
		{"case 31 and 51: a pair is kept whole", 1, 0, "", `
			i1 1 agent: one
			i2 2 agent: call a look
			i2 3 agent: resp a look`, "e1 in 1-1"},
		{"case 34: the summary stays and the new events get their own, where adk-python rewrites the summary each time", 2, 0, "", `
			i1 1 agent: one
			i2 2 agent: two
			c1 2.5 summary 1-2: S
			i3 3 agent: three
			i4 4 agent: four
			i5 5 agent: five
			i6 6 agent: six`, "e4 e5 in 3-4"},
		{"case 34: few new events are merged with the summary", 2, 100, "", `
			i1 1 agent: one
			i2 2 agent: two
			c1 2.5 summary 1-2: S
			i3 3 agent: three
			i4 4 agent: four
			i5 5 agent: five
			i6 6 agent: six`, "e3 e4 e5 in 1-4"},
		{"case 36 and 94: what the newest summary does not cover is old, the last three stay", 3, 0, "", `
			i1 1 agent: one
			i2 2 agent: two
			i3 3 agent: three
			i4 4 agent: four
			c1 5 summary 1-1: narrow
			i5 6 agent: six
			i6 7 agent: seven
			c2 8 summary 1-3: wide
			i7 9 agent: nine`, "e4 in 4-4"},
		{"case 37: events between summaries are not read again, where adk-python starts over from the later record", 1, 0, "", `
			i1 2 agent: two
			i2 17 agent: seventeen
			c1 20.5 summary 15-20: S1
			c2 21 summary 1-5: S2
			i3 22 agent: twenty-two
			i4 23 agent: twenty-three`, "e5 in 22-22"},
		{"case 38: a pending call steps aside", 1, 0, "", `
			i1 1 agent: one
			i2 2 agent: call* p job
			i3 3 agent: three
			i4 4 agent: four`, "e1 e3 in 1-3 without 2"},
		{"case 39: a question about a call as well", 1, 0, "", `
			i1 1 agent: one
			i2 2 agent: call a pay
			i2 3 agent: resp a pay | confirm a
			i3 4 agent: three
			i4 5 agent: four`, "e1 e4 in 1-4 without 2 3"},
		{"case 40: one open, one answered", 1, 0, "", `
			i1 1 agent: one
			i2 2 agent: call a pay
			i2 3 agent: confirm a
			i2 4 agent: call b look
			i2 5 agent: resp a pay {"paid":true} | usage 100
			i3 6 agent: three`, "e1 e2 e3 e5 in 1-5 without 4"},
		{"case 91: fewer events than stay", 5, 0, "", `
			i1 1 agent: one
			i2 2 agent: two
			i3 3 agent: three`, "nothing"},
		{"case 92: the last two of three stay", 2, 0, "", `
			i1 1 agent: one
			i2 2 agent: two
			i3 3 agent: three`, "e1 in 1-1"},
		{"case 52: the question that is being answered stays, where a retention of 0 in the ADKs summarizes it", 1, 0, "i2", `
			i1 1 user: one
			i1 2 agent: answer
			i2 3 user: the question
			i2 4 agent: call a look
			i2 5 agent: resp a look
			i2 6 agent: call b look
			i2 7 agent: resp b look`, "e1 e2 e4 e5 in 1-5 without 3"},
		{"the round that the next call answers stays, also if it is larger than the retention", 1, 0, "i1", `
			i1 1 user: the question
			i1 2 agent: one thing
			i1 3 agent: call a look | call b look
			i1 4 agent: resp a look
			i1 5 agent: resp b look`, "e2 in 2-2"},
		{"one long invocation", 2, 0, "i1", `
			i1 1 user: the question
			i1 2 agent: call a look
			i1 3 agent: resp a look
			i1 4 agent: call b look
			i1 5 agent: resp b look
			i1 6 agent: call c look
			i1 7 agent: resp c look`, "e2 e3 e4 e5 in 2-5"},
		{"other branches that are seen", 1, 0, "", `
			i1 1 user: one two three four five
			i1 2 agent@other: not seen
			i1 3 agent: done`, "e1 in 1-1"},
		{"nothing but a summary", 1, 0, "", `
			i1 1 agent: one
			c1 2 summary 1-1: S
			i2 3 agent: two`, "nothing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := showWindow(compaction.SelectTail(events(t, tc.log), "agent", "", "", tc.live, tc.retention, tc.worthwhile))
			if got != tc.want {
				t.Errorf("got  %s\nwant %s\nlog %s", got, tc.want, tc.log)
			}
		})
	}
}

// TestReported has the numbered cases about the size of a prompt.
func TestReported(t *testing.T) {
	for _, tc := range []struct {
		name, agent, log string
		want             int // -1: unknown
	}{
		{"case 42: a count before a summary is of a prompt that is no more", "", `
			i1 1 agent: usage 100
			c1 2 summary 1-1: S
			i2 3 user: hello`, -1},
		{"case 42: one after it counts", "", `
			c1 2 summary 1-1: S
			i2 3 agent: usage 70`, 70},
		{"case 44: of this agent", "worker", `
			i1 1 worker: usage 5000
			i1 2 formatter: usage 100`, 5000},
		{"case 44: of any agent, the latest", "", `
			i1 1 worker: usage 5000
			i1 2 formatter: usage 100`, 100},
		{"the answer and what came since is added", "", `
			i1 1 agent: usage 100 | two words
			i2 2 user: three more words`, 105},
		{"never a sum of counts", "", `
			i1 1 agent: usage 100
			i1 2 agent: usage 120`, 120},
		{"the prompts of other branches count for nothing, what was said there does", "", `
			i1 1 agent: usage 100
			i1 2 agent@other: usage 999 | two words`, 102},
		{"what is not seen counts for nothing", "", `
			i1 1 agent: usage 100
			i1 2 agent!task: usage 999 | two words`, 100},
		{"none", "", `i1 1 user: hello`, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := compaction.Reported(events(t, tc.log), tc.agent, "")
			if !ok {
				got = -1
			}
			if got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// promptFor is what an agent that runs in invocation would send.
func promptFor(handle session.Session, invocation string) compaction.Prompt {
	return compaction.Prompt{
		Session: handle, Agent: "agent", InvocationID: invocation,
		Request: &model.LLMRequest{Contents: []*genai.Content{genai.NewContentFromText(strings.Repeat("word ", 100), "user")}},
	}
}

const overThreshold = `
	i1 1 user: one` + longEnough + `
	i1 2 agent: two` + longEnough + `
	i2 3 user: the question
	i2 4 agent: call a look
	i2 5 agent: resp a look | usage 100`

func TestBeforeModel(t *testing.T) {
	for _, tc := range []struct {
		name      string
		threshold int
		log       string
		want      string // what the summarizer was given
	}{
		{"case 50: over the threshold", 50, overThreshold, "e1 e2"},
		{"case 32: equal to it", 102, overThreshold, "e1 e2"},
		{"case 45: a long tool response is counted", 130, strings.Replace(overThreshold, "resp a look |", `resp a look {"r":"one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three"} |`, 1), "e1 e2"},
		{"case 89: an estimate above the threshold compacts, one below does not, and in Recap as in adk-python one equal to it does", 100, strings.Replace(overThreshold, "| usage 100", "", 1), "e1 e2"},
		{"case 53: below it", 300, overThreshold, ""},
		{"case 90: far below it", 1000, overThreshold, ""},
		{"case 43 and 46: without a count the request is estimated", 100, strings.Replace(overThreshold, "| usage 100", "", 1), "e1 e2"},
		{"case 41: and an estimate may be too small", 101, strings.Replace(overThreshold, "| usage 100", "", 1), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			service, handle := stored(t, tc.log)
			summarizer := says("S")
			c := newCompactor(t, &compaction.Config{TokenThreshold: tc.threshold, EventRetentionSize: 1, Summarizer: summarizer}, service)
			changed := c.BeforeModel(t.Context(), promptFor(handle, "i2"))
			var given []string
			for _, ids := range summarizer.calls() {
				given = append(given, strings.Join(ids, " "))
			}
			if got := strings.Join(given, ", "); got != tc.want || changed != (tc.want != "") {
				t.Errorf("given %q, changed %v, want %q", got, changed, tc.want)
			}
			// The run sees the summary at once.
			if n := handle.Events().Len(); (n == 6) != changed || n != reread(t, service).Events().Len() {
				t.Errorf("the handle has %d events", n)
			}
		})
	}

	t.Run("case 49 and 95: no threshold", func(t *testing.T) {
		service, handle := stored(t, overThreshold)
		c := newCompactor(t, &compaction.Config{CompactionInterval: 1, Summarizer: says("S")}, service)
		if c.BeforeModel(t.Context(), promptFor(handle, "i2")) {
			t.Error("changed")
		}
	})
}

// TestBothTriggers is case 33: adk-python has a flag that keeps the second trigger
// from firing on what the first has summarized. In Recap each looks at what is
// new, so there is nothing to flag.
func TestBothTriggers(t *testing.T) {
	service, handle := stored(t, overThreshold)
	summarizer := says("S")
	c := newCompactor(t, &compaction.Config{CompactionInterval: 1, TokenThreshold: 50, EventRetentionSize: 1, Summarizer: summarizer}, service)
	if !c.BeforeModel(t.Context(), promptFor(handle, "i2")) {
		t.Fatal("not compacted")
	}
	if o := c.MaybeCompact(t.Context(), handle); o.Kind != compaction.NothingToDo || len(summarizer.calls()) != 1 {
		t.Errorf("after it: %v, %d calls", o, len(summarizer.calls()))
	}
}

// TestNoProgressNoRepeat: a summarizer that fails on a turn is not asked before
// every model call.
func TestNoProgressNoRepeat(t *testing.T) {
	service, handle := stored(t, overThreshold)
	summarizer := &fake{answer: func(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
		return compaction.SummarizeResult{}, errors.New("down")
	}}
	c := newCompactor(t, &compaction.Config{TokenThreshold: 80, EventRetentionSize: 1, Summarizer: summarizer}, service)
	for i := range 30 {
		c.BeforeModel(t.Context(), promptFor(handle, "i2"))
		appendLog(t, service, handle, fmt.Sprintf("i2 %d agent: call c%d look\ni2 %d agent: resp c%d look | usage %d", 2*i+10, i, 2*i+11, i, 110+10*i))
	}
	// The prompt grew from 100 to 400 tokens: tries at +10, +20, +40, +80, +160.
	if n := len(summarizer.calls()); n > 6 {
		t.Errorf("the summarizer was asked %d times in 30 rounds", n)
	}
}

// TestLargeSummaries: summaries that alone are more than half of the threshold
// are folded into one.
func TestLargeSummaries(t *testing.T) {
	long := strings.Repeat("words of a summary ", 8)
	service, handle := stored(t, `
		i1 1 user: one`+longEnough+`
		i1 2 agent: two`+longEnough+`
		i2 3 user: three`+longEnough+`
		i2 4 agent: four`+longEnough)
	first := says(long)
	c := newCompactor(t, &compaction.Config{CompactionInterval: 1, Summarizer: first}, service)
	for c.MaybeCompact(t.Context(), handle).Kind == compaction.Applied {
	}
	handle = reread(t, service)
	appendLog(t, service, handle, `i3 10 user: the question | usage 10`)
	summarizer := says("S")
	c = newCompactor(t, &compaction.Config{TokenThreshold: 90, EventRetentionSize: 1, Summarizer: summarizer}, service)
	if !c.BeforeModel(t.Context(), promptFor(handle, "i3")) {
		t.Fatal("not changed")
	}
	if got := summarizer.calls(); len(got) != 1 || strings.Join(got[0], " ") != "1-2 3-4" {
		t.Errorf("given %v", got)
	}
}

// TestTooLong: each attempt keeps fewer events, until nothing is left to take.
func TestTooLong(t *testing.T) {
	var log strings.Builder
	for i := 1; i <= 12; i++ {
		fmt.Fprintf(&log, "i%d %d agent: something that was said at some length\n", i, i)
	}
	service, handle := stored(t, log.String())
	summarizer := says("S")
	c := newCompactor(t, &compaction.Config{CompactionInterval: 100, Summarizer: summarizer}, service)
	for attempt := 1; attempt <= 2; attempt++ {
		if !c.TooLong(t.Context(), promptFor(handle, "i13"), attempt) {
			t.Fatalf("attempt %d: not changed", attempt)
		}
	}
	got := summarizer.calls()
	if len(got) != 2 || len(got[0]) != 8 || strings.Join(got[1], " ") != "e9 e10" {
		t.Errorf("given %v", got)
	}
}

// TestTurnJoinsTheBackground: a turn that meets the threshold while its session
// is being compacted waits for that, and does not start another.
func TestTurnJoinsTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, handle := stored(t, overThreshold+`
			i3 6 user: next`)
		summarizer := &fake{}
		summarizer.answer = func(ctx context.Context, events []*session.Event) (compaction.SummarizeResult, error) {
			<-time.After(time.Minute) // of the test's own clock
			return says("S").answer(ctx, events)
		}
		c := newCompactor(t, &compaction.Config{CompactionInterval: 2, TokenThreshold: 50, EventRetentionSize: 1, Timeout: time.Hour, Summarizer: summarizer}, service)
		done := make(chan compaction.Outcome)
		go func() { done <- c.MaybeCompact(t.Context(), reread(t, service)) }()
		synctest.Wait()
		if !c.BeforeModel(t.Context(), promptFor(handle, "i3")) {
			t.Error("the turn did not take over what the background stored")
		}
		if o := <-done; o.Kind != compaction.Applied {
			t.Errorf("background: %v", o)
		}
		if n := len(summarizer.calls()); n != 1 {
			t.Errorf("the summarizer was asked %d times", n)
		}
		if last := handle.Events().At(handle.Events().Len() - 1); last.Actions.Compaction == nil {
			t.Error("the handle of the run does not have the summary")
		}
	})
}

// TestEarly: at four fifths of the threshold the background starts.
func TestEarly(t *testing.T) {
	for size, want := range map[int]compaction.Kind{78: compaction.NothingToDo, 82: compaction.Applied} {
		service, handle := stored(t, strings.Replace(overThreshold, "usage 100", fmt.Sprint("usage ", size-2), 1)+`
			i3 6 user: x`)
		c := newCompactor(t, &compaction.Config{TokenThreshold: 100, EventRetentionSize: 1, Summarizer: says("S")}, service)
		if o := c.MaybeCompact(t.Context(), handle); o.Kind != want || want == compaction.Applied && o.Trigger != compaction.TriggerTokenThreshold {
			t.Errorf("size %d: %v", size, o)
		}
	}
}
