package llmagent

import (
	"encoding/json"
	"slices"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// confirmations are the user's answers to what tools asked, by call ID.
type confirmations map[string]*toolconfirmation.ToolConfirmation

// question is the event that puts to the user what tools asked, or nil.
func (f *flow) question(ctx agent.InvocationContext, calls []*genai.FunctionCall, answer *session.Event) *session.Event {
	event := f.newEvent(ctx)
	event.Content = &genai.Content{Role: genai.RoleModel}
	for _, call := range calls {
		asked, ok := answer.Actions.RequestedToolConfirmations[call.ID]
		if !ok {
			continue
		}
		id := "adk-" + platform.NewUUID(ctx)
		event.LongRunningToolIDs = append(event.LongRunningToolIDs, id)
		event.Content.Parts = append(event.Content.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{
			ID: id, Name: toolconfirmation.FunctionCallName,
			Args: map[string]any{"originalFunctionCall": call, "toolConfirmation": asked},
		}})
	}
	if len(event.Content.Parts) == 0 {
		return nil
	}
	return event
}

// resume runs the tools that the user's message answers a question of. It
// reports whether the run may go on.
func (f *flow) resume(ctx agent.InvocationContext, yield yieldFunc) bool {
	calls, confirmed := f.confirmed(ctx)
	if len(calls) == 0 {
		return true
	}
	_, tools, err := f.build(ctx)
	if err != nil {
		yield(nil, err)
		return false
	}
	answer, ok := f.runDelegating(ctx, calls, confirmed, tools, yield)
	if !ok {
		return false
	}
	if err := ctx.Err(); err != nil {
		yield(nil, err)
		return false
	}
	if answer == nil {
		return true
	}
	if question := f.question(ctx, calls, answer); question != nil && !yield(question, nil) {
		return false
	}
	return yield(answer, nil) && !answer.IsFinalResponse() && !ctx.Ended()
}

// confirmed are the calls about which this agent asked and whose answer is in
// the user's message of this invocation, with the answers by call ID. The calls
// are those of the log, whatever the client says, and a question is answered
// once.
func (f *flow) confirmed(ctx agent.InvocationContext) (calls []*genai.FunctionCall, answers confirmations) {
	if !answersQuestion(ctx.UserContent()) {
		return nil, nil
	}
	answers = confirmations{}
	asked := map[string]*genai.FunctionCall{} // open questions, by their ID
	for _, e := range logOf(ctx.Session().Events()) {
		if e.Content == nil || e.IsolationScope != ctx.IsolationScope() {
			continue
		}
		for _, part := range e.Content.Parts {
			switch {
			case part == nil:
			case part.FunctionCall != nil && part.FunctionCall.Name == toolconfirmation.FunctionCallName && e.Author == f.cfg.Name:
				if original, err := toolconfirmation.OriginalCallFrom(part.FunctionCall); err == nil {
					asked[part.FunctionCall.ID] = original
				}
			case part.FunctionResponse != nil && e.Author == "user" && asked[part.FunctionResponse.ID] != nil:
				call := asked[part.FunctionResponse.ID]
				delete(asked, part.FunctionResponse.ID)
				if e.InvocationID == ctx.InvocationID() {
					calls = append(calls, call)
					answers[call.ID] = confirmationOf(part.FunctionResponse.Response)
				}
			}
		}
	}
	return calls, answers
}

// answersQuestion reports whether msg may answer what a tool asked.
func answersQuestion(msg *genai.Content) bool {
	return msg != nil && slices.ContainsFunc(msg.Parts, func(part *genai.Part) bool {
		return part != nil && part.FunctionResponse != nil && part.FunctionResponse.Name == toolconfirmation.FunctionCallName
	})
}

// confirmationOf reads what a client answered: the answer itself, or its JSON
// under "response". What cannot be read is no consent.
func confirmationOf(response map[string]any) *toolconfirmation.ToolConfirmation {
	answer := &toolconfirmation.ToolConfirmation{}
	data, err := json.Marshal(response)
	if text, ok := response["response"].(string); ok && err == nil {
		data = []byte(text)
	}
	if err != nil || json.Unmarshal(data, answer) != nil {
		return &toolconfirmation.ToolConfirmation{}
	}
	return answer
}
