// Package toolconfirmation holds what a tool and a person say to each other
// before the tool runs: the question an event carries, and the answer.
//
// A tool call that needs a person's consent is answered at first by an event
// whose actions hold a ToolConfirmation under the call's ID. The client is shown a
// second call, named FunctionCallName, with the first inside it; its answer to
// that second call decides whether the first one runs.
//
// While such a question is open neither the call nor the question is ever
// compacted: see package compaction.
package toolconfirmation

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genai"
)

// FunctionCallName names the call that asks the client for a confirmation.
const FunctionCallName = "adk_request_confirmation"

// originalCallArg is the argument of that call under which the call to be confirmed
// stands, as in every ADK.
const originalCallArg = "originalFunctionCall"

// ToolConfirmation is a question to a person about a tool call and, once
// answered, the answer.
type ToolConfirmation struct {
	// Hint tells the person what is asked for.
	Hint string `json:"hint"`
	// Confirmed is the answer; false until it is given.
	Confirmed bool `json:"confirmed"`
	// Payload is whatever else the tool wants back.
	Payload any `json:"payload"`
}

// OriginalCallFrom returns the call that functionCall, a call named
// FunctionCallName, asks to confirm.
func OriginalCallFrom(functionCall *genai.FunctionCall) (*genai.FunctionCall, error) {
	if functionCall == nil {
		return nil, errors.New("toolconfirmation: no function call")
	}
	raw, ok := functionCall.Args[originalCallArg]
	if !ok {
		return nil, fmt.Errorf("toolconfirmation: call %q has no argument %q", functionCall.ID, originalCallArg)
	}
	if call, ok := raw.(*genai.FunctionCall); ok {
		return call, nil
	}
	// After a round trip through a store the call is a plain map.
	data, err := json.Marshal(raw)
	if err != nil {
		return nil, fmt.Errorf("toolconfirmation: argument %q of call %q: %w", originalCallArg, functionCall.ID, err)
	}
	call := new(genai.FunctionCall)
	if err := json.Unmarshal(data, call); err != nil {
		return nil, fmt.Errorf("toolconfirmation: argument %q of call %q is not a function call: %w", originalCallArg, functionCall.ID, err)
	}
	return call, nil
}
