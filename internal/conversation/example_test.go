package conversation_test

import (
	"fmt"

	"github.com/recap-adk/recap/internal/conversation"
)

func Example() {
	c, err := conversation.Parse("seat.jsonl", []byte(`
{"role": "system", "content": "You book seats."}
{"role": "user", "content": "A window seat, please."}
{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "seats", "arguments": "{\"kind\": \"window\"}"}}]}
{"role": "tool", "tool_call_id": "1", "content": "12A is free"}
{"role": "assistant", "content": "You have 12A."}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Format, "-", c.System)
	for _, turn := range c.Turns {
		fmt.Println("user: ", turn.User.Parts[0].Text)
		for _, step := range turn.Steps {
			for _, part := range step.Content.Parts {
				if call := part.FunctionCall; call != nil {
					fmt.Println("call: ", call.Name, call.Args)
				} else {
					fmt.Println("model:", part.Text)
				}
			}
			for _, result := range step.Results {
				fmt.Println("tool: ", result.Name, result.Response)
			}
		}
	}
	// Output:
	// openai-messages - You book seats.
	// user:  A window seat, please.
	// call:  seats map[kind:window]
	// tool:  seats map[output:12A is free]
	// model: You have 12A.
}
