package inspector_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/server/inspector"
	"github.com/recap-adk/recap/session"
)

// An application mounts the inspector beside its own pages.
func Example() {
	ctx := context.Background()
	sessions := session.InMemoryService()
	created, err := sessions.Create(ctx, &session.CreateRequest{AppName: "shop", UserID: "u1", SessionID: "s1"})
	if err != nil {
		panic(err)
	}
	event := session.NewEvent(ctx, "invocation-1")
	event.Author = "user"
	event.Content = genai.NewContentFromText("Do you have ladders?", genai.RoleUser)
	if err := sessions.AppendEvent(ctx, created.Session, event); err != nil {
		panic(err)
	}

	handler, err := inspector.New(inspector.Config{SessionService: sessions, AppNames: []string{"shop"}})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/inspector/", http.StripPrefix("/inspector", handler))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/inspector/prompt?app=shop&user=u1&id=s1", nil))
	fmt.Println(answer.Code, strings.Contains(answer.Body.String(), "Do you have ladders?"))
	// Output: 200 true
}
