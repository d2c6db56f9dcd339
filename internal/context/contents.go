// Package context builds what a model is sent from the events of a session.
//
//	contents := icontext.Contents(events, icontext.Options{Agent: "support", Compacted: true})
//
// It goes in steps, each a pure function of events:
//
//	rewound        what was taken back is left out         rewind.go
//	visible        what the agent's branch and scope may see
//	filter         summaries in place of what they cover   compaction_filter.go
//	other agents   what they said, retold as the user's    contents.go
//	pairs          each call with its answers behind it    pairs.go
//	normalize      the form that every provider takes      normalize.go
//
// A log holds what happened: calls that were cut off, answers that came late,
// IDs that recur, replies of other agents. Providers take none of that. What
// comes out here they take: every call is followed at once by all its
// responses, and every response has its call, also where a summary covers it.
//
// Nothing that is returned shares memory with the log.
package context

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// AuthCallName names the call that asks the client for credentials.
const AuthCallName = "adk_request_credential"

// Options say for whom contents are built.
type Options struct {
	// Agent is the name of the agent that reads.
	Agent string
	// Branch and Scope decide which events it may see.
	Branch, Scope string
	// Compacted applies the summaries of the log; without it they are left
	// out and every event stands for itself.
	Compacted bool
	// MaxToolOutput, if positive, bounds the characters that are shown of each
	// tool result, but for those among the last RecentEvents events.
	MaxToolOutput, RecentEvents int
	// Recall says that the agent has the tool that gets back what summaries
	// leave out. The model is told of it beside them, and beside results that
	// are shortened.
	Recall bool
	// CurrentTurnOnly leaves out all that was before the latest message of the
	// user or of another agent.
	CurrentTurnOnly bool
}

// Contents is what the model is sent of events, which are in log order.
func Contents(events []*session.Event, opts Options) []*genai.Content {
	visible := Visible(WithoutRewound(events), opts.Branch, opts.Scope)
	var view []*session.Event
	if opts.Compacted {
		view = FilterEventsForLLM(visible)
	} else {
		view = withoutRecords(visible)
	}
	if opts.CurrentTurnOnly {
		view = currentTurn(view, opts.Agent)
	}
	b := &builder{
		agent:   opts.Agent,
		pairs:   NewPairs(ownEvents(visible, opts.Agent)),
		emitted: map[*session.Event]bool{},
		limit:   opts.MaxToolOutput,
		whole:   map[*session.Event]bool{},
		recall:  opts.Recall,
	}
	for _, e := range view[max(0, len(view)-opts.RecentEvents):] {
		b.whole[e] = true
	}
	return b.build(view)
}

// Visible are the events that an agent of the branch and scope may see; see
// SeesBranch.
func Visible(events []*session.Event, branch, scope string) []*session.Event {
	var visible []*session.Event
	for _, e := range events {
		if e.IsolationScope == scope && SeesBranch(branch, e.Branch) {
			visible = append(visible, e)
		}
	}
	return visible
}

// SeesBranch reports whether a reader on one branch sees events of another: of
// its own and of those above it, and at the root of all, as in the ADKs.
func SeesBranch(reader, branch string) bool {
	return reader == "" || branch == "" || reader == branch || strings.HasPrefix(reader, branch+".")
}

func withoutRecords(events []*session.Event) []*session.Event {
	var raw []*session.Event
	for _, e := range events {
		if e.Actions.Compaction == nil {
			raw = append(raw, e)
		}
	}
	return raw
}

// currentTurn is view from the latest message of the user, or of another
// agent, on. A summary is neither.
func currentTurn(view []*session.Event, agent string) []*session.Event {
	for i := len(view) - 1; i >= 0; i-- {
		e := view[i]
		if e.Actions.Compaction != nil {
			continue
		}
		if (e.Author == "user" && IsMessage(e)) || isForeign(e, agent) {
			return view[i:]
		}
	}
	return view
}

// IsMessage reports whether e says something besides responses to calls.
func IsMessage(e *session.Event) bool {
	if e.Content == nil {
		return false
	}
	for _, part := range e.Content.Parts {
		if part != nil && part.FunctionResponse == nil {
			return true
		}
	}
	return false
}

// isForeign reports whether e is what another agent said or did.
func isForeign(e *session.Event, agent string) bool {
	return agent != "" && e.Author != "" && e.Author != "user" && e.Author != agent && e.Actions.Compaction == nil
}

// Pairings are the calls and responses of a log as each of its possible readers
// pairs them: an agent sees what its branch and scope may see, and is retold
// the calls of other agents. The first is that of one who sees everything.
func Pairings(events []*session.Event) []*Pairs {
	lanes, agents := map[Lane]bool{{}: true}, map[string]bool{}
	for _, e := range events {
		lanes[LaneOf(e)] = true
		if e.Author != "user" {
			agents[e.Author] = true
		}
	}
	pairings := []*Pairs{NewPairs(events)}
	for lane := range lanes {
		visible := Visible(events, lane.Branch, lane.Scope)
		for agent := range agents {
			pairings = append(pairings, NewPairs(ownEvents(visible, agent)))
		}
	}
	return pairings
}

func ownEvents(events []*session.Event, agent string) []*session.Event {
	own := make([]*session.Event, 0, len(events))
	for _, e := range events {
		if !isForeign(e, agent) {
			own = append(own, e)
		}
	}
	return own
}

// builder turns a view into contents.
type builder struct {
	agent    string
	pairs    *Pairs
	emitted  map[*session.Event]bool // call events that are in contents
	limit    int                     // see Options.MaxToolOutput
	whole    map[*session.Event]bool // events that are shown whole all the same
	recall   bool                    // see Options.Recall
	contents []*genai.Content
}

func (b *builder) build(view []*session.Event) []*genai.Content {
	late := b.lateAnswer(view)
	for i := 0; i < len(view); i++ {
		e := view[i]
		switch {
		case e.Actions.Compaction != nil:
			run := i + 1
			for run < len(view) && view[run].Actions.Compaction != nil {
				run++
			}
			b.add(fenced(view[i:run], b.recall))
			i = run - 1
		case isForeign(e, b.agent):
			b.add(retold(e))
		default:
			last := i == len(view)-1
			if e != late {
				b.addCalls(e)
			}
			for _, r := range b.pairs.Responses(e) {
				if r.Call != nil && (last || r.Call.Event != late) {
					b.addCalls(r.Call.Event)
				}
			}
			if len(b.pairs.Calls(e)) == 0 {
				b.add(message(e))
			}
		}
	}
	return b.contents
}

// lateAnswer is the event of the calls that the last event of the view
// answers. However long ago they were made, they stand at the end of the
// prompt with their answer, where the model goes on from.
func (b *builder) lateAnswer(view []*session.Event) *session.Event {
	if len(view) == 0 {
		return nil
	}
	responses := b.pairs.Responses(view[len(view)-1])
	if len(responses) == 0 || responses[0].Call == nil {
		return nil
	}
	return responses[0].Call.Event
}

func (b *builder) add(content *genai.Content) {
	if content != nil && len(content.Parts) > 0 {
		b.contents = append(b.contents, content)
	}
}

// addCalls adds the content of an event that holds calls, and behind it one
// content with the newest response to each. A call without a response is left
// out, as no provider takes it; a long-running one gets a response that says
// that it is pending.
func (b *builder) addCalls(e *session.Event) {
	calls := b.pairs.Calls(e)
	if len(calls) == 0 || b.emitted[e] {
		return
	}
	b.emitted[e] = true
	dropped := map[*genai.FunctionCall]bool{}
	answers := &genai.Content{Role: genai.RoleUser}
	for _, c := range calls {
		switch latest := c.Latest(); {
		case IsFrameworkCall(c.Call.Name):
			dropped[c.Call] = true
		case latest != nil:
			answers.Parts = append(answers.Parts, &genai.Part{FunctionResponse: b.shown(latest)})
		case c.LongRunning:
			answers.Parts = append(answers.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID: c.Call.ID, Name: c.Call.Name, Response: map[string]any{"status": "pending"},
			}})
		default:
			dropped[c.Call] = true
		}
	}
	said := &genai.Content{Role: genai.RoleModel}
	for _, part := range e.Content.Parts {
		if part != nil && !dropped[part.FunctionCall] && isShown(part) {
			said.Parts = append(said.Parts, clone.Of(part))
		}
	}
	if len(answers.Parts) == 0 && !hasText(said) {
		return
	}
	b.add(said)
	b.add(answers)
}

// shown is a tool result as the model is shown it: whole, or its head and tail
// with what was left out and where the rest is.
func (b *builder) shown(r *Response) *genai.FunctionResponse {
	if b.limit <= 0 || b.whole[r.Event] {
		return clone.Of(r.Response)
	}
	text := []rune(compactJSON(r.Response.Response))
	if len(text) <= b.limit+len(r.Event.ID)+80 { // the note is not worth it
		return clone.Of(r.Response)
	}
	head := b.limit * 2 / 3
	tail := b.limit - head
	where := "the whole result is in event " + r.Event.ID
	if b.recall {
		where = fmt.Sprintf(`for the whole result call %s {"around": %q}`, RecallName, r.Event.ID)
	}
	return &genai.FunctionResponse{ID: r.Response.ID, Name: r.Response.Name, Response: map[string]any{
		"shortened": fmt.Sprintf("%s [%d characters left out; %s] %s",
			string(text[:head]), len(text)-b.limit, where, string(text[len(text)-tail:])),
	}}
}

// message is the content of an event that holds no calls, without the
// responses in it, which stand behind their calls.
func message(e *session.Event) *genai.Content {
	if e.Content == nil {
		return nil
	}
	content := &genai.Content{Role: e.Content.Role}
	if content.Role == "" {
		content.Role = genai.RoleModel
		if e.Author == "user" {
			content.Role = genai.RoleUser
		}
	}
	for _, part := range e.Content.Parts {
		if part != nil && part.FunctionResponse == nil && isShown(part) {
			content.Parts = append(content.Parts, clone.Of(part))
		}
	}
	if !hasText(content) {
		return nil
	}
	return content
}

// isShown reports whether a part goes to the model: not if it is empty, and not
// if it is a thought that carries no signature to give back.
func isShown(part *genai.Part) bool {
	if part.Thought && len(part.ThoughtSignature) == 0 {
		return false
	}
	return part.Text != "" || part.FunctionCall != nil || part.FunctionResponse != nil || part.InlineData != nil ||
		part.FileData != nil || part.ExecutableCode != nil || part.CodeExecutionResult != nil || len(part.ThoughtSignature) > 0
}

// hasText reports whether content says anything besides thoughts.
func hasText(content *genai.Content) bool {
	for _, part := range content.Parts {
		if !part.Thought {
			return true
		}
	}
	return false
}

// IsFrameworkCall reports whether a call is a question to the client, of which
// the model knows nothing.
func IsFrameworkCall(name string) bool {
	return name == toolconfirmation.FunctionCallName || name == AuthCallName
}

// retold is what another agent said and did, as the user would tell it. Its
// thoughts are its own.
func retold(e *session.Event) *genai.Content {
	if e.Content == nil {
		return nil
	}
	content := &genai.Content{Role: genai.RoleUser}
	say := func(format string, args ...any) {
		content.Parts = append(content.Parts, &genai.Part{Text: fmt.Sprintf(format, args...)})
	}
	for _, part := range e.Content.Parts {
		switch {
		case part == nil || part.Thought:
		case part.Text != "":
			say("[%s] wrote: %s", e.Author, part.Text)
		case part.FunctionCall != nil && !IsFrameworkCall(part.FunctionCall.Name):
			say("[%s] used the tool %s with %s", e.Author, part.FunctionCall.Name, compactJSON(part.FunctionCall.Args))
		case part.FunctionResponse != nil && !IsFrameworkCall(part.FunctionResponse.Name):
			say("[%s] got from the tool %s: %s", e.Author, part.FunctionResponse.Name, compactJSON(part.FunctionResponse.Response))
		case part.InlineData != nil || part.FileData != nil || part.ExecutableCode != nil || part.CodeExecutionResult != nil:
			content.Parts = append(content.Parts, clone.Of(part))
		}
	}
	if len(content.Parts) > 0 {
		head := &genai.Part{Text: "From another agent of this conversation:"}
		content.Parts = append([]*genai.Part{head}, content.Parts...)
	}
	return content
}

func compactJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
