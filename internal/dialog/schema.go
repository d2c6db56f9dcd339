package dialog

import (
	"encoding/json"
	"errors"
	"strings"

	"google.golang.org/genai"
)

// ErrEmptySchema is the error of a JSON schema that is there and says nothing.
var ErrEmptySchema = errors.New("the JSON schema is empty")

// Parameters is the JSON schema of a function's arguments. A function without
// one takes none.
func Parameters(function *genai.FunctionDeclaration) (map[string]any, error) {
	schema, err := Schema(function.Parameters, function.ParametersJsonSchema)
	if err != nil {
		return nil, err
	}
	if schema == nil {
		schema = map[string]any{"type": "object"}
	}
	if _, ok := schema["properties"]; !ok && schema["type"] == "object" {
		schema["properties"] = map[string]any{} // some servers insist on it
	}
	return schema, nil
}

// Schema is a schema given in one of two forms as a JSON schema, or nil if it
// is given in neither. The caller may change it.
func Schema(typed *genai.Schema, untyped any) (map[string]any, error) {
	if untyped == nil {
		return fromTyped(typed), nil
	}
	text, err := json.Marshal(untyped)
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	if len(schema) == 0 {
		return nil, ErrEmptySchema
	}
	return schema, nil
}

func fromTyped(s *genai.Schema) map[string]any {
	if s == nil {
		return nil
	}
	schema := map[string]any{}
	set(schema, "title", s.Title)
	set(schema, "description", s.Description)
	set(schema, "format", s.Format)
	set(schema, "pattern", s.Pattern)
	setPointer(schema, "minimum", s.Minimum)
	setPointer(schema, "maximum", s.Maximum)
	setPointer(schema, "minItems", s.MinItems)
	setPointer(schema, "maxItems", s.MaxItems)
	setPointer(schema, "minLength", s.MinLength)
	setPointer(schema, "maxLength", s.MaxLength)
	setPointer(schema, "minProperties", s.MinProperties)
	setPointer(schema, "maxProperties", s.MaxProperties)
	if s.Default != nil {
		schema["default"] = s.Default
	}
	if s.Example != nil {
		schema["examples"] = []any{s.Example}
	}
	if len(s.Required) > 0 {
		schema["required"] = s.Required
	}
	if s.Items != nil {
		schema["items"] = fromTyped(s.Items)
	}
	if s.Properties != nil {
		properties := map[string]any{}
		for name, property := range s.Properties {
			properties[name] = fromTyped(property)
		}
		schema["properties"] = properties
	}
	nullable := s.Nullable != nil && *s.Nullable
	setChoices(schema, s, nullable)
	setType(schema, s.Type, nullable)
	return schema
}

// setChoices sets enum and anyOf, with null among them where it is allowed.
func setChoices(schema map[string]any, s *genai.Schema, nullable bool) {
	var enum, anyOf []any
	for _, value := range s.Enum {
		enum = append(enum, value)
	}
	for _, alternative := range s.AnyOf {
		anyOf = append(anyOf, fromTyped(alternative))
	}
	if nullable && enum != nil {
		enum = append(enum, nil)
	}
	if nullable && anyOf != nil {
		anyOf = append(anyOf, map[string]any{"type": "null"})
	}
	if enum != nil {
		schema["enum"] = enum
	}
	if anyOf != nil {
		schema["anyOf"] = anyOf
	}
}

func setType(schema map[string]any, declared genai.Type, nullable bool) {
	if declared == "" || declared == genai.TypeUnspecified {
		return
	}
	name := strings.ToLower(string(declared))
	if nullable {
		schema["type"] = []any{name, "null"}
		return
	}
	schema["type"] = name
}

func set(schema map[string]any, key, value string) {
	if value != "" {
		schema[key] = value
	}
}

func setPointer[T any](schema map[string]any, key string, value *T) {
	if value != nil {
		schema[key] = *value
	}
}

// EachObject calls f with every object schema in a JSON schema, however deep.
func EachObject(schema map[string]any, f func(object map[string]any)) {
	if _, ok := schema["properties"].(map[string]any); ok || isObject(schema["type"]) {
		f(schema)
	}
	for _, key := range []string{"properties", "$defs", "definitions"} {
		if named, ok := schema[key].(map[string]any); ok {
			for _, child := range named {
				eachIn(child, f)
			}
		}
	}
	for _, key := range []string{"items", "anyOf", "allOf", "oneOf", "prefixItems"} {
		eachIn(schema[key], f)
	}
}

func eachIn(value any, f func(map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		EachObject(value, f)
	case []any:
		for _, child := range value {
			eachIn(child, f)
		}
	}
}

func isObject(kind any) bool {
	switch kind := kind.(type) {
	case string:
		return kind == "object"
	case []any:
		for _, alternative := range kind {
			if alternative == "object" {
				return true
			}
		}
	}
	return false
}
