package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/schema"
)

func ExampleCompile() {
	checker, err := schema.Compile(&genai.Schema{
		Type:       genai.TypeObject,
		Properties: map[string]*genai.Schema{"city": {Type: genai.TypeString}},
		Required:   []string{"city"},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(checker.Check(map[string]any{"city": "Lisbon"}))
	fmt.Println(checker.Check(map[string]any{}))
	// Output:
	// <nil>
	// required: missing properties: ["city"]
}

func ptr[T any](v T) *T { return &v }

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		schema     *genai.Schema
		fits, not  string // JSON, separated by spaces
		complaints string
	}{
		{&genai.Schema{Type: genai.TypeString}, `"" "a"`, `1 null {}`, "type"},
		{&genai.Schema{Type: "string"}, `"a"`, `1`, "type"},
		{&genai.Schema{Type: genai.TypeString, Nullable: ptr(true)}, `"a" null`, `1`, "type"},
		{&genai.Schema{Type: genai.TypeString, Enum: []string{"a", "b"}}, `"a"`, `"c"`, "enum"},
		{&genai.Schema{Type: genai.TypeString, Enum: []string{"a"}, Nullable: ptr(true)}, `"a" null`, `"c"`, "enum"},
		{&genai.Schema{Type: genai.TypeString, MinLength: ptr[int64](1), MaxLength: ptr[int64](2), Pattern: "^a"}, `"a" "ab"`, `"" "abc" "b"`, ""},
		{&genai.Schema{Type: genai.TypeInteger, Minimum: ptr(1.0), Maximum: ptr(3.0)}, `1 3`, `0 4 1.5 "1"`, ""},
		{&genai.Schema{Type: genai.TypeNumber}, `1 1.5`, `"1"`, "type"},
		{&genai.Schema{Type: genai.TypeBoolean}, `true`, `"true"`, "type"},
		{&genai.Schema{Type: genai.TypeArray, Items: &genai.Schema{Type: genai.TypeInteger}, MinItems: ptr[int64](1), MaxItems: ptr[int64](2)}, `[1] [1,2]`, `[] [1,2,3] ["a"]`, ""},
		{&genai.Schema{Type: genai.TypeObject}, `{} {"a":1}`, `[]`, "type"},
		{&genai.Schema{Type: genai.TypeObject, MaxProperties: ptr[int64](1), MinProperties: ptr[int64](1)}, `{"a":1}`, `{} {"a":1,"b":2}`, ""},
		{&genai.Schema{Type: genai.TypeObject, Required: []string{"a"}, Properties: map[string]*genai.Schema{
			"a": {Type: genai.TypeInteger}, "b": {Type: genai.TypeString},
		}}, `{"a":1} {"a":1,"b":""}`, `{} {"a":"1"} {"a":1,"c":2}`, ""},
		{&genai.Schema{AnyOf: []*genai.Schema{{Type: genai.TypeString}, {Type: genai.TypeInteger}}}, `"a" 1`, `1.5`, "anyOf"},
		{&genai.Schema{Type: genai.TypeUnspecified}, `1 "a"`, `x`, "not JSON"},
	} {
		checker, err := schema.Compile(test.schema)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range strings.Fields(test.fits) {
			if err := checker.CheckJSON([]byte(value)); err != nil {
				t.Errorf("%s does not fit %+v: %v", value, test.schema, err)
			}
		}
		for _, value := range strings.Fields(test.not) {
			if err := checker.CheckJSON([]byte(value)); err == nil || !strings.Contains(err.Error(), test.complaints) {
				t.Errorf("%s and %+v: error %v", value, test.schema, err)
			}
		}
	}
}

func TestUnfitSchemas(t *testing.T) {
	for want, s := range map[string]*genai.Schema{
		"no schema":                          nil,
		`there is no type "DATE"`:            {Type: "DATE"},
		`items: there is no type "x"`:        {Type: genai.TypeArray, Items: &genai.Schema{Type: "x"}},
		`property "a": there is no type "x"`: {Properties: map[string]*genai.Schema{"a": {Type: "x"}}},
		`property "b": no schema`:            {Properties: map[string]*genai.Schema{"b": nil}},
		`anyOf 0: there is no type "x"`:      {AnyOf: []*genai.Schema{{Type: "x"}}},
		"error parsing regexp":               {Type: genai.TypeString, Pattern: "("},
	} {
		if _, err := schema.Compile(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	checker, err := schema.Compile(&genai.Schema{})
	if err != nil {
		t.Fatal(err)
	}
	if err := checker.Check(make(chan int)); err == nil {
		t.Error("a channel fits")
	}
}
