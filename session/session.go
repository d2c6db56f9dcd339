// Package session keeps conversations: sessions, the events in them, and
// state.
//
// A session is an append-only log of events. Nothing that was appended is ever
// changed or removed; what a model is shown of it is decided when a prompt is
// built.
//
//	service := session.InMemoryService()
//	created, err := service.Create(ctx, &session.CreateRequest{AppName: "shop", UserID: "ada"})
//	event := session.NewEvent(ctx, "invocation-1")
//	event.Author = "user"
//	event.Content = genai.NewContentFromText("Hello", genai.RoleUser)
//	err = service.AppendEvent(ctx, created.Session, event)
//
// The nouns:
//
//   - A Service stores sessions. Package session/database has one for SQL
//     databases; package session/sessiontest has the tests that every Service
//     passes.
//   - A Session is a handle on what a Service read: a copy that grows with
//     what is appended through it and with nothing else.
//   - An Event is something that was said or done, and the EventActions it
//     caused. Events of one run of the agent share an invocation ID.
//   - State is a map of values beside the log. The prefix of a key says who
//     shares it: "app:" all sessions of the application, "user:" all sessions
//     of the user, "temp:" nobody, it is never stored.
//   - An EventCompaction, in the actions of an event, is the summary of older
//     events. See package compaction.
//
// The time of a session's events is strictly increasing, at microseconds: a
// Service moves an event's time forward where it must. So a range of time is a
// range of the log.
package session

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Prefixes of state keys, which say who shares a value.
const (
	// KeyPrefixApp marks a value shared by all sessions of an application.
	KeyPrefixApp = "app:"
	// KeyPrefixUser marks a value shared by all sessions of a user.
	KeyPrefixUser = "user:"
	// KeyPrefixTemp marks a value that lives in one handle and is never stored.
	KeyPrefixTemp = "temp:"
)

// Errors of services and state. Match them with errors.Is; any other error of
// a Service is a failure of what lies beneath it, such as a lost connection.
var (
	// ErrNotFound says that there is no such session.
	ErrNotFound = errors.New("session not found")
	// ErrExists says that the session, or the event, is already there.
	ErrExists = errors.New("already exists")
	// ErrSuperseded says that a compaction event was not appended because
	// another one was appended after the session was read.
	ErrSuperseded = errors.New("superseded by another compaction")
	// ErrStateKeyNotExist says that state holds no such key.
	ErrStateKeyNotExist = errors.New("state key does not exist")
)

// Service stores sessions. All methods are safe for concurrent use, also by
// several processes where the store can be shared.
type Service interface {
	// Create makes a new session. An empty SessionID asks for a generated one.
	// It returns ErrExists if the session exists.
	Create(context.Context, *CreateRequest) (*CreateResponse, error)

	// Get reads a session with its events, oldest first, and its state, app
	// and user values included. It returns ErrNotFound if there is none.
	// Events in the response are shared with other handles: do not modify
	// them.
	Get(context.Context, *GetRequest) (*GetResponse, error)

	// List returns the sessions of a user, or of all users if UserID is empty,
	// without their events, the most recently updated first, then by user and
	// ID. With a PageSize it returns so many at most, and in NextPageToken how to
	// ask for more. A session that does not change is in exactly one page, also
	// if others change in between; one that does may be in none.
	List(context.Context, *ListRequest) (*ListResponse, error)

	// Delete removes a session with its events. Values of the application and
	// of the user stay. Deleting a session that is not there is no error.
	Delete(context.Context, *DeleteRequest) error

	// AppendEvent stores event at the end of the session's log and merges its
	// state delta, key by key, into the stored state; then it adds the event
	// to the handle. Keys with KeyPrefixTemp reach the handle only.
	//
	// It sets in place what the event lacks or must have: an ID, and a
	// timestamp later than that of every stored event, at microseconds. What
	// it stores is a copy: later changes to event have no effect.
	//
	// Many handles, in many processes, may append to one session. It fails
	// with ErrNotFound if the session is gone and with ErrExists if the
	// session holds an event of that ID. A compaction event is stored only if
	// the newest compaction event of the stored session is the newest of the
	// handle, else ErrSuperseded. On any error the handle is as it was.
	//
	// A partial event is not stored, and that is no error.
	AppendEvent(context.Context, Session, *Event) error
}

// ConditionalService is a Service that keeps the condition of AppendEvent on
// compaction events. The services of this module do. Of any other the
// compactor reads the session again just before it appends.
type ConditionalService interface {
	Service
	// AppendsConditionally does nothing.
	AppendsConditionally()
}

// CompactionLocker is a Service that several processes can share and that keeps
// them from paying twice for the summary of one session. The lock is advice: it
// holds up no append, and that of a compaction event stays conditional. It says
// nothing about goroutines of one Compactor, which sees to that itself.
type CompactionLocker interface {
	// TryLockCompaction takes the lock of a session, which need not exist, until
	// unlock is called or the connection to the store is lost. It does not wait:
	// ok is false, and unlock nil, if somebody else has the lock, also through
	// this Service. Where the store has no such locks ok is true. An error says
	// that it could not be found out; a compaction may go on.
	//
	// ctx is for this call only. unlock does nothing when called again.
	TryLockCompaction(ctx context.Context, appName, userID, sessionID string) (unlock func(), ok bool, err error)
}

// Session is a handle on a session, as a Service read it. It is safe for
// concurrent use.
type Session interface {
	ID() string
	AppName() string
	UserID() string
	// State is the session's state. Values set on it are in this handle only:
	// to store a value, append an event with a state delta.
	State() State
	// Events are the events of the log, oldest first.
	Events() Events
	// LastUpdateTime is when the session last changed.
	LastUpdateTime() time.Time
}

// Events is a list of events, oldest first. The events are shared: do not
// modify them.
type Events interface {
	All() iter.Seq[*Event]
	Len() int
	// At returns the event at index i, which must be in [0, Len()).
	At(i int) *Event
}

// ReadonlyState is state that can be read.
type ReadonlyState interface {
	// Get returns ErrStateKeyNotExist if there is no such key.
	Get(key string) (any, error)
	// All yields all keys and values, in no order.
	All() iter.Seq2[string, any]
}

// State is state that can be changed.
type State interface {
	ReadonlyState
	Set(key string, value any) error
}

// CreateRequest asks for a new session.
type CreateRequest struct {
	AppName string
	UserID  string
	// SessionID is the ID wanted; empty means a generated one.
	SessionID string
	// State is the initial state. Prefixed keys go where their prefix says.
	State map[string]any
}

// CreateResponse holds the new session.
type CreateResponse struct {
	Session Session
}

// GetRequest asks for a session.
type GetRequest struct {
	AppName   string
	UserID    string
	SessionID string
	// NumRecentEvents, if positive, limits the events to the last so many.
	NumRecentEvents int
	// After, if not zero, limits the events to those at that time or later.
	After time.Time
	// OmitCompacted asks for what a prompt is made of, at a cost that does not
	// grow with the log: the events that the Manifest of the newest compaction
	// event tells of, and all from its From on. If there is no such event, or
	// it has no From, or an older event is missing, all events are returned; a Service may always do so. It has no effect beside
	// NumRecentEvents or After.
	OmitCompacted bool
}

// GetResponse holds the session.
type GetResponse struct {
	Session Session
}

// ListRequest asks for the sessions of a user.
type ListRequest struct {
	AppName string
	UserID  string
	// PageSize, if positive, limits the sessions to so many.
	PageSize int
	// PageToken is the NextPageToken of the page before, from a request for the
	// same application and user. Empty asks for the first page. Any other text
	// is an error.
	PageToken string
}

// ListResponse holds sessions without their events.
type ListResponse struct {
	Sessions []Session
	// NextPageToken asks for the page after this one. It is empty if there is
	// none.
	NextPageToken string
}

// DeleteRequest names the session to remove.
type DeleteRequest struct {
	AppName   string
	UserID    string
	SessionID string
}
