// Package conversation reads recorded conversations so that they can be played
// again through an agent.
//
//	c, err := conversation.Load("airline.json")
//	for _, turn := range c.Turns {
//		// turn.User goes in; each of turn.Steps is one reply of the model
//		// and the tool results that it led to.
//	}
//
// # Formats
//
// The format is found by looking at the file, not at its name:
//
//   - [OpenAIMessages]: chat messages as {"messages": [...]}, as a bare array,
//     or one message a line.
//   - [ADKSession]: a session as the ADKs export it, camelCase or snake_case.
//   - [CodingAgent]: the log of a coding agent, one entry a line, the first of
//     type "session".
//
// # Turns
//
// A turn is what one run of an agent covers: a user message and the steps up
// to the next one. A run also ends with a reply that led to no tool result, so
// a reply that follows such a reply begins a turn of its own, without a user
// message.
//
// Real logs use a call ID more than once. A tool result belongs to the nearest
// earlier step since the last user message that holds an unanswered call of
// its ID. Calls may stay unanswered (the user interrupted them), but a result
// that answers no open call is an error. A result that was recorded after a
// later reply still stands with its call, before that reply.
//
// # What is kept
//
// A tool result that was recorded as a text is kept verbatim, under "output",
// or under "error" if the log marks it as one, even if the text is JSON: what
// comes out of a map is not what went in. Results and arguments that were
// recorded as JSON objects are maps if they come out of one unchanged; others,
// such as an object with a number that a float64 cannot hold, are kept verbatim
// as well, arguments under "arguments".
//
// System messages at the start are the conversation's System. A later one is
// something that happened in the conversation: it becomes a user message whose
// text begins with [SystemMark].
package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"google.golang.org/genai"
)

// The formats that Parse knows.
const (
	OpenAIMessages = "openai-messages"
	ADKSession     = "adk-session"
	CodingAgent    = "coding-agent"
)

// MaxSize is the size in bytes of the largest file that is read.
const MaxSize = 64 << 20

// SystemMark begins the text of a user message that was recorded as a system
// message in the middle of the conversation.
const SystemMark = "[system message]\n"

// Conversation is a recorded conversation.
type Conversation struct {
	// Format is the format that it was read from.
	Format string
	// System is the system instruction, or empty.
	System string
	// Turns are never empty.
	Turns []Turn
}

// Turn is a user message and the model calls up to the next one.
type Turn struct {
	// User is nil only where the log has a further model reply with no user
	// message before it.
	User *genai.Content
	// Steps are the model calls in order. All but the last led to results.
	Steps []Step
}

// Step is one model call and the tool results that it led to.
type Step struct {
	// Content has the role "model". It is nil when the model said nothing.
	Content *genai.Content
	// ErrorCode and ErrorMessage are set when the recorded call was aborted or
	// failed.
	ErrorCode, ErrorMessage string
	// Usage is what the log says about the call's tokens, or nil.
	Usage *genai.GenerateContentResponseUsageMetadata
	// Results answer calls of Content, each a different one, in the order in
	// which they were recorded.
	Results []Result
}

// Result is what a tool returned for the call with that ID and name.
type Result struct {
	CallID, Name string
	Response     map[string]any
}

// Load reads a recorded conversation from a file of at most MaxSize bytes.
func Load(path string) (*Conversation, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// ReadFile reads a file of at most MaxSize bytes. Errors begin with the path.
func ReadFile(path string) ([]byte, error) {
	data, err := read(path)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > MaxSize {
		return nil, tooLarge(info.Size())
	}
	// A pipe has no size, and a file can grow: Parse sees one byte too many.
	return io.ReadAll(io.LimitReader(file, MaxSize+1))
}

func tooLarge(size int64) error {
	return fmt.Errorf("%d bytes is more than the limit of %d (%d MiB)", size, MaxSize, MaxSize>>20)
}

// Parse reads a recorded conversation. The name is used in errors only, which
// are one line and say where in the data the fault is.
func Parse(name string, data []byte) (*Conversation, error) {
	found, err := open(name, data)
	if err != nil {
		return nil, err
	}
	add := map[string]func(*builder, json.RawMessage) error{
		OpenAIMessages: addOpenAI,
		ADKSession:     addADK,
		CodingAgent:    addCodingAgent,
	}[found.format]
	var b builder
	for _, e := range found.entries {
		if err := add(&b, e.data); err != nil {
			return nil, fmt.Errorf("%s%s%d: %w", name, found.before, e.number, err)
		}
	}
	b.flush()
	if len(b.turns) == 0 {
		return nil, fmt.Errorf("%s: no user message and no model reply in it", name)
	}
	return &Conversation{Format: found.format, System: b.system, Turns: b.turns}, nil
}

// FormatOf finds the format of the data without reading what is said in it.
func FormatOf(name string, data []byte) (string, error) {
	found, err := open(name, data)
	return found.format, err
}

// open checks that the data is text and cuts it into entries.
func open(name string, data []byte) (log, error) {
	if len(data) > MaxSize {
		return log{}, fmt.Errorf("%s: %w", name, tooLarge(int64(len(data))))
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return log{}, fmt.Errorf("%s: the file is empty", name)
	}
	if n := validPrefix(data); n < len(data) {
		return log{}, fmt.Errorf("%s: not UTF-8 text", position(name, data, n+1))
	}
	return split(name, data)
}

// validPrefix returns how many of the first bytes are UTF-8.
func validPrefix(data []byte) int {
	if utf8.Valid(data) {
		return len(data)
	}
	n := 0
	for {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size <= 1 {
			return n
		}
		n += size
	}
}

// log is a file cut into entries.
type log struct {
	format  string
	before  string // stands before an entry's number in errors
	entries []entry
}

// entry is one message, event or line.
type entry struct {
	number int
	data   json.RawMessage
}

// split finds the format of the data and cuts it into entries.
func split(name string, data []byte) (log, error) {
	unknown := fmt.Errorf("%s: unknown format: neither OpenAI chat messages, nor an ADK session, nor a coding agent's log", name)
	if first := bytes.TrimSpace(data)[0]; first != '{' && first != '[' {
		return log{}, unknown
	}
	var whole json.RawMessage
	syntaxErr := json.Unmarshal(data, &whole)
	if syntaxErr == nil {
		if format, noun, list := documentFormat(whole); format != "" {
			found := log{format: format, before: ": " + noun + " "}
			for i, raw := range list {
				found.entries = append(found.entries, entry{i + 1, raw})
			}
			return found, nil
		}
	}
	found := log{before: ":"}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if line = bytes.TrimSpace(line); len(line) > 0 {
			found.entries = append(found.entries, entry{number, line})
		}
	}
	if found.format = lineFormat(found.entries[0].data); found.format != "" {
		return found, nil
	}
	if syntaxErr == nil {
		return log{}, unknown
	}
	end := len(bytes.TrimRight(data, " \t\r\n"))
	var syntax *json.SyntaxError
	if errors.As(syntaxErr, &syntax) {
		end = min(end, int(syntax.Offset))
	}
	return log{}, fmt.Errorf("%s: %w", position(name, data, end), syntaxErr)
}

// position returns file, line and column of the last of the first n bytes.
func position(name string, data []byte, n int) string {
	head := data[:n]
	line := 1 + bytes.Count(head, []byte("\n"))
	column := n - (bytes.LastIndexByte(head, '\n') + 1)
	return fmt.Sprintf("%s:%d:%d", name, line, column)
}

// documentFormat recognises a single JSON value and returns its entries and
// what one of them is called.
func documentFormat(whole json.RawMessage) (format, noun string, list []json.RawMessage) {
	if json.Unmarshal(whole, &list) == nil {
		if len(list) > 0 && fields(list[0])["role"] == nil {
			return "", "", nil
		}
		return OpenAIMessages, "message", list
	}
	object := fields(whole)
	if raw := object["messages"]; raw != nil && json.Unmarshal(raw, &list) == nil {
		return OpenAIMessages, "message", list
	}
	if raw := object["events"]; raw != nil && json.Unmarshal(raw, &list) == nil {
		return ADKSession, "event", list
	}
	return "", "", nil
}

// lineFormat recognises the first line of a log of one JSON object a line.
func lineFormat(line json.RawMessage) string {
	object := fields(line)
	if object["role"] != nil {
		return OpenAIMessages
	}
	switch string(object["type"]) {
	case `"session"`:
		return CodingAgent
	case `"message"`:
		if fields(object["message"])["role"] != nil {
			return CodingAgent
		}
	}
	return ""
}

// fields returns the members of a JSON object, and nil for anything else.
func fields(raw json.RawMessage) map[string]json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	return object
}
