package geminitool_test

import (
	"fmt"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/geminitool"
)

func Example() {
	req := &model.LLMRequest{}
	for _, t := range []tool.Tool{
		geminitool.GoogleSearch{},
		geminitool.New("code", "Runs code.", &genai.Tool{CodeExecution: &genai.ToolCodeExecution{}}),
	} {
		// An agent does this before it calls its model.
		if err := t.(tool.RequestProcessor).ProcessRequest(nil, req); err != nil {
			panic(err)
		}
		fmt.Println(t.Name())
	}
	fmt.Println(req.Config.Tools[0].GoogleSearch != nil, req.Config.Tools[1].CodeExecution != nil)
	// Output:
	// google_search
	// code
	// true true
}

// TestRequestsShareNothing: a callback that changes a request changes no other.
func TestRequestsShareNothing(t *testing.T) {
	given := &genai.Tool{Retrieval: &genai.Retrieval{DisableAttribution: true}}
	search := geminitool.New("find", "Finds.", given)
	given.Retrieval.DisableAttribution = false
	for range 2 {
		req := &model.LLMRequest{Config: &genai.GenerateContentConfig{}}
		if err := search.(tool.RequestProcessor).ProcessRequest(nil, req); err != nil {
			t.Fatal(err)
		}
		if !req.Config.Tools[0].Retrieval.DisableAttribution {
			t.Error("the tool was changed from outside")
		}
		req.Config.Tools[0].Retrieval.DisableAttribution = false
	}
}

func TestKinds(t *testing.T) {
	for _, each := range []tool.Tool{geminitool.GoogleSearch{}, geminitool.New("find", "Finds.", &genai.Tool{})} {
		if _, ok := each.(tool.Function); ok || each.IsLongRunning() || each.Description() == "" {
			t.Errorf("%s: a function %v, long running %v", each.Name(), ok, each.IsLongRunning())
		}
	}
	if err := geminitool.New("none", "", nil).(tool.RequestProcessor).ProcessRequest(nil, &model.LLMRequest{}); err == nil {
		t.Error("no tool is no error")
	}
}
