package retryandreflect_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/agent"
	"github.com/recap-adk/recap/agent/llmagent"
	"github.com/recap-adk/recap/model/modeltest"
	"github.com/recap-adk/recap/plugin"
	"github.com/recap-adk/recap/plugin/retryandreflect"
	"github.com/recap-adk/recap/runner"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool"
	"github.com/recap-adk/recap/tool/functiontool"
)

func Example() {
	got, err := play(retryandreflect.MustNew(), "fail", "ok")
	if err != nil {
		panic(err)
	}
	fmt.Println(got[0]["retry_count"], got[0]["error_details"])
	fmt.Println(got[1])
	// Output:
	// 1 down
	// map[result:fine]
}

type args struct {
	What string `json:"what"`
}

// play has a model call a tool that does what it is told, in one turn for each
// run of words, and returns what the model was told.
func play(p *plugin.Plugin, runs ...string) (results []map[string]any, err error) {
	t, err := functiontool.New(functiontool.Config{Name: "work"}, func(_ agent.Context, in args) (string, error) {
		if in.What == "fail" {
			return "", errors.New("down")
		}
		return "fine", nil
	})
	if err != nil {
		return nil, err
	}
	llm := modeltest.NewScript()
	a, err := llmagent.New(llmagent.Config{Name: "agent", Model: llm, Tools: []tool.Tool{t}})
	if err != nil {
		return nil, err
	}
	r, err := runner.New(runner.Config{
		AppName: "app", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{p}},
	})
	if err != nil {
		return nil, err
	}
	defer r.Close(context.Background())
	for _, run := range runs {
		for word := range strings.FieldsSeq(run) {
			llm.Add(modeltest.Call("", "work", map[string]any{"what": word}))
		}
		llm.Add(modeltest.Text("done"))
		for event, err := range r.Run(context.Background(), "ada", "s1", genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}) {
			if err != nil {
				return nil, err
			}
			if response := event.Content.Parts[0].FunctionResponse; response != nil {
				results = append(results, response.Response)
			}
		}
	}
	return results, nil
}

func TestCounts(t *testing.T) {
	for name, test := range map[string]struct {
		opts []retryandreflect.PluginOption
		runs []string
		want string // per call: the number of the try, "-" done, "!" give up, "e" the error
	}{
		"three tries":             {nil, []string{"fail fail fail fail fail"}, "1 2 3 ! !"},
		"success starts anew":     {nil, []string{"fail fail ok fail"}, "1 2 - 1"},
		"runs count alone":        {nil, []string{"fail fail", "fail"}, "1 2 1"},
		"or all together":         {[]retryandreflect.PluginOption{retryandreflect.WithTrackingScope(retryandreflect.Global)}, []string{"fail fail", "fail fail"}, "1 2 3 !"},
		"no retries":              {[]retryandreflect.PluginOption{retryandreflect.WithMaxRetries(0)}, []string{"fail ok"}, "! -"},
		"the error, in the end":   {[]retryandreflect.PluginOption{retryandreflect.WithMaxRetries(1), retryandreflect.WithErrorIfRetryExceeded(true)}, []string{"fail fail"}, "1 e"},
		"the error, and no tries": {[]retryandreflect.PluginOption{retryandreflect.WithMaxRetries(0), retryandreflect.WithErrorIfRetryExceeded(true)}, []string{"fail"}, "e"},
	} {
		p, err := retryandreflect.New(test.opts...)
		if err != nil {
			t.Fatal(err)
		}
		results, err := play(p, test.runs...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, result := range results {
			guidance, _ := result["reflection_guidance"].(string)
			switch {
			case result["error"] != nil:
				got = append(got, "e")
			case result["result"] != nil:
				got = append(got, "-")
			case strings.Contains(guidance, "Do not use work again"):
				got = append(got, "!")
			default:
				got = append(got, fmt.Sprint(result["retry_count"]))
			}
			if guidance != "" && (!strings.Contains(guidance, `{"what":"fail"}`) || result["error_details"] != "down" || result["error_type"] != "*errors.errorString") {
				t.Errorf("%s: the model is told %v", name, result)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: got %v, want %s", name, got, test.want)
		}
	}
}

func TestUnfit(t *testing.T) {
	for _, opt := range []retryandreflect.PluginOption{retryandreflect.WithMaxRetries(-1), retryandreflect.WithTrackingScope("x")} {
		if _, err := retryandreflect.New(opt); err == nil {
			t.Error("no error")
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			retryandreflect.MustNew(opt)
		}()
	}
}
