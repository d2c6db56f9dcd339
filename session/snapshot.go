package session

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

// Snapshot is the Session that the services of this module return: what was
// read, and what was appended through this handle since. Other services may
// use it too.
type Snapshot struct {
	appName, userID, id string

	mu      sync.RWMutex
	state   map[string]any
	events  []*Event
	updated time.Time
}

// SnapshotData is what a Snapshot is made of.
type SnapshotData struct {
	AppName, UserID, ID string
	// State is the merged state: app and user values with their prefix.
	State          map[string]any
	Events         []*Event
	LastUpdateTime time.Time
}

// NewSnapshot returns a handle on what was read. It takes ownership of the map
// and the slice in data.
func NewSnapshot(data SnapshotData) *Snapshot {
	if data.State == nil {
		data.State = map[string]any{}
	}
	return &Snapshot{
		appName: data.AppName, userID: data.UserID, id: data.ID,
		state: data.State, events: data.Events, updated: data.LastUpdateTime,
	}
}

// ID is the session's ID.
func (s *Snapshot) ID() string { return s.id }

// AppName is the application the session belongs to.
func (s *Snapshot) AppName() string { return s.appName }

// UserID is the user the session belongs to.
func (s *Snapshot) UserID() string { return s.userID }

// LastUpdateTime is when the session last changed, as far as this handle knows.
func (s *Snapshot) LastUpdateTime() time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.updated
}

// State is the state of this handle.
func (s *Snapshot) State() State { return snapshotState{s} }

// Events are the events of this handle at the time of the call: what is
// appended later is not among them.
func (s *Snapshot) Events() Events {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return eventList(s.events[:len(s.events):len(s.events)])
}

// Append adds an event that a Service has stored, and its state delta, to the
// handle. It is for implementations of Service; the event must not change any
// more. Events whose AppendEvent overlapped may arrive in either order and are
// kept in order of time, as they are stored.
func (s *Snapshot) Append(event *Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := len(s.events)
	for at > 0 && s.events[at-1].Timestamp.After(event.Timestamp) {
		at--
	}
	if at == len(s.events) {
		s.events = append(s.events, event)
	} else {
		// A new array: lists handed out by Events share the old one.
		s.events = slices.Insert(slices.Clip(slices.Clone(s.events)), at, event)
	}
	maps.Copy(s.state, event.Actions.StateDelta)
	if event.Timestamp.After(s.updated) {
		s.updated = event.Timestamp
	}
}

type snapshotState struct{ s *Snapshot }

func (st snapshotState) Get(key string) (any, error) {
	st.s.mu.RLock()
	defer st.s.mu.RUnlock()
	value, ok := st.s.state[key]
	if !ok {
		return nil, ErrStateKeyNotExist
	}
	return value, nil
}

func (st snapshotState) Set(key string, value any) error {
	st.s.mu.Lock()
	defer st.s.mu.Unlock()
	st.s.state[key] = value
	return nil
}

func (st snapshotState) All() iter.Seq2[string, any] {
	st.s.mu.RLock()
	defer st.s.mu.RUnlock()
	return maps.All(maps.Clone(st.s.state))
}

type eventList []*Event

func (l eventList) All() iter.Seq[*Event] { return slices.Values(l) }
func (l eventList) Len() int              { return len(l) }
func (l eventList) At(i int) *Event       { return l[i] }
