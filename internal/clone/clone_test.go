package clone_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/clone"
)

func ExampleOf() {
	original := map[string][]int{"a": {1, 2}}
	copied := clone.Of(original)
	copied["a"][0] = 99
	fmt.Println(original)
	// Output: map[a:[1 2]]
}

type sample struct {
	Content *genai.Content
	Any     any
	Map     map[string]any
	Array   [2]*int
	Empty   []string
	Bytes   []byte
	When    time.Time
	hidden  []int
}

func TestOf(t *testing.T) {
	one, two := 1, 2
	fresh := func() *sample {
		return &sample{
			Content: &genai.Content{Role: "user", Parts: []*genai.Part{{
				FunctionCall: &genai.FunctionCall{ID: "c", Args: map[string]any{"x": []any{1.0, map[string]any{"y": "z"}}}},
			}}},
			Any:    map[string]any{"k": []string{"v"}},
			Map:    map[string]any{"nil": nil, "n": 1},
			Array:  [2]*int{&one, &two},
			Empty:  []string{},
			Bytes:  []byte("abc"),
			When:   time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
			hidden: []int{1},
		}
	}
	original := fresh()
	copied := clone.Of(original)
	if !reflect.DeepEqual(copied, fresh()) {
		t.Fatalf("the copy differs: %+v", copied)
	}

	call := copied.Content.Parts[0].FunctionCall
	call.Args["x"].([]any)[1].(map[string]any)["y"] = "changed"
	copied.Any.(map[string]any)["k"].([]string)[0] = "changed"
	copied.Map["n"] = 2
	*copied.Array[0] = 7
	copied.Bytes[0] = 'X'
	if !reflect.DeepEqual(original, fresh()) {
		t.Errorf("changing the copy changed the original: %+v", original)
	}
	if one != 1 {
		t.Errorf("changing the copy changed the original through a pointer in an array")
	}

	if clone.Of[*sample](nil) != nil || clone.Of[map[string]int](nil) != nil || clone.Of[[]byte](nil) != nil {
		t.Error("a copy of nil is not nil")
	}
	var nothing any
	if clone.Of(nothing) != nil {
		t.Error("a copy of a nil interface is not nil")
	}
}
