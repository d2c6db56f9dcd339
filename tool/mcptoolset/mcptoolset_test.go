package mcptoolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/mcptoolset"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// TestResults: what a model is told, whatever the way to the server.
func TestResults(t *testing.T) {
	ways := map[string]func(*testing.T) mcptoolset.Config{
		"in memory": func(*testing.T) mcptoolset.Config {
			return mcptoolset.Config{Transport: &dial{server: newTestServer(new(events))}}
		},
		"a command": func(*testing.T) mcptoolset.Config { return mcptoolset.Config{Transport: child("yes")} },
		"HTTP": func(t *testing.T) mcptoolset.Config {
			return mcptoolset.Config{Endpoint: overHTTP(t, newTestServer(new(events)), nil)}
		},
		"HTTP without sessions, in JSON": func(t *testing.T) mcptoolset.Config {
			return mcptoolset.Config{Endpoint: overHTTP(t, newTestServer(new(events)), &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})}
		},
		"HTTP, with a client of the application": func(t *testing.T) mcptoolset.Config {
			return mcptoolset.Config{
				Client:   mcp.NewClient(&mcp.Implementation{Name: "app", Version: "1"}, nil),
				Endpoint: overHTTP(t, newTestServer(new(events)), nil),
			}
		},
	}
	attached := func(attachment map[string]any) []any { return []any{attachment} }
	tests := []struct {
		tool string
		args map[string]any
		want map[string]any
		err  string
	}{
		{tool: "echo", args: map[string]any{"a": "b", "list": []any{1.5, nil}}, want: map[string]any{"output": `{"a":"b","list":[1.5,null]}`}},
		{tool: "echo", want: map[string]any{"output": "{}"}},
		{tool: "plain", want: map[string]any{"output": "one\ntwo"}},
		{tool: "structured", want: map[string]any{"output": map[string]any{"sum": 3.0}}},
		{tool: "nothing", want: map[string]any{"output": ""}},
		{tool: "picture", want: map[string]any{"output": "a cat", "attachments": attached(map[string]any{"type": "image", "mimeType": "image/png", "bytes": 4})}},
		{tool: "sound", want: map[string]any{"output": "", "attachments": attached(map[string]any{"type": "audio", "mimeType": "audio/wav", "bytes": 4})}},
		{tool: "link", want: map[string]any{"output": "", "attachments": attached(map[string]any{"type": "link", "uri": "file:///a.md", "name": "a.md"})}},
		{tool: "resources", want: map[string]any{"output": "file:///a.md:\n# A", "attachments": attached(map[string]any{"type": "resource", "uri": "file:///a.bin", "mimeType": "application/x-a", "bytes": 2})}},
		{tool: "fails", err: `tool "fails": no such file; there are a.md and b.md`},
		{tool: "fails.silent", err: `tool "fails.silent": the server does not say why`},
		{tool: "a_name_with_all", want: map[string]any{"output": "named"}},
	}
	for way, config := range ways {
		t.Run(way, func(t *testing.T) {
			set := open(t, config(t))
			for _, test := range tests {
				got, err := find(t, set, test.tool).Run(newContext(t.Context(), nil), test.args)
				if message := errText(err); message != test.err {
					t.Errorf("%s: error %q, want %q", test.tool, message, test.err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("%s: -want +got:\n%s", test.tool, diff)
				}
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestHugeResults: the model is given the start, cut between characters.
func TestHugeResults(t *testing.T) {
	set := open(t, mcptoolset.Config{Transport: child("yes")})
	for name, size := range map[string]string{"huge": "2097152", "huge.structured": "1048580"} {
		got, err := find(t, set, name).Run(newContext(t.Context(), nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		output, _ := got["output"].(string)
		note, _ := got["note"].(string)
		if len(output) != 256<<10 || !strings.Contains(note, size) || strings.ToValidUTF8(output, "") != output {
			t.Errorf("%s: %d bytes, note %q", name, len(output), note)
		}
	}
}

func TestDeclarations(t *testing.T) {
	set := open(t, mcptoolset.Config{Transport: &dial{server: newTestServer(new(events))}})
	got := find(t, set, "plain").Declaration()
	want := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}
	if diff := cmp.Diff(want, got.ParametersJsonSchema); diff != "" || got.Name != "plain" || got.Description != "does plain" {
		t.Errorf("%s, %q\n%s", got.Name, got.Description, diff)
	}
	if find(t, set, "plain").IsLongRunning() || set.Name() == "" {
		t.Error("long running, or a set without a name")
	}
}

// TestNames: two names may not become one, and none too long.
func TestNames(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	long := strings.Repeat("n", 70)
	for _, name := range []string{"a b", "a/b", "a_b", "1st", long + "1", long + "2", "文件"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}, OutputSchema: map[string]any{"type": "string"}, Title: "title"},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return text(req.Params.Name, false), nil
			})
	}
	set := open(t, mcptoolset.Config{Transport: &dial{server: server}})
	tools, err := set.Tools(newContext(t.Context(), nil))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, each := range tools {
		answer, err := each.(tool.Function).Run(newContext(t.Context(), nil), nil)
		if err != nil || len(each.Name()) > 64 || each.Description() != "title" || each.(tool.Function).Declaration().ResponseJsonSchema == nil {
			t.Errorf("%s: %v", each.Name(), err)
		}
		got = append(got, each.Name()+" is "+answer["output"].(string))
	}
	want := []string{
		"_1st is 1st", "a_b is a b", "a_b_2 is a/b", "a_b_3 is a_b",
		long[:64] + " is " + long + "1", long[:62] + "_2 is " + long + "2", "__ is 文件",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFilter(t *testing.T) {
	set := open(t, mcptoolset.Config{
		Transport:  &dial{server: newTestServer(new(events))},
		ToolFilter: tool.AllowedToolsPredicate([]string{"plain", "echo", "absent"}),
	})
	tools, err := set.Tools(newContext(t.Context(), nil))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, each := range tools {
		names = append(names, each.Name())
	}
	if slices.Sort(names); !slices.Equal(names, []string{"echo", "plain"}) {
		t.Errorf("tools %q", names)
	}
}

func TestConfirmation(t *testing.T) {
	seen := new(events)
	set := open(t, mcptoolset.Config{
		Transport:                   &dial{server: newTestServer(seen)},
		RequireConfirmationProvider: func(name string, input any) bool { return name == "echo" && input.(map[string]any)["a"] != "safe" },
	})
	echo := find(t, set, "echo")
	for _, test := range []struct {
		a      string
		answer *toolconfirmation.ToolConfirmation
		err    error
		calls  string
	}{
		{"risky", nil, tool.ErrConfirmationRequired, ""},
		{"risky", &toolconfirmation.ToolConfirmation{}, tool.ErrConfirmationRejected, ""},
		{"risky", &toolconfirmation.ToolConfirmation{Confirmed: true}, nil, "echo"},
		{"safe", nil, nil, "echo echo"},
	} {
		_, err := echo.Run(newContext(t.Context(), test.answer), map[string]any{"a": test.a})
		if !errors.Is(err, test.err) || seen.all() != test.calls {
			t.Errorf("%s, %v: error %v, calls %q", test.a, test.answer, err, seen.all())
		}
	}
}

// TestLostSessions: a new one is opened when it is needed next.
func TestLostSessions(t *testing.T) {
	seen := new(events)
	way := &dial{server: newTestServer(seen)}
	set := open(t, mcptoolset.Config{Transport: way})
	if way.count != 0 {
		t.Fatal("connected before anyone asked for the tools")
	}
	plain := find(t, set, "plain")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := plain.Run(newContext(ctx, nil), nil); err != nil || way.count != 1 {
		t.Fatalf("%v after %d connections", err, way.count)
	}
	cancel() // the end of the run that opened the session is not the session's
	for range 2 {
		if _, err := plain.Run(newContext(t.Context(), nil), nil); err != nil || way.count != 1 {
			t.Fatalf("%v after %d connections", err, way.count)
		}
	}
	if err := way.last.Close(); err != nil {
		t.Fatal(err)
	}
	find(t, set, "plain")
	if way.count != 2 {
		t.Errorf("%d connections", way.count)
	}

	// While the server is away the agent is told, and then it is there again.
	_ = way.last.Close()
	way.broken = errDown
	if _, err := set.Tools(newContext(t.Context(), nil)); !errors.Is(err, errDown) {
		t.Errorf("error %v", err)
	}
	way.broken = nil
	if _, err := plain.Run(newContext(t.Context(), nil), nil); err != nil || way.count != 3 {
		t.Errorf("%v after %d connections", err, way.count)
	}
}

// TestServerThatForgets: an HTTP server that was started anew knows none of the
// old sessions, and says so: then nothing was done, and any call is repeated.
func TestServerThatForgets(t *testing.T) {
	seen := new(events)
	server := newTestServer(seen)
	set := open(t, mcptoolset.Config{
		Client:    mcp.NewClient(&mcp.Implementation{Name: "app", Version: "1"}, nil),
		Transport: &mcp.StreamableClientTransport{Endpoint: overHTTP(t, server, nil), DisableStandaloneSSE: true},
	})
	plain := find(t, set, "plain")
	for each := range server.Sessions() {
		_ = each.Close()
	}
	if _, err := plain.Run(newContext(t.Context(), nil), nil); err != nil || seen.all() != "plain" {
		t.Errorf("error %v, calls %q", err, seen.all())
	}
}

// TestServerThatDies in a call: the model is told that the call may have been
// done, unless it may be repeated. Then the server is started again.
func TestServerThatDies(t *testing.T) {
	for name, wantLost := range map[string]bool{"die": true, "again.die": true} {
		set := open(t, mcptoolset.Config{Transport: child("yes")})
		_, err := find(t, set, name).Run(newContext(t.Context(), nil), nil)
		if lost := strings.Contains(errText(err), "may have been done or not"); lost != wantLost {
			t.Errorf("%s: error %v", name, err)
		}
		if got, err := find(t, set, "plain").Run(newContext(t.Context(), nil), nil); err != nil || got["output"] != "one\ntwo" {
			t.Errorf("%s: afterwards %v, %v", name, got, err)
		}
	}
}

// TestRepeatedCalls counts how often a call is made whose session is lost under
// it.
func TestRepeatedCalls(t *testing.T) {
	for name, want := range map[string]string{"loses": "loses", "again.loses": "again.loses again.loses"} {
		seen := new(events)
		way := &dial{server: newTestServer(seen)}
		way.server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}, Annotations: &mcp.ToolAnnotations{IdempotentHint: strings.HasPrefix(name, "again")}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				seen.add(name)
				if way.count == 1 {
					_ = way.last.Close()
				}
				return text("done", false), nil
			})
		set := open(t, mcptoolset.Config{Transport: way})
		got, err := find(t, set, name).Run(newContext(t.Context(), nil), nil)
		if seen.all() != want || (err == nil) != strings.HasPrefix(name, "again") {
			t.Errorf("%s: calls %q, answer %v, error %v", name, seen.all(), got, err)
		}
	}
}

// TestCancelled: a run that is cancelled does not wait for the server, and the
// server is told.
func TestCancelled(t *testing.T) {
	for name, config := range map[string]func(*events) mcptoolset.Config{
		"in memory": func(seen *events) mcptoolset.Config {
			return mcptoolset.Config{Transport: &dial{server: newTestServer(seen)}}
		},
		"HTTP": func(seen *events) mcptoolset.Config {
			return mcptoolset.Config{Endpoint: overHTTP(t, newTestServer(seen), nil)}
		},
	} {
		seen := &events{hanging: make(chan struct{})}
		set := open(t, config(seen))
		hang, plain := find(t, set, "hang"), find(t, set, "plain")
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan error)
		go func() {
			_, err := hang.Run(newContext(ctx, nil), nil)
			returned <- err
		}()
		<-seen.hanging
		cancel()
		if err := <-returned; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", name, err)
		}
		<-seen.hanging // the server knows
		if _, err := plain.Run(newContext(t.Context(), nil), nil); err != nil {
			t.Errorf("%s: afterwards %v", name, err)
		}
	}
}

// TestServersThatDoNotAnswer: the run that waits for one ends when it is
// cancelled, and Close ends the process.
func TestServersThatDoNotAnswer(t *testing.T) {
	for _, kind := range []string{"silent", "nonsense"} {
		transport := child(kind).(*mcp.CommandTransport)
		transport.TerminateDuration = 1 // do not wait for what never ends
		set := open(t, mcptoolset.Config{Transport: transport})
		ctx, cancel := context.WithCancel(t.Context())
		if kind == "silent" {
			cancel()
		}
		_, err := set.Tools(newContext(ctx, nil))
		if kind == "silent" && !errors.Is(err, context.Canceled) || err == nil {
			t.Errorf("%s: error %v", kind, err)
		}
		cancel()
	}
}

// TestClose ends a call that hangs. Afterwards the toolset is of no use.
func TestClose(t *testing.T) {
	seen := &events{hanging: make(chan struct{})}
	set := open(t, mcptoolset.Config{Transport: &dial{server: newTestServer(seen)}, RequireConfirmationProvider: func(string, any) bool { return false }})
	hang := find(t, set, "hang")
	returned := make(chan error)
	go func() {
		_, err := hang.Run(newContext(t.Context(), nil), nil)
		returned <- err
	}()
	<-seen.hanging
	go func() { <-seen.hanging }()
	closeSet(t, set)
	if err := <-returned; !errors.Is(err, mcptoolset.ErrClosed) {
		t.Errorf("error of the call: %v", err)
	}
	if _, err := set.Tools(newContext(t.Context(), nil)); !errors.Is(err, mcptoolset.ErrClosed) {
		t.Errorf("error of the list: %v", err)
	}
}

func TestUnfitConfigs(t *testing.T) {
	for name, cfg := range map[string]mcptoolset.Config{
		"no server":   {},
		"two servers": {Transport: &dial{}, Endpoint: "http://localhost"},
	} {
		if set, err := mcptoolset.New(cfg); err == nil || set != nil {
			t.Errorf("%s: no error", name)
		}
	}
	set := open(t, mcptoolset.Config{Transport: &mcp.CommandTransport{Command: exec.Command("/nowhere/server")}})
	if _, err := set.Tools(newContext(t.Context(), nil)); err == nil || !strings.Contains(err.Error(), "/nowhere/server") {
		t.Errorf("error %v", err)
	}
}

// TestMalformed: a server whose answers are not what they should be. Each is an
// error that names the tool, or is made the best of, and the next call works.
func TestMalformed(t *testing.T) {
	results := map[string]string{
		"fine":          `{"content":[{"type":"text","text":"fine"}]}`,
		"unknown":       `{"content":[{"type":"hologram","data":"x"}]}`,
		"no content":    `{}`,
		"null content":  `{"content":null}`,
		"null in it":    `{"content":[null]}`,
		"a text":        `"done"`,
		"nothing":       `null`,
		"null resource": `{"content":[{"type":"resource"}]}`,
		"bad base64":    `{"content":[{"type":"image","data":"%%","mimeType":"image/png"}]}`,
		"deep":          `{"content":[],"structuredContent":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
	}
	unfit := "unknown, null in it, a text, bad base64, deep" // the rest has no output, or "fine"
	connections := 0
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		result := results[req.Params.Name]
		switch req.Method {
		case "initialize":
			connections++
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
		case "tools/list":
			list := []map[string]any{{"description": "without a name"}, {"name": "odd schema", "inputSchema": "text"}}
			for name := range results {
				list = append(list, map[string]any{"name": name})
			}
			encoded, _ := json.Marshal(map[string]any{"tools": append(list, nil)})
			result = string(encoded)
		case "tools/call":
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, req.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
	}))
	t.Cleanup(func() {
		listening.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	set := open(t, mcptoolset.Config{Endpoint: listening.URL})
	if schema := find(t, set, "odd_schema").Declaration().ParametersJsonSchema; fmt.Sprint(schema) != "map[type:object]" {
		t.Errorf("schema %v", schema)
	}
	for name := range results {
		name = strings.ReplaceAll(name, " ", "_")
		got, err := find(t, set, name).Run(newContext(t.Context(), nil), nil)
		bad := strings.Contains(unfit, strings.ReplaceAll(name, "_", " "))
		if bad != (err != nil) || bad == (got != nil) || bad && !strings.Contains(err.Error(), fmt.Sprintf("tool %q", name)) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if got, err := find(t, set, "fine").Run(newContext(t.Context(), nil), nil); err != nil || got["output"] != "fine" {
			t.Errorf("after %s: %v, %v", name, got, err)
		}
	}
	if connections != 2 { // what is not even JSON ends the session
		t.Errorf("%d connections", connections)
	}
}
