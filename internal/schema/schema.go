// Package schema checks values against the schemas that genai has.
//
//	checker, err := schema.Compile(&genai.Schema{Type: genai.TypeObject, ...})
//	err = checker.Check(map[string]any{"city": "Lisbon"})
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"
)

// Checker checks values. It is safe for concurrent use.
type Checker struct{ resolved *jsonschema.Resolved }

// Compile returns the Checker of s, or an error that says what is wrong with
// the schema.
func Compile(s *genai.Schema) (*Checker, error) {
	converted, err := JSON(s)
	if err != nil {
		return nil, err
	}
	resolved, err := converted.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &Checker{resolved}, nil
}

// Check reports why value, as JSON, does not fit the schema. An object may have
// no property that the schema does not name, if it names any.
func (c *Checker) Check(value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.CheckJSON(data)
}

// CheckJSON is Check of a value that is JSON already.
func (c *Checker) CheckJSON(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if err := c.resolved.Validate(value); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "validating root: "))
	}
	return nil
}

var types = map[genai.Type]string{
	genai.TypeString: "string", genai.TypeNumber: "number", genai.TypeInteger: "integer",
	genai.TypeBoolean: "boolean", genai.TypeArray: "array", genai.TypeObject: "object", genai.TypeNULL: "null",
}

// JSON is s as JSON Schema has it.
func JSON(s *genai.Schema) (*jsonschema.Schema, error) {
	if s == nil {
		return nil, errors.New("no schema")
	}
	to := &jsonschema.Schema{
		Title: s.Title, Description: s.Description, Format: s.Format,
		Pattern: s.Pattern, Required: s.Required, Minimum: s.Minimum, Maximum: s.Maximum,
		MinLength: number(s.MinLength), MaxLength: number(s.MaxLength),
		MinItems: number(s.MinItems), MaxItems: number(s.MaxItems),
		MinProperties: number(s.MinProperties), MaxProperties: number(s.MaxProperties),
	}
	if s.Type != "" && s.Type != genai.TypeUnspecified {
		name, ok := types[genai.Type(strings.ToUpper(string(s.Type)))]
		if !ok {
			return nil, fmt.Errorf("there is no type %q", s.Type)
		}
		to.Type = name
	}
	nullable := s.Nullable != nil && *s.Nullable
	if nullable && to.Type != "" {
		to.Type, to.Types = "", []string{to.Type, "null"}
	}
	for _, value := range s.Enum {
		to.Enum = append(to.Enum, value)
	}
	if nullable && to.Enum != nil {
		to.Enum = append(to.Enum, nil)
	}
	return to, convertParts(s, to)
}

// convertParts converts the schemas that s is made of.
func convertParts(s *genai.Schema, to *jsonschema.Schema) (err error) {
	if s.Items != nil {
		if to.Items, err = JSON(s.Items); err != nil {
			return fmt.Errorf("items: %w", err)
		}
	}
	for i, option := range s.AnyOf {
		converted, err := JSON(option)
		if err != nil {
			return fmt.Errorf("anyOf %d: %w", i, err)
		}
		to.AnyOf = append(to.AnyOf, converted)
	}
	for name, property := range s.Properties {
		converted, err := JSON(property)
		if err != nil {
			return fmt.Errorf("property %q: %w", name, err)
		}
		if to.Properties == nil {
			to.Properties = map[string]*jsonschema.Schema{}
			to.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		}
		to.Properties[name] = converted
	}
	return nil
}

func number(n *int64) *int {
	if n == nil {
		return nil
	}
	converted := int(*n)
	return &converted
}
