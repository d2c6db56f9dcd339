package dialog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"
)

// Text is the part as text: a text as it is, code and its output in fences, and
// inline data that is text. ok is false for everything else.
func Text(part *genai.Part) (text string, ok bool) {
	switch {
	case part.InlineData != nil:
		return string(part.InlineData.Data), isText(part.InlineData)
	case part.ExecutableCode != nil:
		code := part.ExecutableCode
		return fmt.Sprintf("```%s\n%s\n```", strings.ToLower(string(code.Language)), code.Code), true
	case part.CodeExecutionResult != nil:
		result := part.CodeExecutionResult
		return fmt.Sprintf("```%s\n%s\n```", strings.ToLower(string(result.Outcome)), result.Output), true
	}
	return part.Text, part.Text != ""
}

func isText(blob *genai.Blob) bool {
	kind := MIMEType(blob.MIMEType)
	return (strings.HasPrefix(kind, "text/") || kind == "application/json") && utf8.Valid(blob.Data)
}

// MIMEType is a type without its parameters, in lower case.
func MIMEType(declared string) string {
	kind, _, err := mime.ParseMediaType(declared)
	if err != nil {
		return strings.ToLower(declared)
	}
	return kind
}

// Describe names what a part holds, for an error.
func Describe(part *genai.Part) string {
	switch {
	case part.InlineData != nil:
		return fmt.Sprintf("inline data of type %q", part.InlineData.MIMEType)
	case part.FileData != nil:
		return fmt.Sprintf("a file of type %q at %q", part.FileData.MIMEType, part.FileData.FileURI)
	}
	return kind(part)
}

// kind is the field of a part that says something, or "" for an empty part.
func kind(part *genai.Part) string {
	value := reflect.ValueOf(*part)
	for i := range value.NumField() {
		name := value.Type().Field(i).Name
		if name != "Thought" && name != "PartMetadata" && name != "MediaResolution" && !value.Field(i).IsZero() {
			return name
		}
	}
	return ""
}

// Args are the arguments of a call. None at all are an empty object.
func Args(text string) (map[string]any, error) {
	if strings.TrimSpace(text) == "" {
		return map[string]any{}, nil
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return nil, fmt.Errorf("%q is not a JSON object: %w", shortened(text), err)
	}
	if args == nil { // null
		args = map[string]any{}
	}
	return args, nil
}

func shortened(text string) string {
	const most = 500
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// JSON is a value in compact JSON, without escapes that only HTML needs. An
// object is never null.
func JSON(object map[string]any) (string, error) {
	if object == nil {
		return "{}", nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return "", err
	}
	return strings.TrimSpace(text.String()), nil
}

// Float is the float64 with the same decimals: 0.1 stays 0.1.
func Float(f float32) float64 {
	exact, _ := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	return exact
}

// Instruction is the text of a system instruction, a line for each part.
func Instruction(config *genai.GenerateContentConfig) (string, error) {
	if config == nil || config.SystemInstruction == nil {
		return "", nil
	}
	var texts []string
	for i, part := range config.SystemInstruction.Parts {
		if part == nil || kind(part) == "" {
			continue
		}
		text, ok := Text(part)
		if !ok {
			return "", fmt.Errorf("systemInstruction.parts[%d]: %s is not text", i, Describe(part))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n"), nil
}

// SetFields names the fields of config that are set, in order.
func SetFields(config *genai.GenerateContentConfig) []string {
	var names []string
	if config == nil {
		return nil
	}
	value := reflect.ValueOf(*config)
	for i := range value.NumField() {
		field := value.Field(i)
		if field.IsZero() || (field.Kind() == reflect.Slice || field.Kind() == reflect.Map) && field.Len() == 0 ||
			field.Kind() == reflect.Pointer && field.Elem().Kind() == reflect.Struct && field.Elem().IsZero() {
			continue
		}
		names = append(names, value.Type().Field(i).Name)
	}
	return names
}

// Functions are the functions that the model may call now, and how it must. A
// list of allowed names leaves the others out.
func Functions(config *genai.GenerateContentConfig) ([]*genai.FunctionDeclaration, genai.FunctionCallingConfigMode, error) {
	if config == nil {
		return nil, "", nil
	}
	var calling genai.FunctionCallingConfig
	if config.ToolConfig != nil {
		rest := *config.ToolConfig
		rest.FunctionCallingConfig = nil
		if !reflect.ValueOf(rest).IsZero() {
			return nil, "", errors.New("toolConfig: only functionCallingConfig is supported")
		}
		if given := config.ToolConfig.FunctionCallingConfig; given != nil {
			calling = *given
		}
	}
	allowed := map[string]bool{}
	for _, name := range calling.AllowedFunctionNames {
		allowed[name] = true
	}
	var functions []*genai.FunctionDeclaration
	for i, tool := range config.Tools {
		if tool == nil {
			continue
		}
		rest := *tool
		rest.FunctionDeclarations = nil
		if !reflect.ValueOf(rest).IsZero() {
			return nil, "", fmt.Errorf("tools[%d]: only function declarations are supported", i)
		}
		for _, function := range tool.FunctionDeclarations {
			if function != nil && (len(allowed) == 0 || allowed[function.Name]) {
				functions = append(functions, function)
			}
		}
	}
	return functions, calling.Mode, nil
}
