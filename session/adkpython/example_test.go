package adkpython_test

import (
	"context"
	"fmt"

	"github.com/libtnb/sqlite"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/adkpython"
)

func Example() {
	ctx := context.Background()
	service, err := adkpython.NewSessionService(sqlite.Open(":memory:"))
	if err != nil {
		panic(err)
	}
	created, err := service.Create(ctx, &session.CreateRequest{AppName: "travel", UserID: "ada", SessionID: "trip-1"})
	if err != nil {
		panic(err)
	}
	event := session.NewEvent(ctx, "i1")
	event.Author, event.Content = "user", genai.NewContentFromText("A hotel in Lisbon, please.", genai.RoleUser)
	if err := service.AppendEvent(ctx, created.Session, event); err != nil {
		panic(err)
	}
	found, err := service.Get(ctx, &session.GetRequest{AppName: "travel", UserID: "ada", SessionID: "trip-1"})
	fmt.Println(found.Session.Events().At(0).Content.Parts[0].Text, err)
	// Output: A hotel in Lisbon, please. <nil>
}
