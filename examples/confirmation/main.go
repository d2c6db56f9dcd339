// Confirmation shows a tool that needs a person's consent, and what a client
// does for it: the run ends with a question, and the next message answers it.
// The launcher of the other examples does this by itself.
//
//	GOOGLE_API_KEY=... go run ./examples/confirmation
//
// Ask for 20 euros to be sent, then for 2,000.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

type transfer struct {
	To    string `json:"to"`
	Euros int    `json:"euros"`
}

func send(_ agent.Context, in transfer) (string, error) {
	return fmt.Sprintf("sent %d euros to %s", in.Euros, in.To), nil
}

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	sendTool, err := functiontool.New(functiontool.Config{
		Name: "send_money", Description: "Sends money to a person.",
		RequireConfirmationProvider: func(in transfer) bool { return in.Euros > 100 },
	}, send)
	check(err)
	teller, err := llmagent.New(llmagent.Config{
		Name: "teller", Model: llm, Instruction: "You send money for the user.", Tools: []tool.Tool{sendTool},
	})
	check(err)
	r, err := runner.NewInMemory("bank", teller)
	check(err)
	defer r.Close(ctx)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		questions := run(ctx, r, genai.NewContentFromText(in.Text(), genai.RoleUser))
		for len(questions) > 0 {
			questions = run(ctx, r, genai.NewContentFromParts(answers(in, questions), genai.RoleUser))
		}
	}
}

// run prints what the agent says, and returns the questions it left open.
func run(ctx context.Context, r *runner.Runner, message *genai.Content) (questions []*genai.FunctionCall) {
	for event, err := range r.Run(ctx, "user-1", "session-1", message, agent.RunConfig{}) {
		check(err)
		if event.Content == nil {
			continue
		}
		for _, part := range event.Content.Parts {
			switch call := part.FunctionCall; {
			case part.Text != "":
				fmt.Println(part.Text)
			case call != nil && call.Name == toolconfirmation.FunctionCallName:
				questions = append(questions, call)
			}
		}
	}
	return questions
}

// answers asks the person, and returns the parts of the message that answers.
func answers(in *bufio.Scanner, questions []*genai.FunctionCall) (parts []*genai.Part) {
	for _, question := range questions {
		call, err := toolconfirmation.OriginalCallFrom(question)
		check(err)
		fmt.Printf("Allow %s %v? (yes/no)\n", call.Name, call.Args)
		confirmed := in.Scan() && strings.TrimSpace(in.Text()) == "yes"
		parts = append(parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
			ID: question.ID, Name: question.Name, Response: map[string]any{"confirmed": confirmed},
		}})
	}
	return parts
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
