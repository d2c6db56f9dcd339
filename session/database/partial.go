package database

import (
	"context"
	"slices"
	"strings"

	"github.com/recap-adk/recap/session"
)

// readNeeded reads the events that GetRequest.OmitCompacted asks for. It
// reports false if all of them are to be read.
func (s *service) readNeeded(ctx context.Context, tx transaction, k key) ([]*session.Event, bool, error) {
	newest, err := s.newestCompaction(ctx, tx, k)
	if newest == nil || err != nil {
		return nil, false, err
	}
	manifest := newest.Manifest()
	if manifest.From.IsZero() {
		return nil, false, nil
	}
	var older []*session.Event
	if n := len(manifest.Events); n > 0 {
		args := k.args()
		for _, id := range manifest.Events {
			args = append(args, s.dialect.texts.text(id))
		}
		query := placeholders(s.orm, s.queries.eventsNamed+strings.TrimSuffix(strings.Repeat("?, ", n), ", ")+")")
		if older, err = queryEvents(ctx, tx, s.dialect.texts, query, args); err != nil {
			return nil, false, err
		}
		older = slices.DeleteFunc(older, func(e *session.Event) bool { return !slices.Contains(manifest.Events, e.ID) })
		if len(older) < n {
			return nil, false, nil
		}
		slices.SortStableFunc(older, func(a, b *session.Event) int { return a.Timestamp.Compare(b.Timestamp) })
	}
	tail, err := s.readEvents(ctx, tx, k, &session.GetRequest{After: manifest.From}, false)
	if err != nil {
		return nil, false, err
	}
	return append(older, tail...), true, nil
}

// newestCompaction is the newest compaction event of a session, or nil if it is
// not found quickly. The index gives the events newest first, so that no more
// are looked at than came after it.
func (s *service) newestCompaction(ctx context.Context, tx transaction, k key) (*session.Event, error) {
	candidates, err := queryEvents(ctx, tx, s.dialect.texts, s.queries.lastCompactions, k.args())
	if err != nil {
		return nil, err
	}
	for _, e := range candidates {
		if e.Actions.Compaction != nil {
			return e, nil
		}
	}
	return nil, nil
}
