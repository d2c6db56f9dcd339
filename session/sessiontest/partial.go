package sessiontest

import (
	"testing"
	"time"

	"github.com/recap-adk/recap/session"
)

// RunPartial tests GetRequest.OmitCompacted of a service that keeps its promise
// of a cost that does not grow with the log. A service that returns all events
// need not pass.
func RunPartial(t *testing.T, open func(t *testing.T) session.Service) {
	for _, test := range []struct {
		name string
		// fill appends to a session of the events e0 to e9.
		fill func(f *fixture, s session.Session)
		want []string
	}{
		{"no compaction", func(*fixture, session.Session) {},
			[]string{"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9"}},
		{"a manifest", func(f *fixture, s session.Session) {
			f.append(s, withManifest("c1", 10, at(7), at(2)), say("e11", at(11), "later"))
		}, []string{"e2", "e7", "e8", "e9", "c1", "e11"}},
		{"a manifest without older events", func(f *fixture, s session.Session) {
			f.append(s, withManifest("c1", 10, at(9)))
		}, []string{"e9", "c1"}},
		{"the newest manifest counts", func(f *fixture, s session.Session) {
			f.append(s, withManifest("c1", 10, at(2)), say("e11", at(11), "later"), withManifest("c2", 12, at(11), at(3), at(10)))
		}, []string{"e3", "c1", "e11", "c2"}},
		{"between events", func(f *fixture, s session.Session) {
			f.append(s, withManifest("c1", 10, at(8).Add(time.Microsecond)))
		}, []string{"e9", "c1"}},
		{"an older event is missing", func(f *fixture, s session.Session) {
			f.append(s, withManifest("c1", 10, at(9), at(2), at(2).Add(time.Microsecond)))
		}, []string{"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9", "c1"}},
		{"the newest has no manifest", func(f *fixture, s session.Session) {
			f.append(s, withManifest("c1", 10, at(9)), summary("c2", at(11), at(0), at(8)))
		}, []string{"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9", "c1", "c2"}},
		{"a manifest of an event that is no compaction", func(f *fixture, s session.Session) {
			forged := withManifest("e10", 10, at(9))
			forged.Actions.Compaction = nil
			f.append(s, forged)
		}, []string{"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9", "e10"}},
		{"actions that look like a compaction", func(f *fixture, s session.Session) {
			e := say("e11", at(11), "later")
			e.Actions.StateDelta = map[string]any{"compaction": map[string]any{"a": 1.0}}
			f.append(s, withManifest("c1", 10, at(9)), e)
		}, []string{"e9", "c1", "e11"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &fixture{T: t, ctx: t.Context(), service: open(t)}
			s := f.create(nil)
			f.append(s, said(10)...)
			test.fill(f, s)
			get := func(change func(*session.GetRequest)) []string {
				req := &session.GetRequest{AppName: app, UserID: user, SessionID: id, OmitCompacted: true}
				change(req)
				return ids(f.getAs(req))
			}
			f.same("events", get(func(*session.GetRequest) {}), test.want)
			f.same("recent events", get(func(r *session.GetRequest) { r.NumRecentEvents = 100 }), ids(f.get()))
			f.same("events after a time", get(func(r *session.GetRequest) { r.After = at(0) }), ids(f.get()))
			whole := f.get()
			for event := range f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: id, OmitCompacted: true}).Events().All() {
				for same := range whole.Events().All() {
					if same.ID == event.ID {
						f.same("event "+event.ID, event, same, eventOptions...)
					}
				}
			}
		})
	}
}

func withManifest(id string, when int, from time.Time, older ...time.Time) *session.Event {
	event := summary(id, at(when), at(0), at(when-2))
	session.Manifest{From: from, Seen: at(when - 1), Older: older}.Put(event)
	return event
}
