package recall_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"
	"pgregory.net/rapid"

	icontext "github.com/recap-adk/recap/internal/context"
	"github.com/recap-adk/recap/internal/logtext"
	"github.com/recap-adk/recap/internal/recall"
	"github.com/recap-adk/recap/internal/testdb"
	"github.com/recap-adk/recap/session"
)

func Example() {
	ctx := context.Background()
	service := session.InMemoryService()
	events, _ := logtext.Parse(`
		i1 1 user: My order is ORD-7741, it came broken.
		i1 2 agent: I am sorry. A refund of $12.50 is on its way.
		i2 3 user: And the weather?
		i2 4 agent: Sunny.
		c1 5 summary 1-4: The user had a refund and asked for the weather.
		i3 6 user: How much was my refund?
	`)
	created, _ := service.Create(ctx, &session.CreateRequest{AppName: "shop", UserID: "ada", SessionID: "s"})
	for _, e := range events {
		_ = service.AppendEvent(ctx, created.Session, e)
	}
	result, err := recall.Do(ctx, service, recall.Request{
		AppName: "shop", UserID: "ada", SessionID: "s",
		Arguments: recall.Arguments{Query: "refund"},
	})
	for _, e := range result.Events {
		fmt.Println(e.ID, e.Author, e.Text)
	}
	fmt.Println(err)
	// Output:
	// e2 agent I am sorry. A refund of $12.50 is on its way.
	// <nil>
}

// trip is a log of two agents, of which two summaries cover most.
const trip = `
	i1 1 user: I want to fly to Lisbon on May 20.
	i1 2 agent: call a find {"to": "LIS", "code": "HAT170"}
	i1 3 agent: resp a find {"price": 120.5}
	i1 4 agent: thought Lisbon is cheap | HAT170 costs 120.5.
	i2 5 user: Book it, and a hotel.
	i2 6 agent@root.hotels: The hotel in Lisbon is booked, R-99.
	i2 7 agent@root.hotels!secret: The password in Lisbon is tulip.
	i2 8 agent: call b wait {}
	i3 9 user: Thanks for Lisbon!
	c1 10 summary 1-9 without 8: Ada flies to Lisbon.
	c2 11 summary@root.hotels 6-6: A hotel is booked.
	c3 12 summary@root.hotels!secret 7-7: A password.
	i4 13 user: What about Lisbon now?
`

func TestDo(t *testing.T) {
	for _, test := range []struct {
		name string
		log  string
		req  recall.Request
		want string // IDs
		more string
	}{
		{"by words", trip, recall.Request{Arguments: recall.Arguments{Query: "costs HAT170"}}, "e4 e2", ""},
		{"by a value in a result", trip, recall.Request{Arguments: recall.Arguments{Query: "price"}}, "e3", ""},
		{"nothing fits", trip, recall.Request{Arguments: recall.Arguments{Query: "Porto"}}, "", ""},
		{"only thought of", trip, recall.Request{Arguments: recall.Arguments{Query: "cheap"}}, "", ""},
		{"what is covered alone", trip, recall.Request{Arguments: recall.Arguments{Query: "Lisbon"}}, "e9 e1", ""},
		{"of the own branch and those above", trip, recall.Request{Branch: "root.hotels", Arguments: recall.Arguments{Query: "Lisbon"}}, "e9 e6 e1", ""},
		{"at the root of all branches", trip, recall.Request{Branch: "the root", Arguments: recall.Arguments{Query: "Lisbon"}}, "e9 e6 e1", ""},
		{"of the own scope", trip, recall.Request{Branch: "root.hotels.x", Scope: "secret", Arguments: recall.Arguments{Query: "Lisbon"}}, "e7", ""},
		{"words within a span", trip, recall.Request{Arguments: recall.Arguments{Query: "Lisbon", From: "2026-01-01T00:00:02Z"}}, "e9", ""},
		{"words up to a time", trip, recall.Request{Arguments: recall.Arguments{Query: "Lisbon", To: "2026-01-01T00:00:08Z"}}, "e1", ""},
		{"a span", trip, recall.Request{Arguments: recall.Arguments{From: "2026-01-01T00:00:02Z", To: "2026-01-01 00:00:04"}}, "e2 e3 e4", ""},
		{"a span with what is not covered in it", trip, recall.Request{Arguments: recall.Arguments{From: "2026-01-01T00:00:05Z"}}, "e5 e9", ""},
		{"up to a time", trip, recall.Request{Arguments: recall.Arguments{To: "2026-01-01T00:00:03Z"}}, "e1 e2 e3", ""},
		{"a day", trip, recall.Request{Arguments: recall.Arguments{From: "2026-01-01", To: "2026-01-01"}}, "e1 e2 e3 e4 e5 e9", ""},
		{"a span of which a part fits", trip, recall.Request{MaxTokens: 200, Arguments: recall.Arguments{From: "2026-01-01"}}, "e1 e2", `from 2026-01-01T00:00:03Z`},
		{"the last that fit", trip, recall.Request{MaxTokens: 200, Arguments: recall.Arguments{To: "2026-01-02"}}, "e5 e9", `to 2026-01-01T00:00:04Z`},
		{"around an event", trip, recall.Request{Arguments: recall.Arguments{Around: "e3"}}, "e1 e2 e3 e4 e5 e9", ""},
		{"around an event in few tokens", trip, recall.Request{MaxTokens: 300, Arguments: recall.Arguments{Around: "e3"}}, "e2 e3 e4 e5", `to 2026-01-01T00:00:01Z, from 2026-01-01T00:00:09Z`},
		{"an event that is not covered", trip, recall.Request{Arguments: recall.Arguments{Around: "e13"}}, "e13", ""},
		{"a span in which most only think", strings.ReplaceAll(`
			i1 1 agent: thought T
			i1 2 agent: thought T | T2
			c1 3 summary 1-2: They thought.`, "T", strings.Repeat("thinking ", 10)),
			recall.Request{Arguments: recall.Arguments{From: "2026-01-01"}}, "e2", ""},
		{"no summary", "i1 1 user: Hello Lisbon", recall.Request{Arguments: recall.Arguments{Query: "Lisbon"}}, "", ""},
		{"a summary that was rewound", `
			i1 1 user: Hello Lisbon
			i2 2 user: Hello Porto
			c1 3 summary 1-2: Greetings
			i3 4 user: rewind i2`,
			recall.Request{Arguments: recall.Arguments{Query: "hello"}}, "", ""},
		{"what was rewound", `
			i1 1 user: Hello Lisbon
			i2 2 user: Hello Porto
			i3 3 user: rewind i2
			i4 4 user: Hello Faro
			c1 5 summary 1-4: Greetings`,
			recall.Request{Arguments: recall.Arguments{From: "2026-01-01"}}, "e1 e4", ""},
		{"what was recalled is not found again", `
			i1 1 user: The code is tulip.
			i2 2 agent: call a recall {"query": "code tulip"}
			i2 3 agent: resp a recall {"recalled": [{"text": "The code is tulip."}]}
			i3 4 user: Thanks
			c1 5 summary 1-4: A code.`,
			recall.Request{Arguments: recall.Arguments{Query: "tulip"}}, "e1", ""},
	} {
		for store, service := range stores(t) {
			t.Run(test.name+"/"+store, func(t *testing.T) {
				fill(t, service, test.log)
				req := test.req
				req.AppName, req.UserID, req.SessionID = "app", "ada", "s"
				switch req.Branch {
				case "":
					req.Branch = "root.desk" // beside root.hotels
				case "the root":
					req.Branch = ""
				}
				got, err := recall.Do(t.Context(), service, req)
				if err != nil {
					t.Fatal(err)
				}
				var found, more []string
				for _, e := range got.Events {
					found = append(found, e.ID)
				}
				for _, m := range got.More {
					if m.To != "" {
						more = append(more, "to "+m.To)
					} else {
						more = append(more, "from "+m.From)
					}
				}
				if ids := strings.Join(found, " "); ids != test.want {
					t.Errorf("found %q, want %q", ids, test.want)
				}
				if calls := strings.Join(more, ", "); calls != test.more {
					t.Errorf("more by %q, want %q", calls, test.more)
				}
			})
		}
	}
}

// stores are services that scan, that know Before, and that know neither.
func stores(t *testing.T) map[string]session.Service {
	return map[string]session.Service{
		"scan": testdb.Open(t, testdb.SQLite), "pages": session.InMemoryService(), "whole": old{session.InMemoryService()},
	}
}

// old is a service from before there was GetRequest.Before.
type old struct{ session.Service }

func (s old) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	without := *req
	without.Before = time.Time{}
	return s.Service.Get(ctx, &without)
}

// fill makes a session of a log in the notation of package logtext.
func fill(t *testing.T, service session.Service, log string) {
	t.Helper()
	events, err := logtext.Parse(log)
	if err != nil {
		t.Fatal(err)
	}
	store(t, service, "s", events)
}

func store(t interface {
	Helper()
	Fatal(...any)
}, service session.Service, id string, events []*session.Event) {
	t.Helper()
	ctx := context.Background()
	created, err := service.Create(ctx, &session.CreateRequest{AppName: "app", UserID: "ada", SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := service.AppendEvent(ctx, created.Session, e.Clone()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestArguments(t *testing.T) {
	service := session.InMemoryService()
	fill(t, service, trip)
	for _, test := range []struct {
		args  recall.Arguments
		names string
	}{
		{recall.Arguments{}, `"query"`},
		{recall.Arguments{Query: "  "}, `"query"`},
		{recall.Arguments{Query: "?!"}, "no words"},
		{recall.Arguments{From: "yesterday"}, "2026-03-01T09:00:00Z"},
		{recall.Arguments{To: "12"}, `"to"`},
		{recall.Arguments{From: "2026-01-02", To: "2026-01-01"}, "exchange"},
		{recall.Arguments{Around: "e3", Query: "x"}, "alone"},
		{recall.Arguments{Around: "e99"}, `"e99"`},
		{recall.Arguments{Around: "e10"}, `"e10"`}, // a summary
		{recall.Arguments{Around: "e7"}, `"e7"`},   // of another scope
		{recall.Arguments{Query: "x", Page: -1}, `"page"`},
		{recall.Arguments{Query: "x", Offset: 5}, `"offset"`},
		{recall.Arguments{From: "2026-01-01", Page: 1}, `"page"`},
	} {
		_, err := recall.Do(t.Context(), service, recall.Request{AppName: "app", UserID: "ada", SessionID: "s", Arguments: test.args})
		if !errors.Is(err, recall.ErrArguments) || !strings.Contains(err.Error(), test.names) {
			t.Errorf("%+v: %v, want ErrArguments that names %s", test.args, err, test.names)
		}
	}
	_, err := recall.Do(t.Context(), service, recall.Request{AppName: "app", UserID: "eve", SessionID: "s", Arguments: recall.Arguments{Query: "Lisbon"}})
	if !errors.Is(err, session.ErrNotFound) {
		t.Errorf("the session of another user: %v", err)
	}
}

// TestLargeEventsAreReadOn: of an event that is too large the part is shown that
// was looked for, and the calls that are named read all of it.
func TestLargeEventsAreReadOn(t *testing.T) {
	service := session.InMemoryService()
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "line %d says é. ", i)
	}
	events, _ := logtext.Parse("i1 1 user: x\ni2 2 user: y\nc1 3 summary 1-2: Lines.")
	events[0].Content = genai.NewContentFromText(b.String(), genai.RoleUser)
	store(t, service, "s", events)
	do := func(args recall.Arguments) recall.Event {
		got, err := recall.Do(t.Context(), service, recall.Request{AppName: "app", UserID: "ada", SessionID: "s", MaxTokens: 1000, Arguments: args})
		if err != nil || len(got.Events) == 0 {
			t.Fatal(got, err)
		}
		return got.Events[0]
	}
	found := do(recall.Arguments{Query: "line 1234"})
	if !strings.Contains(found.Text, "line 1234 says") || len(found.Text) > 3000 || found.Rest == nil {
		t.Errorf("found %d bytes, rest %v: %s", len(found.Text), found.Rest, found.Text)
	}
	var whole strings.Builder
	for args := *found.Rest; ; {
		e := do(args)
		text := e.Text
		if args.Offset > 0 {
			_, text, _ = strings.Cut(text, "characters] ")
		}
		if at := strings.LastIndex(text, " ["); e.Rest != nil {
			text = text[:at]
		}
		whole.WriteString(text)
		if e.Rest == nil {
			break
		}
		if e.Rest.Offset <= args.Offset {
			t.Fatalf("it reads on from %+v at %+v", args, e.Rest)
		}
		args = *e.Rest
	}
	if whole.String() != strings.TrimSpace(b.String()) {
		t.Errorf("the parts are %d bytes, the event has %d", whole.Len(), b.Len())
	}
}

// TestPages: the pages of a query together are all that fits, each once.
func TestPages(t *testing.T) {
	service := session.InMemoryService()
	var log strings.Builder
	for i := range 30 {
		fmt.Fprintf(&log, "i%d %d user: the same words\n", i, i+1)
	}
	fill(t, service, log.String()+"c 40 summary 1-30: Words.")
	seen := map[string]bool{}
	for args := (recall.Arguments{Query: "words"}); ; {
		got, err := recall.Do(t.Context(), service, recall.Request{AppName: "app", UserID: "ada", SessionID: "s", Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Events {
			if seen[e.ID] {
				t.Errorf("%s is on two pages", e.ID)
			}
			seen[e.ID] = true
		}
		if len(got.More) == 0 {
			break
		}
		args = got.More[0]
	}
	if len(seen) != 30 {
		t.Errorf("%d events on all pages", len(seen))
	}
}

// TestCoverage: on random logs, what can be read is what a prompt's coverage
// says, for every reader, on every kind of store.
func TestCoverage(t *testing.T) {
	recall.Pages(3)
	defer recall.Pages(500)
	rapid.Check(t, func(t *rapid.T) {
		events := randomLog(t)
		branch := rapid.SampledFrom([]string{"", "root", "root.a", "root.b"}).Draw(t, "branch")
		scope := rapid.SampledFrom([]string{"", "s"}).Draw(t, "scope")
		for name, service := range map[string]session.Service{"pages": session.InMemoryService(), "whole": old{session.InMemoryService()}} {
			checkCoverage(t, service, name, events, branch, scope)
		}
	})
}

func TestCoverageByScan(t *testing.T) {
	service, n := testdb.Open(t, testdb.SQLite), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		checkCoverage(t, service, fmt.Sprint("s", n), randomLog(t), rapid.SampledFrom([]string{"", "root.a"}).Draw(t, "branch"), "")
	})
}

func checkCoverage(t *rapid.T, service session.Service, id string, events []*session.Event, branch, scope string) {
	store(t, service, id, events)
	visible := icontext.Visible(icontext.WithoutRewound(events), branch, scope)
	coverage := icontext.NewCoverage(visible)
	var want []string
	for i, e := range visible {
		if e.Content != nil && coverage.Covers(i, e) {
			want = append(want, e.ID)
		}
	}
	got, err := recall.Do(context.Background(), service, recall.Request{
		AppName: "app", UserID: "ada", SessionID: id, Branch: branch, Scope: scope, MaxTokens: 1 << 20,
		Arguments: recall.Arguments{From: "2000-01-01"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range got.Events {
		found = append(found, e.ID)
	}
	if !slices.Equal(found, want) {
		t.Fatalf("%s: found %v, want %v", id, found, want)
	}
}

// randomLog is a log of several lanes with summaries that overlap, contain each
// other and are taken back, and with rewinds.
func randomLog(t *rapid.T) []*session.Event {
	var events []*session.Event
	at := func(n int) time.Time { return logtext.Base.Add(time.Duration(n) * time.Second) }
	for i := range rapid.IntRange(1, 25).Draw(t, "events") {
		e := &session.Event{ID: fmt.Sprint("e", i), Timestamp: at(i), Author: "user"}
		e.InvocationID = fmt.Sprint("i", rapid.IntRange(max(0, i/2-1), i/2).Draw(t, "invocation"))
		e.Branch = rapid.SampledFrom([]string{"", "", "root.a", "root"}).Draw(t, "branch")
		e.IsolationScope = rapid.SampledFrom([]string{"", "", "", "s"}).Draw(t, "scope")
		switch rapid.SampledFrom([]string{"say", "say", "say", "say", "summary", "summary", "rewind", "release"}).Draw(t, "kind") {
		case "say":
			e.Content = genai.NewContentFromText("said", genai.RoleUser)
		case "rewind":
			e.Actions.RewindBeforeInvocationID = fmt.Sprint("i", rapid.IntRange(0, i/2).Draw(t, "before"))
		case "release":
			e.Actions.Compaction = session.NewEventCompaction(at(-9), at(-9), genai.NewContentFromText("back", genai.RoleModel), nil)
			session.Manifest{Releases: at(rapid.IntRange(0, i).Draw(t, "released"))}.Put(e)
		case "summary":
			from := rapid.IntRange(0, i).Draw(t, "from")
			to := rapid.IntRange(from, i+2).Draw(t, "to")
			var excluded []session.EventRef
			for _, other := range events {
				if rapid.IntRange(0, 5).Draw(t, "excluded") == 0 {
					excluded = append(excluded, session.NewEventRef(other))
				}
			}
			e.Actions.Compaction = session.NewEventCompaction(at(from), at(to), genai.NewContentFromText("sum", genai.RoleModel), excluded)
		}
		events = append(events, e)
	}
	return events
}
