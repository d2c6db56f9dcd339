package compaction

import (
	"fmt"
	"time"

	"google.golang.org/genai"
)

// Kind says how a compaction ended.
type Kind string

const (
	// Applied: a summary was stored.
	Applied Kind = "applied"
	// NothingToDo: not enough is new. No model was called.
	NothingToDo Kind = "nothing_to_do"
	// Declined: the summarizer had nothing to say, or what it said was not
	// fit to stand in for the events.
	Declined Kind = "declined"
	// Superseded: another compaction of the session was stored meanwhile, or
	// another process is at it; then no model was called.
	Superseded Kind = "superseded"
	// Failed: an error, a panic or a timeout.
	Failed Kind = "failed"
)

// Triggers of a compaction, named as in the ADK family.
const (
	// TriggerSlidingWindow: CompactionInterval invocations were new.
	TriggerSlidingWindow = "sliding_window"
	// TriggerTokenThreshold: a prompt reached TokenThreshold.
	TriggerTokenThreshold = "token_threshold"
	// TriggerManual: the application asked for it.
	TriggerManual = "manual"
	// TriggerRollup: summaries of one level stood side by side. The ADK family
	// has no such trigger.
	TriggerRollup = "rollup"
)

// Outcome reports one compaction. Unless it is Applied the log is as it was.
type Outcome struct {
	Kind Kind
	// Reason says why, in words. If the outcome is Applied it is empty, or says
	// why the summary is not the summarizer's own: a fallback made it, or an
	// extract stands in.
	Reason string
	// Trigger is what started the compaction.
	Trigger string

	AppName, UserID, SessionID string

	// EventID is the ID of the stored compaction event.
	EventID string
	// Start and End are the range that it covers.
	Start, End time.Time
	// Events is the number of events given to the summarizer.
	Events int
	// TokensBefore estimates the tokens of the events and summaries that the
	// summary newly stands in for, TokensAfter those of the summary.
	TokensBefore, TokensAfter int
	// Usage is what the summarizer's model reported, or nil.
	Usage *genai.GenerateContentResponseUsageMetadata
	// Duration is the time taken.
	Duration time.Duration
	// Err is the cause if the outcome is Failed, or Superseded.
	Err error

	waiting  int  // see Window
	extract  bool // an extract stands in
	fellBack bool // so it does although the summarizer was asked
}

// String is a line for a log.
func (o Outcome) String() string {
	text := fmt.Sprintf("compaction %s: session %s", o.Kind, o.SessionID)
	if o.Kind == Applied {
		note := ""
		if o.Reason != "" {
			note = " (" + o.Reason + ")"
		}
		return text + fmt.Sprintf(": %d events, %d tokens now %d, %s", o.Events, o.TokensBefore, o.TokensAfter, o.Duration.Round(time.Millisecond)) + note
	}
	return text + ": " + o.Reason
}
