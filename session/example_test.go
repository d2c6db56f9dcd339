package session_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
)

func Example() {
	ctx := context.Background()
	service := session.InMemoryService()
	created, err := service.Create(ctx, &session.CreateRequest{AppName: "shop", UserID: "ada", SessionID: "s1"})
	if err != nil {
		panic(err)
	}
	event := session.NewEvent(ctx, "invocation-1")
	event.Author = "user"
	event.Content = genai.NewContentFromText("Hello", genai.RoleUser)
	event.Actions.StateDelta = map[string]any{"user:language": "en"}
	if err := service.AppendEvent(ctx, created.Session, event); err != nil {
		panic(err)
	}

	got, err := service.Get(ctx, &session.GetRequest{AppName: "shop", UserID: "ada", SessionID: "s1"})
	if err != nil {
		panic(err)
	}
	for e := range got.Session.Events().All() {
		fmt.Println(e.Author, e.Content.Parts[0].Text)
	}
	language, err := got.Session.State().Get("user:language")
	fmt.Println(language, err)
	// Output:
	// user Hello
	// en <nil>
}

func ExampleEventCompaction_Covers() {
	at := func(second int) *session.Event {
		return &session.Event{InvocationID: "i1", Timestamp: time.Date(2026, 5, 1, 12, 0, second, 0, time.UTC)}
	}
	record := session.NewEventCompaction(at(1).Timestamp, at(5).Timestamp,
		genai.NewContentFromText("Ada said hello.", genai.RoleModel), []session.EventRef{session.NewEventRef(at(3))})
	for second := range 7 {
		fmt.Print(record.Covers(at(second)), " ")
	}
	// Output: false true true false true true false
}
