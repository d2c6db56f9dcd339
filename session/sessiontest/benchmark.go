package sessiontest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
)

// lengths are the numbers of events in the histories that are measured.
var lengths = []int{100, 1_000, 10_000}

// BenchmarkAppend measures one append to histories of several lengths, in
// sub-benchmarks named events=N:
//
//	func BenchmarkAppend(b *testing.B) {
//		b.Run("store=memory", func(b *testing.B) { sessiontest.BenchmarkAppend(b, open) })
//	}
func BenchmarkAppend(b *testing.B, open func(*testing.B) session.Service) {
	benchmark(b, open, func(b *testing.B, service session.Service, handle session.Session) {
		for b.Loop() {
			if err := service.AppendEvent(b.Context(), handle, typicalEvent(0)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkGet measures reading a session with all its events, in
// sub-benchmarks named events=N.
func BenchmarkGet(b *testing.B, open func(*testing.B) session.Service) {
	benchmark(b, open, func(b *testing.B, service session.Service, _ session.Session) {
		get(b, service, &session.GetRequest{AppName: app, UserID: user, SessionID: id})
	})
}

// BenchmarkGetRecent measures reading the last ten events of a session, in
// sub-benchmarks named events=N.
func BenchmarkGetRecent(b *testing.B, open func(*testing.B) session.Service) {
	benchmark(b, open, func(b *testing.B, service session.Service, _ session.Session) {
		get(b, service, &session.GetRequest{AppName: app, UserID: user, SessionID: id, NumRecentEvents: 10})
	})
}

func get(b *testing.B, service session.Service, req *session.GetRequest) {
	for b.Loop() {
		if _, err := service.Get(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmark(b *testing.B, open func(*testing.B) session.Service, measure func(*testing.B, session.Service, session.Session)) {
	for _, n := range lengths {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			service := open(b)
			handle, err := Fill(b.Context(), service, app, user, id, n)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			measure(b, service, handle)
		})
	}
}

// Fill creates a session with n events of about 500 bytes, as conversations
// with tools have them.
func Fill(ctx context.Context, service session.Service, app, user, id string, n int) (session.Session, error) {
	created, err := service.Create(ctx, &session.CreateRequest{AppName: app, UserID: user, SessionID: id})
	if err != nil {
		return nil, err
	}
	for i := range n {
		if err := service.AppendEvent(ctx, created.Session, typicalEvent(i)); err != nil {
			return nil, err
		}
	}
	return created.Session, nil
}

// typicalEvent is the i-th event of a conversation in which a question is
// followed by a call, its result, and an answer.
func typicalEvent(i int) *session.Event {
	call := fmt.Sprintf("call-%d", i/4)
	event := &session.Event{Timestamp: at(i), InvocationID: fmt.Sprintf("inv-%d", i/4), Author: "planner"}
	event.Actions.StateDelta, event.Actions.ArtifactDelta = map[string]any{}, map[string]int64{}
	text := strings.Repeat("Flights to Lisbon leave at 9:40 and at 17:05. ", 7)
	usage := &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 321, CandidatesTokenCount: 17, TotalTokenCount: 338}
	switch i % 4 {
	case 0:
		event.Author = "user"
		event.Content = genai.NewContentFromText(text, genai.RoleUser)
	case 1:
		event.Content = genai.NewContentFromFunctionCall("search_flights", map[string]any{"to": "LIS", "seats": 2.0, "note": text}, genai.RoleModel)
		event.Content.Parts[0].FunctionCall.ID = call
		event.UsageMetadata = usage
	case 2:
		event.Content = genai.NewContentFromFunctionResponse("search_flights", map[string]any{"price": 100.5, "note": text}, genai.RoleUser)
		event.Content.Parts[0].FunctionResponse.ID = call
		event.Actions.StateDelta = map[string]any{"last_price": 100.5}
	case 3:
		event.Content = genai.NewContentFromText(text, genai.RoleModel)
		event.UsageMetadata = usage
	}
	return event
}
