// Package sessionfile writes sessions into files and reads them back.
//
//	err := sessionfile.Write(w, sessionfile.ADK, s, sessionfile.Options{})
//	...
//	file, err := sessionfile.Read(ctx, "session.json", data, sessionfile.ReadOptions{})
//	for _, e := range file.Events {
//		// append e to a session
//	}
//
// # Formats
//
//   - [ADK] is the JSON of a session as the ADKs have it. Nothing is lost: what
//     is read back is the same log. It is one JSON object, an event a line.
//   - [OpenAI] are chat messages. They hold what a provider takes: who said
//     what, calls and their results.
//   - [Markdown] is for people, and is not read.
//
// # Trust
//
// A compaction record hides events and puts a text in their place. In a file it
// may be anybody's, so it is cleared unless ReadOptions.TrustRecords is set.
package sessionfile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/conversation"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
)

// The formats that Write knows.
const (
	ADK      = "adk"
	OpenAI   = "openai"
	Markdown = "markdown"
)

// Formats are those that Write knows.
var Formats = []string{ADK, OpenAI, Markdown}

// Options say what Write writes.
type Options struct {
	// Compacted writes, of the messages of OpenAI, what a model would be sent:
	// summaries in place of what they stand in for.
	Compacted bool
}

// Write writes a session that was read whole.
func Write(w io.Writer, format string, s session.Session, opts Options) error {
	switch format {
	case ADK:
		return writeADK(w, s)
	case OpenAI:
		return writeOpenAI(w, slices.Collect(s.Events().All()), opts.Compacted)
	case Markdown:
		return writeMarkdown(w, s)
	}
	return fmt.Errorf("there is no format %q", format)
}

// File is what was read from a file.
type File struct {
	// Format is one of those of package conversation.
	Format string
	// AppName, UserID and ID are empty where the file does not say.
	AppName, UserID, ID string
	// State is that of the session alone, without what its application and its
	// user share.
	State  map[string]any
	Events []*session.Event
	// System is the system message, which is no part of a session.
	System string
	// Cleared is the number of compaction records that were in the file and are
	// not in Events.
	Cleared int
}

// ReadOptions say how Read reads.
type ReadOptions struct {
	// TrustRecords keeps compaction records.
	TrustRecords bool
	// Agent is the author of what the model said, in formats that do not name
	// it. The default is "assistant".
	Agent string
}

// Read reads a session from an ADK session, OpenAI messages, or another format
// of package conversation. Events of formats without times and IDs get those of
// package platform. The name is used in errors only.
func Read(ctx context.Context, name string, data []byte, opts ReadOptions) (*File, error) {
	format, err := conversation.FormatOf(name, data)
	if err != nil {
		return nil, err
	}
	if format == conversation.ADKSession {
		return readADK(name, data, opts.TrustRecords)
	}
	c, err := conversation.Parse(name, data)
	if err != nil {
		return nil, err
	}
	agent := opts.Agent
	if agent == "" {
		agent = "assistant"
	}
	m := maker{ctx: ctx, agent: agent, now: platform.Now(ctx).UTC().Truncate(time.Microsecond)}
	for _, turn := range c.Turns {
		m.turn(turn)
	}
	return &File{Format: format, System: c.System, Events: m.events}, nil
}

// maker makes events of a conversation, a microsecond apart.
type maker struct {
	ctx        context.Context
	agent      string
	now        time.Time
	invocation string
	events     []*session.Event
}

func (m *maker) turn(turn conversation.Turn) {
	m.invocation = "e-" + platform.NewUUID(m.ctx)
	if turn.User != nil {
		m.add("user", model.LLMResponse{Content: turn.User})
	}
	for _, step := range turn.Steps {
		m.add(m.agent, model.LLMResponse{
			Content: step.Content, ErrorCode: step.ErrorCode, ErrorMessage: step.ErrorMessage, UsageMetadata: step.Usage,
		})
		if len(step.Results) == 0 {
			continue
		}
		content := &genai.Content{Role: genai.RoleUser}
		for _, r := range step.Results {
			content.Parts = append(content.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: r.CallID, Name: r.Name, Response: r.Response}})
		}
		m.add(m.agent, model.LLMResponse{Content: content})
	}
}

func (m *maker) add(author string, response model.LLMResponse) {
	e := session.NewEvent(m.ctx, m.invocation)
	e.Author, e.LLMResponse, e.Timestamp = author, response, m.now
	m.now = m.now.Add(time.Microsecond)
	m.events = append(m.events, e)
}

// toJSON is JSON in which "<" is not escaped.
func toJSON(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
