package database_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/libtnb/sqlite"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
)

func Example() {
	ctx := context.Background()
	service, err := database.NewSessionService(sqlite.Open(":memory:"))
	if err != nil {
		log.Fatal(err)
	}
	defer service.(io.Closer).Close()
	if err := database.AutoMigrate(service); err != nil {
		log.Fatal(err)
	}

	created, err := service.Create(ctx, &session.CreateRequest{AppName: "shop", UserID: "ada", SessionID: "s1"})
	if err != nil {
		log.Fatal(err)
	}
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, text := range []string{"Hello", "A large coffee, please"} {
		event := &session.Event{Author: "user", InvocationID: "inv-1", Timestamp: noon}
		event.Content = genai.NewContentFromText(text, genai.RoleUser)
		if err := service.AppendEvent(ctx, created.Session, event); err != nil {
			log.Fatal(err)
		}
	}

	got, err := service.Get(ctx, &session.GetRequest{AppName: "shop", UserID: "ada", SessionID: "s1"})
	if err != nil {
		log.Fatal(err)
	}
	for event := range got.Session.Events().All() {
		fmt.Println(event.Timestamp.Format("15:04:05.000000"), event.Content.Parts[0].Text)
	}
	// Output:
	// 12:00:00.000000 Hello
	// 12:00:00.000001 A large coffee, please
}
