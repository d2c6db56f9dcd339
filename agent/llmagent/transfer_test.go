package llmagent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/agent/workflowagents/sequentialagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
)

// Agents hand a conversation over; the one that spoke last goes on with it.
func Example_severalAgents() {
	toBooking := modeltest.Call("c1", "transfer_to_agent", map[string]any{"agent_name": "booking"})
	booking, err := llmagent.New(llmagent.Config{
		Name: "booking", Description: "books rooms",
		Model: modeltest.NewScript(modeltest.Text("For how many nights?"), modeltest.Text("Two nights, booked.")),
	})
	if err != nil {
		panic(err)
	}
	desk, err := llmagent.New(llmagent.Config{Name: "desk", Model: modeltest.NewScript(toBooking), SubAgents: []agent.Agent{booking}})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("hotel", desk)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for _, text := range []string{"A room, please.", "Two."} {
		for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				panic(err)
			}
			if to := event.Actions.TransferToAgent; to != "" {
				fmt.Printf("%s hands over to %s\n", event.Author, to)
			}
			if event.IsFinalResponse() {
				fmt.Printf("%s: %s\n", event.Author, event.Content.Parts[0].Text)
			}
		}
	}
	// Output:
	// desk hands over to booking
	// booking: For how many nights?
	// booking: Two nights, booked.
}

func handOver(to string) modeltest.Turn {
	return modeltest.Call("", "transfer_to_agent", map[string]any{"agent_name": to})
}

func newAgent(t *testing.T, cfg llmagent.Config) agent.Agent {
	t.Helper()
	if cfg.Model == nil {
		cfg.Model = modeltest.NewScript()
	}
	a, err := llmagent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// talk says texts, one after the other, and returns who said what.
func talk(t *testing.T, root agent.Agent, texts ...string) []string {
	t.Helper()
	r, err := runner.New(runner.Config{AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	var got []string
	for _, text := range texts {
		for event, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				got = append(got, "error: "+err.Error())
			} else {
				got = append(got, event.Author+": "+show(event))
			}
		}
	}
	return got
}

// TestTransferTargets: whom an agent is told of.
func TestTransferTargets(t *testing.T) {
	for name, test := range map[string]struct {
		self llmagent.Config
		want string // of the middle agent, below root and beside peer, above leaf
	}{
		"all":                 {llmagent.Config{}, "leaf root peer"},
		"not the parent":      {llmagent.Config{DisallowTransferToParent: true}, "leaf peer"},
		"not the peers":       {llmagent.Config{DisallowTransferToPeers: true}, "leaf root"},
		"neither of the both": {llmagent.Config{DisallowTransferToParent: true, DisallowTransferToPeers: true}, "leaf"},
	} {
		llm := modeltest.NewScript(modeltest.Text("hello"))
		test.self.Name, test.self.Description, test.self.Model = "self", "does the work", llm
		test.self.SubAgents = []agent.Agent{newAgent(t, llmagent.Config{Name: "leaf", Description: "does the rest"})}
		root := newAgent(t, llmagent.Config{
			Name: "root", Model: modeltest.NewScript(handOver("self")), GlobalInstruction: "Be kind.",
			SubAgents: []agent.Agent{newAgent(t, test.self), silent(t, "peer")},
		})
		expect(t, name, talk(t, root, "hi"), "root: call transfer_to_agent", "root: transfer_to_agent=map[]", "self: hello")
		req := llm.Requests()[0]
		var declared []string
		for _, tool := range req.Config.Tools {
			declared = append(declared, tool.FunctionDeclarations[0].Parameters.Properties["agent_name"].Enum...)
		}
		if got := strings.Join(declared, " "); got != test.want {
			t.Errorf("%s: told of %s, want %s", name, got, test.want)
		}
		parts := req.Config.SystemInstruction.Parts
		text := parts[len(parts)-1].Text
		if parts[0].Text != "Be kind." || !strings.Contains(text, `"self" (does the work)`) || !strings.Contains(text, `- "leaf": does the rest`) {
			t.Errorf("%s: instruction %q", name, text)
		}
		if strings.Contains(text, `hand over to "root"`) == test.self.DisallowTransferToParent {
			t.Errorf("%s: instruction %q", name, text)
		}
	}
}

// TestNoTransfer: an agent that is alone, or below one that is driven by no
// model, has nobody to hand over to.
func TestNoTransfer(t *testing.T) {
	llm := modeltest.NewScript(modeltest.Text("a"), modeltest.Text("b"))
	talk(t, newAgent(t, llmagent.Config{Name: "alone", Model: llm}), "hi")
	both, err := sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{
		Name: "both", SubAgents: []agent.Agent{newAgent(t, llmagent.Config{Name: "a", Model: llm, GlobalInstruction: "Be kind."}), silent(t, "b")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	talk(t, both, "hi")
	for _, req := range llm.Requests() {
		if len(req.Config.Tools) > 0 || req.Config.SystemInstruction != nil {
			t.Errorf("told of %v, %v", declared(req), req.Config.SystemInstruction)
		}
	}
}

// TestWhoGoesOn: the agent that answers the second message.
func TestWhoGoesOn(t *testing.T) {
	echo := modeltest.Echo{}
	tree := func(leaf llmagent.Config, middle llmagent.Config) agent.Agent {
		leaf.Name, leaf.Model = "leaf", echo
		middle.Name, middle.Model = "middle", modeltest.NewScript(handOver("leaf"), modeltest.Text("middle again"))
		middle.SubAgents = []agent.Agent{newAgent(t, leaf)}
		return newAgent(t, llmagent.Config{
			Name: "root", Model: modeltest.NewScript(handOver("middle"), modeltest.Text("root again")),
			SubAgents: []agent.Agent{newAgent(t, middle)},
		})
	}
	for name, test := range map[string]struct {
		leaf, middle llmagent.Config
		want         string
	}{
		"who spoke last":                         {llmagent.Config{}, llmagent.Config{}, "leaf: two"},
		"not who cannot hand over to its parent": {llmagent.Config{DisallowTransferToParent: true}, llmagent.Config{}, "middle: middle again"},
		"nor who is below such a one":            {llmagent.Config{}, llmagent.Config{DisallowTransferToParent: true}, "root: root again"},
		"peers do not matter":                    {llmagent.Config{DisallowTransferToPeers: true}, llmagent.Config{}, "leaf: two"},
	} {
		got := talk(t, tree(test.leaf, test.middle), "one", "two")
		if last := got[len(got)-1]; last != test.want {
			t.Errorf("%s: %s, want %s", name, last, test.want)
		}
	}
}

// TestWhoMadeTheCallGoesOn, even if another has spoken since.
func TestWhoMadeTheCallGoesOn(t *testing.T) {
	wait := fn{name: "wait", long: true, run: func(agent.Context, map[string]any) (map[string]any, error) { return nil, nil }}
	leaf := newAgent(t, llmagent.Config{
		Name: "leaf", Tools: []tool.Tool{wait},
		Model: modeltest.NewScript(modeltest.Call("w1", "wait", nil), handOver("root"), modeltest.Text("thanks")),
	})
	root := newAgent(t, llmagent.Config{
		Name: "root", Model: modeltest.NewScript(handOver("leaf"), modeltest.Text("yes?")), SubAgents: []agent.Agent{leaf},
	})
	r, err := runner.NewInMemory("app", root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	var got []string
	for _, part := range []*genai.Part{
		genai.NewPartFromText("start"), genai.NewPartFromText("who is there?"),
		{FunctionResponse: &genai.FunctionResponse{ID: "w1", Name: "wait", Response: map[string]any{"done": true}}},
	} {
		for event, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromParts([]*genai.Part{part}, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, event.Author+": "+show(event))
		}
	}
	expect(t, "events", got,
		"root: call transfer_to_agent", "root: transfer_to_agent=map[]", "leaf: call wait",
		"leaf: call transfer_to_agent", "leaf: transfer_to_agent=map[]", "root: yes?",
		"leaf: thanks")
}

// TestTransfersThatFail: the model is told, and can do better.
func TestTransfersThatFail(t *testing.T) {
	sends := fn{name: "sends", run: func(ctx agent.Context, _ map[string]any) (map[string]any, error) {
		ctx.Actions().TransferToAgent = "nobody"
		return nil, nil
	}}
	root := newAgent(t, llmagent.Config{
		Name: "root", Tools: []tool.Tool{sends}, SubAgents: []agent.Agent{silent(t, "a"), silent(t, "b")},
		Model: modeltest.NewScript(handOver("nobody"), modeltest.Call("", "transfer_to_agent", nil), calls("sends"), modeltest.Text("sorry")),
	})
	expect(t, "events", talk(t, root, "hi"),
		"root: call transfer_to_agent", `root: transfer_to_agent=map[error:agent_name is "nobody"; it must be one of: a, b]`,
		"root: call transfer_to_agent", `root: transfer_to_agent=map[error:agent_name is %!q(<nil>); it must be one of: a, b]`,
		"root: call sends", `root: sends=map[error:there is no agent "nobody" to transfer to; there are: a, b]`,
		"root: sorry")
}

// TestAgentsThatOnlyHandOver end with an error, and not never.
func TestAgentsThatOnlyHandOver(t *testing.T) {
	var ping, pong []modeltest.Turn
	for range 20 {
		ping, pong = append(ping, handOver("pong")), append(pong, handOver("ping"))
	}
	root := llmagent.Config{
		Name: "ping", Model: modeltest.NewScript(ping...),
		SubAgents: []agent.Agent{newAgent(t, llmagent.Config{Name: "pong", Model: modeltest.NewScript(pong...)})},
	}
	got, _, err := play(t, root, agent.RunConfig{MaxLLMCalls: 20})
	if !errors.Is(err, agent.ErrMaxLLMCalls) || len(got) != 40 {
		t.Errorf("%d events, error %v", len(got), err)
	}
}

// TestUnfitTrees: an agent is in a tree once.
func TestUnfitTrees(t *testing.T) {
	leaf := silent(t, "leaf")
	a := newAgent(t, llmagent.Config{Name: "a", SubAgents: []agent.Agent{leaf}})
	_, err := llmagent.New(llmagent.Config{Name: "root", Model: modeltest.NewScript(), SubAgents: []agent.Agent{a, leaf}})
	if err == nil || !strings.Contains(err.Error(), `two agents are named "leaf"`) {
		t.Errorf("error %v", err)
	}
	circle := &circular{Agent: silent(t, "circle")}
	for _, below := range []agent.Agent{circle, &circular{Agent: silent(t, "b"), below: circle}} {
		circle.below = below
		_, err := runner.New(runner.Config{AppName: "app", Agent: circle, SessionService: session.InMemoryService()})
		if err == nil || !strings.Contains(err.Error(), `two agents are named "circle"`) {
			t.Errorf("error %v", err)
		}
	}
	// In two trees of two runners it may be.
	for _, name := range []string{"one", "two"} {
		newAgent(t, llmagent.Config{Name: name, SubAgents: []agent.Agent{leaf}})
	}
}

// circular is an agent that somebody else wrote.
type circular struct {
	agent.Agent
	below agent.Agent
}

func (c *circular) SubAgents() []agent.Agent { return []agent.Agent{c.below} }

// TestTransferToAnAgentThatFails: the run ends with its error, and the next
// turn works.
func TestTransferToAnAgentThatFails(t *testing.T) {
	broken, err := agent.New(agent.Config{Name: "broken", Run: func(agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) { yield(nil, errors.New("down")) }
	}})
	if err != nil {
		t.Fatal(err)
	}
	root := newAgent(t, llmagent.Config{
		Name: "root", Model: modeltest.NewScript(handOver("broken"), modeltest.Text("again")), SubAgents: []agent.Agent{broken},
	})
	got := talk(t, root, "one", "two")
	expect(t, "events", got, "root: call transfer_to_agent", "root: transfer_to_agent=map[]", "error: down", "root: again")
}
