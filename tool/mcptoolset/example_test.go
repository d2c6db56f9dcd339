package mcptoolset_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/mcptoolset"
)

func Example() {
	// A server, which usually is somewhere else.
	server := mcp.NewServer(&mcp.Implementation{Name: "adder", Version: "1"}, nil)
	type numbers struct{ A, B int }
	mcp.AddTool(server, &mcp.Tool{Name: "add"}, func(_ context.Context, _ *mcp.CallToolRequest, in numbers) (*mcp.CallToolResult, any, error) {
		return nil, map[string]int{"sum": in.A + in.B}, nil
	})
	listening := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	defer http.DefaultClient.CloseIdleConnections()
	defer listening.Close()

	set, err := mcptoolset.New(mcptoolset.Config{Endpoint: listening.URL})
	if err != nil {
		panic(err)
	}
	defer set.(io.Closer).Close()
	llm := modeltest.NewScript(modeltest.Call("c1", "add", map[string]any{"A": 2, "B": 3}), modeltest.Text("It is five."))
	a, err := llmagent.New(llmagent.Config{Name: "agent", Model: llm, Toolsets: []tool.Toolset{set}})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("app", a)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText("What is two and three?", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			panic(err)
		}
		for _, part := range event.Content.Parts {
			if part.FunctionResponse != nil {
				fmt.Println(part.FunctionResponse.Response)
			}
		}
	}
	// Output: map[output:map[sum:5]]
}
