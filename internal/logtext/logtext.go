// Package logtext reads logs of events from text that people can read, for
// tests.
//
//	i1 1 user: Where is my order?
//	i1 2 agent: call a find {"order": 7741} | call* b ask_depot {}
//	i1 3 agent: resp a find {"at": "depot"}
//	i1 4 agent: It is at the depot.
//	c1 5 summary 1-4 without 2,3: The user asked where order 7741 is.
//	i2 6 scout@root.scout!scope1: thought hm | I look.
//
// A line is an event: invocation ("-" for none), time in seconds after Base,
// author with branch and isolation scope, and its parts. A part is a call
// (call* if long-running), a response, a thought, a question about a call
// ("confirm ID" or "auth ID"), the tokens that the model counted in its prompt
// ("usage 100"), the invocation before which it rewinds ("rewind i1"), or text.
// A summary names its range, and the times
// of the events in it for which it does not stand in. The ID of an event is
// "e" and its number, from 1.
package logtext

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// Base is the time 0 of logs.
var Base = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Parse reads a log. Blank lines and lines that begin with # are skipped.
func Parse(text string) ([]*session.Event, error) {
	var events []*session.Event
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseEvent(line, events)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", i+1, line, err)
		}
		e.ID = fmt.Sprintf("e%d", len(events)+1)
		events = append(events, e)
	}
	return events, nil
}

func parseEvent(line string, before []*session.Event) (*session.Event, error) {
	head, body, ok := strings.Cut(line, ":")
	fields := strings.Fields(head)
	if !ok || len(fields) < 3 {
		return nil, fmt.Errorf("want: invocation time author: parts")
	}
	at, err := parseTime(fields[1])
	if err != nil {
		return nil, err
	}
	e := &session.Event{Timestamp: at}
	if fields[0] != "-" {
		e.InvocationID = fields[0]
	}
	author, scope, _ := strings.Cut(fields[2], "!")
	e.Author, e.Branch, _ = strings.Cut(author, "@")
	e.IsolationScope = scope
	body = strings.TrimSpace(body)
	if e.Author == "summary" {
		e.Author = "user"
		return e, parseSummary(e, fields[3:], body, before)
	}
	if body == "" {
		return e, nil
	}
	e.Content = &genai.Content{Role: genai.RoleModel}
	if e.Author == "user" {
		e.Content.Role = genai.RoleUser
	}
	for _, text := range strings.Split(body, " | ") {
		if err := parsePart(e, strings.TrimSpace(text)); err != nil {
			return nil, err
		}
	}
	if len(e.Content.Parts) == 0 {
		e.Content = nil
	}
	return e, nil
}

func parseTime(text string) (time.Time, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q: %w", text, err)
	}
	return Base.Add(time.Duration(math.Round(seconds*1e6)) * time.Microsecond), nil
}

func parseSummary(e *session.Event, fields []string, text string, before []*session.Event) error {
	if len(fields) == 0 {
		return fmt.Errorf("a summary needs a range")
	}
	from, to, _ := strings.Cut(fields[0], "-")
	start, err := parseTime(from)
	if err != nil {
		return err
	}
	end, err := parseTime(to)
	if err != nil {
		return err
	}
	var excluded []session.EventRef
	if len(fields) == 3 && fields[1] == "without" {
		for _, at := range strings.Split(fields[2], ",") {
			when, err := parseTime(at)
			if err != nil {
				return err
			}
			for _, other := range before {
				if other.Timestamp.Equal(when) {
					excluded = append(excluded, session.NewEventRef(other))
				}
			}
		}
	}
	e.Actions.Compaction = session.NewEventCompaction(start, end, genai.NewContentFromText(text, genai.RoleModel), excluded)
	return nil
}

func parsePart(e *session.Event, text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "call", "call*", "resp":
		fields := strings.SplitN(rest, " ", 3)
		if len(fields) < 2 {
			return fmt.Errorf("want: %s ID name [JSON]", word)
		}
		id, name := fields[0], fields[1]
		if id == "-" {
			id = ""
		}
		var values map[string]any
		if len(fields) == 3 {
			if err := json.Unmarshal([]byte(fields[2]), &values); err != nil {
				return err
			}
		}
		if word == "resp" {
			e.Content.Parts = append(e.Content.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: id, Name: name, Response: values}})
			return nil
		}
		e.Content.Parts = append(e.Content.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: id, Name: name, Args: values}})
		if word == "call*" {
			e.LongRunningToolIDs = append(e.LongRunningToolIDs, id)
		}
	case "confirm":
		e.Actions.RequestedToolConfirmations = map[string]toolconfirmation.ToolConfirmation{rest: {Hint: "sure?"}}
	case "auth":
		e.Actions.RequestedAuthConfigs = map[string]any{rest: "key"}
	case "rewind":
		e.Actions.RewindBeforeInvocationID = rest
	case "usage":
		n, err := strconv.Atoi(rest)
		if err != nil {
			return err
		}
		e.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: int32(n)}
	case "thought":
		e.Content.Parts = append(e.Content.Parts, &genai.Part{Text: rest, Thought: true})
	default:
		e.Content.Parts = append(e.Content.Parts, &genai.Part{Text: text})
	}
	return nil
}

// Long is a log of n events, four to an invocation: a question, a call, its
// response, an answer, of about 500 characters each, one a second from start.
func Long(n int, start time.Time) []*session.Event {
	filler := strings.Repeat("The order is on its way and will be there soon. ", 10)
	events := make([]*session.Event, n)
	for i := range events {
		invocation := i / 4
		e := &session.Event{
			ID: fmt.Sprintf("long-%d", i), InvocationID: fmt.Sprintf("long-i%d", invocation),
			Timestamp: start.Add(time.Duration(i) * time.Second), Author: "agent",
		}
		id := fmt.Sprintf("call-%d", invocation)
		switch i % 4 {
		case 0:
			e.Author = "user"
			e.Content = genai.NewContentFromText(fmt.Sprintf("Question %d. %s", invocation, filler), genai.RoleUser)
		case 1:
			e.Content = genai.NewContentFromFunctionCall("find", map[string]any{"order": float64(i), "note": filler}, genai.RoleModel)
			e.Content.Parts[0].FunctionCall.ID = id
		case 2:
			e.Content = genai.NewContentFromFunctionResponse("find", map[string]any{"result": filler}, genai.RoleUser)
			e.Content.Parts[0].FunctionResponse.ID = id
		case 3:
			e.Content = genai.NewContentFromText(fmt.Sprintf("Answer %d. %s", invocation, filler), genai.RoleModel)
		}
		events[i] = e
	}
	return events
}
