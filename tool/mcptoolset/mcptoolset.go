// Package mcptoolset gives agents the tools of servers that speak the Model
// Context Protocol (MCP).
//
//	files, err := mcptoolset.New(mcptoolset.Config{
//		Transport:  &mcp.CommandTransport{Command: exec.Command("file-server", "/srv/docs")},
//		ToolFilter: tool.AllowedToolsPredicate([]string{"read_file", "write_file"}),
//	})
//	if err != nil {
//		return err
//	}
//	defer files.(io.Closer).Close()
//	a, err := llmagent.New(llmagent.Config{Name: "clerk", Model: llm, Toolsets: []tool.Toolset{files}})
//
// The server is connected to when an agent first asks for its tools, and again
// when the session was lost. A call whose session was lost under it may have
// been done or not: it is repeated only where the server has marked the tool as
// read-only or idempotent, or says that it does not know the session. Else the
// model is told.
//
// A result is {"output": the structured content, or else the text}. What is
// neither, such as an image, is listed under "attachments" with its kind and
// size. Of an output over 256 KiB the model is given the start, with a note.
// What the server calls an error is one, with its text, so that the model can
// do better.
//
// Providers allow letters, digits and "_.:-" in names, 64 characters at most:
// where a server's names have others, or are longer, the names of the tools
// differ, and filters see these.
package mcptoolset

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/tool"
)

// Config says where the server is and what agents may do with it. Either
// Transport or Endpoint must be set.
type Config struct {
	// Client is the client to connect with, for an application that answers
	// requests of servers. Nil is a client that does not.
	Client *mcp.Client
	// Transport is how to reach the server. The transports of the SDK for
	// commands and HTTP are templates: each session has a copy, and a command is
	// started anew, without the context of exec.CommandContext. Connect of any
	// other is called for each session.
	Transport mcp.Transport
	// Endpoint is the URL of a server that is reached by streamable HTTP.
	Endpoint string
	// ToolFilter, if set, holds for the tools that agents may use.
	ToolFilter tool.Predicate
	// RequireConfirmation makes every call need the user's consent.
	RequireConfirmation bool
	// RequireConfirmationProvider says which calls need the user's consent where
	// RequireConfirmation is not set.
	RequireConfirmationProvider tool.ConfirmationProvider
}

// ErrClosed is returned where a toolset is used after Close.
var ErrClosed = errors.New("the toolset is closed")

// New returns the tools of a server. The toolset is safe for concurrent use and
// an io.Closer. Close ends the calls that run and the session, and so the
// server if that is a command; a command that does not end is killed after ten
// seconds.
func New(cfg Config) (tool.Toolset, error) {
	if (cfg.Transport == nil) == (cfg.Endpoint == "") {
		return nil, errors.New("mcptoolset: one of Transport and Endpoint must be set")
	}
	if cfg.Endpoint != "" {
		// Without a client of its own nobody listens to what the server may send
		// beside its answers.
		cfg.Transport = &mcp.StreamableClientTransport{Endpoint: cfg.Endpoint, DisableStandaloneSSE: cfg.Client == nil}
	}
	if cfg.Client == nil {
		cfg.Client = mcp.NewClient(&mcp.Implementation{Name: "recap", Version: "1"}, nil)
	}
	var set tool.Toolset = &toolset{newServer(cfg.Client, cfg.Transport)}
	set = tool.FilterToolset(set, cfg.ToolFilter)
	return tool.WithConfirmation(set, cfg.RequireConfirmation, cfg.RequireConfirmationProvider), nil
}

type toolset struct{ server *server }

func (s *toolset) Name() string { return "mcp_tool_set" }

func (s *toolset) Close() error { return s.server.Close() }

func (s *toolset) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	listed, err := s.server.listTools(ctx)
	if err != nil {
		return nil, fmt.Errorf("mcptoolset: listing tools: %w", err)
	}
	var tools []tool.Tool
	names := map[string]bool{}
	for _, t := range listed {
		if t == nil || t.Name == "" {
			continue
		}
		name := validName(t.Name, names)
		names[name] = true
		tools = append(tools, &remote{server: s.server, name: name, tool: t})
	}
	return tools, nil
}

const maxName = 64

var (
	notInNames = regexp.MustCompile(`[^a-zA-Z0-9_.:-]`)
	namesStart = regexp.MustCompile(`^[a-zA-Z_]`)
)

// validName is name as providers allow it, and none of those taken.
func validName(name string, taken map[string]bool) string {
	name = notInNames.ReplaceAllString(name, "_")
	if !namesStart.MatchString(name) {
		name = "_" + name
	}
	valid := name[:min(len(name), maxName)]
	for n := 2; taken[valid]; n++ {
		suffix := fmt.Sprintf("_%d", n)
		valid = name[:min(len(name), maxName-len(suffix))] + suffix
	}
	return valid
}

// remote is a tool of the server.
type remote struct {
	server *server
	name   string
	tool   *mcp.Tool
}

func (r *remote) Name() string        { return r.name }
func (r *remote) IsLongRunning() bool { return false }

func (r *remote) Description() string {
	if r.tool.Description == "" {
		return r.tool.Title
	}
	return r.tool.Description
}

func (r *remote) Declaration() *genai.FunctionDeclaration {
	declaration := &genai.FunctionDeclaration{Name: r.name, Description: r.Description(), ParametersJsonSchema: r.tool.InputSchema}
	if _, ok := r.tool.InputSchema.(map[string]any); !ok {
		// Without one, or with one that is none, a model would refuse all tools.
		declaration.ParametersJsonSchema = map[string]any{"type": "object"}
	}
	if schema, ok := r.tool.OutputSchema.(map[string]any); ok {
		declaration.ResponseJsonSchema = map[string]any{"type": "object", "properties": map[string]any{"output": schema}}
	}
	return declaration
}

func (r *remote) Run(ctx agent.Context, args map[string]any) (map[string]any, error) {
	if args == nil {
		args = map[string]any{} // null is not an object
	}
	hints := r.tool.Annotations
	repeatable := hints != nil && (hints.ReadOnlyHint || hints.IdempotentHint)
	result, err := r.server.callTool(ctx, &mcp.CallToolParams{Name: r.tool.Name, Arguments: args}, repeatable)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", r.name, err)
	}
	answer, err := answerOf(result)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", r.name, err)
	}
	return answer, nil
}
