package dialog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/dialog"
)

func TestText(t *testing.T) {
	tests := []struct {
		name string
		part genai.Part
		want string
		ok   bool
	}{
		{"text", genai.Part{Text: "a"}, "a", true},
		{"code", genai.Part{ExecutableCode: &genai.ExecutableCode{Language: genai.LanguagePython, Code: "print(1)"}}, "```python\nprint(1)\n```", true},
		{"output", genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Outcome: genai.OutcomeOK, Output: "1"}}, "```outcome_ok\n1\n```", true},
		{"text as data", genai.Part{InlineData: &genai.Blob{MIMEType: "text/csv; charset=utf-8", Data: []byte("a,b")}}, "a,b", true},
		{"JSON as data", genai.Part{InlineData: &genai.Blob{MIMEType: "application/json", Data: []byte("{}")}}, "{}", true},
		{"text that is none", genai.Part{InlineData: &genai.Blob{MIMEType: "text/plain", Data: []byte("\xff")}}, "\xff", false},
		{"image", genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("x")}}, "x", false},
		{"file", genai.Part{FileData: &genai.FileData{FileURI: "gs://a"}}, "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, ok := dialog.Text(&test.part); got != test.want || ok != test.ok {
				t.Errorf("text is %q, %v; want %q, %v", got, ok, test.want, test.ok)
			}
		})
	}
}

func TestArgs(t *testing.T) {
	tests := []struct {
		text string
		want map[string]any
		err  string
	}{
		{`{"a": 1}`, map[string]any{"a": 1.0}, ""},
		{``, map[string]any{}, ""},
		{` `, map[string]any{}, ""},
		{`null`, map[string]any{}, ""},
		{`{"a": `, nil, `"{\"a\": " is not a JSON object`},
		{`{} {}`, nil, "is not a JSON object"},
		{`[1]`, nil, `"[1]" is not a JSON object`},
		{strings.Repeat("x", 5000), nil, strings.Repeat("x", 500) + "…"},
	}
	for _, test := range tests {
		got, err := dialog.Args(test.text)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.text, diff)
		}
		if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error is %v, want %q", test.text, err, test.err)
		}
	}
}

func FuzzArgs(f *testing.F) {
	f.Add(`{"a": {"b": [1, null]}}`)
	f.Add("null")
	f.Fuzz(func(t *testing.T, text string) {
		args, err := dialog.Args(text)
		if err != nil {
			return
		}
		again, err := dialog.JSON(args)
		if err != nil {
			t.Fatal(err)
		}
		reread, err := dialog.Args(again)
		if diff := cmp.Diff(args, reread); err != nil || diff != "" {
			t.Errorf("error %v, -first +second:\n%s", err, diff)
		}
	})
}

func TestFloatKeepsDecimals(t *testing.T) {
	for _, f := range []float32{0, 0.1, 0.7, 1.0 / 3, 2} {
		if got := dialog.Float(f); float32(got) != f || f == 0.7 && got != 0.7 {
			t.Errorf("%v became %v", f, got)
		}
	}
}

func TestInstruction(t *testing.T) {
	config := &genai.GenerateContentConfig{SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "a"}, nil, {Text: "b"}}}}
	if got, err := dialog.Instruction(config); got != "a\nb" || err != nil {
		t.Errorf("instruction is %q, %v", got, err)
	}
	config.SystemInstruction.Parts[1] = &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png"}}
	if _, err := dialog.Instruction(config); err == nil || !strings.Contains(err.Error(), `systemInstruction.parts[1]: inline data of type "image/png"`) {
		t.Errorf("error is %v", err)
	}
	if got, err := dialog.Instruction(nil); got != "" || err != nil {
		t.Errorf("instruction is %q, %v", got, err)
	}
}

func TestSetFields(t *testing.T) {
	config := &genai.GenerateContentConfig{
		Temperature: genai.Ptr[float32](0), MaxOutputTokens: 1, Labels: map[string]string{}, Tools: []*genai.Tool{},
		HTTPOptions: &genai.HTTPOptions{}, CachedContent: "x",
	}
	if diff := cmp.Diff([]string{"Temperature", "MaxOutputTokens", "CachedContent"}, dialog.SetFields(config)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFunctions(t *testing.T) {
	tools := []*genai.Tool{
		{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "f"}, nil, {Name: "g"}}}, nil,
		{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "h"}}},
	}
	calling := func(c genai.FunctionCallingConfig) *genai.ToolConfig {
		return &genai.ToolConfig{FunctionCallingConfig: &c}
	}
	tests := []struct {
		name   string
		config *genai.GenerateContentConfig
		want   string
		mode   genai.FunctionCallingConfigMode
		err    string
	}{
		{"none", nil, "", "", ""},
		{"all", &genai.GenerateContentConfig{Tools: tools}, "f g h", "", ""},
		{"some", &genai.GenerateContentConfig{Tools: tools, ToolConfig: calling(genai.FunctionCallingConfig{
			Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{"h", "f"},
		})}, "f h", genai.FunctionCallingConfigModeAny, ""},
		{"a tool of the provider's", &genai.GenerateContentConfig{Tools: []*genai.Tool{{}, {GoogleSearch: &genai.GoogleSearch{}}}}, "", "", "tools[1]"},
		{"another tool configuration", &genai.GenerateContentConfig{ToolConfig: &genai.ToolConfig{RetrievalConfig: &genai.RetrievalConfig{}}}, "", "", "toolConfig"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			functions, mode, err := dialog.Functions(test.config)
			var names []string
			for _, function := range functions {
				names = append(names, function.Name)
			}
			if got := strings.Join(names, " "); got != test.want || mode != test.mode {
				t.Errorf("functions are %q, mode %q", got, mode)
			}
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error is %v, want %q", err, test.err)
			}
		})
	}
}

func TestSchema(t *testing.T) {
	typed := &genai.Schema{
		Type: genai.TypeObject, Title: "trip", Required: []string{"city"}, PropertyOrdering: []string{"city"},
		Properties: map[string]*genai.Schema{
			"city":  {Type: genai.TypeString, Description: "Where.", Pattern: "^[A-Z]", MaxLength: genai.Ptr[int64](9), Example: "Rome"},
			"days":  {Type: genai.TypeInteger, Minimum: genai.Ptr(1.0), Default: 3, Nullable: genai.Ptr(true)},
			"stops": {Type: genai.TypeArray, Items: &genai.Schema{Type: genai.TypeNumber}, MinItems: genai.Ptr[int64](1)},
			"by":    {Type: genai.TypeString, Format: "enum", Enum: []string{"car", "bus"}, Nullable: genai.Ptr(true)},
			"id":    {AnyOf: []*genai.Schema{{Type: genai.TypeString}, {Type: genai.TypeBoolean}}, Nullable: genai.Ptr(true)},
		},
	}
	const want = `{"properties":{` +
		`"by":{"enum":["car","bus",null],"format":"enum","type":["string","null"]},` +
		`"city":{"description":"Where.","examples":["Rome"],"maxLength":9,"pattern":"^[A-Z]","type":"string"},` +
		`"days":{"default":3,"minimum":1,"type":["integer","null"]},` +
		`"id":{"anyOf":[{"type":"string"},{"type":"boolean"},{"type":"null"}]},` +
		`"stops":{"items":{"type":"number"},"minItems":1,"type":"array"}},` +
		`"required":["city"],"title":"trip","type":"object"}`
	tests := []struct {
		name     string
		function genai.FunctionDeclaration
		want     string
		err      error
	}{
		{"typed", genai.FunctionDeclaration{Parameters: typed}, want, nil},
		{"JSON schema", genai.FunctionDeclaration{ParametersJsonSchema: map[string]any{"type": "object", "x": 1}}, `{"properties":{},"type":"object","x":1}`, nil},
		{"a value that becomes one", genai.FunctionDeclaration{ParametersJsonSchema: struct {
			Ref string `json:"$ref"`
		}{"#/a"}}, `{"$ref":"#/a"}`, nil},
		{"none", genai.FunctionDeclaration{}, `{"properties":{},"type":"object"}`, nil},
		{"empty", genai.FunctionDeclaration{ParametersJsonSchema: map[string]any{}}, "", dialog.ErrEmptySchema},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			schema, err := dialog.Parameters(&test.function)
			if !errors.Is(err, test.err) {
				t.Fatalf("error is %v, want %v", err, test.err)
			}
			if err != nil {
				return
			}
			got, err := dialog.JSON(schema)
			if err != nil || got != test.want {
				t.Errorf("schema is %s, %v;\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestEachObject(t *testing.T) {
	schema := map[string]any{
		"type": "object", "title": "a",
		"properties": map[string]any{
			"list":   map[string]any{"type": "array", "items": map[string]any{"type": []any{"object", "null"}, "title": "b"}},
			"choice": map[string]any{"anyOf": []any{map[string]any{"type": "object", "title": "c"}, map[string]any{"type": "string", "title": "no"}}},
		},
		"$defs": map[string]any{"d": map[string]any{"properties": map[string]any{}, "title": "d"}},
	}
	seen := map[string]bool{}
	dialog.EachObject(schema, func(object map[string]any) { seen[object["title"].(string)] = true })
	if diff := cmp.Diff(map[string]bool{"a": true, "b": true, "c": true, "d": true}, seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
