package openaimodel

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/dialog"
	"github.com/recap-adk/recap/model"
)

// limit is the name of the field that limits an answer.
type limit string

const (
	maxTokens           limit = "max_tokens"
	maxCompletionTokens limit = "max_completion_tokens"
)

// newParams is the body of a request.
func newParams(name string, limitBy limit, req *model.LLMRequest) (openai.ChatCompletionNewParams, error) {
	var params openai.ChatCompletionNewParams
	if req == nil {
		return params, ErrRequestNil
	}
	params.Model = name
	if req.Model != "" {
		params.Model = req.Model
	}
	instruction, err := dialog.Instruction(req.Config)
	if err != nil {
		return params, err
	}
	if instruction == "" && len(req.Contents) == 0 {
		return params, ErrNoContents
	}
	if instruction != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(instruction))
	}
	messages, err := newMessages(req.Contents)
	if err != nil {
		return params, err
	}
	params.Messages = append(params.Messages, messages...)
	if req.Config == nil {
		return params, nil
	}
	if err := refuse(req.Config); err != nil {
		return params, err
	}
	setNumbers(&params, limitBy, req.Config)
	if err := setTools(&params, req.Config); err != nil {
		return params, err
	}
	if err := setThinking(&params, req.Config.ThinkingConfig); err != nil {
		return params, err
	}
	return params, setFormat(&params, req.Config)
}

// refuse reports the first field that is set and has no place in the request.
func refuse(config *genai.GenerateContentConfig) error {
	for _, field := range dialog.SetFields(config) {
		switch field {
		case "SystemInstruction", "Temperature", "TopP", "MaxOutputTokens", "StopSequences", "PresencePenalty",
			"FrequencyPenalty", "Seed", "ResponseMIMEType", "ResponseSchema", "ResponseJsonSchema", "Tools",
			"ToolConfig", "ThinkingConfig":
		case "TopK":
			return ErrTopKNotSupported
		case "Labels":
			return ErrLabelsNotSupported
		case "SafetySettings":
			return ErrSafetySettingsNotSupported
		case "CandidateCount":
			if config.CandidateCount > 1 {
				return ErrMultipleCandidatesNotSupported
			}
		default:
			return fmt.Errorf("the field %s of the configuration is not supported", field)
		}
	}
	return nil
}

func setNumbers(params *openai.ChatCompletionNewParams, limitBy limit, config *genai.GenerateContentConfig) {
	for _, field := range []struct {
		from *float32
		to   *param.Opt[float64]
	}{
		{config.Temperature, &params.Temperature},
		{config.TopP, &params.TopP},
		{config.PresencePenalty, &params.PresencePenalty},
		{config.FrequencyPenalty, &params.FrequencyPenalty},
	} {
		if field.from != nil {
			*field.to = openai.Float(dialog.Float(*field.from))
		}
	}
	if config.Seed != nil {
		params.Seed = openai.Int(int64(*config.Seed))
	}
	if tokens := int64(config.MaxOutputTokens); tokens > 0 && limitBy == maxTokens {
		params.MaxTokens = openai.Int(tokens)
	} else if tokens > 0 {
		params.MaxCompletionTokens = openai.Int(tokens)
	}
	params.Stop.OfStringArray = config.StopSequences
}

func setTools(params *openai.ChatCompletionNewParams, config *genai.GenerateContentConfig) error {
	functions, mode, err := dialog.Functions(config)
	if err != nil {
		return err
	}
	for _, function := range functions {
		schema, err := dialog.Parameters(function)
		if err != nil {
			return fmt.Errorf("the parameters of the function %q: %w", function.Name, err)
		}
		definition := shared.FunctionDefinitionParam{Name: function.Name, Parameters: schema}
		if function.Description != "" {
			definition.Description = openai.String(function.Description)
		}
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(definition))
	}
	choices := map[genai.FunctionCallingConfigMode]string{
		genai.FunctionCallingConfigModeAny: "required", genai.FunctionCallingConfigModeNone: "none",
	}
	if choice := choices[mode]; choice != "" && len(functions) > 0 {
		params.ToolChoice.OfAuto = openai.String(choice)
	}
	return nil
}

func setThinking(params *openai.ChatCompletionNewParams, config *genai.ThinkingConfig) error {
	if config == nil {
		return nil
	}
	if level := config.ThinkingLevel; level != "" && level != genai.ThinkingLevelUnspecified {
		params.ReasoningEffort = shared.ReasoningEffort(strings.ToLower(string(level)))
	}
	switch budget := config.ThinkingBudget; {
	case budget == nil || *budget < 0: // the model's choice
	case *budget == 0:
		params.ReasoningEffort = shared.ReasoningEffortNone
	default:
		return fmt.Errorf("a thinking budget of %d tokens is not supported; set a thinking level", *budget)
	}
	return nil
}

func setFormat(params *openai.ChatCompletionNewParams, config *genai.GenerateContentConfig) error {
	schema, err := dialog.Schema(config.ResponseSchema, config.ResponseJsonSchema)
	if err != nil {
		return fmt.Errorf("the schema of the answer: %w", err)
	}
	switch kind := config.ResponseMIMEType; {
	case schema != nil:
		format := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Schema: schema}
		if isStrict(schema) {
			format.Strict = openai.Bool(true)
		}
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: format}
	case kind == "application/json":
		params.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	case kind != "" && kind != "text/plain":
		return fmt.Errorf("%w: an answer of type %q", ErrUnsupportedMIMEType, kind)
	}
	return nil
}

// isStrict reports whether a schema is one that OpenAI enforces: every object
// is closed and requires all it has.
func isStrict(schema map[string]any) bool {
	strict := schema["type"] == "object"
	dialog.EachObject(schema, func(object map[string]any) {
		properties, _ := object["properties"].(map[string]any)
		required := map[string]bool{}
		names, _ := object["required"].([]any)
		for _, name := range names {
			if name, ok := name.(string); ok {
				required[name] = true
			}
		}
		strict = strict && object["additionalProperties"] == false && len(required) == len(properties)
	})
	return strict
}

// newMessages is the conversation. IDs have at most 40 characters, and thoughts
// are the server's to keep.
func newMessages(contents []*genai.Content) ([]openai.ChatCompletionMessageParamUnion, error) {
	arranged, err := dialog.Messages(contents, dialog.Rules{
		ValidID: func(id string) bool { return len(id) <= 40 },
		Keep:    func(part *genai.Part) bool { return !part.Thought },
	})
	if err != nil {
		return nil, err
	}
	var messages []openai.ChatCompletionMessageParamUnion
	for _, message := range arranged {
		if message.Role == genai.RoleModel {
			said, err := assistantMessage(message.Parts)
			if err != nil {
				return nil, err
			}
			messages = append(messages, said)
			continue
		}
		rest := message.Parts
		for ; len(rest) > 0 && rest[0].FunctionResponse != nil; rest = rest[1:] {
			result, err := toolMessage(rest[0])
			if err != nil {
				return nil, err
			}
			messages = append(messages, result)
		}
		if len(rest) == 0 {
			continue
		}
		said, err := userMessage(rest)
		if err != nil {
			return nil, err
		}
		messages = append(messages, said)
	}
	return messages, nil
}

func assistantMessage(parts []dialog.Part) (openai.ChatCompletionMessageParamUnion, error) {
	var said openai.ChatCompletionAssistantMessageParam
	var texts []string
	for _, part := range parts {
		if part.FunctionCall != nil {
			args, err := dialog.JSON(part.FunctionCall.Args)
			if err != nil {
				return openai.ChatCompletionMessageParamUnion{}, fmt.Errorf("%s: %w", part.At, err)
			}
			said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID:       part.ID,
					Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: part.FunctionCall.Name, Arguments: args},
				},
			})
			continue
		}
		text, ok := dialog.Text(part.Part)
		if !ok {
			return openai.ChatCompletionMessageParamUnion{}, unsupported(part, "in an answer of the model")
		}
		texts = append(texts, text)
	}
	if len(texts) > 0 {
		said.Content.OfString = openai.String(strings.Join(texts, "\n\n"))
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &said}, nil
}

func toolMessage(part dialog.Part) (openai.ChatCompletionMessageParamUnion, error) {
	if len(part.FunctionResponse.Parts) > 0 {
		return openai.ChatCompletionMessageParamUnion{}, fmt.Errorf("%s: %w: files in the result of a tool", part.At, ErrUnsupportedMessageContentType)
	}
	text, err := dialog.JSON(part.FunctionResponse.Response)
	if err != nil {
		return openai.ChatCompletionMessageParamUnion{}, fmt.Errorf("%s: %w", part.At, err)
	}
	return openai.ToolMessage(text, part.ID), nil
}

// userMessage is one text where it can be, as some servers take nothing else.
func userMessage(parts []dialog.Part) (openai.ChatCompletionMessageParamUnion, error) {
	var texts []string
	var shown []openai.ChatCompletionContentPartUnionParam
	for _, part := range parts {
		if text, ok := dialog.Text(part.Part); ok {
			texts = append(texts, text)
			shown = append(shown, openai.TextContentPart(text))
			continue
		}
		media, err := mediaPart(part)
		if err != nil {
			return openai.ChatCompletionMessageParamUnion{}, err
		}
		shown = append(shown, media)
	}
	if len(texts) == len(shown) {
		return openai.UserMessage(strings.Join(texts, "\n\n")), nil
	}
	return openai.UserMessage(shown), nil
}

func mediaPart(part dialog.Part) (openai.ChatCompletionContentPartUnionParam, error) {
	if file := part.FileData; file != nil {
		isWeb := strings.HasPrefix(file.FileURI, "https://") || strings.HasPrefix(file.FileURI, "http://")
		if isWeb && strings.HasPrefix(dialog.MIMEType(file.MIMEType), "image/") {
			return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: file.FileURI}), nil
		}
		return openai.ChatCompletionContentPartUnionParam{}, unsupported(part, "from the user")
	}
	if part.InlineData == nil {
		return openai.ChatCompletionContentPartUnionParam{}, unsupported(part, "from the user")
	}
	kind, data := dialog.MIMEType(part.InlineData.MIMEType), base64.StdEncoding.EncodeToString(part.InlineData.Data)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:" + kind + ";base64," + data}), nil
	case "audio/wav", "audio/x-wav", "audio/wave":
		return openai.InputAudioContentPart(openai.ChatCompletionContentPartInputAudioInputAudioParam{Data: data, Format: "wav"}), nil
	case "audio/mp3", "audio/mpeg":
		return openai.InputAudioContentPart(openai.ChatCompletionContentPartInputAudioInputAudioParam{Data: data, Format: "mp3"}), nil
	case "application/pdf":
		name := part.InlineData.DisplayName
		if name == "" {
			name = "file.pdf"
		}
		return openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{
			FileData: openai.String("data:application/pdf;base64," + data), Filename: openai.String(name),
		}), nil
	}
	return openai.ChatCompletionContentPartUnionParam{}, unsupported(part, "from the user")
}

func unsupported(part dialog.Part, where string) error {
	reason := ErrUnsupportedMessageContentType
	if part.InlineData != nil || part.FileData != nil {
		reason = ErrUnsupportedMIMEType
	}
	return fmt.Errorf("%s: %w: %s %s", part.At, reason, dialog.Describe(part.Part), where)
}
