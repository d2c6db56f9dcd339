package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/conversation"
)

// Question is one about a conversation, with the turns that answer it.
type Question struct {
	// Category is a number of the data set.
	Category int
	Question string
	// Answer is the right one. If there is none, nothing in the conversation
	// answers the question, and whoever says so is right.
	Answer string
	// Evidence are the texts of the turns that hold the answer.
	Evidence []string
	// Unknown is the number of pieces of evidence that name no turn.
	Unknown int
}

// unanswerable is the category of questions that have no answer.
const unanswerable = 5

// sample is a conversation of the format, and the questions about it.
type sample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question *string         `json:"question"`
		Answer   json.RawMessage `json:"answer"`
		Evidence []string        `json:"evidence"`
		Category *int            `json:"category"`
	} `json:"qa"`
}

// message is one thing that somebody says.
type message struct {
	Speaker *string `json:"speaker"`
	ID      *string `json:"dia_id"`
	Text    *string `json:"text"`
	Caption string  `json:"blip_caption"`
}

// DecodeLoCoMo reads a list of conversations and questions in the format of the
// data set LoCoMo. The name is used in errors, which say where the fault is, and
// in the names of the cases. Fields that are not known do not matter, nor does
// evidence that names no turn: it is counted.
func DecodeLoCoMo(name string, data []byte) ([]Case, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s: not UTF-8 text", name)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", name, place(data, err))
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("%s: there is no sample in it", name)
	}
	var cases []Case
	for i, one := range raw {
		var s sample
		err := json.Unmarshal(one, &s)
		var c Case
		if err == nil {
			c, err = s.decode()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: sample %d: %w", name, i+1, err)
		}
		c.Name = name + ": " + s.ID
		if s.ID == "" {
			c.Name = fmt.Sprintf("%s: sample %d", name, i+1)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// place adds line and column to an error of JSON.
func place(data []byte, err error) error {
	offset := len(data)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = int(syntax.Offset)
	case errors.As(err, &kind):
		offset = int(kind.Offset)
	}
	head := data[:min(offset, len(data))]
	line := 1 + bytes.Count(head, []byte("\n"))
	return fmt.Errorf("%d:%d: %w", line, len(head)-bytes.LastIndexByte(head, '\n')-1, err)
}

func (s sample) decode() (Case, error) {
	if s.Conversation == nil {
		return Case{}, errors.New("it has no conversation")
	}
	speakers := [2]string{}
	for i, key := range []string{"speaker_a", "speaker_b"} {
		if err := json.Unmarshal(s.Conversation[key], &speakers[i]); err != nil || speakers[i] == "" {
			return Case{}, fmt.Errorf("conversation.%s is not a name", key)
		}
	}
	if speakers[0] == speakers[1] {
		return Case{}, fmt.Errorf("both speakers are named %q", speakers[0])
	}
	c := Case{Talk: &conversation.Conversation{Format: "locomo", System: fmt.Sprintf(
		"You are %s, in a long conversation with %s. Each message begins with the name of who says it, the first of a day with the date.", speakers[1], speakers[0])}}
	texts := map[string]string{}
	for _, n := range s.sessions() {
		if err := s.session(n, speakers, c.Talk, texts); err != nil {
			return c, err
		}
	}
	if len(c.Talk.Turns) == 0 {
		return c, errors.New("conversation has no session with a message")
	}
	for i, qa := range s.QA {
		q := Question{}
		switch {
		case qa.Question == nil || strings.TrimSpace(*qa.Question) == "":
			return c, fmt.Errorf("qa[%d] has no question", i)
		case qa.Category == nil:
			return c, fmt.Errorf("qa[%d] has no category", i)
		}
		q.Question, q.Category = *qa.Question, *qa.Category
		answer, err := scalar(qa.Answer)
		if err != nil || answer == "" && q.Category != unanswerable {
			return c, fmt.Errorf("qa[%d].answer is neither a text nor a number", i)
		}
		if q.Category != unanswerable {
			q.Answer = answer
		}
		q.evidence(qa.Evidence, texts)
		c.Questions = append(c.Questions, q)
	}
	return c, nil
}

// evidence finds the turns; several may stand in one text.
func (q *Question) evidence(ids []string, texts map[string]string) {
	var split []string
	for _, text := range ids {
		split = append(split, strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ;,()", r) })...)
	}
	for _, id := range split {
		if text := texts[id]; text == "" {
			q.Unknown++
		} else if !slices.Contains(q.Evidence, text) {
			q.Evidence = append(q.Evidence, text)
		}
	}
}

func scalar(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text), nil
	}
	var number json.Number
	err := json.Unmarshal(raw, &number)
	return number.String(), err
}

// sessions are the numbers of the sessions in order.
func (s sample) sessions() []int {
	var numbers []int
	for key := range s.Conversation {
		if n, err := strconv.Atoi(strings.TrimPrefix(key, "session_")); err == nil && key == fmt.Sprintf("session_%d", n) && n > 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// session adds the turns of a session: speaker a is the user, speaker b the
// model. If the model begins, the user has said what day it is.
func (s sample) session(n int, speakers [2]string, c *conversation.Conversation, texts map[string]string) error {
	at := fmt.Sprintf("session_%d", n)
	var messages []message
	if err := json.Unmarshal(s.Conversation[at], &messages); err != nil {
		return fmt.Errorf("conversation.%s: %w", at, err)
	}
	date := fmt.Sprintf("[session %d]", n)
	if raw := s.Conversation[at+"_date_time"]; raw != nil {
		if err := json.Unmarshal(raw, &date); err != nil {
			return fmt.Errorf("conversation.%s_date_time is not a text", at)
		}
		date = "[" + date + "]"
	}
	for i, m := range messages {
		where := fmt.Sprintf("conversation.%s[%d]", at, i)
		switch {
		case m.Speaker == nil || !slices.Contains(speakers[:], *m.Speaker):
			return fmt.Errorf("%s.speaker is neither %q nor %q", where, speakers[0], speakers[1])
		case m.ID == nil || *m.ID == "":
			return fmt.Errorf("%s has no dia_id", where)
		case m.Text == nil:
			return fmt.Errorf("%s has no text", where)
		case texts[*m.ID] != "":
			return fmt.Errorf("%s.dia_id is %q, as that of another message", where, *m.ID)
		}
		said := *m.Speaker + ": " + *m.Text
		if m.Caption != "" {
			said += " [shows a picture: " + m.Caption + "]"
		}
		texts[*m.ID] = said
		model := *m.Speaker == speakers[1]
		if i == 0 {
			if model {
				c.Turns = append(c.Turns, conversation.Turn{User: genai.NewContentFromText(date, genai.RoleUser)})
			} else {
				said = date + "\n" + said
			}
		}
		if !model {
			c.Turns = append(c.Turns, conversation.Turn{User: genai.NewContentFromText(said, genai.RoleUser)})
			continue
		}
		last := &c.Turns[len(c.Turns)-1]
		if len(last.Steps) > 0 {
			c.Turns = append(c.Turns, conversation.Turn{})
			last = &c.Turns[len(c.Turns)-1]
		}
		last.Steps = []conversation.Step{{Content: genai.NewContentFromText(said, genai.RoleModel)}}
	}
	return nil
}
