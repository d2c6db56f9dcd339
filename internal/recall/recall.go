// Package recall gets back what summaries stand in for: the log has it still.
//
//	result, err := recall.Do(ctx, service, recall.Request{
//		AppName: "shop", UserID: "ada", SessionID: "s1",
//		Arguments: recall.Arguments{Query: "discount for order 7741"},
//	})
//	for _, e := range result.Events {
//		fmt.Println(e.Time, e.Author, e.Text)
//	}
//
// It goes backward through the log once, holds what it may show or how it
// ranks, and never the log. Which events are covered is decided as for a prompt;
// what the reader's branch and scope may not see, and what was rewound, is not
// found.
//
// Package tool/recalltool has the tool for agents.
package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recap-adk/recap/session"
)

// Tool is what the tool of package tool/recalltool is known by.
type Tool interface {
	// RecallsCompacted does nothing.
	RecallsCompacted()
}

// DefaultMaxTokens bounds what is returned where Request.MaxTokens does not.
const DefaultMaxTokens = 2000

// Arguments say what is wanted. One of Query, Around, and From or To is needed;
// a Query may be limited to a span by From and To.
type Arguments struct {
	Query  string `json:"query,omitempty" jsonschema:"words to look for; names, numbers and IDs as they were written find most"`
	From   string `json:"from,omitempty" jsonschema:"read in order from this time on, such as 2026-03-01T09:00:00Z"`
	To     string `json:"to,omitempty" jsonschema:"read up to this time"`
	Around string `json:"around,omitempty" jsonschema:"ID of an event: read it and what stands beside it"`
	Offset int    `json:"offset,omitempty" jsonschema:"with around: read that event alone, from this character on"`
	Page   int    `json:"page,omitempty" jsonschema:"with query: 1 for the next best results, and so on"`
}

// Request asks for covered events of one session, as one reader sees them.
type Request struct {
	AppName, UserID, SessionID string
	// Branch and Scope are the reader's.
	Branch, Scope string
	// Known are the events that the reader knows: all, or those that
	// session.GetRequest.OmitCompacted asks for. Its summaries count. If it is
	// nil they are read.
	Known []*session.Event
	// MaxTokens bounds, by estimate, all that is returned. 0 means
	// DefaultMaxTokens; it is at least 200.
	MaxTokens int
	Arguments
}

// Result is what was found.
type Result struct {
	// Events are the best first for a query, else in order.
	Events []Event
	// More are the arguments that show what comes next, or what was before;
	// empty if there is nothing.
	More []Arguments
	// Searched is the number of covered events that were looked at.
	Searched int
}

// Event is an event that was found.
type Event struct {
	ID     string
	Time   time.Time
	Author string
	// Text is what the event holds, or the part of it that was looked for.
	Text string
	// Rest are the arguments that show what is missing in Text, or nil.
	Rest *Arguments
}

// ErrArguments is matched by errors about arguments: they say what would do.
var ErrArguments = errors.New("invalid argument")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrArguments}, args...)...)
}

// Do finds covered events. Errors are those of the service, and ErrArguments.
func Do(ctx context.Context, service session.Service, req Request) (*Result, error) {
	from, to, err := req.check()
	if err != nil {
		return nil, err
	}
	if req.MaxTokens == 0 {
		req.MaxTokens = DefaultMaxTokens
	}
	req.MaxTokens = max(req.MaxTokens, 200)
	if req.Known == nil {
		if req.Known, err = known(ctx, service, req); err != nil {
			return nil, err
		}
	}
	h := newHistory(service, req)
	switch {
	case strings.TrimSpace(req.Query) != "":
		return search(ctx, h, req, from, to)
	case req.Around != "":
		return around(ctx, h, req)
	default:
		return span(ctx, h, req, from, to)
	}
}

// known reads the summaries of a session. Where something was rewound lately
// that takes the whole log.
func known(ctx context.Context, service session.Service, req Request) ([]*session.Event, error) {
	get := &session.GetRequest{AppName: req.AppName, UserID: req.UserID, SessionID: req.SessionID, OmitCompacted: true}
	for {
		got, err := service.Get(ctx, get)
		if err != nil {
			return nil, err
		}
		events, rewound := []*session.Event{}, false
		for e := range got.Session.Events().All() {
			events = append(events, e)
			rewound = rewound || e.Actions.RewindBeforeInvocationID != ""
		}
		if !rewound || !get.OmitCompacted {
			return events, nil
		}
		get.OmitCompacted = false
	}
}

// check returns the span of time that is asked for: from the first time on and
// before the second; zero is no limit.
func (a Arguments) check() (from, to time.Time, err error) {
	hasQuery := strings.TrimSpace(a.Query) != ""
	if from, err = parseTime("from", a.From, false); err != nil {
		return from, to, err
	}
	if to, err = parseTime("to", a.To, true); err != nil {
		return from, to, err
	}
	switch {
	case !hasQuery && a.Around == "" && a.From == "" && a.To == "":
		err = invalid(`nothing is asked for; give "query" (words to look for), "from" and "to" (times), or "around" (the ID of an event)`)
	case a.Around != "" && (hasQuery || a.From != "" || a.To != ""):
		err = invalid(`"around" stands alone or with "offset"; leave out "query", "from" and "to"`)
	case !from.IsZero() && !to.IsZero() && !from.Before(to):
		err = invalid(`"from" (%s) is after "to" (%s); exchange them`, a.From, a.To)
	case a.Offset < 0 || a.Page < 0:
		err = invalid(`"offset" and "page" must not be negative`)
	case a.Offset > 0 && a.Around == "":
		err = invalid(`"offset" needs "around", the ID of the event that is read on`)
	case a.Page > 0 && !hasQuery:
		err = invalid(`"page" needs "query"; to read on in order, use a later "from"`)
	case hasQuery && len(newQuery(a.Query).terms) == 0:
		err = invalid(`"query" (%q) has no words or numbers`, a.Query)
	}
	return from, to, err
}

// timeForms are the forms of times, with the time that each of them leaves open.
var timeForms = []struct {
	form  string
	holds time.Duration
}{
	{time.RFC3339Nano, time.Nanosecond},
	{"2006-01-02T15:04:05", time.Second},
	{"2006-01-02 15:04:05", time.Second},
	{"2006-01-02T15:04Z07:00", time.Minute},
	{"2006-01-02T15:04", time.Minute},
	{"2006-01-02 15:04", time.Minute},
	{"2006-01-02", 24 * time.Hour},
}

// parseTime reads a time; its end is the time after all that the text names.
func parseTime(name, text string, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, f := range timeForms {
		t, err := time.Parse(f.form, strings.TrimSpace(text))
		if err != nil {
			continue
		}
		if end {
			t = t.Add(f.holds)
		}
		return t, nil
	}
	return time.Time{}, invalid(`%q is not a time: %q; write it as 2026-03-01T09:00:00Z`, name, text)
}

// FormatTime is a time as Arguments have it.
func FormatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func unknown(id string) error {
	return invalid(`no earlier event has the ID %q; recall by "query" or time returns IDs`, id)
}
