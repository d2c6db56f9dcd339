package compaction

import (
	"context"
	"errors"
	"time"

	"google.golang.org/genai"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/session"
)

// ErrNothingToUndo is returned by Undo where no summary is active.
var ErrNothingToUndo = errors.New("the session has no summary to undo")

// Undo releases the newest active summary of a session: what it stood in for,
// events or older summaries, is shown again. Nothing is deleted; the event that
// says so is appended and returned, with the one that it releases. Other
// runtimes, which do not know of it, go on to use the summary.
//
// It returns ErrNothingToUndo, session.ErrSuperseded if the session was
// compacted meanwhile, or an error of the session service.
func (c *Compactor) Undo(ctx context.Context, appName, userID, sessionID string) (released, release *session.Event, err error) {
	key := sessionKey{appName, userID, sessionID}
	_, free, err := c.acquire(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	defer free()
	// All of it: what the summary stood in for is needed again.
	got, err := c.service.Get(ctx, &session.GetRequest{AppName: appName, UserID: userID, SessionID: sessionID})
	if err != nil {
		return nil, nil, err
	}
	events := eventsOf(got.Session)
	newest := newestSummary(events)
	if newest == nil {
		return nil, nil, ErrNothingToUndo
	}
	event := releaseOf(ctx, newest)
	manifest := session.Manifest{Releases: newest.Timestamp.UTC()}
	manifest.Put(event)
	manifest.From, manifest.Seen, manifest.Older = manifestFor(events, events[len(events)-1].Timestamp, event, c.cfg.OverlapSize)
	manifest.Put(event)
	if err := c.recheck(ctx, key, got.Session); err != nil {
		return nil, nil, err
	}
	if err := c.service.AppendEvent(ctx, got.Session, event); err != nil {
		return nil, nil, err
	}
	return newest, event, nil
}

func newestSummary(events []*session.Event) *session.Event {
	l := readLog(events)
	var newest *icontext.Summary
	for _, lane := range l.lanes {
		for _, s := range l.coverage.Active(lane) {
			if newest == nil || s.Position > newest.Position {
				newest = s
			}
		}
	}
	if newest == nil {
		return nil
	}
	return newest.Event
}

// releaseOf is a compaction event whose record stands in for nothing, so that
// a runtime that takes it for a summary hides nothing for it.
func releaseOf(ctx context.Context, released *session.Event) *session.Event {
	beginning := time.Unix(0, 0)
	w := Window{Branch: released.Branch, Scope: released.IsolationScope, Start: beginning, End: beginning}
	return CreateCompactionEvent(ctx, w, SummarizeResult{Content: genai.NewContentFromText("(An earlier summary was taken back.)", genai.RoleModel)})
}
