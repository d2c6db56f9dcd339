// Mcp shows an agent with the tools of a server that speaks the Model Context
// Protocol. The server is this program, started once more as a child process
// that talks over its standard input and output; any other command would do.
//
//	GOOGLE_API_KEY=... go run ./examples/mcp
//
// Ask how many screws there are, and have some taken.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/full"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/mcptoolset"
)

func main() {
	ctx := context.Background()
	if len(os.Args) > 1 && os.Args[1] == "server" {
		check(newServer().Run(ctx, &mcp.StdioTransport{}))
		return
	}
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	self, err := os.Executable()
	check(err)
	warehouse, err := mcptoolset.New(mcptoolset.Config{
		Transport:                   &mcp.CommandTransport{Command: exec.Command(self, "server")}, // or Endpoint: "https://..."
		ToolFilter:                  tool.AllowedToolsPredicate([]string{"stock", "take"}),
		RequireConfirmationProvider: func(name string, _ any) bool { return name == "take" },
	})
	check(err)
	defer warehouse.(io.Closer).Close() // ends the server
	clerk, err := llmagent.New(llmagent.Config{
		Name:        "clerk",
		Model:       llm,
		Instruction: "You look after the warehouse.",
		Toolsets:    []tool.Toolset{warehouse},
	})
	check(err)
	check(full.NewLauncher().Execute(ctx, &launcher.Config{AgentLoader: agent.NewSingleLoader(clerk)}, os.Args[1:]))
}

type order struct {
	Part  string `json:"part"`
	Count int    `json:"count,omitempty"`
}

type shelf struct {
	Left int `json:"left"`
}

// newServer is a warehouse as an MCP server, with the protocol's own SDK.
func newServer() *mcp.Server {
	left := map[string]int{"screws": 40, "nuts": 25}
	server := mcp.NewServer(&mcp.Implementation{Name: "warehouse", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "stock", Description: "Tells how many there are of a part."},
		func(_ context.Context, _ *mcp.CallToolRequest, in order) (*mcp.CallToolResult, shelf, error) {
			return nil, shelf{left[in.Part]}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "take", Description: "Takes so many of a part."},
		func(_ context.Context, _ *mcp.CallToolRequest, in order) (*mcp.CallToolResult, shelf, error) {
			if in.Count > left[in.Part] {
				return nil, shelf{}, fmt.Errorf("there are only %d %s", left[in.Part], in.Part)
			}
			left[in.Part] -= in.Count
			return nil, shelf{left[in.Part]}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "clear", Description: "Throws everything away."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			clear(left)
			return nil, nil, nil
		})
	return server
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
