package adkpython

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

// key names a session.
type key struct{ app, user, id string }

func (k key) String() string {
	return fmt.Sprintf("session %q of user %q of app %q", k.id, k.user, k.app)
}

func failed(what string, k key, err error) error {
	return fmt.Errorf("session/adkpython: %s: %s: %w", what, k, err)
}

func (s *service) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	if req.AppName == "" || req.UserID == "" {
		return nil, fmt.Errorf("session/adkpython: create: app name and user ID must be set (got %q and %q)", req.AppName, req.UserID)
	}
	k := key{req.AppName, req.UserID, req.SessionID}
	if k.id == "" {
		k.id = platform.NewUUID(ctx)
	}
	var created *session.Snapshot
	err := s.transact(ctx, true, func(tx *sql.Conn) error {
		app, user, own := session.SplitState(req.State)
		state, err := merged(nil, own)
		if err != nil {
			return err
		}
		at := s.schema.write(platform.Now(ctx))
		inserted, err := tx.ExecContext(ctx, "INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			k.app, k.user, k.id, state, at, at)
		if err != nil {
			return err
		}
		if n, err := inserted.RowsAffected(); n == 0 {
			return errors.Join(err, session.ErrExists)
		}
		// adk-python wants both rows, also where there is nothing in them.
		if err := s.share(ctx, tx, k, app, user, at, true); err != nil {
			return err
		}
		created, err = s.session(ctx, tx, k, nil)
		return err
	})
	if err != nil {
		return nil, failed("create", k, err)
	}
	return &session.CreateResponse{Session: created}, nil
}

func (s *service) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	k := key{req.AppName, req.UserID, req.SessionID}
	var got *session.Snapshot
	err := s.transact(ctx, false, func(tx *sql.Conn) error {
		events, err := s.events(ctx, tx, k, req)
		if err != nil {
			return err
		}
		got, err = s.session(ctx, tx, k, events)
		return err
	})
	if err != nil {
		return nil, failed("get", k, err)
	}
	return &session.GetResponse{Session: got}, nil
}

// events reads what req asks for. The times in the columns only choose what is
// looked at: rows of older versions of adk-python hold them in local time.
func (s *service) events(ctx context.Context, tx querier, k key, req *session.GetRequest) ([]*session.Event, error) {
	query := "SELECT id, invocation_id, " + fmt.Sprintf(s.schema.selected, "timestamp") + ", event_data FROM events WHERE app_name = ? AND user_id = ? AND session_id = ?"
	args := []any{k.app, k.user, k.id}
	const zones = 15 * time.Hour
	if !req.After.IsZero() {
		query, args = query+" AND timestamp >= ?", append(args, s.schema.write(req.After.Add(-zones)))
	}
	rows, err := tx.QueryContext(ctx, query+" ORDER BY timestamp, id", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var events []*session.Event
	for rows.Next() {
		var id, invocation, at string
		var data []byte
		if err := rows.Scan(&id, &invocation, &at, &data); err != nil {
			return nil, err
		}
		written, err := s.schema.read(at)
		if err != nil {
			return nil, fmt.Errorf("event %q: column timestamp: %w", id, err)
		}
		e, err := decode(data, id, invocation, written)
		if err != nil {
			return nil, fmt.Errorf("event %q: column event_data: %w", id, err)
		}
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(events, func(a, b *session.Event) int { return a.Timestamp.Compare(b.Timestamp) })
	events = slices.DeleteFunc(events, func(e *session.Event) bool { return e.Timestamp.Before(req.After) })
	if n := req.NumRecentEvents; n > 0 && n < len(events) {
		events = events[len(events)-n:]
	}
	return events, nil
}

const selectSession = "SELECT s.user_id, s.id, s.state, a.state, u.state, %s FROM sessions s" +
	" LEFT JOIN app_states a ON a.app_name = s.app_name" +
	" LEFT JOIN user_states u ON u.app_name = s.app_name AND u.user_id = s.user_id WHERE s.app_name = ?"

func (s *service) selectSession() string {
	return fmt.Sprintf(selectSession, fmt.Sprintf(s.schema.selected, "s.update_time"))
}

func (s *service) session(ctx context.Context, tx querier, k key, events []*session.Event) (*session.Snapshot, error) {
	row := tx.QueryRowContext(ctx, s.selectSession()+" AND s.user_id = ? AND s.id = ?", k.app, k.user, k.id)
	got, err := s.snapshot(k.app, row.Scan, events)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, session.ErrNotFound
	}
	return got, err
}

func (s *service) snapshot(app string, scan func(...any) error, events []*session.Event) (*session.Snapshot, error) {
	data := session.SnapshotData{AppName: app, Events: events}
	var own, shared, ofUser []byte
	var updated string
	if err := scan(&data.UserID, &data.ID, &own, &shared, &ofUser, &updated); err != nil {
		return nil, err
	}
	var states [3]map[string]any
	for i, column := range [][]byte{shared, ofUser, own} {
		if len(column) == 0 {
			continue
		}
		if err := json.Unmarshal(column, &states[i]); err != nil {
			return nil, fmt.Errorf("session %q: column state of %s: %w", data.ID, []string{"app_states", "user_states", "sessions"}[i], err)
		}
	}
	data.State = session.MergeState(states[0], states[1], states[2])
	var err error
	if data.LastUpdateTime, err = s.schema.read(updated); err != nil {
		return nil, fmt.Errorf("session %q: column update_time: %w", data.ID, err)
	}
	return session.NewSnapshot(data), nil
}

func (s *service) List(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
	response := &session.ListResponse{}
	err := s.transact(ctx, false, func(tx *sql.Conn) error {
		query, args := s.selectSession(), []any{req.AppName}
		if req.UserID != "" {
			query, args = query+" AND s.user_id = ?", append(args, req.UserID)
		}
		rows, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			got, err := s.snapshot(req.AppName, rows.Scan, nil)
			if err != nil {
				return err
			}
			response.Sessions = append(response.Sessions, got)
		}
		return rows.Err()
	})
	if err == nil {
		session.SortByUpdate(response.Sessions)
		err = response.Cut(req)
	}
	if err != nil {
		return nil, fmt.Errorf("session/adkpython: list: app %q: %w", req.AppName, err)
	}
	return response, nil
}

func (s *service) Delete(ctx context.Context, req *session.DeleteRequest) error {
	k := key{req.AppName, req.UserID, req.SessionID}
	err := s.transact(ctx, true, func(tx *sql.Conn) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM events WHERE app_name = ? AND user_id = ? AND session_id = ?", k.app, k.user, k.id); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE app_name = ? AND user_id = ? AND id = ?", k.app, k.user, k.id)
		return err
	})
	if err != nil {
		return failed("delete", k, err)
	}
	return nil
}

func (s *service) AppendEvent(ctx context.Context, handle session.Session, event *session.Event) error {
	if event.Partial {
		return nil
	}
	k := key{handle.AppName(), handle.UserID(), handle.ID()}
	stored := event.Clone()
	maps.DeleteFunc(stored.Actions.StateDelta, func(key string, _ any) bool { return strings.HasPrefix(key, session.KeyPrefixTemp) })
	err := s.transact(ctx, true, func(tx *sql.Conn) error { return s.append(ctx, tx, k, handle, stored) })
	if err != nil {
		return failed("append", k, err)
	}
	event.ID, event.Timestamp = stored.ID, stored.Timestamp
	session.AppendToHandle(handle, stored, event.Actions.StateDelta)
	return nil
}

func (s *service) append(ctx context.Context, tx *sql.Conn, k key, handle session.Session, event *session.Event) error {
	current, err := s.session(ctx, tx, k, nil)
	if err != nil {
		return err
	}
	if event.Actions.Compaction != nil {
		if err := s.checkCompaction(ctx, tx, k, handle); err != nil {
			return err
		}
	}
	last, err := s.last(ctx, tx, k)
	if err != nil {
		return err
	}
	session.Stamp(ctx, event, last)
	if year := event.Timestamp.Year(); year < 1 || year > 9999 {
		return fmt.Errorf("event %q: the year of its time, %d, cannot be stored", event.ID, year)
	}
	data, err := encode(event)
	if err != nil {
		return fmt.Errorf("event %q: %w", event.ID, err)
	}
	at := s.schema.write(event.Timestamp)
	inserted, err := tx.ExecContext(ctx, "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, event_data) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		event.ID, k.app, k.user, k.id, event.InvocationID, at, string(data))
	if err != nil {
		return fmt.Errorf("event %q: %w", event.ID, err)
	}
	if n, err := inserted.RowsAffected(); n == 0 {
		return fmt.Errorf("event %q: %w", event.ID, errors.Join(err, session.ErrExists))
	}
	app, user, own := session.SplitState(event.Actions.StateDelta)
	if err := s.share(ctx, tx, k, app, user, at, false); err != nil {
		return err
	}
	return s.touch(ctx, tx, k, current, own, event.Timestamp)
}

// last is the time of the newest event.
func (s *service) last(ctx context.Context, tx querier, k key) (time.Time, error) {
	var text string
	err := tx.QueryRowContext(ctx, "SELECT "+fmt.Sprintf(s.schema.selected, "timestamp")+", event_data FROM events"+
		" WHERE app_name = ? AND user_id = ? AND session_id = ? ORDER BY timestamp DESC LIMIT 1", k.app, k.user, k.id).Scan(&text, new([]byte))
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return s.schema.read(text)
}

// touch stores what changed of the session's own row.
func (s *service) touch(ctx context.Context, tx querier, k key, current *session.Snapshot, own map[string]any, at time.Time) error {
	if at.Before(current.LastUpdateTime()) {
		at = current.LastUpdateTime()
	}
	var stored []byte
	if err := tx.QueryRowContext(ctx, "SELECT state FROM sessions WHERE app_name = ? AND user_id = ? AND id = ?", k.app, k.user, k.id).Scan(&stored); err != nil {
		return err
	}
	state, err := merged(stored, own)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "UPDATE sessions SET state = ?, update_time = ? WHERE app_name = ? AND user_id = ? AND id = ?",
		state, s.schema.write(at), k.app, k.user, k.id)
	return err
}

// checkCompaction returns ErrSuperseded unless the newest stored compaction
// event is the newest of the handle.
func (s *service) checkCompaction(ctx context.Context, tx querier, k key, handle session.Session) error {
	rows, err := tx.QueryContext(ctx, "SELECT id, event_data FROM events WHERE app_name = ? AND user_id = ? AND session_id = ?"+
		` AND event_data LIKE '%"compaction"%' ORDER BY timestamp DESC, id DESC`, k.app, k.user, k.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	newest := ""
	for newest == "" && rows.Next() {
		var id string
		var data []byte
		if err := rows.Scan(&id, &data); err != nil {
			return err
		}
		var e struct {
			Actions struct{ Compaction json.RawMessage }
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("event %q: column event_data: %w", id, err)
		}
		if len(e.Actions.Compaction) > 0 && !bytes.Equal(e.Actions.Compaction, []byte("null")) {
			newest = id
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if newest != session.LastCompactionID(handle.Events()) {
		return session.ErrSuperseded
	}
	return nil
}

// share merges deltas into the state of the application and the user. With
// always their rows are made, also if nothing is in them.
func (s *service) share(ctx context.Context, tx querier, k key, app, user map[string]any, at any, always bool) error {
	for _, table := range []struct {
		name  string
		delta map[string]any
		owner []any
		where string
	}{
		{"app_states", app, []any{k.app}, "app_name = ?"},
		{"user_states", user, []any{k.app, k.user}, "app_name = ? AND user_id = ?"},
	} {
		if len(table.delta) == 0 && !always {
			continue
		}
		var stored []byte
		err := tx.QueryRowContext(ctx, "SELECT state FROM "+table.name+" WHERE "+table.where, table.owner...).Scan(&stored)
		missing := errors.Is(err, sql.ErrNoRows)
		if err != nil && !missing {
			return err
		}
		state, err := merged(stored, table.delta)
		if err != nil {
			return fmt.Errorf("%s: %w", table.name, err)
		}
		statement := "UPDATE " + table.name + " SET state = ?, update_time = ? WHERE " + table.where
		if missing {
			columns := []string{"app_name", "app_name, user_id"}[len(table.owner)-1]
			statement = "INSERT INTO " + table.name + " (state, update_time, " + columns + ") VALUES (?, ?" + strings.Repeat(", ?", len(table.owner)) + ")"
		} else if len(table.delta) == 0 {
			continue
		}
		if _, err := tx.ExecContext(ctx, statement, append([]any{state, at}, table.owner...)...); err != nil {
			return fmt.Errorf("%s: %w", table.name, err)
		}
	}
	return nil
}

// merged sets the keys of delta in a stored state and leaves the others exactly
// as they are.
func merged(stored []byte, delta map[string]any) (string, error) {
	state := map[string]json.RawMessage{}
	if len(stored) > 0 {
		if err := json.Unmarshal(stored, &state); err != nil {
			return "", fmt.Errorf("column state: %w", err)
		}
	}
	for key, value := range delta {
		data, err := json.Marshal(value)
		if err != nil {
			return "", fmt.Errorf("state %q: %w", key, err)
		}
		if state == nil {
			state = map[string]json.RawMessage{}
		}
		state[key] = data
	}
	if state == nil {
		state = map[string]json.RawMessage{}
	}
	data, err := json.Marshal(state)
	return string(data), err
}
