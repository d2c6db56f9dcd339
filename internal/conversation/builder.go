package conversation

import (
	"cmp"
	"fmt"
	"strings"

	"google.golang.org/genai"
)

// builder puts the messages of a log together to turns.
type builder struct {
	system string
	turns  []Turn

	// The exchange since the last user message. It is cut into turns when it
	// is complete, because a result can come after a later reply.
	user  *genai.Content
	steps []*Step
	open  []call

	seen map[call]bool // all calls, answered or not, without their steps
}

// call is a function call that a step holds.
type call struct {
	step     *Step
	id, name string
}

// answeredBy reports whether a result with that ID and name is for the call.
// Where a log has no IDs the name decides.
func (c call) answeredBy(id, name string) bool {
	return c.id == id && (id != "" || c.name == name)
}

func (b *builder) addSystem(text string) {
	switch {
	case len(b.turns) > 0 || b.user != nil || len(b.steps) > 0:
		b.addUser([]*genai.Part{{Text: SystemMark + text}})
	case b.system == "":
		b.system = text
	case text != "":
		b.system += "\n\n" + text
	}
}

func (b *builder) addUser(parts []*genai.Part) {
	b.flush()
	if len(parts) == 0 {
		parts = []*genai.Part{{}}
	}
	b.user = &genai.Content{Role: genai.RoleUser, Parts: parts}
}

func (b *builder) addStep(step Step, parts []*genai.Part) {
	if len(parts) > 0 {
		step.Content = &genai.Content{Role: genai.RoleModel, Parts: parts}
	}
	b.steps = append(b.steps, &step)
	for _, p := range parts {
		if fc := p.FunctionCall; fc != nil {
			b.open = append(b.open, call{&step, fc.ID, fc.Name})
			if b.seen == nil {
				b.seen = map[call]bool{}
			}
			b.seen[seenKey(fc.ID, fc.Name)] = true
		}
	}
}

// addResult gives the result to the step that it belongs to. The name is that
// of the call, whatever the log says beside the result.
func (b *builder) addResult(id, name string, response map[string]any) error {
	found := -1
	for i, c := range b.open {
		// The last step that matches, and in it the first call.
		if c.answeredBy(id, name) && (found < 0 || c.step != b.open[found].step) {
			found = i
		}
	}
	if found < 0 {
		return fmt.Errorf("tool result %q answers no open call", cmp.Or(id, name))
	}
	c := b.open[found]
	c.step.Results = append(c.step.Results, Result{CallID: c.id, Name: c.name, Response: response})
	b.open = append(b.open[:found], b.open[found+1:]...)
	return nil
}

// addLate adds a function response that came from outside after the run of its
// call was over. It stands beside other such responses if no reply came since.
func (b *builder) addLate(part *genai.Part) {
	if b.user != nil && len(b.steps) == 0 && b.user.Parts[len(b.user.Parts)-1].FunctionResponse != nil {
		b.user.Parts = append(b.user.Parts, part)
		return
	}
	b.addUser([]*genai.Part{part})
}

// wasCalled reports whether there was such a call anywhere before.
func (b *builder) wasCalled(id, name string) bool {
	return b.seen[seenKey(id, name)]
}

// inExchange reports whether there was such a call since the last user message.
func (b *builder) inExchange(id, name string) bool {
	for _, step := range b.steps {
		if step.Content == nil {
			continue
		}
		for _, p := range step.Content.Parts {
			if fc := p.FunctionCall; fc != nil && seenKey(fc.ID, fc.Name) == seenKey(id, name) {
				return true
			}
		}
	}
	return false
}

func seenKey(id, name string) call {
	if id != "" {
		name = ""
	}
	return call{id: id, name: name}
}

// flush ends the exchange and cuts it after each step that has no results.
func (b *builder) flush() {
	turn := Turn{User: b.user}
	for i, step := range b.steps {
		if i > 0 && len(b.steps[i-1].Results) == 0 {
			b.turns = append(b.turns, turn)
			turn = Turn{}
		}
		turn.Steps = append(turn.Steps, *step)
	}
	if turn.User != nil || len(turn.Steps) > 0 {
		b.turns = append(b.turns, turn)
	}
	b.user, b.steps, b.open = nil, nil, nil
}

// textParts returns the text as parts: none if it is empty.
func textParts(text string) []*genai.Part {
	if text == "" {
		return nil
	}
	return []*genai.Part{{Text: text}}
}

// joinText returns the text of the parts, a line for each.
func joinText(parts []*genai.Part) string {
	var lines []string
	for _, p := range parts {
		switch {
		case p.InlineData != nil:
			lines = append(lines, "["+p.InlineData.MIMEType+"]")
		case p.FileData != nil:
			lines = append(lines, "["+p.FileData.FileURI+"]")
		default:
			lines = append(lines, p.Text)
		}
	}
	return strings.Join(lines, "\n")
}
