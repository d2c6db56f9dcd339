package llmagent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
)

// A task may talk to the user before it answers the agent that gave it out.
func ExampleMode() {
	booking, err := llmagent.New(llmagent.Config{
		Name: "booking", Description: "books a room", Mode: llmagent.ModeTask,
		Model: modeltest.NewScript(
			modeltest.Text("For how many nights?"),
			modeltest.Call("c2", "finish_task", map[string]any{"result": "booked for two nights"}),
		),
	})
	if err != nil {
		panic(err)
	}
	desk, err := llmagent.New(llmagent.Config{
		Name: "desk", SubAgents: []agent.Agent{booking},
		Model: modeltest.NewScript(
			modeltest.Call("c1", "booking", map[string]any{"request": "a room in Lisbon"}),
			modeltest.Text("You have your room."),
		),
	})
	if err != nil {
		panic(err)
	}
	r, err := runner.NewInMemory("hotel", desk)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer r.Close(ctx)
	for _, text := range []string{"A room in Lisbon, please.", "Two."} {
		fmt.Println("user:", text)
		for event, err := range r.Run(ctx, "ada", "s1", genai.NewContentFromText(text, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				panic(err)
			}
			fmt.Printf("%s: %s\n", event.Author, show(event))
		}
	}
	// Output:
	// user: A room in Lisbon, please.
	// desk: call booking
	// booking: For how many nights?
	// user: Two.
	// booking: call finish_task
	// booking: finish_task=map[result:Task completed.]
	// desk: booking=map[result:booked for two nights]
	// desk: You have your room.
}

func delegate(name string, mode llmagent.Mode, turns ...modeltest.Turn) (llmagent.Config, *modeltest.Script) {
	llm := modeltest.NewScript(turns...)
	return llmagent.Config{Name: name, Mode: mode, Model: llm, Description: "does it"}, llm
}

func call(name, request string) modeltest.Turn {
	return modeltest.Call("", name, map[string]any{"request": request})
}

// TestSingleTurn: the agent is called as a tool, and sees the request only.
func TestSingleTurn(t *testing.T) {
	sub, subModel := delegate("sub", llmagent.ModeSingleTurn, calls("look"), modeltest.Text("found"), modeltest.Text("found more"))
	sub.Tools, sub.OutputKey = named("look"), "finding"
	llm := modeltest.NewScript(call("sub", "look for a"), modeltest.Text("done"), call("sub", "look for b"), modeltest.Text("done again"))
	root := newAgent(t, llmagent.Config{Name: "root", Model: llm, SubAgents: []agent.Agent{newAgent(t, sub)}})
	expect(t, "events", talk(t, root, "one", "two"),
		"root: call sub", "sub: call look", "sub: look=map[from:look]", "sub: found", "root: sub=map[result:found]", "root: done",
		"root: call sub", "sub: found more", "root: sub=map[result:found more]", "root: done again")
	if got := fmt.Sprint(contentTexts(subModel.Requests()[1].Contents)); got != "[look for a call look look=map[from:look]]" {
		t.Errorf("the agent sees %s", got)
	}
	if got := fmt.Sprint(contentTexts(subModel.Requests()[2].Contents)); got != "[look for b]" {
		t.Errorf("the agent sees %s", got)
	}
	if got := fmt.Sprint(contentTexts(llm.Requests()[3].Contents)); got != "[one call sub sub=map[result:found] done two call sub sub=map[result:found more]]" {
		t.Errorf("the caller sees %s", got)
	}
	if got := strings.Join(declared(llm.Requests()[0]), " "); got != "sub" {
		t.Errorf("the caller is told of %s", got)
	}
	if got := strings.Join(declared(subModel.Requests()[0]), " "); got != "look" {
		t.Errorf("the agent is told of %s", got)
	}
}

// TestSingleTurnsAtTheSameTime, beside another tool: the results are in one
// event.
func TestSingleTurnsAtTheSameTime(t *testing.T) {
	sub, _ := delegate("sub", llmagent.ModeSingleTurn)
	sub.Model = modeltest.Echo{}
	parts := []*genai.Part{}
	for i, name := range []string{"sub", "look", "sub"} {
		args := map[string]any{}
		if name == "sub" {
			args["request"] = fmt.Sprint("request ", i)
		}
		parts = append(parts, &genai.Part{FunctionCall: &genai.FunctionCall{Name: name, Args: args}})
	}
	root := newAgent(t, llmagent.Config{
		Name: "root", Model: modeltest.NewScript(modeltest.Reply(parts...), modeltest.Text("done")),
		Tools: named("look"), SubAgents: []agent.Agent{newAgent(t, sub)},
	})
	got := talk(t, root, "go")
	want := "root: sub=map[result:request 0] | look=map[from:look] | sub=map[result:request 2]"
	if len(got) != 5 || got[3] != want {
		t.Errorf("events:\n%s\nwant among them %s", strings.Join(got, "\n"), want)
	}
}

// TestSchemasOfDelegates: what goes in and what comes out fits them.
func TestSchemasOfDelegates(t *testing.T) {
	number := &genai.Schema{Type: genai.TypeInteger}
	for name, test := range map[string]struct {
		mode          llmagent.Mode
		input, output *genai.Schema
		args          []map[string]any
		answers       []modeltest.Turn
		want          []string // results of the tools, in order
		sees          string   // what the agent is asked
	}{
		"of a single turn": {
			llmagent.ModeSingleTurn, citySchema, number,
			[]map[string]any{{"town": "Lisbon"}, {"city": "Lisbon"}}, []modeltest.Turn{modeltest.Text("5")},
			[]string{`root: sub=map[error:the request does not fit`, "root: sub=map[result:5]"}, `{"city":"Lisbon"}`,
		},
		"an answer that does not fit": {
			llmagent.ModeSingleTurn, nil, number,
			[]map[string]any{{"request": "go"}}, []modeltest.Turn{modeltest.Text("five")},
			[]string{`root: sub=map[error:agent "sub": the answer does not fit OutputSchema`}, "go",
		},
		"no answer": {
			llmagent.ModeSingleTurn, nil, nil,
			[]map[string]any{{"request": "go"}}, []modeltest.Turn{modeltest.Text("")},
			[]string{`root: sub=map[error:agent "sub" gave no answer]`}, "go",
		},
		"of a task": {
			llmagent.ModeTask, number, citySchema,
			[]map[string]any{{"request": 3}}, []modeltest.Turn{
				modeltest.Call("", "finish_task", map[string]any{"city": 1}),
				modeltest.Call("", "finish_task", map[string]any{"city": "Lisbon"}),
			},
			[]string{"sub: finish_task=map[error:the result does not fit", "sub: finish_task=map[result:Task completed.]", "root: sub=map[result:map[city:Lisbon]]"}, `{"request":3}`,
		},
		"a task's result that is no object": {
			llmagent.ModeTask, nil, number,
			[]map[string]any{{"request": "go"}}, []modeltest.Turn{modeltest.Call("", "finish_task", map[string]any{"result": 5})},
			[]string{"sub: finish_task=map[result:Task completed.]", "root: sub=map[result:5]"}, "go",
		},
		"a model that fails": {
			llmagent.ModeTask, nil, nil,
			[]map[string]any{{"request": "go"}}, []modeltest.Turn{modeltest.Fail(errors.New("down"))},
			[]string{"root: sub=map[error:down]"}, "go",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sub, llm := delegate("sub", test.mode, test.answers...)
			sub.InputSchema, sub.OutputSchema = test.input, test.output
			var turns []modeltest.Turn
			for _, args := range test.args {
				turns = append(turns, modeltest.Call("", "sub", args))
			}
			root := newAgent(t, llmagent.Config{
				Name: "root", Model: modeltest.NewScript(append(turns, modeltest.Text("done"))...), SubAgents: []agent.Agent{newAgent(t, sub)},
			})
			var got []string
			for _, text := range talk(t, root, "go") {
				if strings.Contains(text, "=map[") {
					got = append(got, text)
				}
			}
			if len(got) != len(test.want) {
				t.Fatalf("results %q, want %q", got, test.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], test.want[i]) {
					t.Errorf("result %s, want %s", got[i], test.want[i])
				}
			}
			if sees := contentTexts(llm.Requests()[0].Contents); sees[0] != test.sees {
				t.Errorf("the agent is asked %q, want %s", sees, test.sees)
			}
		})
	}
}

// TestTasksOfTasks: the user's messages are for the innermost task that waits,
// and each answers the one that gave it out.
func TestTasksOfTasks(t *testing.T) {
	inner, innerModel := delegate("inner", llmagent.ModeTask, modeltest.Text("when?"), modeltest.Call("", "finish_task", map[string]any{"result": "in May"}))
	outer, outerModel := delegate("outer", llmagent.ModeTask,
		modeltest.Text("where?"), call("inner", "find the time"), modeltest.Text("really?"), modeltest.Call("", "finish_task", map[string]any{"result": "Lisbon in May"}))
	outer.SubAgents, outer.OutputKey = []agent.Agent{newAgent(t, inner)}, "trip"
	llm := modeltest.NewScript(call("outer", "plan a trip"), modeltest.Text("planned: {trip}"), modeltest.Text("bye"))
	root := newAgent(t, llmagent.Config{Name: "root", Model: llm, SubAgents: []agent.Agent{newAgent(t, outer)}})
	expect(t, "events", talk(t, root, "a trip", "Lisbon", "May", "yes", "thanks"),
		"root: call outer", "outer: where?",
		"outer: call inner", "inner: when?",
		"inner: call finish_task", "inner: finish_task=map[result:Task completed.]", "outer: inner=map[result:in May]", "outer: really?",
		"outer: call finish_task", "outer: finish_task=map[result:Task completed.]", "root: outer=map[result:Lisbon in May]", "root: planned: {trip}",
		"root: bye")
	for i, test := range []struct {
		llm  *modeltest.Script
		want string
	}{
		{innerModel, "[find the time when? May]"},
		{outerModel, "[plan a trip where? Lisbon call inner inner=map[result:in May] really? yes]"},
		{llm, "[a trip call outer outer=map[result:Lisbon in May] planned: {trip} thanks]"},
	} {
		all := test.llm.Requests()
		if got := fmt.Sprint(contentTexts(all[len(all)-1].Contents)); got != test.want {
			t.Errorf("model %d sees %s, want %s", i, got, test.want)
		}
	}
}

// TestTaskBesideATool: the agent waits for the task, whatever else it has.
func TestTaskBesideATool(t *testing.T) {
	task, _ := delegate("task", llmagent.ModeTask, modeltest.Text("which?"), modeltest.Call("", "finish_task", map[string]any{"result": "that"}))
	root := newAgent(t, llmagent.Config{
		Name: "root", Tools: named("look"), SubAgents: []agent.Agent{newAgent(t, task)},
		Model: modeltest.NewScript(modeltest.Reply(
			&genai.Part{FunctionCall: &genai.FunctionCall{Name: "look"}},
			&genai.Part{FunctionCall: &genai.FunctionCall{Name: "task", Args: map[string]any{"request": "r"}}},
		), modeltest.Text("done")),
	})
	expect(t, "events", talk(t, root, "go", "this"),
		"root: call look | call task", "task: which?", "root: look=map[from:look]",
		"task: call finish_task", "task: finish_task=map[result:Task completed.]", "root: task=map[result:that]", "root: done")
}

// TestConsumerStopsInADelegate: nothing runs on, and the next turn works.
func TestConsumerStopsInADelegate(t *testing.T) {
	sub, _ := delegate("sub", llmagent.ModeSingleTurn, calls("look"), modeltest.Text("never"))
	sub.Tools = named("look")
	root := newAgent(t, llmagent.Config{
		Name: "root", Model: modeltest.NewScript(call("sub", "r"), modeltest.Text("fine")), SubAgents: []agent.Agent{newAgent(t, sub)},
	})
	r, err := runner.NewInMemory("app", root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	for event := range r.Run(t.Context(), "ada", "s1", question(), agent.RunConfig{}) {
		if event.Author == "sub" {
			break
		}
	}
	var got []string
	for event, err := range r.Run(t.Context(), "ada", "s1", question(), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, show(event))
	}
	expect(t, "events", got, "fine")
}

// TestUnfitModes: what could never work is refused.
func TestUnfitModes(t *testing.T) {
	if _, err := llmagent.New(llmagent.Config{Name: "a", Model: modeltest.NewScript(), Mode: "talk"}); err == nil || !strings.Contains(err.Error(), `Mode is "talk"`) {
		t.Errorf("error %v", err)
	}
	sub, _ := delegate("look", llmagent.ModeTask)
	if _, err := runner.New(runner.Config{AppName: "app", Agent: newAgent(t, sub), SessionService: session.InMemoryService()}); err == nil || !strings.Contains(err.Error(), `is of Mode "task"`) {
		t.Errorf("error %v", err)
	}
	for name, cfg := range map[string]llmagent.Config{
		"look":              {Name: "root", Tools: named("look"), SubAgents: []agent.Agent{newAgent(t, sub)}},
		"transfer_to_agent": {Name: "root", Tools: []tool.Tool{answers("transfer_to_agent", nil, nil)}, SubAgents: []agent.Agent{silent(t, "a")}},
	} {
		got := talk(t, newAgent(t, cfg), "go")
		if want := fmt.Sprintf("the tool %q has the name of one that the agent has of itself", name); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}

// TestConfirmationInATask: the answer reaches the tool that asked, and the task
// goes on.
func TestConfirmationInATask(t *testing.T) {
	done := 0
	task, _ := delegate("task", llmagent.ModeTask,
		modeltest.Call("p1", "pay", map[string]any{"sum": 5}), modeltest.Call("", "finish_task", map[string]any{"result": "paid"}))
	task.Tools = []tool.Tool{pays(&done)}
	c := newClerk(t, fn{name: "pay"}, call("task", "pay it"), modeltest.Text("done"))
	c.r, _ = newRunner(t, llmagent.Config{Name: "root", Model: c.llm, SubAgents: []agent.Agent{newAgent(t, task)}})
	question := c.say(genai.NewPartFromText("go"))
	if question == nil {
		t.Fatalf("no question: %q", c.got)
	}
	c.say(&genai.Part{FunctionResponse: &genai.FunctionResponse{ID: question.ID, Name: question.Name, Response: map[string]any{"confirmed": true}}})
	expect(t, "events", c.got,
		"call task", "call pay", "call adk_request_confirmation", "pay=map[status:asked]",
		"pay=map[status:paid 5]", "call finish_task", "finish_task=map[result:Task completed.]", "task=map[result:paid]", "done")
	if done != 1 {
		t.Errorf("paid %d times", done)
	}
}

// TestCompactionDuringATask: the request stays in front, whatever is
// summarized.
func TestCompactionDuringATask(t *testing.T) {
	long := strings.Repeat(" and so on", 100)
	task, llm := delegate("task", llmagent.ModeTask,
		modeltest.Text("one?"+long), modeltest.Text("two?"+long), modeltest.Text("three?"+long),
		modeltest.Call("", "finish_task", map[string]any{"result": "r"}))
	root := newAgent(t, llmagent.Config{
		Name: "root", Model: modeltest.NewScript(call("task", "the request"), modeltest.Text("done")), SubAgents: []agent.Agent{newAgent(t, task)},
	})
	applied := 0
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true,
		CompactionConfig: &compaction.Config{
			CompactionInterval: 2, Blocking: true, Summarizer: compaction.ExtractiveSummarizer{},
			OnOutcome: func(o compaction.Outcome) { applied++ },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	var got []string
	for _, text := range []string{"go", "first", "second", "third"} {
		for event, err := range r.Run(t.Context(), "ada", "s1", genai.NewContentFromText(text+long, genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimSuffix(show(event), long))
		}
	}
	expect(t, "events", got, "call task", "one?", "two?", "three?", "call finish_task", "finish_task=map[result:Task completed.]", "task=map[result:r]", "done")
	prompt := contentTexts(llm.Requests()[3].Contents)
	if applied == 0 || !strings.HasPrefix(prompt[0], "the request | <earlier>") || !strings.HasPrefix(prompt[len(prompt)-1], "third") {
		t.Errorf("%d summaries, prompt %.100q", applied, prompt)
	}
}
