package sessiontest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
)

// scanTests are for a service that is a session.EventScanner.
var scanTests = []test{
	{"yields what a search needs, the newest first", func(f *fixture) {
		s := f.create(nil)
		f.append(s, said(3)...)
		call := say("call", at(4), "")
		call.Author, call.Branch, call.IsolationScope = "planner", "root.planner", "scope-1"
		call.Content = genai.NewContentFromFunctionCall("search_flights", map[string]any{"to": "Lisboa\x00 \"☀\""}, genai.RoleModel)
		silent := set(map[string]any{"compaction": "none", "rewind": "none"})
		silent.Content = nil
		rewind := say("rewind", at(9), "back")
		rewind.Actions.RewindBeforeInvocationID = "inv-1"
		f.append(s, call, silent, summary("c1", at(8), at(0), at(1)), rewind)
		f.sameScan(session.ScanRequest{})
	}},
	{"yields the events of a range of time", func(f *fixture) {
		f.append(f.create(nil), said(6)...)
		for _, c := range []struct{ after, before time.Time }{
			{at(2), time.Time{}}, {time.Time{}, at(2)}, {at(1), at(4)}, {at(4), at(1)},
			{at(2).Add(time.Nanosecond), at(4).Add(time.Nanosecond)},
		} {
			f.sameScan(session.ScanRequest{After: c.after, Before: c.before})
		}
	}},
	{"yields a log that is longer than a page", func(f *fixture) {
		f.append(f.create(nil), said(2500)...)
		f.sameScan(session.ScanRequest{})
	}},
	{"can be stopped, and its service used in the loop", func(f *fixture) {
		f.append(f.create(nil), said(5)...)
		var got []string
		for e, err := range f.scanner().ScanEvents(f.ctx, &session.ScanRequest{AppName: app, UserID: user, SessionID: id}) {
			if err != nil {
				f.Fatal(err)
			}
			got = append(got, fmt.Sprint(e.ID, " of ", f.get().Events().Len()))
			if len(got) == 2 {
				break
			}
		}
		f.same("events", got, []string{"e4 of 5", "e3 of 5"})
	}},
	{"knows a session that is not there", func(f *fixture) {
		f.append(f.create(nil), said(2)...)
		for _, req := range []session.ScanRequest{
			{AppName: app, UserID: user, SessionID: "other"}, {AppName: app, UserID: "other", SessionID: id}, {},
		} {
			n := 0
			for e, err := range f.scanner().ScanEvents(f.ctx, &req) {
				if n++; e != nil || !errors.Is(err, session.ErrNotFound) {
					f.Errorf("ScanEvents(%+v) yielded %v, %v, want ErrNotFound", req, e, err)
				}
			}
			f.same("number of errors", n, 1)
		}
	}},
}

func (f *fixture) scanner() session.EventScanner {
	f.Helper()
	scanner, ok := f.service.(session.EventScanner)
	if !ok {
		f.Skip("the service is no session.EventScanner")
	}
	return scanner
}

// sameScan wants ScanEvents to yield what Get returns.
func (f *fixture) sameScan(req session.ScanRequest) {
	f.Helper()
	type scanned struct {
		session.ScannedEvent
		Content *genai.Content
	}
	var got, want []scanned
	req.AppName, req.UserID, req.SessionID = app, user, id
	for e, err := range f.scanner().ScanEvents(f.ctx, &req) {
		if err != nil {
			f.Fatal(err)
		}
		one := scanned{ScannedEvent: *e}
		if one.ScannedEvent.Content = nil; len(e.Content) > 0 {
			if err := json.Unmarshal(e.Content, &one.Content); err != nil {
				f.Fatalf("the content of %q: %v", e.ID, err)
			}
		}
		got = append(got, one)
	}
	all := events(f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: id, After: req.After, Before: req.Before}))
	for _, e := range slices.Backward(all) {
		want = append(want, scanned{session.ScannedEvent{
			ID: e.ID, Timestamp: e.Timestamp, InvocationID: e.InvocationID, Author: e.Author, Branch: e.Branch, IsolationScope: e.IsolationScope,
			IsCompaction: e.Actions.Compaction != nil, RewindBeforeInvocationID: e.Actions.RewindBeforeInvocationID,
		}, e.Content})
	}
	f.same(fmt.Sprintf("scan from %v to %v", req.After, req.Before), got, want)
}
