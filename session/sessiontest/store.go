package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

var createTests = []test{
	{"returns what was asked for", func(f *fixture) {
		s := f.create(map[string]any{"city": "Lisbon"})
		f.same("names", []string{s.AppName(), s.UserID(), s.ID()}, []string{app, user, id})
		f.same("state", values(s), map[string]any{"city": "Lisbon"})
		f.same("number of events", s.Events().Len(), 0)
	}},
	{"is seen by Get", func(f *fixture) {
		created := f.create(map[string]any{"city": "Lisbon"})
		s := f.get()
		f.same("names", []string{s.AppName(), s.UserID(), s.ID()}, []string{app, user, id})
		f.same("state", values(s), map[string]any{"city": "Lisbon"})
		f.same("time of update", s.LastUpdateTime(), created.LastUpdateTime())
	}},
	{"takes the time of update from the platform", func(f *fixture) {
		f.ctx = platform.WithTimeProvider(f.ctx, func() time.Time { return start.Add(1234567 * time.Nanosecond) })
		f.same("time of update", f.create(nil).LastUpdateTime(), start.Add(1234*time.Microsecond))
	}},
	{"generates an ID", func(f *fixture) {
		first, second := f.createAs(app, user, "", nil), f.createAs(app, user, "", nil)
		if first.ID() == "" || first.ID() == second.ID() {
			f.Errorf("the IDs are %q and %q", first.ID(), second.ID())
		}
		f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: first.ID()})
	}},
	{"refuses a session that exists", func(f *fixture) {
		f.append(f.create(map[string]any{"city": "Lisbon"}), said(1)...)
		_, err := f.service.Create(f.ctx, &session.CreateRequest{AppName: app, UserID: user, SessionID: id, State: map[string]any{"city": "Porto", "app:x": "y"}})
		if !errors.Is(err, session.ErrExists) {
			f.Errorf("Create returned %v, want ErrExists", err)
		}
		f.same("state", values(f.get()), map[string]any{"city": "Lisbon"})
		f.same("events", ids(f.get()), []string{"e0"})
	}},
	{"takes the same ID for another user or app", func(f *fixture) {
		f.create(nil)
		f.createAs(app, "grace", id, nil)
		f.createAs("other", user, id, nil)
	}},
	{"puts prefixed state where it belongs", func(f *fixture) {
		state := map[string]any{"own": "1", "user:name": "Ada", "app:currency": "EUR"}
		f.same("state", values(f.create(state)), state)
		f.same("state of the user's other session", values(f.createAs(app, user, "trip-2", nil)), map[string]any{"user:name": "Ada", "app:currency": "EUR"})
		f.same("state of another user's session", values(f.createAs(app, "grace", id, nil)), map[string]any{"app:currency": "EUR"})
		f.same("state of another app's session", values(f.createAs("other", user, id, nil)), map[string]any{})
	}},
	{"drops temp state", func(f *fixture) {
		f.same("state", values(f.create(map[string]any{"own": "1", "temp:x": "y"})), map[string]any{"own": "1"})
		f.same("stored state", values(f.get()), map[string]any{"own": "1"})
	}},
	{"copies the state", func(f *fixture) {
		state := map[string]any{"list": []any{"a"}}
		f.create(state)
		state["list"].([]any)[0] = "changed"
		f.same("state", values(f.get()), map[string]any{"list": []any{"a"}})
	}},
	{"refuses an empty app or user", func(f *fixture) {
		for _, req := range []*session.CreateRequest{{UserID: user}, {AppName: app}, {}} {
			if _, err := f.service.Create(f.ctx, req); err == nil {
				f.Errorf("Create(%+v) returned no error", req)
			}
		}
	}},
	{"fails when cancelled", func(f *fixture) {
		if _, err := f.service.Create(cancelled(f.ctx), &session.CreateRequest{AppName: app, UserID: user, SessionID: id}); !errors.Is(err, context.Canceled) {
			f.Errorf("Create returned %v, want context.Canceled", err)
		}
		f.same("sessions", names(f.list(user)), none)
	}},
}

var getTests = []test{
	{"of no session is ErrNotFound", func(f *fixture) {
		f.create(nil)
		for _, req := range []*session.GetRequest{
			{AppName: app, UserID: user, SessionID: "other"},
			{AppName: app, UserID: "other", SessionID: id},
			{AppName: "other", UserID: user, SessionID: id},
			{},
		} {
			if _, err := f.service.Get(f.ctx, req); !errors.Is(err, session.ErrNotFound) {
				f.Errorf("Get(%+v) returned %v, want ErrNotFound", req, err)
			}
		}
	}},
	{"returns all events in order", func(f *fixture) {
		want := said(12)
		f.append(f.create(nil), want...)
		f.sameEvents("events", f.get(), want...)
	}},
	{"returns the recent events", func(f *fixture) {
		f.append(f.create(nil), said(5)...)
		for n, want := range map[int][]string{
			-1: {"e0", "e1", "e2", "e3", "e4"}, 0: {"e0", "e1", "e2", "e3", "e4"},
			1: {"e4"}, 3: {"e2", "e3", "e4"}, 5: {"e0", "e1", "e2", "e3", "e4"}, 9: {"e0", "e1", "e2", "e3", "e4"},
		} {
			f.same("events", ids(f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: id, NumRecentEvents: n})), want)
		}
	}},
	{"returns the events from a time on, included", func(f *fixture) {
		f.append(f.create(nil), said(4)...)
		for _, c := range []struct {
			after time.Time
			want  []string
		}{
			{at(-1), []string{"e0", "e1", "e2", "e3"}},
			{at(2), []string{"e2", "e3"}},
			{at(2).In(time.FixedZone("west", -7*3600)), []string{"e2", "e3"}},
			{at(2).Add(-time.Nanosecond), []string{"e2", "e3"}},
			{at(2).Add(time.Nanosecond), []string{"e3"}},
			{at(4), nil},
		} {
			f.same(c.after.String(), ids(f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: id, After: c.after})), c.want)
		}
	}},
	{"returns the recent ones of the events from a time on", func(f *fixture) {
		f.append(f.create(nil), said(6)...)
		for n, want := range map[int][]string{2: {"e4", "e5"}, 9: {"e3", "e4", "e5"}} {
			f.same("events", ids(f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: id, After: at(3), NumRecentEvents: n})), want)
		}
	}},
	{"merges the state", func(f *fixture) {
		s := f.create(map[string]any{"own": "1", "app:a": "1"})
		f.append(s, set(map[string]any{"own": "2", "user:u": "1"}))
		f.same("state", values(f.get()), map[string]any{"own": "2", "app:a": "1", "user:u": "1"})
	}},
	{"returns the whole state with few events", func(f *fixture) {
		s := f.create(nil)
		f.append(s, set(map[string]any{"first": "1"}), set(map[string]any{"second": "2"}))
		got := f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: id, NumRecentEvents: 1})
		f.same("state", values(got), map[string]any{"first": "1", "second": "2"})
	}},
	{"is a handle that does not see later appends through others", func(f *fixture) {
		f.append(f.create(nil), said(2)...)
		old := f.get()
		other := f.get()
		f.append(other, say("new", at(9), "new"), set(map[string]any{"k": "v"}))
		f.same("events of the old handle", ids(old), []string{"e0", "e1"})
		f.same("state of the old handle", values(old), map[string]any{})
		f.same("number of events of the other handle", other.Events().Len(), 4)
	}},
	{"is a handle whose state is its own", func(f *fixture) {
		f.create(map[string]any{"k": "v"})
		if err := f.get().State().Set("k", "changed"); err != nil {
			f.Fatal(err)
		}
		f.same("state", values(f.get()), map[string]any{"k": "v"})
	}},
	{"keeps sessions apart", func(f *fixture) {
		f.append(f.create(nil), said(2)...)
		f.append(f.createAs(app, user, "trip-2", nil), say("other", at(0), "other"))
		f.append(f.createAs(app, "grace", id, nil), say("e0", at(0), "of grace"))
		f.same("events", ids(f.get()), []string{"e0", "e1"})
	}},
	{"has the time of the last event", func(f *fixture) {
		later := time.Date(2100, 1, 1, 0, 0, 0, 123456000, time.UTC)
		s := f.create(nil)
		f.append(s, say("e", later, "e"))
		f.same("time of update of the handle", s.LastUpdateTime(), later)
		f.same("time of update", f.get().LastUpdateTime(), later)
	}},
	{"fails when cancelled", func(f *fixture) {
		f.create(nil)
		if _, err := f.service.Get(cancelled(f.ctx), &session.GetRequest{AppName: app, UserID: user, SessionID: id}); !errors.Is(err, context.Canceled) {
			f.Errorf("Get returned %v, want context.Canceled", err)
		}
	}},
}

var listTests = []test{
	{"returns the sessions of a user", func(f *fixture) {
		f.create(nil)
		f.createAs(app, "grace", "trip-9", nil)
		f.same("sessions", names(f.list(user)), []string{"ada/trip-1"})
	}},
	{"returns the sessions of all users", func(f *fixture) {
		later := func(id string) *session.Event { return say(id, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), id) }
		f.append(f.createAs(app, "grace", "trip-9", nil), later("e"))
		f.create(nil)
		f.same("sessions", names(f.list("")), []string{"grace/trip-9", "ada/trip-1"})
	}},
	{"starts with the most recently updated", func(f *fixture) {
		year := func(y int) *session.Event { return say("e", time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC), "e") }
		f.append(f.createAs(app, user, "middle", nil), year(2101))
		f.append(f.createAs(app, user, "newest", nil), year(2102))
		f.append(f.createAs(app, user, "oldest", nil), year(2100))
		f.same("sessions", names(f.list(user)), []string{"ada/newest", "ada/middle", "ada/oldest"})
	}},
	{"does not see other apps", func(f *fixture) {
		f.createAs("other", user, id, map[string]any{"app:x": "y", "user:x": "y"})
		f.create(nil)
		list := f.list("")
		f.same("sessions", names(list), []string{"ada/trip-1"})
		f.same("state", values(list[0]), map[string]any{})
	}},
	{"has state but no events", func(f *fixture) {
		s := f.create(map[string]any{"own": "1", "app:a": "2", "user:u": "3"})
		f.append(s, said(3)...)
		for _, s := range f.list(user) {
			f.same("number of events", s.Events().Len(), 0)
			f.same("state", values(s), map[string]any{"own": "1", "app:a": "2", "user:u": "3"})
			f.same("time of update", s.LastUpdateTime(), f.get().LastUpdateTime())
		}
	}},
	{"comes in pages", func(f *fixture) {
		want := f.manySessions()
		for size := range len(want) + 2 {
			var got []string
			for _, page := range f.pages(&session.ListRequest{AppName: app, PageSize: size}, nil) {
				if size > 0 && len(page) > size || len(page) == 0 {
					f.Errorf("a page of size %d has %d sessions", size, len(page))
				}
				got = append(got, page...)
			}
			f.same(fmt.Sprintf("sessions in pages of %d", size), got, want)
		}
		f.same("the whole list", names(f.list("")), want)
	}},
	{"comes in pages for a user", func(f *fixture) {
		f.manySessions()
		f.same("pages", f.pages(&session.ListRequest{AppName: app, UserID: user, PageSize: 2}, nil), [][]string{{"ada/B", "ada/a"}, {"ada/ä"}})
	}},
	{"takes a page to its end where no size is given", func(f *fixture) {
		want := f.manySessions()
		first := f.page(&session.ListRequest{AppName: app, PageSize: 2})
		rest := f.page(&session.ListRequest{AppName: app, PageToken: first.NextPageToken})
		f.same("sessions", names(append(first.Sessions, rest.Sessions...)), want)
		f.same("token", rest.NextPageToken, "")
	}},
	{"neither skips nor repeats what did not change between two pages", func(f *fixture) {
		want := f.manySessions()
		changed := map[string]bool{}
		between := func(n int) {
			// The last session, which no page has had yet, and the first, which one
			// has had, become the newest; one is new.
			for _, name := range []string{want[len(want)-1-n], want[n]} {
				changed[name] = true
				user, id, _ := strings.Cut(name, "/")
				handle := f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: id})
				f.append(handle, say("", time.Date(2200+n, 1, 1, 0, 0, 0, 0, time.UTC), "x"))
			}
			f.createAs(app, user, fmt.Sprintf("new-%d", n), nil)
			changed[fmt.Sprintf("%s/new-%d", user, n)] = true
		}
		seen := map[string]int{}
		for _, page := range f.pages(&session.ListRequest{AppName: app, PageSize: 2}, between) {
			for _, name := range page {
				seen[name]++
			}
		}
		for _, name := range want {
			if !changed[name] && seen[name] != 1 {
				f.Errorf("%s is in %d pages", name, seen[name])
			}
			if seen[name] > 1 {
				f.Errorf("%s is in %d pages", name, seen[name])
			}
		}
	}},
	{"goes on behind a session that was deleted", func(f *fixture) {
		want := f.manySessions()
		var got []string
		for _, page := range f.pages(&session.ListRequest{AppName: app, PageSize: 1}, func(n int) {
			user, id, _ := strings.Cut(want[n], "/")
			if err := f.service.Delete(f.ctx, &session.DeleteRequest{AppName: app, UserID: user, SessionID: id}); err != nil {
				f.Fatal(err)
			}
		}) {
			got = append(got, page...)
		}
		f.same("sessions", got, want)
	}},
	{"refuses a token that is not its own", func(f *fixture) {
		f.create(nil)
		for _, token := range []string{"2", "bm90IG91cnM", "?"} {
			if _, err := f.service.List(f.ctx, &session.ListRequest{AppName: app, PageSize: 1, PageToken: token}); err == nil || !strings.Contains(err.Error(), token) {
				f.Errorf("List with the token %q returned %v", token, err)
			}
		}
	}},
	{"of nobody is empty", func(f *fixture) {
		f.same("token", f.page(&session.ListRequest{AppName: app, PageSize: 3}).NextPageToken, "")
		f.same("sessions", names(f.list("nobody")), none)
		f.same("sessions", names(f.list("")), none)
	}},
}

// manySessions makes sessions and returns their names in the order of a list. Some
// are of one time, and of names that are equal to some or sort otherwise.
func (f *fixture) manySessions() []string {
	f.Helper()
	for i, of := range []struct {
		user, id string
		fraction time.Duration
	}{
		{"grace", "late", 500_000}, {"grace", "a", 1}, {"grace", "b", 0}, {user, "B", 0}, {user, "a", 0}, {"Ada", "z", 0}, {user, "ä", 0}, {"zoe", "last", -1},
	} {
		ctx := f.ctx
		f.ctx = platform.WithTimeProvider(ctx, func() time.Time { return start.Add(of.fraction * time.Microsecond) })
		f.createAs(app, of.user, of.id, map[string]any{"i": float64(i)})
		f.ctx = ctx
	}
	f.createAs("other", user, "elsewhere", nil)
	return []string{"grace/late", "grace/a", "Ada/z", "ada/B", "ada/a", "ada/ä", "grace/b", "zoe/last"}
}

func (f *fixture) page(req *session.ListRequest) *session.ListResponse {
	f.Helper()
	response, err := f.service.List(f.ctx, req)
	if err != nil {
		f.Fatalf("List: %v", err)
	}
	return response
}

// pages lists page after page, and calls between, if it is set, after each but
// the last.
func (f *fixture) pages(req *session.ListRequest, between func(n int)) (all [][]string) {
	f.Helper()
	for n := 0; n < 100; n++ {
		response := f.page(req)
		all = append(all, names(response.Sessions))
		if response.NextPageToken == "" {
			return all
		}
		if between != nil {
			between(n)
		}
		next := *req
		next.PageToken = response.NextPageToken
		req = &next
	}
	f.Fatal("there is no last page")
	return nil
}

var deleteTests = []test{
	{"removes the session", func(f *fixture) {
		f.append(f.create(nil), said(2)...)
		f.delete()
		if _, err := f.service.Get(f.ctx, &session.GetRequest{AppName: app, UserID: user, SessionID: id}); !errors.Is(err, session.ErrNotFound) {
			f.Errorf("Get returned %v, want ErrNotFound", err)
		}
		f.same("sessions", names(f.list(user)), none)
	}},
	{"removes the events: the same ID starts empty", func(f *fixture) {
		f.append(f.create(map[string]any{"old": "1"}), said(3)...)
		f.delete()
		f.same("events", ids(f.create(nil)), none)
		f.same("stored events", ids(f.get()), none)
		f.same("stored state", values(f.get()), map[string]any{})
		f.append(f.get(), said(1)...)
		f.same("events after an append", ids(f.get()), []string{"e0"})
	}},
	{"twice is fine", func(f *fixture) {
		f.create(nil)
		f.delete()
		f.delete()
	}},
	{"leaves the state of user and app", func(f *fixture) {
		f.create(map[string]any{"own": "1", "app:a": "2", "user:u": "3"})
		f.delete()
		f.same("state", values(f.create(nil)), map[string]any{"app:a": "2", "user:u": "3"})
	}},
	{"leaves other sessions", func(f *fixture) {
		f.create(nil)
		f.append(f.createAs(app, user, "trip-2", nil), said(2)...)
		f.append(f.createAs(app, "grace", id, nil), said(2)...)
		f.delete()
		f.same("events of the user's other session", ids(f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: "trip-2"})), []string{"e0", "e1"})
		f.same("events of the other user's session", ids(f.getAs(&session.GetRequest{AppName: app, UserID: "grace", SessionID: id})), []string{"e0", "e1"})
	}},
	{"does nothing when cancelled", func(f *fixture) {
		f.append(f.create(nil), said(2)...)
		if err := f.service.Delete(cancelled(f.ctx), &session.DeleteRequest{AppName: app, UserID: user, SessionID: id}); !errors.Is(err, context.Canceled) {
			f.Errorf("Delete returned %v, want context.Canceled", err)
		}
		f.same("events", ids(f.get()), []string{"e0", "e1"})
	}},
}

func cancelled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}
