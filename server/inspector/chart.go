package inspector

import (
	"context"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/session"
)

const (
	// eventsCharted is how much of a log is charted unless all is asked for.
	eventsCharted = 5000
	readAtOnce    = 1000
	// pointsCharted is how many turns the chart and its table show; of more
	// turns it shows the largest among their neighbours.
	pointsCharted = 240
)

type chartPage struct {
	head
	Turns       []turn // those that are drawn
	AllTurns    int
	Compactions []compacted
	Chart       *drawing
	Estimated   bool   // no turn tells what its prompt measured
	Cut         string // link to all of it, if only the end was read
	Saved       int
	Charted     int
}

// turn is one invocation.
type turn struct {
	Number    int
	At        time.Time
	Raw       int // tokens of the prompt without compaction
	Tokens    int // tokens of the prompt as it was
	Measured  bool
	Compacted bool // a summary was written after it
}

// compacted is one compaction.
type compacted struct {
	At            time.Time
	Turn          int // after which it was
	Level         int
	Before, After int
	Cost          string
	State         string
	Link          string
}

// chart is the page with the size of the prompts.
func (h *handler) chart(r *request) error {
	k, err := r.key()
	if err != nil {
		return err
	}
	limit := eventsCharted
	if r.query.Get("all") != "" {
		limit = math.MaxInt
	}
	tally, more, err := h.tally(r.Context(), k, limit)
	if err != nil {
		return err
	}
	page := chartPage{AllTurns: len(tally.turns), Compactions: tally.compactions, Estimated: !tally.measured, Saved: tally.saved, Charted: eventsCharted}
	page.head = head{Title: "Prompt sizes of " + k.ID, Key: &k, Tab: "chart"}
	if more {
		page.Cut = k.link("chart", "all", "1")
	}
	for i := range page.Compactions {
		at := page.Compactions[i].At
		page.Compactions[i].Link = k.link("session", "before", stamp(at.Add(time.Microsecond)))
	}
	page.Turns = sampled(tally.turns, pointsCharted)
	page.Chart = draw(page.Turns)
	return h.pages.write(r.w, http.StatusOK, "chart.html", page)
}

// mark is what the chart needs of an event.
type mark struct {
	at         time.Time
	invocation string
	tokens     int // of its text
	prompt     int // tokens of the prompt that it answers, or 0
	compaction *compacted
	releases   time.Time
}

func markOf(e *session.Event) mark {
	m := mark{at: e.Timestamp.UTC(), invocation: e.InvocationID}
	if e.Actions.Compaction == nil {
		m.tokens = tokensOf(logview.ContentLines(e.Content))
		if e.UsageMetadata != nil {
			m.prompt = int(e.UsageMetadata.PromptTokenCount)
		}
		return m
	}
	manifest := e.Manifest()
	if m.releases = manifest.Releases; !m.releases.IsZero() {
		return m
	}
	m.compaction = &compacted{
		At: m.at, Level: manifest.Level, Before: manifest.TokensBefore, After: manifest.TokensAfter, Cost: costOf(e), State: "active",
	}
	if !e.Actions.Compaction.Valid() {
		m.compaction.State = states[logview.Invalid]
	}
	return m
}

// tally reads the end of a log, page by page, so that memory does not grow with
// what is in its events, and counts.
func (h *handler) tally(ctx context.Context, k key, limit int) (t *tally, more bool, err error) {
	var marks []mark // the newest first
	var read []*session.Event
	for before := (time.Time{}); len(marks) < limit; {
		events, earlier, err := h.page(ctx, k, time.Time{}, before, readAtOnce)
		if err != nil {
			return nil, false, err
		}
		for _, e := range slices.Backward(events) {
			marks = append(marks, markOf(e))
			if e.Actions.Compaction != nil {
				read = append(read, &session.Event{
					ID: e.ID, Timestamp: e.Timestamp, Branch: e.Branch, IsolationScope: e.IsolationScope,
					Actions: e.Actions, LLMResponse: e.LLMResponse,
				})
			}
		}
		if more = earlier; !more || events[0].Timestamp.Equal(before) {
			break
		}
		before = events[0].Timestamp
	}
	slices.Reverse(marks)
	slices.Reverse(read)
	fates := map[time.Time]logview.State{}
	for _, entry := range logview.Read(read) {
		fates[entry.Event.Timestamp.UTC()] = entry.State
	}
	return count(marks, fates), more, nil
}

// tally is what was counted.
type tally struct {
	turns       []turn
	compactions []compacted
	measured    bool // at least one turn tells what its prompt measured
	saved       int  // tokens that summaries save in the newest prompt
}

// count makes turns of marks, which are in order. A prompt without compaction
// would have held, besides what was sent, what the summaries up to then saved.
// Where no prompt was measured, the text that was in it is counted.
func count(marks []mark, fates map[time.Time]logview.State) *tally {
	t := &tally{}
	at := map[string]int{} // index of an invocation in turns
	savings := map[time.Time]int{}
	text := 0
	for _, m := range marks {
		switch {
		case !m.releases.IsZero():
			t.saved -= savings[m.releases.UTC()]
			delete(savings, m.releases.UTC())
			continue
		case m.compaction != nil:
			c := m.compaction
			if state := fates[m.at]; state != logview.Summary && states[state] != "" {
				c.State = states[state]
			}
			if c.State != states[logview.Invalid] {
				savings[m.at] = c.Before - c.After
				t.saved += c.Before - c.After
			}
			if c.Turn = len(t.turns); c.Turn > 0 {
				t.turns[c.Turn-1].Compacted = true
			}
			t.compactions = append(t.compactions, *c)
			continue
		}
		text += m.tokens
		i, ok := at[m.invocation]
		if !ok {
			i = len(t.turns)
			at[m.invocation] = i
			t.turns = append(t.turns, turn{Number: i + 1, At: m.at})
		}
		now := &t.turns[i]
		if m.prompt > 0 {
			now.Tokens, now.Raw, now.Measured = m.prompt, m.prompt+t.saved, true
			t.measured = true
		} else if !now.Measured {
			now.Tokens, now.Raw = max(0, text-t.saved), text
		}
	}
	return t
}

// sampled are so many turns at most: of each stretch the one with the largest
// prompt.
func sampled(turns []turn, limit int) []turn {
	if len(turns) <= limit {
		return turns
	}
	var chosen []turn
	for i := range limit {
		stretch := turns[i*len(turns)/limit : (i+1)*len(turns)/limit]
		largest := slices.MaxFunc(stretch, func(a, b turn) int { return a.Tokens - b.Tokens })
		largest.Compacted = slices.ContainsFunc(stretch, func(t turn) bool { return t.Compacted })
		chosen = append(chosen, largest)
	}
	return chosen
}
