package agent_test

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/session"
)

// An agent with logic of its own needs a function only.
func Example() {
	greeter, err := agent.New(agent.Config{
		Name: "greeter",
		Run: func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
			return func(yield func(*session.Event, error) bool) {
				event := session.NewEvent(ctx, ctx.InvocationID())
				event.Content = genai.NewContentFromText("Hello, "+ctx.Session().UserID()+"!", genai.RoleModel)
				yield(event, nil)
			}
		},
	})
	if err != nil {
		panic(err)
	}

	// Package runner does this, and stores the events.
	ctx := agent.NewInvocationContext(context.Background(), agent.InvocationParams{
		Agent:        greeter,
		Session:      session.NewSnapshot(session.SnapshotData{AppName: "hello", UserID: "ada", ID: "s1"}),
		InvocationID: "i1",
	})
	for event, err := range greeter.Run(ctx) {
		fmt.Println(event.Author, event.InvocationID, event.Content.Parts[0].Text, err)
	}
	// Output: greeter i1 Hello, ada! <nil>
}

// A callback before an agent may answer in its place.
func ExampleBeforeAgentCallback() {
	closed := func(ctx agent.Context) (*genai.Content, error) {
		if open, err := ctx.State().Get("app:open"); err != nil || open == true {
			return nil, err
		}
		return genai.NewContentFromText("The "+ctx.AgentName()+" is closed.", genai.RoleModel), nil
	}
	desk, err := agent.New(agent.Config{
		Name:                 "desk",
		BeforeAgentCallbacks: []agent.BeforeAgentCallback{closed},
		Run: func(agent.InvocationContext) iter.Seq2[*session.Event, error] {
			panic("nobody is there")
		},
	})
	if err != nil {
		panic(err)
	}
	ctx := agent.NewInvocationContext(context.Background(), agent.InvocationParams{
		Session: session.NewSnapshot(session.SnapshotData{State: map[string]any{"app:open": false}}),
	})
	for event, err := range desk.Run(ctx) {
		fmt.Println(event.Author, "says:", event.Content.Parts[0].Text, err)
	}
	// Output: desk says: The desk is closed. <nil>
}
