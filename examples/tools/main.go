// Tools shows Go functions that a model calls: their arguments and results are
// structs, from which the model is told what to send and what it gets.
//
//	GOOGLE_API_KEY=... go run ./examples/tools
//
// Ask for the weather in two cities: the calls of one answer run at the same
// time. Ask about a city that is not in the table: the tool's error is told to
// the model, which can ask back.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/cmd/launcher"
	"github.com/recap-adk/recap/cmd/launcher/full"
	"github.com/recap-adk/recap/model/gemini"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

type place struct {
	City string `json:"city" jsonschema:"the city, in English"`
}

type report struct {
	Sky     string `json:"sky"`
	Celsius int    `json:"celsius"`
}

// reports stand in for a weather service.
var reports = map[string]report{
	"Oslo":   {"snow", -4},
	"Lisbon": {"clear", 19},
}

func weather(_ agent.Context, in place) (report, error) {
	found, ok := reports[in.City]
	if !ok {
		return report{}, fmt.Errorf("there is no weather station in %s", in.City)
	}
	return found, nil
}

type interval struct {
	From string `json:"from" jsonschema:"the first day, as 2006-01-02"`
	To   string `json:"to" jsonschema:"the last day, as 2006-01-02"`
}

func days(_ agent.Context, in interval) (int, error) {
	from, err := time.Parse(time.DateOnly, in.From)
	if err != nil {
		return 0, err
	}
	to, err := time.Parse(time.DateOnly, in.To)
	if err != nil {
		return 0, err
	}
	return int(to.Sub(from).Hours()/24) + 1, nil
}

func main() {
	ctx := context.Background()
	llm, err := gemini.NewModel(ctx, "gemini-2.5-flash", nil) // reads GOOGLE_API_KEY
	check(err)
	weatherTool, err := functiontool.New(functiontool.Config{
		Name: "weather", Description: "Tells the weather in a city now.",
	}, weather)
	check(err)
	daysTool, err := functiontool.New(functiontool.Config{
		Name: "days", Description: "Counts the days of a journey, the first and the last included.",
	}, days)
	check(err)
	planner, err := llmagent.New(llmagent.Config{
		Name:        "planner",
		Model:       llm,
		Instruction: "You plan journeys. Use your tools for weather and dates, never your memory.",
		Tools:       []tool.Tool{weatherTool, daysTool},
	})
	check(err)
	check(full.NewLauncher().Execute(ctx, &launcher.Config{AgentLoader: agent.NewSingleLoader(planner)}, os.Args[1:]))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
