package tool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// TestConfirmationOverTwoRuns: a tool asks, the run ends; the user's next
// message answers, and the call runs or is refused.
func TestConfirmationOverTwoRuns(t *testing.T) {
	ways := map[string]func(*testing.T, *int) llmagent.Config{
		"a function": func(t *testing.T, runs *int) llmagent.Config {
			pay, err := functiontool.New(functiontool.Config{Name: "pay", RequireConfirmation: true}, func(agent.Context, map[string]any) (map[string]any, error) {
				*runs++
				return map[string]any{"ran": "pay"}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return llmagent.Config{Tools: []tool.Tool{pay}}
		},
		"a toolset": func(_ *testing.T, runs *int) llmagent.Config {
			return llmagent.Config{Toolsets: []tool.Toolset{tool.WithConfirmation(box{tools: []tool.Tool{fn{"pay", runs}}}, true, nil)}}
		},
	}
	answers := map[string]struct {
		response map[string]any
		want     string // what the model is told
		runs     int
	}{
		"yes":          {map[string]any{"confirmed": true}, "map[ran:pay]", 1},
		"yes, as JSON": {map[string]any{"response": `{"confirmed":true}`}, "map[ran:pay]", 1},
		"no":           {map[string]any{"confirmed": false}, "the user did not confirm it", 0},
		"gibberish":    {map[string]any{"confirmed": "maybe"}, "the user did not confirm it", 0},
	}
	for way, configure := range ways {
		for kind, answer := range answers {
			t.Run(way+", "+kind, func(t *testing.T) {
				runs := 0
				cfg := configure(t, &runs)
				llm := modeltest.NewScript(modeltest.Call("c1", "pay", map[string]any{"amount": 250}), modeltest.Text("done"))
				cfg.Name, cfg.Model = "clerk", llm
				a, err := llmagent.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				r, err := runner.NewInMemory("app", a)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close(t.Context())

				question := asked(t, r, genai.NewContentFromText("Pay it.", genai.RoleUser))
				if question == nil || runs != 0 || len(llm.Requests()) != 1 {
					t.Fatalf("question %v after %d runs of the tool and %d calls of the model", question, runs, len(llm.Requests()))
				}
				original, err := toolconfirmation.OriginalCallFrom(question)
				if err != nil || original.ID != "c1" || original.Name != "pay" || fmt.Sprint(original.Args) != "map[amount:250]" {
					t.Errorf("the question is about %+v, %v", original, err)
				}
				reply := &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
					ID: question.ID, Name: question.Name, Response: answer.response,
				}}}}
				if again := asked(t, r, reply); again != nil || runs != answer.runs {
					t.Errorf("asked again: %v; the tool ran %d times", again, runs)
				}
				if got := told(llm); !strings.Contains(got, answer.want) {
					t.Errorf("the model is told %s, want %s", got, answer.want)
				}
				// The same answer once more is no second consent.
				llm.Add(modeltest.Text("I know."))
				if asked(t, r, reply); runs != answer.runs {
					t.Errorf("the tool ran %d times", runs)
				}
			})
		}
	}
}

// asked runs a message and returns the question that the user is asked.
func asked(t *testing.T, r *runner.Runner, message *genai.Content) (question *genai.FunctionCall) {
	t.Helper()
	for event, err := range r.Run(context.Background(), "ada", "s1", message, agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Content == nil {
			continue
		}
		for _, part := range event.Content.Parts {
			if part.FunctionCall != nil && part.FunctionCall.Name == toolconfirmation.FunctionCallName {
				question = part.FunctionCall
			}
		}
	}
	return question
}

// told is the last result that the model was sent.
func told(llm *modeltest.Script) (result string) {
	requests := llm.Requests()
	for _, content := range requests[len(requests)-1].Contents {
		for _, part := range content.Parts {
			if part.FunctionResponse != nil {
				result = fmt.Sprint(part.FunctionResponse.Response)
			}
		}
	}
	return result
}
