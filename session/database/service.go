package database

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

// key names a session.
type key struct{ app, user, id string }

func (k key) String() string {
	return fmt.Sprintf("session %q of user %q of app %q", k.id, k.user, k.app)
}

// args are the values for the key in a statement, and those after it.
func (k key) args(more ...any) []any {
	return append([]any{k.app, k.user, k.id}, more...)
}

func (s *service) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	if req.AppName == "" || req.UserID == "" {
		return nil, fmt.Errorf("session/database: create: app name and user ID must be set (got %q and %q)", req.AppName, req.UserID)
	}
	k := key{req.AppName, req.UserID, req.SessionID}
	if k.id == "" {
		k.id = platform.NewUUID(ctx)
	}
	created, err := s.create(ctx, k, req.State)
	if err != nil {
		return nil, s.failed(ctx, "create", k, err)
	}
	return &session.CreateResponse{Session: created}, nil
}

func (s *service) create(ctx context.Context, k key, state map[string]any) (created *session.Snapshot, err error) {
	delta, err := encodeDelta(state)
	if err != nil {
		return nil, err
	}
	own, err := s.mergeState(nil, delta.own)
	if err != nil {
		return nil, err
	}
	at := s.dialect.bindTime(platform.Now(ctx).UTC().Truncate(time.Microsecond))
	err = s.write(ctx, k.String(), func(tx transaction) error {
		if _, err := tx.ExecContext(ctx, s.queries.insertSession, k.args(own, at, at)...); err != nil {
			return s.existing(err)
		}
		if err := s.mergeShared(ctx, tx, k, delta, at); err != nil {
			return err
		}
		// Read back for the state that was there before.
		row, err := s.readSession(ctx, tx, k)
		if err != nil {
			return err
		}
		created, err = row.snapshot(s.dialect.texts, nil)
		return err
	})
	return created, err
}

func (s *service) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	k := key{req.AppName, req.UserID, req.SessionID}
	var got *session.Snapshot
	err := s.read(ctx, func(tx transaction) error {
		row, err := s.readSession(ctx, tx, k)
		if err != nil {
			return err
		}
		events, err := s.eventsFor(ctx, tx, k, req, row.stray)
		if err != nil {
			return err
		}
		got, err = row.snapshot(s.dialect.texts, events)
		return err
	})
	if err != nil {
		return nil, s.failed(ctx, "get", k, err)
	}
	return &session.GetResponse{Session: got}, nil
}

func (s *service) List(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
	query, args, err := s.listQuery(req)
	if err != nil {
		return nil, fmt.Errorf("session/database: list: app %q: %w", req.AppName, err)
	}
	var response *session.ListResponse
	err = s.read(ctx, func(tx transaction) error {
		response = &session.ListResponse{}
		rows, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		var last session.Session
		for n := 1; rows.Next(); n++ {
			if req.PageSize > 0 && n > req.PageSize {
				response.NextPageToken = session.PageToken(last)
				break
			}
			row, err := scanSession(rows)
			if err != nil {
				return err
			}
			snapshot, err := row.snapshot(s.dialect.texts, nil)
			if err != nil {
				return fmt.Errorf("%s: %w", key{req.AppName, row.user, row.id}, err)
			}
			last = snapshot
			if row.is(key{req.AppName, cmp.Or(req.UserID, row.user), row.id}) {
				response.Sessions = append(response.Sessions, snapshot)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("session/database: list: app %q: %w", req.AppName, s.explain(ctx, err))
	}
	session.SortByUpdate(response.Sessions)
	return response, nil
}

// listQuery returns the statement that lists what req asks for and, if that is
// a page, one more.
func (s *service) listQuery(req *session.ListRequest) (query string, args []any, err error) {
	q := s.queries
	all, page := q.listSessions, q.pageOfSessions
	args = []any{req.AppName}
	if req.UserID != "" {
		all, page, args = q.listUserSessions, q.pageOfUserSessions, append(args, req.UserID)
	}
	if req.PageSize <= 0 && req.PageToken == "" {
		return all, args, nil
	}
	updated, user, id := "~", "", "" // which is before every time: later ones come first
	if req.PageToken != "" {
		var at time.Time
		if at, user, id, err = session.ParsePageToken(req.PageToken); err != nil {
			return "", nil, err
		}
		updated = at.Format(sortedTime)
	}
	limit := math.MaxInt32
	if req.PageSize > 0 {
		limit = min(req.PageSize, limit-1) + 1
	}
	return page, append(args, updated, updated, user, user, id, limit), nil
}

func (s *service) Delete(ctx context.Context, req *session.DeleteRequest) error {
	k := key{req.AppName, req.UserID, req.SessionID}
	err := s.write(ctx, k.String(), func(tx transaction) error {
		err := s.lockSession(ctx, tx, k)
		if errors.Is(err, errOtherSpelling) {
			return nil
		}
		if err != nil && !errors.Is(err, session.ErrNotFound) {
			return err
		}
		// The tables' own cascade works only where foreign keys are on.
		if _, err := tx.ExecContext(ctx, s.queries.deleteEvents, k.args()...); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, s.queries.deleteSession, k.args()...)
		return err
	})
	if err != nil {
		return s.failed(ctx, "delete", k, err)
	}
	return nil
}

func (s *service) AppendEvent(ctx context.Context, handle session.Session, event *session.Event) error {
	if event.Partial {
		return nil
	}
	k := key{handle.AppName(), handle.UserID(), handle.ID()}
	stored := event.Clone()
	maps.DeleteFunc(stored.Actions.StateDelta, func(key string, _ any) bool { return isTemp(key) })
	if err := s.store(ctx, k, handle, stored); err != nil {
		return s.failed(ctx, "append", k, err)
	}
	event.ID, event.Timestamp = stored.ID, stored.Timestamp
	session.AppendToHandle(handle, stored, event.Actions.StateDelta)
	return nil
}

// store stamps the event and stores it. All that can be is encoded before the
// write lock is taken.
func (s *service) store(ctx context.Context, k key, handle session.Session, event *session.Event) error {
	row, err := encodeEvent(event, s.dialect.texts)
	if err != nil {
		return err
	}
	delta, err := encodeDelta(event.Actions.StateDelta)
	if err != nil {
		return err
	}
	return s.write(ctx, k.String(), func(tx transaction) error {
		return s.append(ctx, tx, k, handle, event, row, delta)
	})
}

// append does what of store needs the lock.
func (s *service) append(ctx context.Context, tx transaction, k key, handle session.Session, event *session.Event, row eventRow, delta stateDelta) error {
	if err := s.lockSession(ctx, tx, k); err != nil {
		return err
	}
	current, err := s.currentSession(ctx, tx, k)
	if err != nil {
		return err
	}
	if event.Actions.Compaction != nil {
		if err := s.checkCompaction(ctx, tx, k, handle, current.stray); err != nil {
			return err
		}
	}
	session.Stamp(ctx, event, current.last)
	if year := event.Timestamp.Year(); year < 1 || year > 9999 {
		return fmt.Errorf("event %q: the year of its time, %d, cannot be stored", event.ID, year)
	}
	at := s.dialect.bindTime(event.Timestamp)
	row.set("id", event.ID)
	row.set("timestamp", at)
	if _, err := tx.ExecContext(ctx, s.queries.insertEvent, k.args(row...)...); err != nil {
		return fmt.Errorf("event %q: %w", event.ID, s.existing(err))
	}
	if err := s.touch(ctx, tx, k, current, event.Timestamp, delta); err != nil {
		return err
	}
	// At the end, as others wait for these rows.
	return s.mergeShared(ctx, tx, k, delta, at)
}

// touch stores the state of the session, and the time of its last event.
func (s *service) touch(ctx context.Context, tx transaction, k key, current currentSession, at time.Time, delta stateDelta) error {
	if !at.After(current.updated) {
		if len(delta.own) == 0 {
			return nil
		}
		at = current.updated
	}
	state, err := s.mergeState(current.state, delta.own)
	if err != nil {
		return fmt.Errorf("column sessions.state: %w", err)
	}
	_, err = tx.ExecContext(ctx, s.queries.touchSession, append([]any{state, s.dialect.bindTime(at)}, k.args()...)...)
	return err
}

// errOtherSpelling is of a session that the database takes for the one that was
// asked for, by a collation for which "ada" and "Ada" are equal.
var errOtherSpelling = fmt.Errorf("%w: the names of the one there is are spelled otherwise", session.ErrNotFound)

// lockSession waits for other writers of the session, and keeps them away until
// the end of the transaction. It is a statement of its own, as one that waits
// sees in parts what was before.
func (s *service) lockSession(ctx context.Context, tx transaction, k key) error {
	if s.dialect.forUpdate == "" {
		return nil // the transaction has the lock
	}
	var r sessionRow
	err := tx.QueryRowContext(ctx, s.queries.lockSession, k.args()...).Scan(&r.app, &r.user, &r.id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return session.ErrNotFound
	case err == nil && !r.is(k):
		return errOtherSpelling
	}
	return err
}

// currentSession is what an append has to know of the session.
type currentSession struct {
	state         []byte
	updated, last time.Time
	stray         bool
}

func (s *service) currentSession(ctx context.Context, tx transaction, k key) (currentSession, error) {
	var c currentSession
	var updated, last []byte
	err := tx.QueryRowContext(ctx, s.queries.sessionForAppend, k.args()...).Scan(&c.state, &updated, &last, &c.stray)
	if errors.Is(err, sql.ErrNoRows) {
		return c, session.ErrNotFound
	}
	if err != nil {
		return c, err
	}
	if c.updated, err = optionalTime(updated); err != nil {
		return c, fmt.Errorf("column sessions.update_time: %w", err)
	}
	if c.last, err = optionalTime(last); err != nil {
		return c, fmt.Errorf("column events.timestamp: %w", err)
	}
	if c.stray {
		c.last, err = s.latestOf(ctx, tx, k, c.last)
	}
	return c, err
}

// zones is more than the texts of two times can differ because of their zones.
const zones = 27 * time.Hour

// latestOf returns the latest time of the session's events, given the time of
// the one whose text is the greatest: in a session with several zones, one of
// the last day may be later.
func (s *service) latestOf(ctx context.Context, tx transaction, k key, latest time.Time) (time.Time, error) {
	rows, err := tx.QueryContext(ctx, s.queries.timesSince, k.args(s.dialect.bindTime(latest.Add(-zones)))...)
	if err != nil {
		return latest, err
	}
	defer rows.Close()
	for rows.Next() {
		var text sql.RawBytes
		if err := rows.Scan(&text); err != nil {
			return latest, err
		}
		at, err := parseTime(text)
		if err != nil {
			return latest, fmt.Errorf("column events.timestamp: %w", err)
		}
		if at.After(latest) {
			latest = at
		}
	}
	return latest, rows.Err()
}

// mayBeCompaction matches actions that may hold a compaction record, in any
// spelling of the name. SQL is no help here: in SQLite, LIKE never matches a
// blob.
var mayBeCompaction = regexp.MustCompile(`(?i)"compaction"`)

// checkCompaction returns ErrSuperseded unless the newest stored compaction
// event is the newest of the handle. It looks at the events from that one on.
func (s *service) checkCompaction(ctx context.Context, tx transaction, k key, handle session.Session, stray bool) error {
	seen := session.LastCompactionID(handle.Events())
	var since time.Time
	for event := range handle.Events().All() {
		if event.ID == seen {
			since = event.Timestamp
		}
	}
	if stray && !since.IsZero() {
		since = since.Add(-zones)
	}
	rows, err := tx.QueryContext(ctx, s.queries.actionsSince, k.args(s.dialect.bindTime(since))...)
	if err != nil {
		return err
	}
	defer rows.Close()
	newest, newestAt := "", time.Time{}
	for rows.Next() {
		var id string
		var text, actions sql.RawBytes
		if err := rows.Scan(&id, &text, &actions); err != nil {
			return err
		}
		if !mayBeCompaction.Match(actions) {
			continue
		}
		var decoded struct{ Compaction *struct{} }
		if err := json.Unmarshal(actions, &decoded); err != nil {
			return fmt.Errorf("event %q: column actions: %w", id, err)
		}
		at, err := parseTime(text)
		if err != nil {
			return fmt.Errorf("event %q: column timestamp: %w", id, err)
		}
		if decoded.Compaction != nil && !at.Before(newestAt) {
			newest, newestAt = id, at
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if newest != seen {
		return session.ErrSuperseded
	}
	return nil
}

// sessionRow is a session as it is stored, with the state it shares.
type sessionRow struct {
	app, user, id       string
	state               []byte
	appState, userState []byte
	updated             []byte
	stray               bool
}

type scanner interface{ Scan(dest ...any) error }

func scanSession(from scanner) (sessionRow, error) {
	var r sessionRow
	err := from.Scan(&r.app, &r.user, &r.id, &r.state, &r.appState, &r.userState, &r.updated, &r.stray)
	return r, err
}

func (s *service) readSession(ctx context.Context, tx transaction, k key) (sessionRow, error) {
	row, err := scanSession(tx.QueryRowContext(ctx, s.queries.readSession, k.args()...))
	if errors.Is(err, sql.ErrNoRows) {
		err = session.ErrNotFound
	}
	if err == nil && !row.is(k) {
		err = errOtherSpelling
	}
	return row, err
}

func (r sessionRow) is(k key) bool { return k == key{r.app, r.user, r.id} }

func (r sessionRow) snapshot(texts *texts, events []*session.Event) (*session.Snapshot, error) {
	var states [3]map[string]any
	for i, column := range []struct {
		name string
		text []byte
	}{{"app_states", r.appState}, {"user_states", r.userState}, {"sessions", r.state}} {
		if len(column.text) == 0 {
			continue
		}
		if err := json.Unmarshal(texts.read(column.text), &states[i]); err != nil {
			return nil, fmt.Errorf("column %s.state: %w", column.name, err)
		}
	}
	updated, err := optionalTime(r.updated)
	if err != nil {
		return nil, fmt.Errorf("column sessions.update_time: %w", err)
	}
	return session.NewSnapshot(session.SnapshotData{
		AppName: r.app, UserID: r.user, ID: r.id,
		State:          session.MergeState(states[0], states[1], states[2]),
		Events:         events,
		LastUpdateTime: updated,
	}), nil
}

// eventsFor reads the events that req asks for, in order.
func (s *service) eventsFor(ctx context.Context, tx transaction, k key, req *session.GetRequest, stray bool) ([]*session.Event, error) {
	if req.OmitCompacted && req.NumRecentEvents <= 0 && req.After.IsZero() && !stray {
		if events, ok, err := s.readNeeded(ctx, tx, k); ok || err != nil {
			return events, err
		}
	}
	return s.readEvents(ctx, tx, k, req, stray)
}

// readEvents reads the events that NumRecentEvents and After of req ask for, in
// order.
func (s *service) readEvents(ctx context.Context, tx transaction, k key, req *session.GetRequest, stray bool) ([]*session.Event, error) {
	recent, after := max(req.NumRecentEvents, 0), req.After
	if stray {
		// The order of the texts is not that of the times: what is asked for is
		// cut out of all that may be among it.
		recent = 0
		if !after.IsZero() {
			after = after.Add(-zones)
		}
	}
	q := s.queries
	query, args := q.events, k.args()
	switch {
	case recent > 0 && !after.IsZero():
		query, args = q.recentEventsAfter, append(args, s.dialect.bindTime(after), recent)
	case recent > 0:
		query, args = q.recentEvents, append(args, recent)
	case !after.IsZero():
		query, args = q.eventsAfter, append(args, s.dialect.bindTime(after))
	}
	events, err := queryEvents(ctx, tx, s.dialect.texts, query, args)
	if err != nil {
		return nil, err
	}
	if recent > 0 {
		events = events[:min(recent, len(events))]
		slices.Reverse(events)
	}
	if stray {
		events = cut(events, req)
	}
	return events, nil
}

// cut puts events that came in order of their text in order of time, and
// returns those that req asks for.
func cut(events []*session.Event, req *session.GetRequest) []*session.Event {
	slices.SortStableFunc(events, func(a, b *session.Event) int { return a.Timestamp.Compare(b.Timestamp) })
	first, _ := slices.BinarySearchFunc(events, req.After, func(e *session.Event, t time.Time) int { return e.Timestamp.Compare(t) })
	events = events[first:]
	if n := req.NumRecentEvents; n > 0 && n < len(events) {
		events = events[len(events)-n:]
	}
	return events
}

// mergeShared merges a delta into the state of the application and the user.
func (s *service) mergeShared(ctx context.Context, tx transaction, k key, delta stateDelta, at any) error {
	if err := s.mergeRow(ctx, tx, s.queries.app, delta.app, at, k.app); err != nil {
		return fmt.Errorf("state of app %q: %w", k.app, err)
	}
	if err := s.mergeRow(ctx, tx, s.queries.user, delta.user, at, k.app, k.user); err != nil {
		return fmt.Errorf("state of user %q: %w", k.user, err)
	}
	return nil
}

func (s *service) mergeRow(ctx context.Context, tx transaction, q sharedQueries, delta map[string]json.RawMessage, at any, owner ...any) error {
	if len(delta) == 0 {
		return nil
	}
	var state []byte
	err := tx.QueryRowContext(ctx, q.read, owner...).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		// Two transactions may insert it: the second waits, and finds it there.
		if _, err := tx.ExecContext(ctx, q.insert, append([]any{"{}", at}, owner...)...); err != nil {
			return err
		}
		err = tx.QueryRowContext(ctx, q.read, owner...).Scan(&state)
	}
	if err != nil {
		return err
	}
	merged, err := s.mergeState(state, delta)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, q.update, append([]any{merged, at}, owner...)...)
	return err
}

// mergeState merges a delta into the text of a column.
func (s *service) mergeState(stored []byte, delta map[string]json.RawMessage) (string, error) {
	merged, err := mergeState(s.dialect.texts.read(stored), delta)
	return string(s.dialect.texts.stored(merged)), err
}

// existing maps the database's error for a key that is there to ErrExists.
func (s *service) existing(err error) error {
	if translator, ok := s.orm.Dialector.(gorm.ErrorTranslator); ok && errors.Is(translator.Translate(err), gorm.ErrDuplicatedKey) {
		return session.ErrExists
	}
	return err
}

// failed says what failed, and why if it can.
func (s *service) failed(ctx context.Context, what string, k key, err error) error {
	return fmt.Errorf("session/database: %s: %s: %w", what, k, s.explain(ctx, err))
}
