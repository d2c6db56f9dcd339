package mcptoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/mcptoolset"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// asServer tells the test program to be a server on its standard input.
const asServer = "RECAP_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(asServer) {
	case "":
	case "silent":
		select {} // reads nothing, answers nothing
	case "nonsense":
		fmt.Println("Listening on port 80")
		select {}
	default:
		if err := newTestServer(new(events)).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// events are what a server was asked to do.
type events struct {
	mu      sync.Mutex
	calls   []string
	hanging chan struct{} // is sent when a call hangs, and when it is cancelled
}

func (e *events) add(call string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, call)
}

func (e *events) all() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.calls, " ")
}

// text is a result, or an error if bad.
func text(s string, bad bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: bad, Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// newTestServer has a tool for each kind of answer.
func newTestServer(seen *events) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, answer func(context.Context, *mcp.CallToolRequest) *mcp.CallToolResult) {
		server.AddTool(&mcp.Tool{
			Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`),
			Annotations: &mcp.ToolAnnotations{IdempotentHint: strings.HasPrefix(name, "again")},
		}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			seen.add(name)
			return answer(ctx, req), nil
		})
	}
	results := map[string]*mcp.CallToolResult{
		"plain":      {Content: []mcp.Content{&mcp.TextContent{Text: "one"}, &mcp.TextContent{Text: "two"}}},
		"structured": {StructuredContent: map[string]any{"sum": 3}, Content: []mcp.Content{&mcp.TextContent{Text: `{"sum":3}`}}},
		"nothing":    {Content: []mcp.Content{}},
		"picture":    {Content: []mcp.Content{&mcp.TextContent{Text: "a cat"}, &mcp.ImageContent{Data: []byte("meow"), MIMEType: "image/png"}}},
		"sound":      {Content: []mcp.Content{&mcp.AudioContent{Data: []byte("purr"), MIMEType: "audio/wav"}}},
		"link":       {Content: []mcp.Content{&mcp.ResourceLink{URI: "file:///a.md", Name: "a.md"}}},
		"resources": {Content: []mcp.Content{
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.md", Text: "# A"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.bin", MIMEType: "application/x-a", Blob: []byte{1, 2}}},
		}},
		"fails":           text("no such file; there are a.md and b.md", true),
		"fails.silent":    {IsError: true, Content: []mcp.Content{}},
		"huge":            text(strings.Repeat("é", 1<<20), false),
		"huge.structured": {StructuredContent: []string{strings.Repeat("e", 1<<20)}, Content: []mcp.Content{}},
		"a name/with$all": text("named", false),
	}
	for name, result := range results {
		add(name, func(context.Context, *mcp.CallToolRequest) *mcp.CallToolResult { return result })
	}
	add("echo", func(_ context.Context, req *mcp.CallToolRequest) *mcp.CallToolResult {
		return text(string(req.Params.Arguments), false)
	})
	add("hang", func(ctx context.Context, _ *mcp.CallToolRequest) *mcp.CallToolResult {
		seen.hanging <- struct{}{}
		<-ctx.Done()
		seen.hanging <- struct{}{}
		return text("", true)
	})
	for _, name := range []string{"die", "again.die"} {
		add(name, func(context.Context, *mcp.CallToolRequest) *mcp.CallToolResult {
			os.Exit(3)
			return nil
		})
	}
	return server
}

// dial is a transport: each session has a connection of its own to a server in
// this process.
type dial struct {
	server *mcp.Server
	last   mcp.Connection
	count  int
	broken error
}

func (d *dial) Connect(ctx context.Context) (mcp.Connection, error) {
	if d.broken != nil {
		return nil, d.broken
	}
	here, there := mcp.NewInMemoryTransports()
	if _, err := d.server.Connect(context.Background(), there, nil); err != nil {
		return nil, err
	}
	d.count++
	var err error
	d.last, err = here.Connect(ctx)
	return d.last, err
}

// child is a server in a process of its own.
func child(kind string) mcp.Transport {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), asServer+"="+kind)
	return &mcp.CommandTransport{Command: command}
}

// overHTTP is a server on the loopback interface.
func overHTTP(t *testing.T, server *mcp.Server, opts *mcp.StreamableHTTPOptions) string {
	t.Helper()
	listening := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts))
	t.Cleanup(func() {
		listening.CloseClientConnections()
		listening.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return listening.URL
}

func open(t *testing.T, cfg mcptoolset.Config) tool.Toolset {
	t.Helper()
	set, err := mcptoolset.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeSet(t, set) })
	return set
}

func closeSet(t *testing.T, set tool.Toolset) {
	t.Helper()
	if err := set.(interface{ Close() error }).Close(); err != nil {
		t.Error(err)
	}
}

// newContext is the context of a call.
func newContext(ctx context.Context, answer *toolconfirmation.ToolConfirmation) agent.Context {
	invocation := agent.NewInvocationContext(ctx, agent.InvocationParams{
		Session: session.NewSnapshot(session.SnapshotData{AppName: "app", UserID: "ada", ID: "s1"}),
	})
	return agent.NewToolContext(invocation, "call-1", &session.EventActions{}, answer)
}

// find is the tool of the name.
func find(t *testing.T, set tool.Toolset, name string) tool.Function {
	t.Helper()
	tools, err := set.Tools(newContext(t.Context(), nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range tools {
		if found.Name() == name {
			return found.(tool.Function)
		}
	}
	t.Fatalf("there is no tool %q", name)
	return nil
}

var errDown = errors.New("down")
