package sessiontest_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/sessiontest"
)

// The tests of a new store begin with the suite.
func ExampleRun() {
	_ = func(t *testing.T) { // TestService
		sessiontest.Run(t, func(t *testing.T) session.Service { return session.InMemoryService() })
	}
}

func ExampleFill() {
	service := session.InMemoryService()
	s, err := sessiontest.Fill(context.Background(), service, "shop", "ada", "s1", 8)
	if err != nil {
		log.Fatal(err)
	}
	for event := range s.Events().All() {
		fmt.Println(event.InvocationID, event.Author, event.Content.Role)
	}
	// Output:
	// inv-0 user user
	// inv-0 planner model
	// inv-0 planner user
	// inv-0 planner model
	// inv-1 user user
	// inv-1 planner model
	// inv-1 planner user
	// inv-1 planner model
}
