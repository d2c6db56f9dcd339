package context

import (
	"fmt"
	"strings"

	"google.golang.org/genai"
)

// beginning is the user's part where a conversation begins with the model's.
const beginning = "(The conversation begins.)"

// Normalize gives contents the form that every provider takes: the user
// begins, user and model take turns, no text is blank, and no two calls have
// the same ID. It is the last step before a model: callbacks that look at a
// request find each message, the question above all, as a content of its own.
//
// contents and their parts are not changed; those returned may share parts
// with them.
func Normalize(contents []*genai.Content) []*genai.Content {
	var turns []*genai.Content
	ids := callIDs{taken: map[string]bool{}, renamed: map[string][]string{}}
	for _, content := range contents {
		if content == nil {
			continue
		}
		turn := &genai.Content{Role: content.Role}
		if turn.Role != genai.RoleModel {
			turn.Role = genai.RoleUser
		}
		for _, part := range content.Parts {
			if part != nil && !isBlank(part) {
				turn.Parts = append(turn.Parts, ids.unique(part))
			}
		}
		switch n := len(turns); {
		case len(turn.Parts) == 0:
		case n > 0 && turns[n-1].Role == turn.Role:
			turns[n-1].Parts = append(turns[n-1].Parts, turn.Parts...)
		case n == 0 && turn.Role == genai.RoleModel:
			turns = append(turns, genai.NewContentFromText(beginning, genai.RoleUser), turn)
		default:
			turns = append(turns, turn)
		}
	}
	return turns
}

// isBlank reports whether a part has nothing but white space, which some
// providers refuse.
func isBlank(part *genai.Part) bool {
	if strings.TrimSpace(part.Text) != "" {
		return false
	}
	return part.FunctionCall == nil && part.FunctionResponse == nil && part.InlineData == nil && part.FileData == nil &&
		part.ExecutableCode == nil && part.CodeExecutionResult == nil && len(part.ThoughtSignature) == 0
}

// callIDs gives a call whose ID another call has an ID of its own, and the
// response behind it the same.
type callIDs struct {
	taken   map[string]bool
	renamed map[string][]string // by ID in the log: those of the calls whose response is to come
}

func (c callIDs) unique(part *genai.Part) *genai.Part {
	switch {
	case part.FunctionCall != nil && part.FunctionCall.ID != "":
		old := part.FunctionCall.ID
		id := old
		for n := 2; c.taken[id]; n++ {
			id = fmt.Sprintf("%s-%d", old, n)
		}
		c.taken[id] = true
		c.renamed[old] = append(c.renamed[old], id)
		if id != old {
			call := *part.FunctionCall
			call.ID = id
			renamed := *part
			renamed.FunctionCall = &call
			return &renamed
		}
	case part.FunctionResponse != nil && len(c.renamed[part.FunctionResponse.ID]) > 0:
		old := part.FunctionResponse.ID
		id := c.renamed[old][0]
		c.renamed[old] = c.renamed[old][1:]
		if id != old {
			response := *part.FunctionResponse
			response.ID = id
			renamed := *part
			renamed.FunctionResponse = &response
			return &renamed
		}
	}
	return part
}
