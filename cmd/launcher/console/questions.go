package console

import (
	"encoding/json"
	"slices"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// question is a call that the user answers.
type question struct {
	author   string
	id, name string
	// hint and original are set where consent is asked for: for the call
	// original.
	hint     string
	original *genai.FunctionCall
}

// questions are those that came up and were not put yet.
type questions struct {
	confirmations []question
	waiting       []question // long-running calls
}

// add takes the questions of an event.
func (q *questions) add(event *session.Event) {
	if event.Partial || event.Content == nil {
		return
	}
	for _, part := range event.Content.Parts {
		if part == nil || part.FunctionCall == nil {
			continue
		}
		call := part.FunctionCall
		asked := question{author: event.Author, id: call.ID, name: call.Name}
		if call.Name == toolconfirmation.FunctionCallName {
			if original, err := toolconfirmation.OriginalCallFrom(call); err == nil {
				asked.original, asked.hint = original, hintOf(call)
				q.confirmations = append(q.confirmations, asked)
			}
		} else if slices.Contains(event.LongRunningToolIDs, call.ID) {
			q.waiting = append(q.waiting, asked)
		}
	}
}

func (q *questions) takeConfirmations() []question {
	taken := q.confirmations
	q.confirmations = nil
	return taken
}

func (q *questions) takeWaiting() []question {
	taken := q.waiting
	q.waiting = nil
	return taken
}

// drop forgets a call that will not be made.
func (q *questions) drop(callID string) {
	q.waiting = slices.DeleteFunc(q.waiting, func(w question) bool { return w.id == callID })
}

// hintOf is what a tool tells the user about its question.
func hintOf(call *genai.FunctionCall) string {
	var asked toolconfirmation.ToolConfirmation
	data, err := json.Marshal(call.Args["toolConfirmation"])
	if err == nil {
		err = json.Unmarshal(data, &asked)
	}
	if err != nil {
		return ""
	}
	return asked.Hint
}

// responseOf is what the user typed: an object in JSON, or a text.
func responseOf(text string) map[string]any {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return object
	}
	return map[string]any{"result": text}
}

// replies are the parts that answer agents. Each agent gets a message of its
// own, as a message is answered by one.
type replies []reply

type reply struct {
	author string
	parts  []*genai.Part
}

func (r *replies) add(q question, response map[string]any) {
	part := &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: q.id, Name: q.name, Response: response}}
	i := slices.IndexFunc(*r, func(known reply) bool { return known.author == q.author })
	if i < 0 {
		*r = append(*r, reply{author: q.author})
		i = len(*r) - 1
	}
	(*r)[i].parts = append((*r)[i].parts, part)
}

func (r replies) messages() []*genai.Content {
	var messages []*genai.Content
	for _, reply := range r {
		messages = append(messages, &genai.Content{Role: genai.RoleUser, Parts: reply.parts})
	}
	return messages
}
