// Package sessiontest has the tests that every session.Service passes. They
// are the contract of package session, method by method:
//
//	func TestService(t *testing.T) {
//		sessiontest.Run(t, func(t *testing.T) session.Service { return newMyService(t) })
//	}
//
// Each test opens a service of its own, so they neither share sessions nor
// depend on an order. BenchmarkAppend, BenchmarkGet and BenchmarkGetRecent
// measure a service at several lengths of the history, and Fill makes such a
// history for other measurements.
package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genai"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/recap-adk/recap/session"
)

// Run tests the service that open returns: a new one, without sessions, for
// each call. A test that a store cannot pass because of its format is skipped
// where except has its name, as "group/name"; say there why.
func Run(t *testing.T, open func(t *testing.T) session.Service, except ...string) {
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"Create", createTests},
		{"Get", getTests},
		{"List", listTests},
		{"Delete", deleteTests},
		{"AppendEvent", appendTests},
		{"State", stateTests},
		{"ManyWriters", writersTests},
		{"RoundTrip", roundTripTests},
		{"Storage", storageTests},
		{"Compaction", compactionTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					if slices.Contains(except, group.name+"/"+test.name) {
						t.Skip("the store cannot hold this")
					}
					test.run(&fixture{T: t, ctx: t.Context(), service: open(t)})
				})
			}
		})
	}
}

type test struct {
	name string
	run  func(*fixture)
}

// Names that tests use where it does not matter.
const (
	app  = "travel"
	user = "ada"
	id   = "trip-1"
)

// start is the time of the first event in most tests.
var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// at is the time n seconds after start.
func at(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

// fixture is a test with the service it is about. Its methods end the test if
// the service fails.
type fixture struct {
	*testing.T
	ctx     context.Context
	service session.Service
}

func (f *fixture) create(state map[string]any) session.Session {
	f.Helper()
	return f.createAs(app, user, id, state)
}

func (f *fixture) createAs(app, user, id string, state map[string]any) session.Session {
	f.Helper()
	response, err := f.service.Create(f.ctx, &session.CreateRequest{AppName: app, UserID: user, SessionID: id, State: state})
	if err != nil {
		f.Fatalf("Create: %v", err)
	}
	return response.Session
}

func (f *fixture) get() session.Session {
	f.Helper()
	return f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: id})
}

func (f *fixture) getAs(req *session.GetRequest) session.Session {
	f.Helper()
	response, err := f.service.Get(f.ctx, req)
	if err != nil {
		f.Fatalf("Get: %v", err)
	}
	return response.Session
}

func (f *fixture) list(user string) []session.Session {
	f.Helper()
	response, err := f.service.List(f.ctx, &session.ListRequest{AppName: app, UserID: user})
	if err != nil {
		f.Fatalf("List: %v", err)
	}
	return response.Sessions
}

func (f *fixture) delete() {
	f.Helper()
	if err := f.service.Delete(f.ctx, &session.DeleteRequest{AppName: app, UserID: user, SessionID: id}); err != nil {
		f.Fatalf("Delete: %v", err)
	}
}

func (f *fixture) append(handle session.Session, events ...*session.Event) {
	f.Helper()
	for _, event := range events {
		if err := f.service.AppendEvent(f.ctx, handle, event); err != nil {
			f.Fatalf("AppendEvent(%q): %v", event.ID, err)
		}
	}
}

// refuse wants the append to fail with want, if that is not nil, and to leave
// the handle as it was.
func (f *fixture) refuse(ctx context.Context, handle session.Session, event *session.Event, want error) {
	f.Helper()
	events, state, updated := ids(handle), values(handle), handle.LastUpdateTime()
	err := f.service.AppendEvent(ctx, handle, event)
	if err == nil || want != nil && !errors.Is(err, want) {
		f.Errorf("AppendEvent returned %v, want %v", err, want)
	}
	f.same("the handle's events", ids(handle), events)
	f.same("the handle's state", values(handle), state)
	f.same("the handle's time of update", handle.LastUpdateTime(), updated)
}

// same compares; nil and empty are the same.
func (f *fixture) same(what string, got, want any, opts ...cmp.Option) {
	f.Helper()
	if diff := cmp.Diff(want, got, append(opts, cmpopts.EquateEmpty())...); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (f *fixture) sameEvents(what string, got session.Session, want ...*session.Event) {
	f.Helper()
	f.same(what, events(got), want, eventOptions...)
}

// eventOptions compare events: times are equal if they are the same instant,
// which is what cmp does by itself.
var eventOptions = []cmp.Option{cmpopts.IgnoreUnexported(jsonschema.Schema{})}

// say is an event with a text.
func say(id string, at time.Time, text string) *session.Event {
	event := &session.Event{ID: id, Timestamp: at, InvocationID: "inv-1", Author: "user"}
	event.Content = genai.NewContentFromText(text, genai.RoleUser)
	return event
}

// said are n events one second apart, with the IDs e0, e1, ...
func said(n int) []*session.Event {
	list := make([]*session.Event, n)
	for i := range list {
		list[i] = say(fmt.Sprintf("e%d", i), at(i), fmt.Sprintf("text %d", i))
	}
	return list
}

// set is an event with a state delta.
func set(delta map[string]any) *session.Event {
	event := say("", time.Time{}, "set")
	event.Actions.StateDelta = delta
	return event
}

func events(s session.Session) []*session.Event {
	var list []*session.Event
	for event := range s.Events().All() {
		list = append(list, event)
	}
	return list
}

func ids(s session.Session) []string {
	var list []string
	for event := range s.Events().All() {
		list = append(list, event.ID)
	}
	return list
}

func names(sessions []session.Session) []string {
	var list []string
	for _, s := range sessions {
		list = append(list, s.UserID()+"/"+s.ID())
	}
	return list
}

func values(s session.Session) map[string]any {
	all := map[string]any{}
	for key, value := range s.State().All() {
		all[key] = value
	}
	return all
}

// increasing wants times that are in UTC, at microseconds, each later than the
// one before.
func (f *fixture) increasing(s session.Session) {
	f.Helper()
	var last time.Time
	for event := range s.Events().All() {
		if !event.Timestamp.After(last) {
			f.Errorf("event %q is at %v, not after %v", event.ID, event.Timestamp, last)
		}
		if last = event.Timestamp; last.Nanosecond()%1000 != 0 || last.Location() != time.UTC {
			f.Errorf("event %q is at %v, not UTC at microseconds", event.ID, last)
		}
	}
}

// none is no IDs and no names.
var none []string
