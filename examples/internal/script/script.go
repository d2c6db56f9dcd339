// Package script runs the examples in tests: against a local server that speaks
// Gemini's protocol and answers by a script, with the input that a person would
// type.
//
//	model := script.Gemini(t,
//		script.Call("weather", map[string]any{"city": "Oslo"}),
//		script.Say("It is snowing."),
//	)
//	printed := script.Run(t, main, "How is the weather in Oslo?\n")
//	sent := model.Sent(1)
//
// The programs are run as they are: nothing in them knows of the test.
package script

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"
)

// Answer is what the model says when it is asked once.
type Answer struct {
	parts   []*genai.Part
	refused genai.BlockedReason
	when    string
}

// Say is an answer in words. Where a stream is asked for it comes in these
// pieces, else whole.
func Say(pieces ...string) Answer {
	var a Answer
	for _, piece := range pieces {
		a.parts = append(a.parts, &genai.Part{Text: piece})
	}
	return a
}

// Call is an answer that calls a tool.
func Call(name string, args map[string]any) Answer {
	return Answer{parts: []*genai.Part{{FunctionCall: &genai.FunctionCall{Name: name, Args: args}}}}
}

// And is an answer that does both.
func (a Answer) And(b Answer) Answer {
	a.parts = append(slices.Clip(a.parts), b.parts...)
	return a
}

// Refuse is what the service sends in place of an answer to a prompt that it
// refuses, such as for the reason "PROHIBITED_CONTENT".
func Refuse(reason genai.BlockedReason) Answer {
	return Answer{refused: reason}
}

// When keeps the answer for a request whose instruction or conversation holds
// the text, for agents that ask at the same time.
func (a Answer) When(text string) Answer {
	a.when = text
	return a
}

// Request is what the model was sent.
type Request struct {
	// System is the instruction.
	System string
	// Tools are the names of the tools that it may call.
	Tools []string
	// Conversation has a line for each part, such as
	//
	//	user: How is the weather in Oslo?
	//	model calls weather {"city":"Oslo"}
	//	weather gives {"sky":"snow"}
	Conversation string
}

// Tokens is a rough count of what was sent, in tokens of four bytes. The server
// reports it as the size of the prompt.
func (r Request) Tokens() int {
	return (len(r.System) + len(r.Conversation)) / 4
}

// Model is a scripted model.
type Model struct {
	t    testing.TB
	mu   sync.Mutex
	open []Answer
	sent []Request
}

// Gemini starts the server, and points Gemini's client to it by the environment
// until the test ends. Each request takes the first answer left that is for it.
// Answers that nobody asked for fail the test; a request too many is refused
// with an error that shows it.
func Gemini(t *testing.T, answers ...Answer) *Model {
	t.Helper()
	m := &Model{t: t, open: slices.Clone(answers)}
	server := httptest.NewServer(m)
	t.Cleanup(func() {
		server.Close()
		for _, a := range m.open {
			t.Errorf("nobody asked for the answer %s", answerText(a))
		}
	})
	t.Setenv("GOOGLE_GEMINI_BASE_URL", server.URL)
	t.Setenv("GOOGLE_API_KEY", "none")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "")
	return m
}

// Sent is the request with that number, from 0.
func (m *Model) Sent(i int) Request {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if i >= len(m.sent) {
		m.t.Fatalf("the model was asked %d times", len(m.sent))
	}
	return m.sent[i]
}

// ServeHTTP answers generateContent and streamGenerateContent.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, err := read(r.Body)
	if err != nil {
		fail(w, err.Error())
		return
	}
	answer, ok := m.take(request)
	if !ok {
		fail(w, "the script has no answer to:\n"+request.Conversation)
		return
	}
	if !strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, marshal(answer.response(answer.whole(), true, request)))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	pieces := slices.Collect(slices.Chunk(answer.parts, 1))
	if len(pieces) == 0 {
		pieces = append(pieces, nil) // a refusal has none
	}
	for i, piece := range pieces {
		fmt.Fprintf(w, "data: %s\n\n", marshal(answer.response(piece, i == len(pieces)-1, request)))
	}
}

// take notes a request and takes the answer that is for it.
func (m *Model) take(request Request) (Answer, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = append(m.sent, request)
	i := slices.IndexFunc(m.open, func(a Answer) bool {
		return strings.Contains(request.System+"\n"+request.Conversation, a.when)
	})
	if i < 0 {
		return Answer{}, false
	}
	answer := m.open[i]
	m.open = slices.Delete(m.open, i, i+1)
	return answer, true
}

// whole are the parts with the words in one.
func (a Answer) whole() []*genai.Part {
	var parts []*genai.Part
	for _, part := range a.parts {
		if last := len(parts) - 1; last >= 0 && part.FunctionCall == nil && parts[last].FunctionCall == nil {
			parts[last] = &genai.Part{Text: parts[last].Text + part.Text}
			continue
		}
		parts = append(parts, part)
	}
	return parts
}

// response is a piece of the answer, the last one or not.
func (a Answer) response(parts []*genai.Part, last bool, request Request) genai.GenerateContentResponse {
	response := genai.GenerateContentResponse{
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: int32(request.Tokens())},
	}
	if a.refused != "" {
		response.PromptFeedback = &genai.GenerateContentResponsePromptFeedback{BlockReason: a.refused}
		return response
	}
	candidate := &genai.Candidate{Content: &genai.Content{Role: genai.RoleModel, Parts: parts}}
	if last {
		candidate.FinishReason = genai.FinishReasonStop
	}
	response.Candidates = []*genai.Candidate{candidate}
	return response
}

func fail(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprint(w, marshal(map[string]any{"error": map[string]any{"code": http.StatusBadRequest, "message": message}}))
}

// read reads the body of a request.
func read(body io.Reader) (Request, error) {
	var wire struct {
		SystemInstruction *genai.Content
		Contents          []*genai.Content
		Tools             []*genai.Tool
	}
	if err := json.NewDecoder(body).Decode(&wire); err != nil {
		return Request{}, err
	}
	var r Request
	if wire.SystemInstruction != nil {
		var texts []string
		for _, part := range wire.SystemInstruction.Parts {
			texts = append(texts, part.Text)
		}
		r.System = strings.Join(texts, "\n")
	}
	for _, tool := range wire.Tools {
		if tool.GoogleSearch != nil {
			r.Tools = append(r.Tools, "google_search")
		}
		for _, function := range tool.FunctionDeclarations {
			r.Tools = append(r.Tools, function.Name)
		}
	}
	var lines []string
	for _, content := range wire.Contents {
		for _, part := range content.Parts {
			lines = append(lines, line(content.Role, part))
		}
	}
	r.Conversation = strings.Join(lines, "\n")
	return r, nil
}

func line(role string, part *genai.Part) string {
	switch {
	case part.FunctionCall != nil:
		return fmt.Sprintf("%s calls %s %s", role, part.FunctionCall.Name, marshal(part.FunctionCall.Args))
	case part.FunctionResponse != nil:
		return fmt.Sprintf("%s gives %s", part.FunctionResponse.Name, marshal(part.FunctionResponse.Response))
	}
	return role + ": " + part.Text
}

func answerText(a Answer) string {
	if a.refused != "" {
		return "refused: " + string(a.refused)
	}
	var lines []string
	for _, part := range a.whole() {
		lines = append(lines, line("model", part))
	}
	return strings.Join(lines, "; ")
}

func marshal(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // contents and maps of JSON values
	}
	return string(data)
}

// Run runs a program's main function with an input and arguments, and returns
// what it printed. A program that fails with log.Fatal ends the whole test; what
// it said is in the output of go test.
func Run(t *testing.T, main func(), input string, args ...string) string {
	t.Helper()
	stdin, stdout, arguments := os.Stdin, os.Stdout, os.Args
	defer func() { os.Stdin, os.Stdout, os.Args = stdin, stdout, arguments }()
	in, out := temp(t, input), temp(t, "")
	os.Stdin, os.Stdout, os.Args = in, out, append([]string{os.Args[0]}, args...)
	main()
	printed, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(printed)
}

// temp is an open file that holds the text, at its start.
func temp(t *testing.T, text string) *os.File {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	return file
}
