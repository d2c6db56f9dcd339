package database

import (
	"context"
	"fmt"
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
	if n := len(manifest.Older); n > 0 {
		args := k.args()
		for _, at := range manifest.Older {
			args = append(args, s.dialect.bindTime(at))
		}
		query := placeholders(s.orm, fmt.Sprintf(s.queries.eventsAt, strings.TrimSuffix(strings.Repeat("?, ", n), ", ")))
		if older, err = queryEvents(ctx, tx, s.dialect.texts, query, args); err != nil {
			return nil, false, err
		}
		for _, at := range manifest.Older {
			if !slices.ContainsFunc(older, func(e *session.Event) bool { return e.Timestamp.Equal(at) }) {
				return nil, false, nil
			}
		}
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
	for skip := range maxAlike {
		found, err := queryEvents(ctx, tx, s.dialect.texts, s.queries.lastCompaction, k.args(skip))
		if err != nil || len(found) == 0 {
			return nil, err
		}
		if found[0].Actions.Compaction != nil {
			return found[0], nil
		}
	}
	return nil, nil
}

// maxAlike bounds the events that are tried because their actions look as those
// of a compaction do.
const maxAlike = 8
