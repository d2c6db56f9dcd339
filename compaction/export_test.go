package compaction

import "github.com/recap-adk/recap/session"

// SelectTail is selectTail for tests.
func SelectTail(events []*session.Event, agent, branch, scope, invocation string, retention, worthwhile int) (Window, bool) {
	return selectTail(events, reader{agent, branch, scope, invocation}, tailLimits{retention, worthwhile})
}

// Reported is reported for tests.
func Reported(events []*session.Event, agent, branch string) (int, bool) {
	return reported(events, reader{agent: agent, branch: branch})
}

// EstimateRequest is estimateRequest for tests.
var EstimateRequest = estimateRequest

// EstimateTokens is estimateTokens for tests.
var EstimateTokens = estimateTokens
