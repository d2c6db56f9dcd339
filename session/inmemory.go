package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/platform"
)

// InMemoryService returns a Service that keeps sessions in this process and
// forgets them with it.
func InMemoryService() Service {
	return &inMemoryService{
		sessions: map[sessionKey]*storedSession{},
		app:      map[string]map[string]any{},
		user:     map[userKey]map[string]any{},
	}
}

// AppendsConditionally is there for ConditionalService.
func (*inMemoryService) AppendsConditionally() {}

type userKey struct{ app, user string }

type sessionKey struct {
	userKey
	id string
}

// storedSession is a session as it is kept. Its events are never changed once
// they are in it, so handles share them.
type storedSession struct {
	state          map[string]any
	events         []*Event
	positions      map[string]int // of events, by ID
	lastCompaction string
	updated        time.Time
}

type inMemoryService struct {
	mu       sync.RWMutex
	sessions map[sessionKey]*storedSession
	app      map[string]map[string]any
	user     map[userKey]map[string]any
}

func keyOf(app, user, id string) sessionKey {
	return sessionKey{userKey{app, user}, id}
}

func (s *inMemoryService) Create(ctx context.Context, req *CreateRequest) (*CreateResponse, error) {
	if err := requireNames(req.AppName, req.UserID); err != nil {
		return nil, err
	}
	id := req.SessionID
	if id == "" {
		id = platform.NewUUID(ctx)
	}
	app, user, own := SplitState(clone.Of(req.State))
	key := keyOf(req.AppName, req.UserID, id)

	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.sessions[key] != nil {
		return nil, fmt.Errorf("session %q of user %q: %w", id, req.UserID, ErrExists)
	}
	stored := &storedSession{state: own, positions: map[string]int{}, updated: platform.Now(ctx).Truncate(time.Microsecond)}
	s.sessions[key] = stored
	s.applyShared(key, app, user)
	return &CreateResponse{Session: s.snapshot(key, stored, nil)}, nil
}

func (s *inMemoryService) Get(ctx context.Context, req *GetRequest) (*GetResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key := keyOf(req.AppName, req.UserID, req.SessionID)
	stored := s.sessions[key]
	if stored == nil {
		return nil, fmt.Errorf("session %q of user %q: %w", req.SessionID, req.UserID, ErrNotFound)
	}
	if req.OmitCompacted && req.NumRecentEvents <= 0 && req.After.IsZero() {
		return &GetResponse{Session: s.snapshot(key, stored, stored.withoutCompacted())}, nil
	}
	events := stored.events
	if !req.After.IsZero() {
		first, _ := slices.BinarySearchFunc(events, req.After, func(e *Event, t time.Time) int { return e.Timestamp.Compare(t) })
		events = events[first:]
	}
	if n := req.NumRecentEvents; n > 0 && n < len(events) {
		events = events[len(events)-n:]
	}
	return &GetResponse{Session: s.snapshot(key, stored, slices.Clone(events))}, nil
}

// withoutCompacted are the events that GetRequest.OmitCompacted asks for.
func (s *storedSession) withoutCompacted() []*Event {
	at, ok := s.positions[s.lastCompaction]
	if !ok {
		return slices.Clone(s.events)
	}
	manifest := s.events[at].Manifest()
	place := func(t time.Time) (int, bool) {
		return slices.BinarySearchFunc(s.events, t, func(e *Event, t time.Time) int { return e.Timestamp.Compare(t) })
	}
	var needed []*Event
	for _, t := range manifest.Older {
		at, ok := place(t)
		if !ok {
			return slices.Clone(s.events)
		}
		needed = append(needed, s.events[at])
	}
	first, _ := place(manifest.From)
	return append(needed, s.events[first:]...)
}

func (s *inMemoryService) List(ctx context.Context, req *ListRequest) (*ListResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	response := &ListResponse{}
	for key, stored := range s.sessions {
		if key.app == req.AppName && (req.UserID == "" || key.user == req.UserID) {
			response.Sessions = append(response.Sessions, s.snapshot(key, stored, nil))
		}
	}
	SortByUpdate(response.Sessions)
	if err := response.Cut(req); err != nil {
		return nil, err
	}
	return response, nil
}

// Cut leaves of all sessions, which SortByUpdate has sorted, the page that is
// asked for. It is for implementations of Service.
func (r *ListResponse) Cut(req *ListRequest) error {
	if req.PageToken != "" {
		updated, user, id, err := ParsePageToken(req.PageToken)
		if err != nil {
			return fmt.Errorf("session: list: %w", err)
		}
		first := slices.IndexFunc(r.Sessions, func(s Session) bool { return compareByUpdate(s, updated, user, id) > 0 })
		if first < 0 {
			first = len(r.Sessions)
		}
		r.Sessions = r.Sessions[first:]
	}
	if n := req.PageSize; n > 0 && n < len(r.Sessions) {
		r.Sessions = r.Sessions[:n:n]
		r.NextPageToken = PageToken(r.Sessions[n-1])
	}
	return nil
}

func (s *inMemoryService) Delete(ctx context.Context, req *DeleteRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	delete(s.sessions, keyOf(req.AppName, req.UserID, req.SessionID))
	return nil
}

func (s *inMemoryService) AppendEvent(ctx context.Context, handle Session, event *Event) error {
	if event.Partial {
		return nil
	}
	stored, err := s.store(ctx, handle, event)
	if err != nil {
		return err
	}
	AppendToHandle(handle, stored, event.Actions.StateDelta)
	return nil
}

// store appends a copy of event to the log and returns it.
func (s *inMemoryService) store(ctx context.Context, handle Session, event *Event) (*Event, error) {
	key := keyOf(handle.AppName(), handle.UserID(), handle.ID())

	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	log := s.sessions[key]
	if log == nil {
		return nil, fmt.Errorf("session %q of user %q: %w", key.id, key.user, ErrNotFound)
	}
	if _, exists := log.positions[event.ID]; exists {
		return nil, fmt.Errorf("event %q: %w", event.ID, ErrExists)
	}
	if event.Actions.Compaction != nil && log.lastCompaction != LastCompactionID(handle.Events()) {
		return nil, ErrSuperseded
	}

	var last time.Time
	if n := len(log.events); n > 0 {
		last = log.events[n-1].Timestamp
	}
	Stamp(ctx, event, last)
	stored := event.Clone()
	stored.Actions.StateDelta = withoutTemp(stored.Actions.StateDelta)

	log.positions[stored.ID] = len(log.events)
	log.events = append(log.events, stored)
	if stored.Timestamp.After(log.updated) {
		log.updated = stored.Timestamp
	}
	if stored.Actions.Compaction != nil {
		log.lastCompaction = stored.ID
	}
	app, user, own := SplitState(clone.Of(stored.Actions.StateDelta))
	maps.Copy(log.state, own)
	s.applyShared(key, app, user)
	return stored, nil
}

func (s *inMemoryService) applyShared(key sessionKey, app, user map[string]any) {
	if s.app[key.app] == nil {
		s.app[key.app] = map[string]any{}
	}
	maps.Copy(s.app[key.app], app)
	if s.user[key.userKey] == nil {
		s.user[key.userKey] = map[string]any{}
	}
	maps.Copy(s.user[key.userKey], user)
}

func (s *inMemoryService) snapshot(key sessionKey, stored *storedSession, events []*Event) *Snapshot {
	return NewSnapshot(SnapshotData{
		AppName: key.app, UserID: key.user, ID: key.id,
		State:          clone.Of(MergeState(s.app[key.app], s.user[key.userKey], stored.state)),
		Events:         events,
		LastUpdateTime: stored.updated,
	})
}

func requireNames(app, user string) error {
	if app == "" || user == "" {
		return fmt.Errorf("session: app name and user ID must be set (got %q and %q)", app, user)
	}
	return nil
}
