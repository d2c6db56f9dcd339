package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/model"
)

// Adapter is a model that talks to a service over HTTP, and what RunAdapter
// must know of the service to stand in for it.
type Adapter struct {
	// New makes the model for a local server. A call that is refused for its rate
	// must be tried again, without delay.
	New func(t *testing.T, server *httptest.Server) model.LLM
	// Read tells what a request asks for. An error fails the test.
	Read func(r *http.Request, body []byte) (Asked, error)
	// Answer is an answer as the service writes it.
	Answer func(Answer) Written
	// Refuse is the status and the body of a refusal; kind is one of the errors
	// of package model. A service that tells of a blocked prompt in an answer has
	// status 200 for ErrBlocked.
	Refuse func(kind error) (status int, body string)
}

// Asked is a request, whatever the protocol.
type Asked struct {
	// Stream is set if the answer is to be streamed.
	Stream bool
	// Lines are what the request holds, each written by one of the functions
	// below, parameters first and parts of the conversation in their order.
	Lines []string
}

// Answer is what the service is to say: thoughts, text and calls, in this
// order.
type Answer struct {
	Thoughts, Text []string // in pieces
	Calls          []*genai.FunctionCall
	Finish         genai.FinishReason // STOP, MAX_TOKENS or SAFETY
	Usage          Usage
}

// Usage are the tokens of a call.
type Usage struct {
	Prompt int // with Cached
	Cached int
	Answer int // without Thoughts
	// Thoughts is 0 where there are none.
	Thoughts int
}

// Written is an answer in the service's own form.
type Written struct {
	// Whole is the body of an answer that is not streamed. A model that streams
	// every call has none.
	Whole string
	// Begin are the server-sent events of a streamed answer up to the last piece
	// of its content; End are those that complete it. An event ends in an empty
	// line.
	Begin, End []string
}

// ModelLine, SystemLine, ParameterLine, ToolLine, TextLine, DataLine, CallLine
// and ResultLine are the lines of Asked.

// ModelLine is the name of the model that is asked.
func ModelLine(name string) string { return "model " + name }

// SystemLine is the system instruction.
func SystemLine(text string) string { return "system: " + text }

// ParameterLine is a parameter by its name in genai, such as "temperature".
func ParameterLine(name string, value any) string { return fmt.Sprintf("%s = %s", name, asJSON(value)) }

// ToolLine is a tool that the model may call.
func ToolLine(name, description string, schema any) string {
	return fmt.Sprintf("tool %s: %s %s", name, description, asJSON(schema))
}

// TextLine is a text in the conversation; role is "user" or "model".
func TextLine(role, text string) string { return role + ": " + text }

// DataLine is inline data of the user.
func DataLine(mimeType string, data []byte) string {
	return fmt.Sprintf("user: [%s %q]", mimeType, data)
}

// CallLine is a call that the model made.
func CallLine(id, name string, args any) string {
	return fmt.Sprintf("call %s: %s %s", id, name, asJSON(args))
}

// ResultLine is the result of the call of that ID.
func ResultLine(id string, result any) string {
	return fmt.Sprintf("result %s: %s", id, asJSON(result))
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// RunAdapter checks what all adapters promise, each case on a server of its
// own, streamed and not: what is sent, what comes back, errors, and that nothing
// is left behind when a consumer stops, a context ends or a stream breaks.
func RunAdapter(t *testing.T, adapter Adapter) {
	for _, c := range exchanges {
		t.Run(c.name, func(t *testing.T) { both(t, func(t *testing.T, stream bool) { c.run(t, adapter, stream) }) })
	}
	for _, kind := range []error{model.ErrTooLong, model.ErrRateLimit, model.ErrAuth, model.ErrBlocked} {
		t.Run("refused: "+kind.Error(), func(t *testing.T) {
			both(t, func(t *testing.T, stream bool) { refused(t, adapter, kind, stream) })
		})
	}
	t.Run("refused for its rate, then answered", func(t *testing.T) {
		both(t, func(t *testing.T, stream bool) { retried(t, adapter, stream) })
	})
	for _, c := range breaks {
		t.Run("broken stream: "+c.name, func(t *testing.T) { broken(t, adapter, c.after) })
	}
	t.Run("canceled while waiting", func(t *testing.T) {
		both(t, func(t *testing.T, stream bool) { canceledWaiting(t, adapter, stream) })
	})
	t.Run("canceled within a stream", func(t *testing.T) { canceledStreaming(t, adapter) })
	t.Run("consumer that stops early", func(t *testing.T) { stoppedEarly(t, adapter) })
	t.Run("concurrent calls", func(t *testing.T) { concurrent(t, adapter) })
}

func both(t *testing.T, run func(t *testing.T, stream bool)) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) { run(t, stream) })
	}
}

// service is a local server that speaks the adapter's protocol.
type service struct {
	*httptest.Server
	adapter Adapter
	mu      sync.Mutex
	asked   []Asked
	bodies  []string
}

// serve starts a server that reads requests and has handle answer them.
func serve(t *testing.T, adapter Adapter, handle func(s *service, w http.ResponseWriter, r *http.Request, asked Asked)) *service {
	t.Helper()
	s := &service{adapter: adapter}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked, err := adapter.Read(r, body)
		if err != nil {
			t.Errorf("%v in %s", err, body)
		}
		s.mu.Lock()
		s.asked, s.bodies = append(s.asked, asked), append(s.bodies, string(body))
		s.mu.Unlock()
		handle(s, w, r, asked)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) requests() []Asked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *service) write(w http.ResponseWriter, asked Asked, answer Answer) {
	written := s.adapter.Answer(answer)
	if !asked.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, written.Whole)
		return
	}
	sendEvents(w, append(written.Begin, written.End...))
}

func sendEvents(w http.ResponseWriter, events []string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events {
		fmt.Fprint(w, event)
	}
	w.(http.Flusher).Flush()
}

// refuse asks to come back at once.
func (s *service) refuse(w http.ResponseWriter, kind error) {
	status, body := s.adapter.Refuse(kind)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "0")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

func refused(t *testing.T, adapter Adapter, kind error, stream bool) {
	status, body := adapter.Refuse(kind)
	s := serve(t, adapter, func(s *service, w http.ResponseWriter, r *http.Request, asked Asked) {
		if status == http.StatusOK && asked.Stream {
			sendEvents(w, []string{"data: " + strings.Join(strings.Fields(body), " ") + "\n\n"})
			return
		}
		s.refuse(w, kind)
	})
	responses, err := all(t, adapter.New(t, s.Server), question(), stream)
	if status == http.StatusOK {
		if err != nil || len(responses) != 1 || responses[0].ErrorCode == "" {
			t.Errorf("there are %d responses %v and error %v, want one response with an error code", len(responses), show(responses), err)
		}
		return
	}
	var failed *model.Error
	if len(responses) > 0 || !errors.As(err, &failed) {
		t.Fatalf("there are responses %v and error %v, want a *model.Error alone", show(responses), err)
	}
	if failed.Kind != kind || failed.Status != status || failed.Provider == "" {
		t.Errorf("provider %q, status %d, kind %v; want a provider, %d, %v", failed.Provider, failed.Status, failed.Kind, status, kind)
	}
}

func retried(t *testing.T, adapter Adapter, stream bool) {
	s := serve(t, adapter, func(s *service, w http.ResponseWriter, r *http.Request, asked Asked) {
		if len(s.requests()) == 1 {
			s.refuse(w, model.ErrRateLimit)
			return
		}
		s.write(w, asked, Answer{Text: []string{"No."}, Finish: genai.FinishReasonStop})
	})
	responses, err := all(t, adapter.New(t, s.Server), question(), stream)
	if err != nil {
		t.Fatal(err)
	}
	if got := show(responses[len(responses)-1:]); got[0] != "No." {
		t.Errorf("answer is %q", got)
	}
	requests := s.requests()
	if len(requests) != 2 {
		t.Fatalf("there were %d requests, want 2", len(requests))
	}
	if diff := cmp.Diff(requests[0], requests[1]); diff != "" {
		t.Errorf("the second request differs (-first +second):\n%s", diff)
	}
}

// breaks are what a server does after the pieces of an answer, in place of
// completing it.
var breaks = []struct {
	name  string
	after func(w http.ResponseWriter)
}{
	{"cut", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }},
	{"cut within an event", func(w http.ResponseWriter) {
		fmt.Fprint(w, "event: content_block_delta\ndata: {\"cho")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}},
	{"not JSON", func(w http.ResponseWriter) { fmt.Fprint(w, "event: content_block_delta\ndata: {\"cho\n\n") }},
	{"no end", func(http.ResponseWriter) {}},
}

func broken(t *testing.T, adapter Adapter, after func(w http.ResponseWriter)) {
	s := serve(t, adapter, func(s *service, w http.ResponseWriter, r *http.Request, asked Asked) {
		sendEvents(w, s.adapter.Answer(Answer{Text: []string{"It is "}, Finish: genai.FinishReasonStop}).Begin)
		after(w)
	})
	responses, err := all(t, adapter.New(t, s.Server), question(), true)
	if diff := cmp.Diff([]string{"partial: It is "}, show(responses)); diff != "" {
		t.Errorf("responses before the error (-want +got):\n%s", diff)
	}
	var failed *model.Error
	if !errors.As(err, &failed) {
		t.Errorf("error is %v, want a *model.Error", err)
	}
}

func canceledWaiting(t *testing.T, adapter Adapter, stream bool) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, adapter, func(_ *service, _ http.ResponseWriter, r *http.Request, _ Asked) {
		cancel()
		<-r.Context().Done()
	})
	var failed error
	for response, err := range adapter.New(t, s.Server).GenerateContent(ctx, question(), stream) {
		if response != nil {
			t.Errorf("there is a response %v", show([]*model.LLMResponse{response}))
		}
		failed = err
	}
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", failed)
	}
}

// hanging sends a piece and then nothing, until the client is gone.
func hanging(s *service, w http.ResponseWriter, r *http.Request, _ Asked) {
	sendEvents(w, s.adapter.Answer(Answer{Text: []string{"It is "}, Finish: genai.FinishReasonStop}).Begin)
	<-r.Context().Done()
}

func canceledStreaming(t *testing.T, adapter Adapter) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := serve(t, adapter, hanging)
	var failed error
	for _, err := range adapter.New(t, s.Server).GenerateContent(ctx, question(), true) {
		failed = err
		cancel()
	}
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", failed)
	}
}

func stoppedEarly(t *testing.T, adapter Adapter) {
	released := make(chan struct{})
	s := serve(t, adapter, func(s *service, w http.ResponseWriter, r *http.Request, asked Asked) {
		hanging(s, w, r, asked)
		close(released)
	})
	for _, err := range adapter.New(t, s.Server).GenerateContent(t.Context(), question(), true) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	<-released
}

// concurrent makes the same call many times at once. The bodies must be the
// same to the byte, or a provider that caches prompts does not know them again.
func concurrent(t *testing.T, adapter Adapter) {
	s := serve(t, adapter, func(s *service, w http.ResponseWriter, r *http.Request, asked Asked) {
		s.write(w, asked, Answer{Text: []string{"No."}, Finish: genai.FinishReasonStop})
	})
	llm, req := adapter.New(t, s.Server), everything()
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			for _, err := range llm.GenerateContent(t.Context(), req, i%2 == 0) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	first := map[bool]string{}
	for i, body := range s.bodies {
		stream := s.asked[i].Stream
		if first[stream] == "" {
			first[stream] = body
		}
		if diff := cmp.Diff(first[stream], body); diff != "" {
			t.Fatalf("the same request was sent in two ways (-first +other):\n%s", diff)
		}
	}
}

// all are the responses of a call, and its error. It checks that req is as
// before and that an error is the last.
func all(t *testing.T, llm model.LLM, req *model.LLMRequest, stream bool) ([]*model.LLMResponse, error) {
	t.Helper()
	before := clone.Of(req)
	var responses []*model.LLMResponse
	var err error
	for response, failed := range llm.GenerateContent(t.Context(), req, stream) {
		if failed != nil {
			err = failed
			continue
		}
		if err != nil {
			t.Errorf("there is a response after the error %v", err)
		}
		responses = append(responses, response)
	}
	if diff := cmp.Diff(before, req); diff != "" {
		t.Errorf("the request was changed (-before +after):\n%s", diff)
	}
	for i, response := range responses {
		if isLast := err == nil && i == len(responses)-1; response.Partial == isLast {
			t.Errorf("response %d of %d has Partial %v", i+1, len(responses), response.Partial)
		}
	}
	if err == nil && len(responses) == 0 || !stream && len(responses) > 1 {
		t.Fatalf("there are %d responses", len(responses))
	}
	return responses, err
}

// show is responses in short, a line for each: its parts with a bar between,
// thoughts in parentheses, calls with ID and arguments.
func show(responses []*model.LLMResponse) []string {
	var lines []string
	for _, response := range responses {
		var parts []string
		if response.Content != nil {
			for _, part := range response.Content.Parts {
				switch {
				case part.FunctionCall != nil:
					call := part.FunctionCall
					parts = append(parts, CallLine(call.ID, call.Name, call.Args))
				case part.Thought:
					parts = append(parts, "("+part.Text+")")
				case part.Text != "":
					parts = append(parts, part.Text)
				}
			}
		}
		line := strings.Join(parts, " | ")
		if response.Partial {
			line = "partial: " + line
		}
		lines = append(lines, line)
	}
	return lines
}
