package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

var appendTests = []test{
	{"stores the event and adds it to the handle", func(f *fixture) {
		s := f.create(nil)
		event := say("e", at(0), "hello")
		f.append(s, event)
		f.sameEvents("events of the handle", s, event)
		f.sameEvents("stored events", f.get(), event)
	}},
	{"sets a missing ID in place", func(f *fixture) {
		s := f.create(nil)
		first, second := say("", at(0), "1"), say("", at(1), "2")
		f.append(s, first, second)
		if first.ID == "" || first.ID == second.ID {
			f.Errorf("the IDs are %q and %q", first.ID, second.ID)
		}
		f.same("stored IDs", ids(f.get()), []string{first.ID, second.ID})
	}},
	{"takes a missing time from the platform, in place", func(f *fixture) {
		s := f.create(nil)
		f.ctx = platform.WithTimeProvider(f.ctx, func() time.Time { return at(5).Add(1999) })
		event := say("e", time.Time{}, "e")
		f.append(s, event)
		f.same("time", event.Timestamp, at(5).Add(time.Microsecond))
		f.increasing(f.get())
	}},
	{"cuts the time to microseconds, in place", func(f *fixture) {
		s := f.create(nil)
		event := say("e", at(0).Add(1234567), "e")
		f.append(s, event)
		f.same("time", event.Timestamp, at(0).Add(1234*time.Microsecond))
		f.sameEvents("stored events", f.get(), event)
	}},
	{"keeps a first event's older time", func(f *fixture) {
		s := f.create(nil)
		f.append(s, say("e", time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC), "e"))
		f.same("year", f.get().Events().At(0).Timestamp.Year(), 1999)
	}},
	{"moves an equal time forward", func(f *fixture) {
		s := f.create(nil)
		f.append(s, say("a", at(0), "a"), say("b", at(0), "b"), say("c", at(0).Add(1), "c"), say("d", at(0), "d"))
		for i, event := range events(f.get()) {
			f.same("ID", event.ID, string(rune('a'+i)))
			f.same("time", event.Timestamp, at(0).Add(time.Duration(i)*time.Microsecond))
		}
	}},
	{"moves an older time forward", func(f *fixture) {
		s := f.create(nil)
		f.append(s, say("a", at(60), "a"), say("b", at(0), "b"), say("c", at(30), "c"))
		f.increasing(f.get())
		f.same("events", ids(f.get()), []string{"a", "b", "c"})
	}},
	{"keeps a later time", func(f *fixture) {
		s := f.create(nil)
		f.append(s, say("a", at(0), "a"), say("b", at(3600), "b"))
		f.same("time", f.get().Events().At(1).Timestamp, at(3600))
	}},
	{"goes on from a time in the future", func(f *fixture) {
		s := f.create(nil)
		future := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
		f.append(s, say("a", future, "a"), say("b", time.Time{}, "b"))
		f.same("time", f.get().Events().At(1).Timestamp, future.Add(time.Microsecond))
	}},
	{"compares times in any zone", func(f *fixture) {
		s := f.create(nil)
		east, west := time.FixedZone("east", 9*3600+1800), time.FixedZone("west", -8*3600)
		f.append(s, say("a", at(0).In(east), "a"), say("b", at(1).In(west), "b"), say("c", at(2), "c"), say("d", at(3).In(east), "d"), say("e", at(3).In(west), "e"))
		f.same("events", ids(f.get()), []string{"a", "b", "c", "d", "e"})
		f.same("time of d", f.get().Events().At(3).Timestamp, at(3))
		f.increasing(f.get())
		f.increasing(s)
	}},
	{"orders whole seconds and fractions", func(f *fixture) {
		s := f.create(nil)
		for i, offset := range []time.Duration{0, 1, 10, 100_000, 100_001, 123_456, 200_000, 999_999, 1_000_000} {
			f.append(s, say(fmt.Sprint(i), at(0).Add(offset*time.Microsecond), "x"))
		}
		f.same("events", ids(f.get()), []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"})
		f.same("last time", f.get().Events().At(8).Timestamp, at(1))
	}},
	{"compares with what is stored, not with the handle", func(f *fixture) {
		f.create(nil)
		first, second := f.get(), f.get()
		f.append(first, say("a", at(60), "a"))
		f.append(second, say("b", at(0), "b"))
		f.same("events", ids(f.get()), []string{"a", "b"})
		f.increasing(f.get())
	}},
	{"copies the event", func(f *fixture) {
		s := f.create(nil)
		event := say("e", at(0), "hello")
		event.Actions.StateDelta = map[string]any{"list": []any{"a"}}
		event.CustomMetadata = map[string]any{"k": map[string]any{"x": "y"}}
		want := event.Clone()
		f.append(s, event)
		event.Content.Parts[0].Text = "changed"
		event.Actions.StateDelta["list"].([]any)[0] = "changed"
		event.CustomMetadata["k"].(map[string]any)["x"] = "changed"
		event.Author = "changed"
		f.sameEvents("stored events", f.get(), want)
		f.sameEvents("events of the handle", s, want)
		f.same("state", values(f.get()), map[string]any{"list": []any{"a"}})
		f.same("state of the handle", values(s), map[string]any{"list": []any{"a"}})
	}},
	{"ignores a partial event", func(f *fixture) {
		s := f.create(nil)
		event := say("e", at(0), "hel")
		event.Partial = true
		event.Actions.StateDelta = map[string]any{"k": "v"}
		f.append(s, event)
		f.same("events of the handle", ids(s), none)
		f.same("stored events", ids(f.get()), none)
		f.same("stored state", values(f.get()), map[string]any{})
	}},
	{"refuses an event ID that exists", func(f *fixture) {
		s := f.create(nil)
		f.append(s, said(2)...)
		again := say("e0", at(9), "again")
		again.Actions.StateDelta = map[string]any{"k": "v", "app:k": "v"}
		f.refuse(f.ctx, s, again, session.ErrExists)
		f.same("stored events", ids(f.get()), []string{"e0", "e1"})
		f.same("stored state", values(f.get()), map[string]any{})
	}},
	{"takes the same event ID in another session", func(f *fixture) {
		f.append(f.create(nil), said(1)...)
		f.append(f.createAs(app, user, "trip-2", nil), said(1)...)
		f.append(f.createAs(app, "grace", id, nil), said(1)...)
	}},
	{"to a deleted session is ErrNotFound", func(f *fixture) {
		s := f.create(nil)
		f.append(s, said(1)...)
		f.delete()
		event := say("late", at(9), "late")
		event.Actions.StateDelta = map[string]any{"temp:k": "v", "app:k": "v"}
		f.refuse(f.ctx, s, event, session.ErrNotFound)
		f.same("sessions", names(f.list(user)), none)
		f.same("state", values(f.create(nil)), map[string]any{})
	}},
	{"does nothing when cancelled", func(f *fixture) {
		s := f.create(nil)
		f.append(s, said(1)...)
		event := say("late", at(9), "late")
		event.Actions.StateDelta = map[string]any{"k": "v", "temp:k": "v"}
		f.refuse(cancelled(f.ctx), s, event, context.Canceled)
		f.same("stored events", ids(f.get()), []string{"e0"})
		f.same("stored state", values(f.get()), map[string]any{})
	}},
	{"moves the time of update, never backwards", func(f *fixture) {
		s := f.create(nil)
		created := s.LastUpdateTime()
		f.append(s, say("old", at(0), "old"))
		if got := f.get().LastUpdateTime(); got.Before(created) {
			f.Errorf("updated at %v, which is before %v", got, created)
		}
	}},
	{"works through a handle from List", func(f *fixture) {
		f.append(f.create(nil), said(2)...)
		f.append(f.list(user)[0], say("e2", at(2), "2"))
		f.same("events", ids(f.get()), []string{"e0", "e1", "e2"})
	}},
	{"works through a handle with few events", func(f *fixture) {
		f.append(f.create(nil), said(3)...)
		few := f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: id, NumRecentEvents: 1})
		f.append(few, say("e3", at(3), "3"))
		f.same("events of the handle", ids(few), []string{"e2", "e3"})
		f.same("events", ids(f.get()), []string{"e0", "e1", "e2", "e3"})
	}},
}

var stateTests = []test{
	{"delta is merged key by key", func(f *fixture) {
		s := f.create(map[string]any{"a": "1", "b": "1"})
		f.append(s, set(map[string]any{"b": "2", "c": "2"}))
		f.same("state of the handle", values(s), map[string]any{"a": "1", "b": "2", "c": "2"})
		f.same("stored state", values(f.get()), map[string]any{"a": "1", "b": "2", "c": "2"})
	}},
	{"deltas of two handles are merged", func(f *fixture) {
		f.create(map[string]any{"a": "1"})
		first, second := f.get(), f.get()
		f.append(first, set(map[string]any{"first": "1", "both": "1", "app:first": "1", "user:first": "1"}))
		f.append(second, set(map[string]any{"second": "2", "both": "2", "app:second": "2", "user:second": "2"}))
		f.same("stored state", values(f.get()), map[string]any{
			"a": "1", "first": "1", "second": "2", "both": "2",
			"app:first": "1", "app:second": "2", "user:first": "1", "user:second": "2",
		})
	}},
	{"with app: is shared by all users", func(f *fixture) {
		f.append(f.create(nil), set(map[string]any{"app:currency": "EUR"}))
		f.same("state of another user's session", values(f.createAs(app, "grace", id, nil)), map[string]any{"app:currency": "EUR"})
		f.same("state of another app's session", values(f.createAs("other", user, id, nil)), map[string]any{})
	}},
	{"with user: is shared by the user's sessions", func(f *fixture) {
		f.append(f.create(nil), set(map[string]any{"user:tier": "gold"}))
		f.same("state of the user's other session", values(f.createAs(app, user, "trip-2", nil)), map[string]any{"user:tier": "gold"})
		f.same("state of another user's session", values(f.createAs(app, "grace", id, nil)), map[string]any{})
	}},
	{"with temp: reaches the handle only", func(f *fixture) {
		s := f.create(nil)
		event := set(map[string]any{"temp:x": "y", "own": "1"})
		f.append(s, event)
		f.same("delta of the caller's event", event.Actions.StateDelta, map[string]any{"temp:x": "y", "own": "1"})
		f.same("state of the handle", values(s), map[string]any{"temp:x": "y", "own": "1"})
		f.same("stored state", values(f.get()), map[string]any{"own": "1"})
		f.same("stored delta", f.get().Events().At(0).Actions.StateDelta, map[string]any{"own": "1"})
	}},
	{"may be nested, of any JSON type, and null", func(f *fixture) {
		state := map[string]any{
			"text": "ünïcode ✈ <&>", "number": 1.5, "true": true, "null": nil, "": "empty key",
			"nested": map[string]any{"list": []any{"a", 2.0, false, nil}},
		}
		f.append(f.create(nil), set(state))
		f.same("stored state", values(f.get()), state)
	}},
	{"is stored when the event is older than the session", func(f *fixture) {
		event := set(map[string]any{"k": "v"})
		event.Timestamp = at(0)
		f.append(f.create(nil), event)
		f.same("stored state", values(f.get()), map[string]any{"k": "v"})
	}},
}

var writersTests = []test{
	{"two handles take turns", func(f *fixture) {
		f.create(nil)
		first, second := f.get(), f.get()
		for i := range 10 {
			f.append(first, say("", at(i), "first"))
			f.append(second, say("", at(i), "second"))
		}
		got := f.get()
		f.same("number of events", got.Events().Len(), 20)
		for i, event := range events(got) {
			f.same("text", event.Content.Parts[0].Text, []string{"first", "second"}[i%2])
		}
		f.increasing(got)
		f.same("number of events of one handle", first.Events().Len(), 10)
	}},
	{"many goroutines append through their own handles", func(f *fixture) {
		const writers, each = 8, 25
		f.create(nil)
		var wait sync.WaitGroup
		for w := range writers {
			handle := f.get()
			wait.Go(func() {
				for i := range each {
					event := say(fmt.Sprintf("%d-%d", w, i), at(0), "x")
					event.Actions.StateDelta = map[string]any{fmt.Sprintf("w%d", w): float64(i), fmt.Sprintf("app:w%d", w): float64(i)}
					if err := f.service.AppendEvent(f.ctx, handle, event); err != nil {
						f.Errorf("AppendEvent: %v", err)
						return
					}
				}
			})
		}
		wait.Wait()
		f.allThere(f.get(), writers, each)
	}},
	{"many goroutines append through one handle", func(f *fixture) {
		const writers, each = 8, 10
		handle := f.create(nil)
		var wait sync.WaitGroup
		for w := range writers {
			wait.Go(func() {
				for i := range each {
					if err := f.service.AppendEvent(f.ctx, handle, say(fmt.Sprintf("%d-%d", w, i), at(0), "x")); err != nil {
						f.Errorf("AppendEvent: %v", err)
						return
					}
				}
			})
		}
		wait.Wait()
		f.same("events of the handle", ids(handle), ids(f.get()))
		f.same("number of events", handle.Events().Len(), writers*each)
		f.increasing(handle)
	}},
	{"readers see whole appends", func(f *fixture) {
		handle := f.create(nil)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 50 {
				event := say("", at(i), "x")
				event.Actions.StateDelta = map[string]any{"n": float64(i + 1)}
				if err := f.service.AppendEvent(f.ctx, handle, event); err != nil {
					f.Errorf("AppendEvent: %v", err)
					return
				}
			}
		}()
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			s := f.get()
			if n, err := s.State().Get("n"); err == nil {
				f.same("state after so many events", n, float64(s.Events().Len()))
			}
		}
	}},
	{"many goroutines create one session", func(f *fixture) {
		errs := make(chan error, 8)
		for range cap(errs) {
			go func() {
				_, err := f.service.Create(f.ctx, &session.CreateRequest{AppName: app, UserID: user, SessionID: id})
				errs <- err
			}()
		}
		created := 0
		for range cap(errs) {
			if err := <-errs; err == nil {
				created++
			} else if !errors.Is(err, session.ErrExists) {
				f.Errorf("Create returned %v, want ErrExists", err)
			}
		}
		f.same("number of sessions created", created, 1)
	}},
}

// allThere wants each event of each writer once, those of one writer in order,
// and the last value of each in the state.
func (f *fixture) allThere(s session.Session, writers, each int) {
	f.Helper()
	next := make([]int, writers)
	for event := range s.Events().All() {
		var w, i int
		if _, err := fmt.Sscanf(event.ID, "%d-%d", &w, &i); err != nil {
			f.Fatalf("event ID %q: %v", event.ID, err)
		}
		if i != next[w] {
			f.Errorf("event %d of writer %d comes where %d should", i, w, next[w])
		}
		next[w] = i + 1
	}
	f.same("number of events", s.Events().Len(), writers*each)
	state := map[string]any{}
	for w := range writers {
		state[fmt.Sprintf("w%d", w)] = float64(each - 1)
		state[fmt.Sprintf("app:w%d", w)] = float64(each - 1)
	}
	f.same("state", values(s), state)
	f.increasing(s)
}

// summary is a compaction event for the time from start to end.
func summary(id string, when, from, to time.Time, excluded ...session.EventRef) *session.Event {
	event := &session.Event{ID: id, Timestamp: when, InvocationID: "e-" + id, Author: "user"}
	event.Actions.Compaction = session.NewEventCompaction(from, to, genai.NewContentFromText("Summary: ünïcode ✈", genai.RoleModel), excluded)
	return event
}

var compactionTests = []test{
	{"record survives", func(f *fixture) {
		s := f.create(nil)
		list := said(4)
		for _, event := range list {
			event.Timestamp = event.Timestamp.Add(123456 * time.Microsecond)
		}
		f.append(s, list...)
		event := summary("c", at(9), list[0].Timestamp, list[2].Timestamp, session.NewEventRef(list[1]))
		f.append(s, event)
		f.sameEvents("stored events", f.get(), append(list, event)...)

		stored := events(f.get())
		record := stored[4].Actions.Compaction
		if record == nil {
			f.Fatal("the record is gone")
		}
		f.same("start", record.Start(), list[0].Timestamp)
		f.same("end", record.End(), list[2].Timestamp)
		for i, want := range []bool{true, false, true, false} {
			f.same(fmt.Sprintf("covers event %d", i), record.Covers(stored[i]), want)
		}
	}},
	{"is superseded by one that the handle has not seen", func(f *fixture) {
		f.append(f.create(nil), said(3)...)
		old, other := f.get(), f.get()
		f.append(other, summary("c1", at(5), at(0), at(1)))
		f.refuse(f.ctx, old, summary("c2", at(6), at(0), at(2)), session.ErrSuperseded)
		f.same("stored events", ids(f.get()), []string{"e0", "e1", "e2", "c1"})
	}},
	{"is superseded although the handle has appended since", func(f *fixture) {
		f.append(f.create(nil), said(3)...)
		old, other := f.get(), f.get()
		f.append(other, summary("c1", at(5), at(0), at(1)))
		f.append(old, say("e3", at(7), "later than c1"))
		f.refuse(f.ctx, old, summary("c2", at(8), at(0), at(2)), session.ErrSuperseded)
		f.same("stored events", ids(f.get()), []string{"e0", "e1", "e2", "c1", "e3"})
	}},
	{"is superseded by the second of two", func(f *fixture) {
		f.append(f.create(nil), said(3)...)
		f.append(f.get(), summary("c1", at(5), at(0), at(1)))
		old, other := f.get(), f.get()
		f.append(other, summary("c2", at(6), at(0), at(2)))
		f.refuse(f.ctx, old, summary("c3", at(7), at(0), at(2)), session.ErrSuperseded)
	}},
	{"goes through a handle that has seen the newest", func(f *fixture) {
		s := f.create(nil)
		f.append(s, said(3)...)
		f.append(s, summary("c1", at(5), at(0), at(1)), summary("c2", at(6), at(0), at(2)))
		f.append(f.get(), summary("c3", at(7), at(0), at(2)))
		f.same("stored events", ids(f.get()), []string{"e0", "e1", "e2", "c1", "c2", "c3"})
	}},
	{"does not mind other events", func(f *fixture) {
		s := f.create(nil)
		f.append(s, said(2)...)
		f.append(s, summary("c1", at(5), at(0), at(1)))
		f.append(f.get(), say("e3", at(6), "compaction"), set(map[string]any{"compaction": "x", "Compaction": map[string]any{"a": "b"}}))
		f.append(s, summary("c2", at(7), at(0), at(2)))
	}},
	{"of another session does not count", func(f *fixture) {
		f.create(nil)
		s := f.get()
		f.append(f.createAs(app, user, "trip-2", nil), summary("c1", at(5), at(0), at(1)))
		f.append(s, summary("c1", at(5), at(0), at(1)))
	}},
	{"of many writers goes through once", func(f *fixture) {
		f.append(f.create(nil), said(3)...)
		errs := make(chan error, 8)
		var handles []session.Session
		for range cap(errs) {
			handles = append(handles, f.get())
		}
		for i, handle := range handles {
			go func() {
				errs <- f.service.AppendEvent(f.ctx, handle, summary(fmt.Sprintf("c%d", i), at(5), at(0), at(2)))
			}()
		}
		stored := 0
		for range cap(errs) {
			if err := <-errs; err == nil {
				stored++
			} else if !errors.Is(err, session.ErrSuperseded) {
				f.Errorf("AppendEvent returned %v, want ErrSuperseded", err)
			}
		}
		f.same("number of summaries stored", stored, 1)
		f.same("number of events", f.get().Events().Len(), 4)
	}},
}
