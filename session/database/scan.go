package database

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/recap-adk/recap/session"
)

// scanColumns are the columns that ScanEvents reads, in order.
const scanColumns = "id, timestamp, invocation_id, author, branch, isolation_scope, content, actions"

// scanPage is the number of events that are read at once.
const scanPage = 1000

// endOfTime is later than every event.
var endOfTime = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// ScanEvents is there for session.EventScanner.
func (s *service) ScanEvents(ctx context.Context, req *session.ScanRequest) iter.Seq2[*session.ScannedEvent, error] {
	return func(yield func(*session.ScannedEvent, error) bool) {
		k := key{req.AppName, req.UserID, req.SessionID}
		if err := s.scan(ctx, k, req, func(e *session.ScannedEvent) bool { return yield(e, nil) }); err != nil {
			yield(nil, s.failed(ctx, "scan", k, err))
		}
	}
}

// scan yields events page by page. While one page is yielded the next is read.
func (s *service) scan(ctx context.Context, k key, req *session.ScanRequest, yield func(*session.ScannedEvent) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan []*session.ScannedEvent)
	var err error // written before pages is closed
	go func() {
		defer close(pages)
		err = s.readPages(ctx, k, req, func(page []*session.ScannedEvent) bool {
			select {
			case pages <- page:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	defer func() {
		cancel()
		for range pages { // until the reader has ended
		}
	}()
	for page := range pages {
		for _, e := range page {
			if !yield(e) {
				return nil
			}
		}
	}
	return err
}

// readPages passes pages on until there are no more or one is refused.
func (s *service) readPages(ctx context.Context, k key, req *session.ScanRequest, pass func([]*session.ScannedEvent) bool) error {
	limit, before := scanPage, req.Before
	if before.IsZero() {
		before = endOfTime
	}
	known := map[string]bool{} // those that were passed on of the time just below before
	for first := true; ; first = false {
		page, whole, err := s.readPage(ctx, k, req.After, before, limit, first)
		if err != nil {
			return err
		}
		last := whole || len(page) < limit
		fresh := slices.DeleteFunc(slices.Clone(page), func(e *session.ScannedEvent) bool { return known[e.ID] })
		if !pass(fresh) {
			return ctx.Err()
		}
		if last {
			return nil
		}
		if len(fresh) == 0 { // so many events are of one time
			limit *= 2
			continue
		}
		oldest := page[len(page)-1].Timestamp
		if next := oldest.Add(1); !next.Equal(before) {
			before = next
			clear(known)
		}
		for _, e := range page {
			if e.Timestamp.Equal(oldest) {
				known[e.ID] = true
			}
		}
	}
}

// readPage reads the newest events of a range of time, the newest first. For
// the first page it finds out whether the session is there, and whether its
// texts of times are in order. If they are not, it reads the whole range.
func (s *service) readPage(ctx context.Context, k key, after, before time.Time, limit int, first bool) (page []*session.ScannedEvent, whole bool, err error) {
	err = s.read(ctx, func(tx transaction) error {
		page, whole = nil, false
		if first {
			row, err := s.readSession(ctx, tx, k)
			if err != nil {
				return err
			}
			if row.stray {
				events, err := s.readEvents(ctx, tx, k, &session.GetRequest{After: after, Before: before}, true)
				if err != nil {
					return err
				}
				page, err = scanned(events)
				whole = true
				return err
			}
		}
		page, err = s.scanRows(ctx, tx, k.args(s.dialect.bindTime(after), s.dialect.bindTime(before), limit))
		return err
	})
	return page, whole, err
}

func (s *service) scanRows(ctx context.Context, tx transaction, args []any) ([]*session.ScannedEvent, error) {
	rows, err := tx.QueryContext(ctx, s.queries.scan, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page []*session.ScannedEvent
	last := &session.ScannedEvent{}
	var id, timestamp, invocation, author, branch, scope, content, actions sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&id, &timestamp, &invocation, &author, &branch, &scope, &content, &actions); err != nil {
			return nil, err
		}
		texts := s.dialect.texts
		e := &session.ScannedEvent{
			ID:             string(id),
			InvocationID:   texts.original(share(last.InvocationID, invocation)),
			Author:         texts.original(share(last.Author, author)),
			Branch:         texts.original(share(last.Branch, branch)),
			IsolationScope: texts.original(share(last.IsolationScope, scope)),
			Content:        slices.Clone(texts.read(content)),
		}
		if e.Timestamp, err = parseTime(timestamp); err != nil {
			return nil, fmt.Errorf("event %q: column timestamp: %w", id, err)
		}
		if err := scanActions(actions, e); err != nil {
			return nil, fmt.Errorf("event %q: column actions: %w", id, err)
		}
		page = append(page, e)
		last = e
	}
	return page, rows.Err()
}

// scanActions decodes actions only if they may hold what is asked for, in any
// spelling of the names.
func scanActions(data []byte, e *session.ScannedEvent) error {
	if !bytes.Contains(data, []byte("ompaction")) && !bytes.Contains(data, []byte("ewind")) {
		return nil
	}
	var actions session.EventActions
	if err := decodeActions(data, &actions); err != nil {
		return err
	}
	e.IsCompaction, e.RewindBeforeInvocationID = actions.Compaction != nil, actions.RewindBeforeInvocationID
	return nil
}

// scanned are events as ScanEvents yields them.
func scanned(events []*session.Event) ([]*session.ScannedEvent, error) {
	var list []*session.ScannedEvent
	for _, e := range slices.Backward(events) {
		s := &session.ScannedEvent{
			ID: e.ID, Timestamp: e.Timestamp, InvocationID: e.InvocationID, Author: e.Author,
			Branch: e.Branch, IsolationScope: e.IsolationScope,
			IsCompaction: e.Actions.Compaction != nil, RewindBeforeInvocationID: e.Actions.RewindBeforeInvocationID,
		}
		if e.Content != nil {
			var err error
			if s.Content, err = json.Marshal(e.Content); err != nil {
				return nil, fmt.Errorf("event %q: %w", e.ID, err)
			}
		}
		list = append(list, s)
	}
	return list, nil
}
