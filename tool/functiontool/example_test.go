package functiontool_test

import (
	"errors"
	"fmt"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

func Example() {
	type Args struct {
		City string `json:"city" jsonschema:"the city to look up"`
		Days int    `json:"days,omitempty" jsonschema:"how many days ahead"`
	}
	type Forecast struct {
		Sky string `json:"sky"`
	}
	forecast, err := functiontool.New(functiontool.Config{
		Name:        "forecast",
		Description: "Tells the weather of the coming days.",
	}, func(ctx agent.Context, args Args) (Forecast, error) {
		return Forecast{Sky: "clear over " + args.City}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// An agent does this when its model calls the tool.
	function := forecast.(tool.Function)
	answer, err := function.Run(newContext(), map[string]any{"city": "Lisbon"})
	fmt.Println(answer, err)
	_, err = function.Run(newContext(), map[string]any{"days": 2})
	fmt.Println(errors.Is(err, functiontool.ErrInvalidArgument), err)
	// Output:
	// map[sky:clear over Lisbon] <nil>
	// true tool "forecast": invalid argument: required: missing properties: ["city"]
}
