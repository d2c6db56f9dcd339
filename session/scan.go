package session

import (
	"context"
	"iter"
	"time"
)

// EventScanner is a Service that can go through a long log faster than by
// Get, as it reads of each event only what a search needs. Whoever wants it
// asks a Service for it, and pages through Get with GetRequest.Before where it
// is not there.
type EventScanner interface {
	Service

	// ScanEvents yields the events that req asks for, the newest first, each
	// once and those of one time in the reverse of the order in which Get has
	// them. An error ends it; that is ErrNotFound if there is no such session.
	//
	// It reads page by page: memory does not grow with the log, the Service may
	// be used in the loop, and the loop may end at any point. Events that are
	// appended meanwhile may be missed. What is yielded belongs to the caller.
	ScanEvents(context.Context, *ScanRequest) iter.Seq2[*ScannedEvent, error]
}

// ScanRequest asks for the events of a session.
type ScanRequest struct {
	AppName   string
	UserID    string
	SessionID string
	// After and Before are those of GetRequest.
	After, Before time.Time
}

// ScannedEvent is what a search needs of an event.
type ScannedEvent struct {
	ID             string
	Timestamp      time.Time
	InvocationID   string
	Author         string
	Branch         string
	IsolationScope string
	// Content is the event's content as JSON, or empty.
	Content []byte
	// IsCompaction says that the event has an EventCompaction.
	IsCompaction bool
	// RewindBeforeInvocationID is that of the event's actions.
	RewindBeforeInvocationID string
}
