package inspector

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/recap-adk/recap/internal/logview"
	"github.com/recap-adk/recap/session"
)

// key names a session.
type key struct{ App, User, ID string }

// key is the session that a request names.
func (r *request) key() (key, error) {
	k := key{r.query.Get("app"), r.query.Get("user"), r.query.Get("id")}
	if k.App == "" || k.User == "" || k.ID == "" {
		return k, malformed("The address names no session: it needs app, user and id.")
	}
	if !slices.Contains(r.apps, k.App) {
		return k, problem{http.StatusNotFound, "There is no such application."}
	}
	return k, nil
}

// link is a page about the session, relative to any other. More are names and
// values of parameters; those without a value are left out.
func (k key) link(page string, more ...string) string {
	query := url.Values{"app": {k.App}, "user": {k.User}, "id": {k.ID}}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			query.Set(more[i], more[i+1])
		}
	}
	return page + "?" + query.Encode()
}

func (k key) get() *session.GetRequest {
	return &session.GetRequest{AppName: k.App, UserID: k.User, SessionID: k.ID}
}

// recentEvents is how far back the newest compaction event is looked for.
const recentEvents = 400

// newest is what is known of a log without reading it whole.
type newest struct {
	session session.Session
	// events are those a prompt is made of and, besides, the newest ones; in
	// order.
	events []*session.Event
	// known says that they are enough to tell what became of each event.
	known bool
}

// newest reads the end of a log and what stands in for the rest. A log whose
// summaries tell what they need is read in part, and so is one that has none
// among its newest events, unless whole is set.
func (h *handler) newest(ctx context.Context, k key, whole bool) (*newest, error) {
	req := k.get()
	req.NumRecentEvents = recentEvents
	if whole {
		req.NumRecentEvents = 0
	}
	got, err := h.SessionService.Get(ctx, req)
	if err != nil {
		return nil, err
	}
	n := &newest{session: got.Session, events: slices.Collect(got.Session.Events().All())}
	if whole || len(n.events) < recentEvents {
		n.known = true
		return n, nil
	}
	for _, e := range slices.Backward(n.events) {
		if e.Actions.Compaction == nil {
			continue
		}
		if e.Manifest().From.IsZero() {
			break // all events are needed
		}
		req := k.get()
		req.OmitCompacted = true
		needed, err := h.SessionService.Get(ctx, req)
		if err != nil {
			return nil, err
		}
		n.session, n.known = needed.Session, true
		n.events = union(n.events, slices.Collect(needed.Session.Events().All()))
		break
	}
	if reachesBack(n.events) {
		return h.newest(ctx, k, true)
	}
	return n, nil
}

// reachesBack reports whether a client took back more than was read.
func reachesBack(events []*session.Event) bool {
	there := map[string]bool{}
	for _, e := range events {
		if to := e.Actions.RewindBeforeInvocationID; to != "" && !there[to] {
			return true
		}
		there[e.InvocationID] = true
	}
	return false
}

// page reads the newest events of a part of the log, so many at most, and
// reports whether there are more before them.
func (h *handler) page(ctx context.Context, k key, after, before time.Time, limit int) (events []*session.Event, more bool, err error) {
	req := k.get()
	req.After, req.Before, req.NumRecentEvents = after, before, limit+1
	got, err := h.SessionService.Get(ctx, req)
	if err != nil {
		return nil, false, err
	}
	events = slices.Collect(got.Session.Events().All())
	if len(events) > limit {
		return events[len(events)-limit:], true, nil
	}
	return events, false, nil
}

// place is what an event is known by: it is read more than once, and each time
// it is another value.
type place struct {
	at int64
	id string
}

func placeOf(e *session.Event) place { return place{e.Timestamp.UnixMicro(), e.ID} }

// union is the events of both in order of time, each once.
func union(a, b []*session.Event) []*session.Event {
	seen := map[place]bool{}
	var all []*session.Event
	for _, e := range slices.Concat(a, b) {
		if p := placeOf(e); !seen[p] {
			seen[p] = true
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b *session.Event) int { return a.Timestamp.Compare(b.Timestamp) })
	return all
}

// blocks are the events of a page, each summary around those it stands in for.
// With summaries those are added whose events are all before the page.
func blocks(n *newest, page []*session.Event, summaries bool) []logview.Block {
	onPage := map[place]bool{}
	for _, e := range page {
		onPage[placeOf(e)] = true
	}
	var shown []logview.Block
	for _, block := range logview.Blocks(logview.Read(union(page, n.events))) {
		block.Entries = slices.DeleteFunc(block.Entries, func(e *logview.Entry) bool { return !onPage[placeOf(e.Event)] })
		if len(block.Entries) > 0 || block.Summary != nil && (summaries || onPage[placeOf(block.Summary.Event)]) {
			shown = append(shown, block)
		}
	}
	// Where the first event of a summary was not read, its own place in the list
	// is where the summary was written, and not where it stands.
	slices.SortStableFunc(shown, func(a, b logview.Block) int { return cmp.Compare(startOf(a), startOf(b)) })
	return shown
}

func startOf(b logview.Block) int64 {
	if b.Summary != nil {
		return b.Summary.Event.Actions.Compaction.Start().UnixMicro()
	}
	return b.Entries[0].Event.Timestamp.UnixMicro()
}
