// Package dialog is what adapters of models share whose providers are stricter
// than the types of genai: conversations in the order that these providers
// accept, JSON schemas, and parameters by name.
//
//	messages, err := dialog.Messages(req.Contents, dialog.Rules{})
//	for _, message := range messages {
//		... translate message.Parts ...
//	}
package dialog

import (
	"fmt"
	"slices"

	"google.golang.org/genai"
)

const (
	// GoOn is said for the user where a conversation ends with the model's
	// words, or has none.
	GoOn = "Go on as the system instruction says."
	// Opening is said for the user where a conversation begins with the model's
	// words.
	Opening = "(You speak first.)"
)

// Message is what one side says until the other one does. In a message of the
// user the function responses come first.
type Message struct {
	Role  string // genai.RoleUser or genai.RoleModel
	Parts []Part
}

// Part is a part of a message.
type Part struct {
	*genai.Part
	// At is where it stood, such as "contents[2].parts[0]".
	At string
	// ID is that of a call and of its response as it goes to the provider. It
	// is unique in the conversation.
	ID string
}

// Rules are what differs between providers.
type Rules struct {
	// ValidID reports whether the provider takes an ID of a call. Nil: any.
	ValidID func(id string) bool
	// Keep reports whether a part goes to the provider. Nil: all do.
	Keep func(*genai.Part) bool
}

// Messages arranges a conversation: the user begins and ends, both sides
// alternate, and the message behind one with calls begins with the responses to
// them, in their order. Of several responses to one call the last holds. A
// response belongs to the last call of its ID before it; where one of them has
// no ID, to the first call of its name that has no response. IDs that are
// missing, repeated or not valid for the provider are replaced.
//
// A call without a response, or a response without a call, is an error.
func Messages(contents []*genai.Content, rules Rules) ([]Message, error) {
	a := arranger{rules: rules, taken: map[string]bool{}}
	for i, content := range contents {
		if content == nil {
			continue
		}
		for j, part := range content.Parts {
			if part == nil || kind(part) == "" || rules.Keep != nil && !rules.Keep(part) {
				continue
			}
			if err := a.add(content.Role, Part{Part: part, At: fmt.Sprintf("contents[%d].parts[%d]", i, j)}); err != nil {
				return nil, err
			}
		}
	}
	a.nameCalls()
	return a.messages()
}

// arranger collects the calls with their responses, and everything else in
// messages as it comes.
type arranger struct {
	rules  Rules
	taken  map[string]bool // all IDs that calls came with
	calls  []*call
	blocks []*block
	open   bool // whether the last block goes on
}

type call struct {
	part     Part
	response *Part
}

type block struct {
	role  string
	parts []Part
	calls []*call
}

func (a *arranger) add(role string, part Part) error {
	switch {
	case part.FunctionResponse != nil:
		answered := a.callOf(part.FunctionResponse)
		if answered == nil {
			return fmt.Errorf("%s: the response of %q (ID %q) has no call before it", part.At, part.FunctionResponse.Name, part.FunctionResponse.ID)
		}
		answered.response = &part
		a.open = false
		return nil
	case part.FunctionCall != nil:
		b := a.block(genai.RoleModel)
		made := &call{part: part}
		a.calls, b.calls = append(a.calls, made), append(b.calls, made)
		b.parts = append(b.parts, part)
		a.taken[part.FunctionCall.ID] = true
		return nil
	}
	if role != genai.RoleModel {
		role = genai.RoleUser
	}
	b := a.block(role)
	b.parts = append(b.parts, part)
	return nil
}

// block is the last block if it goes on in that role, or a new one.
func (a *arranger) block(role string) *block {
	if n := len(a.blocks); a.open && a.blocks[n-1].role == role {
		return a.blocks[n-1]
	}
	b := &block{role: role}
	a.blocks, a.open = append(a.blocks, b), true
	return b
}

func (a *arranger) callOf(response *genai.FunctionResponse) *call {
	for _, c := range slices.Backward(a.calls) {
		if response.ID != "" && c.part.FunctionCall.ID == response.ID {
			return c
		}
	}
	var named *call
	for _, c := range a.calls {
		made := c.part.FunctionCall
		switch {
		case made.Name != response.Name || c.response != nil:
		case made.ID == "":
			return c
		case response.ID == "" && named == nil:
			named = c
		}
	}
	return named
}

// nameCalls gives each call and its response an ID that no other has.
func (a *arranger) nameCalls() {
	used, number := map[string]bool{}, 0
	for _, b := range a.blocks {
		calls := b.calls
		for i, part := range b.parts {
			if part.FunctionCall == nil {
				continue
			}
			id := part.FunctionCall.ID
			for id == "" || used[id] || a.rules.ValidID != nil && !a.rules.ValidID(id) {
				number++
				if next := fmt.Sprintf("call-%d", number); !a.taken[next] {
					id = next
				}
			}
			used[id] = true
			b.parts[i].ID = id
			if response := calls[0].response; response != nil {
				response.ID = id
			}
			calls = calls[1:]
		}
	}
}

func (a *arranger) messages() ([]Message, error) {
	var messages []Message
	say := func(role string, parts ...Part) {
		if n := len(messages); n > 0 && messages[n-1].Role == role {
			messages[n-1].Parts = append(messages[n-1].Parts, parts...)
			return
		}
		messages = append(messages, Message{Role: role, Parts: parts})
	}
	words := func(text string) Part { return Part{Part: &genai.Part{Text: text}} }
	if len(a.blocks) > 0 && a.blocks[0].role == genai.RoleModel {
		say(genai.RoleUser, words(Opening))
	}
	for _, b := range a.blocks {
		say(b.role, b.parts...)
		for _, c := range b.calls {
			if c.response == nil {
				return nil, fmt.Errorf("%s: the call of %q (ID %q) has no response", c.part.At, c.part.FunctionCall.Name, c.part.FunctionCall.ID)
			}
			say(genai.RoleUser, *c.response)
		}
	}
	if n := len(messages); n == 0 || messages[n-1].Role == genai.RoleModel {
		say(genai.RoleUser, words(GoOn))
	}
	return messages, nil
}
