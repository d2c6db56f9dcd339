package inspector

import (
	"net/http"
	"time"

	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/session"
)

const eventsOnPage = 100

type timelinePage struct {
	head
	Updated time.Time
	Blocks  []shownBlock
	Events  int    // on the page
	Of      string // the summary whose originals alone are shown
	Older   string // links
	Newest  string
	Whole   string // set if the log was not read far enough to tell all
	Recent  int
	State   []stateValue
}

// shownBlock is a summary with its originals, or events that stand for themselves.
type shownBlock struct {
	Summary *shownSummary
	Events  []shownEvent
}

// timeline is the page with the log of a session.
func (h *handler) timeline(r *request) error {
	k, err := r.key()
	if err != nil {
		return err
	}
	after, err := r.time("after")
	if err != nil {
		return err
	}
	before, err := r.time("before")
	if err != nil {
		return err
	}
	whole := r.query.Get("whole") != ""
	n, err := h.newest(r.Context(), k, whole)
	if err != nil {
		return err
	}
	events, more, err := h.page(r.Context(), k, after, before, eventsOnPage)
	if err != nil {
		return err
	}
	page := timelinePage{Updated: n.session.LastUpdateTime(), Events: len(events), Of: r.query.Get("of"), Recent: recentEvents}
	page.head = head{Title: "Session " + k.ID, Key: &k, Tab: "session"}
	first := after.IsZero() && before.IsZero()
	if first {
		page.State = stateOf(n.session)
	} else {
		page.Newest = k.link("session", "whole", r.query.Get("whole"))
	}
	if more {
		page.Older = k.link("session", "before", stamp(events[0].Timestamp), "after", r.query.Get("after"), "of", page.Of, "whole", r.query.Get("whole"))
	}
	if !n.known {
		page.Whole = k.link("session", "after", r.query.Get("after"), "before", r.query.Get("before"), "of", page.Of, "whole", "1")
	}
	for _, block := range blocks(n, events, first) {
		page.Blocks = append(page.Blocks, showBlock(k, block))
	}
	return h.pages.write(r.w, http.StatusOK, "session.html", page)
}

func showBlock(k key, block logview.Block) shownBlock {
	if block.Summary != nil {
		return shownBlock{Summary: showSummary(k, block)}
	}
	var shown shownBlock
	for _, entry := range block.Entries {
		shown.Events = append(shown.Events, showEvent(k, entry))
	}
	return shown
}

// stateValue is a value of the session's state.
type stateValue struct {
	Key  string
	Text shownLine
}

func stateOf(s session.Session) []stateValue {
	return showState(s.State())
}
