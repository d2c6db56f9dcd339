package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/platform"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// Event is something that was said or done in a session.
//
// Its JSON is that of ADK's REST interfaces: camelCase, with the fields of
// the model's response beside the event's own.
type Event struct {
	model.LLMResponse

	// ID is unique in the session. AppendEvent sets it where it is empty.
	ID string `json:"id"`
	// Timestamp is when the event was appended, at microseconds.
	Timestamp time.Time `json:"timestamp"`
	// InvocationID is shared by all events of one run of the agent.
	InvocationID string `json:"invocationId"`
	// Branch is the path of agents, separated by dots, under which the event
	// was made: an agent sees events of its own branch and of those above.
	Branch string `json:"branch,omitempty"`
	// IsolationScope separates the events of a task agent from all others.
	IsolationScope string `json:"isolationScope,omitempty"`
	// Author is "user" or the name of the agent.
	Author string `json:"author"`
	// Actions are the effects of the event.
	Actions EventActions `json:"actions"`
	// LongRunningToolIDs are the IDs of those calls in the content whose
	// answer may come after the run.
	LongRunningToolIDs []string      `json:"longRunningToolIds,omitempty"`
	Routes             []string      `json:"routes,omitempty"`
	RequestedInput     *RequestInput `json:"requestedInput,omitempty"`
	Output             any           `json:"output,omitempty"`
	NodeInfo           *NodeInfo     `json:"nodeInfo,omitempty"`
}

// EventActions are the effects of an event.
type EventActions struct {
	// StateDelta are the values to set in the state.
	StateDelta map[string]any `json:"stateDelta"`
	// ArtifactDelta are the versions of the artifacts that were saved.
	ArtifactDelta map[string]int64 `json:"artifactDelta"`
	// RequestedToolConfirmations are the open questions, by call ID.
	RequestedToolConfirmations map[string]toolconfirmation.ToolConfirmation `json:"requestedToolConfirmations,omitempty"`
	// RequestedAuthConfigs are the credentials that tools wait for, by call ID.
	RequestedAuthConfigs map[string]any `json:"requestedAuthConfigs,omitempty"`
	// SkipSummarization ends the run with a tool's answer.
	SkipSummarization bool `json:"skipSummarization,omitempty"`
	// TransferToAgent names the agent that goes on.
	TransferToAgent string `json:"transferToAgent,omitempty"`
	// Escalate ends the loop that the agent is in.
	Escalate bool `json:"escalate,omitempty"`
	// RewindBeforeInvocationID takes back, for all that comes after, the events
	// from the first one of that invocation on. The log keeps them.
	RewindBeforeInvocationID string `json:"rewindBeforeInvocationId,omitempty"`
	// Compaction makes the event the summary of older ones. Only the framework
	// sets it; it is cleared in whatever comes from outside.
	Compaction *EventCompaction `json:"compaction,omitempty"`
}

// RequestInput is a workflow node's question to the user.
type RequestInput struct {
	InterruptID    string             `json:"interruptId"`
	Message        string             `json:"message,omitempty"`
	ResponseSchema *jsonschema.Schema `json:"responseSchema,omitempty"`
	Payload        any                `json:"payload,omitempty"`
}

// NodeInfo tells which node of a workflow made an event.
type NodeInfo struct {
	Path            string   `json:"path,omitempty"`
	MessageAsOutput bool     `json:"messageAsOutput,omitempty"`
	OutputFor       []string `json:"outputFor,omitempty"`
}

// NewEvent returns an event of the invocation with a new ID and the current
// time, both as package platform has them.
func NewEvent(ctx context.Context, invocationID string) *Event {
	return &Event{
		ID:           platform.NewUUID(ctx),
		Timestamp:    platform.Now(ctx),
		InvocationID: invocationID,
		Actions: EventActions{
			StateDelta:    map[string]any{},
			ArtifactDelta: map[string]int64{},
		},
	}
}

// Clone returns a deep copy.
func (e *Event) Clone() *Event {
	return clone.Of(e)
}

// IsFinalResponse reports whether the event ends an agent's turn: an answer to
// the user, a tool result shown as it is, or a call whose answer comes later.
// A compaction event is never one.
func (e *Event) IsFinalResponse() bool {
	if e.Actions.Compaction != nil {
		return false
	}
	if e.Actions.SkipSummarization || len(e.LongRunningToolIDs) > 0 {
		return true
	}
	if e.Partial {
		return false
	}
	if e.Content == nil {
		return true
	}
	endsInCodeResult := false
	for _, part := range e.Content.Parts {
		if part == nil {
			continue
		}
		if part.FunctionCall != nil || part.FunctionResponse != nil {
			return false
		}
		endsInCodeResult = part.CodeExecutionResult != nil
	}
	return !endsInCodeResult
}

// UnmarshalJSON reads an event. The timestamp may be RFC 3339, or a number of
// seconds or milliseconds since the epoch, as the ADKs write it.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event
	aux := struct {
		*plain
		Timestamp wireTime `json:"timestamp"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(data, &aux); err != nil {
		return err
	}
	e.Timestamp = time.Time(aux.Timestamp)
	if e.NodeInfo != nil && reflect.ValueOf(*e.NodeInfo).IsZero() {
		e.NodeInfo = nil
	}
	return nil
}

// MarshalJSON omits nil maps, which adk-python would refuse as null, and keeps
// empty ones.
func (a EventActions) MarshalJSON() ([]byte, error) {
	return json.Marshal(a.wire())
}

// MarshalADKGo is MarshalJSON with the compaction record as adk-go stores it.
func (a EventActions) MarshalADKGo() ([]byte, error) {
	wire := a.wire()
	if a.Compaction != nil {
		record, err := a.Compaction.MarshalADKGo()
		if err != nil {
			return nil, err
		}
		wire.Compaction = record
	}
	return json.Marshal(wire)
}

type actionsWire struct {
	StateDelta    *map[string]any   `json:"stateDelta,omitempty"`
	ArtifactDelta *map[string]int64 `json:"artifactDelta,omitempty"`
	actionsPlain
	Compaction any `json:"compaction,omitempty"`
}

type actionsPlain EventActions

func (a EventActions) wire() actionsWire {
	wire := actionsWire{actionsPlain: actionsPlain(a)}
	if a.StateDelta != nil {
		wire.StateDelta = &a.StateDelta
	}
	if a.ArtifactDelta != nil {
		wire.ArtifactDelta = &a.ArtifactDelta
	}
	if a.Compaction != nil {
		wire.Compaction = a.Compaction
	}
	return wire
}

// wireTime reads the forms in which the ADKs write a time.
type wireTime time.Time

// Numbers below this are seconds since the epoch, others milliseconds: as
// seconds it is the year 5138, as milliseconds 1973.
const millisecondsFrom = 1e11

func (t *wireTime) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if len(data) > 0 && data[0] == '"' {
		var parsed time.Time
		if err := json.Unmarshal(data, &parsed); err != nil {
			return err
		}
		*t = wireTime(parsed)
		return nil
	}
	var number float64
	if err := json.Unmarshal(data, &number); err != nil {
		return fmt.Errorf("time %s is neither RFC 3339 nor a number", data)
	}
	if math.Abs(number) >= millisecondsFrom {
		number /= 1e3
	}
	if math.Abs(number) >= millisecondsFrom || secondsToTime(number).Year() < 0 {
		// RFC 3339, in which it may have to be written, has no such year.
		return fmt.Errorf("time %s is out of range", data)
	}
	*t = wireTime(secondsToTime(number))
	return nil
}

// secondsToTime and timeToSeconds are inverse at microseconds: a float64 holds
// seconds finer than a microsecond until the year 2242.
func secondsToTime(seconds float64) time.Time {
	return time.UnixMicro(secondsToMicros(seconds)).UTC()
}

func secondsToMicros(seconds float64) int64 {
	// Multiplied as one number, the rounding of the product would add to that
	// of the seconds, and times after 2106 could be a microsecond off.
	whole, fraction := math.Modf(seconds)
	return int64(whole)*1e6 + int64(math.Round(fraction*1e6))
}

func timeToSeconds(t time.Time) float64 {
	return float64(t.UnixMicro()) / 1e6
}
