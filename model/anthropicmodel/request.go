package anthropicmodel

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/dialog"
	"github.com/recap-adk/recap/model"
)

// defaultMaxTokens limits an answer where the request does not.
const defaultMaxTokens = 16384

// newParams is the body of a request.
func newParams(name string, req *model.LLMRequest) (anthropic.MessageNewParams, error) {
	var params anthropic.MessageNewParams
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
		params.System = []anthropic.TextBlockParam{{Text: instruction}}
	}
	if params.Messages, err = newMessages(req.Contents); err != nil {
		return params, err
	}
	config := req.Config
	if config == nil {
		config = &genai.GenerateContentConfig{}
	}
	if err := refuse(config); err != nil {
		return params, err
	}
	setNumbers(&params, config)
	if err := setTools(&params, config); err != nil {
		return params, err
	}
	return params, setFormat(&params, config)
}

// refuse reports the first field that is set and has no place in the request.
func refuse(config *genai.GenerateContentConfig) error {
	for _, field := range dialog.SetFields(config) {
		switch field {
		case "SystemInstruction", "Temperature", "TopP", "TopK", "MaxOutputTokens", "StopSequences",
			"ResponseMIMEType", "ResponseSchema", "ResponseJsonSchema", "Tools", "ToolConfig", "ThinkingConfig":
			continue
		case "CandidateCount":
			if config.CandidateCount == 1 {
				continue
			}
		}
		return fmt.Errorf("%w: %s", ErrFieldNotSupported, field)
	}
	return nil
}

// sampling sets the parameters that the client has no fields for any more, in
// an order that does not change.
func sampling(config *genai.GenerateContentConfig) []option.RequestOption {
	var options []option.RequestOption
	if config == nil {
		return nil
	}
	for _, field := range []struct {
		name  string
		value *float32
	}{{"temperature", config.Temperature}, {"top_p", config.TopP}, {"top_k", config.TopK}} {
		if field.value != nil {
			options = append(options, option.WithJSONSet(field.name, dialog.Float(*field.value)))
		}
	}
	return options
}

func setNumbers(params *anthropic.MessageNewParams, config *genai.GenerateContentConfig) {
	params.StopSequences = config.StopSequences
	params.MaxTokens = int64(config.MaxOutputTokens)
	if params.MaxTokens == 0 {
		params.MaxTokens = defaultMaxTokens
		if thinking := config.ThinkingConfig; thinking != nil && thinking.ThinkingBudget != nil {
			params.MaxTokens += int64(max(0, *thinking.ThinkingBudget))
		}
	}
	if config.ThinkingConfig != nil {
		setThinking(params, config.ThinkingConfig)
	}
}

// setThinking maps a budget to one, a level to an effort, and thoughts without
// either to what the model thinks fit.
func setThinking(params *anthropic.MessageNewParams, config *genai.ThinkingConfig) {
	if level := config.ThinkingLevel; level == genai.ThinkingLevelMinimal {
		params.OutputConfig.Effort = anthropic.OutputConfigEffortLow // there is none below
	} else if level != "" && level != genai.ThinkingLevelUnspecified {
		params.OutputConfig.Effort = anthropic.OutputConfigEffort(strings.ToLower(string(level)))
	}
	switch budget := config.ThinkingBudget; {
	case budget != nil && *budget == 0:
		params.Thinking.OfDisabled = &anthropic.ThinkingConfigDisabledParam{}
	case budget != nil && *budget > 0:
		enabled := &anthropic.ThinkingConfigEnabledParam{BudgetTokens: int64(*budget)}
		if config.IncludeThoughts {
			enabled.Display = anthropic.ThinkingConfigEnabledDisplaySummarized
		}
		params.Thinking.OfEnabled = enabled
	case budget != nil || config.IncludeThoughts || params.OutputConfig.Effort != "":
		adaptive := &anthropic.ThinkingConfigAdaptiveParam{}
		if config.IncludeThoughts {
			adaptive.Display = anthropic.ThinkingConfigAdaptiveDisplaySummarized
		}
		params.Thinking.OfAdaptive = adaptive
	}
}

func setTools(params *anthropic.MessageNewParams, config *genai.GenerateContentConfig) error {
	functions, mode, err := dialog.Functions(config)
	if err != nil {
		return err
	}
	if len(functions) == 0 {
		// Messages with calls are refused where no tool is declared.
		functions, mode = called(params.Messages), genai.FunctionCallingConfigModeNone
	}
	for _, function := range functions {
		schema, err := dialog.Parameters(function)
		if err != nil {
			return fmt.Errorf("the parameters of the function %q: %w", function.Name, err)
		}
		// As it is: the client's own type writes its fields in an order that
		// changes, and a prompt that changes is not cached.
		tool := anthropic.ToolUnionParamOfTool(param.Override[anthropic.ToolInputSchemaParam](schema), function.Name)
		if function.Description != "" {
			tool.OfTool.Description = anthropic.String(function.Description)
		}
		params.Tools = append(params.Tools, tool)
	}
	if len(functions) == 0 {
		return nil
	}
	switch mode {
	case genai.FunctionCallingConfigModeAny:
		params.ToolChoice.OfAny = &anthropic.ToolChoiceAnyParam{}
	case genai.FunctionCallingConfigModeNone:
		params.ToolChoice.OfNone = &anthropic.ToolChoiceNoneParam{}
	}
	return nil
}

// called declares the functions that messages call.
func called(messages []anthropic.MessageParam) []*genai.FunctionDeclaration {
	var functions []*genai.FunctionDeclaration
	known := map[string]bool{}
	for _, message := range messages {
		if message.OfAssistant == nil {
			continue
		}
		for _, block := range message.OfAssistant.Content {
			if block.OfToolUse != nil && !known[block.OfToolUse.Name] {
				known[block.OfToolUse.Name] = true
				functions = append(functions, &genai.FunctionDeclaration{Name: block.OfToolUse.Name})
			}
		}
	}
	return functions
}

// setFormat asks for an answer by a schema, whose objects must be closed.
func setFormat(params *anthropic.MessageNewParams, config *genai.GenerateContentConfig) error {
	schema, err := dialog.Schema(config.ResponseSchema, config.ResponseJsonSchema)
	if err != nil {
		return fmt.Errorf("the schema of the answer: %w", err)
	}
	switch kind := config.ResponseMIMEType; {
	case schema != nil:
		dialog.EachObject(schema, func(object map[string]any) {
			if _, ok := object["additionalProperties"]; !ok {
				object["additionalProperties"] = false
			}
		})
		params.OutputConfig.Format = anthropic.JSONOutputFormatParam{Schema: schema}
	case kind == "application/json":
		return fmt.Errorf("%w: JSON without a schema", ErrUnsupportedMIMEType)
	case kind != "" && kind != "text/plain":
		return fmt.Errorf("%w: an answer of type %q", ErrUnsupportedMIMEType, kind)
	}
	return nil
}

var validID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func newMessages(contents []*genai.Content) ([]anthropic.MessageParam, error) {
	arranged, err := dialog.Messages(contents, dialog.Rules{ValidID: validID.MatchString, Keep: isSent})
	if err != nil {
		return nil, err
	}
	var messages []anthropic.MessageParam
	for _, message := range arranged {
		var blocks []anthropic.ContentBlockParamUnion
		for _, part := range message.Parts {
			block, err := newBlock(part, message.Role)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, block)
		}
		if message.Role == genai.RoleModel {
			messages = append(messages, anthropic.NewAssistantMessage(blocks...))
		} else {
			messages = append(messages, anthropic.NewUserMessage(blocks...))
		}
	}
	return messages, nil
}

// isSent leaves out what the service refuses and the model can do without:
// texts of nothing but space, and thoughts that it did not sign. Its signatures
// are base64, where those of other models are bytes.
func isSent(part *genai.Part) bool {
	if part.Thought {
		_, err := base64.StdEncoding.DecodeString(string(part.ThoughtSignature))
		return len(part.ThoughtSignature) > 0 && err == nil
	}
	rest := *part
	rest.Text, rest.ThoughtSignature = "", nil
	return strings.TrimSpace(part.Text) != "" || dialog.Describe(&rest) != ""
}

func newBlock(part dialog.Part, role string) (anthropic.ContentBlockParamUnion, error) {
	switch {
	case part.Thought && part.PartMetadata[redacted] == true:
		return anthropic.NewRedactedThinkingBlock(string(part.ThoughtSignature)), nil
	case part.Thought:
		return anthropic.NewThinkingBlock(string(part.ThoughtSignature), part.Text), nil
	case part.FunctionCall != nil:
		args := part.FunctionCall.Args
		if args == nil {
			args = map[string]any{}
		}
		return anthropic.NewToolUseBlock(part.ID, args, part.FunctionCall.Name), nil
	case part.FunctionResponse != nil:
		return resultBlock(part)
	}
	if text, ok := dialog.Text(part.Part); ok {
		return anthropic.NewTextBlock(text), nil
	}
	if role == genai.RoleModel {
		return anthropic.ContentBlockParamUnion{}, unsupported(part, "in an answer of the model")
	}
	media, err := mediaBlock(part)
	return anthropic.ContentBlockParamUnion{OfImage: media.image, OfDocument: media.document}, err
}

// media is an image or a document.
type media struct {
	image    *anthropic.ImageBlockParam
	document *anthropic.DocumentBlockParam
}

func mediaBlock(part dialog.Part) (media, error) {
	if file := part.FileData; file != nil {
		kind := dialog.MIMEType(file.MIMEType)
		switch isWeb := strings.HasPrefix(file.FileURI, "https://"); {
		case isWeb && strings.HasPrefix(kind, "image/"):
			return media{image: anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: file.FileURI}).OfImage}, nil
		case isWeb && kind == "application/pdf":
			return media{document: anthropic.NewDocumentBlock(anthropic.URLPDFSourceParam{URL: file.FileURI}).OfDocument}, nil
		}
		return media{}, unsupported(part, "from the user")
	}
	if part.InlineData == nil {
		return media{}, unsupported(part, "from the user")
	}
	kind, data := dialog.MIMEType(part.InlineData.MIMEType), base64.StdEncoding.EncodeToString(part.InlineData.Data)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return media{image: anthropic.NewImageBlockBase64(kind, data).OfImage}, nil
	case "application/pdf":
		document := anthropic.NewDocumentBlock(anthropic.Base64PDFSourceParam{Data: data}).OfDocument
		if name := part.InlineData.DisplayName; name != "" {
			document.Title = anthropic.String(name)
		}
		return media{document: document}, nil
	}
	return media{}, unsupported(part, "from the user")
}

// resultBlock is the result of a tool: its JSON, then its files. One that
// consists of an error is marked as failed.
func resultBlock(part dialog.Part) (anthropic.ContentBlockParamUnion, error) {
	response := part.FunctionResponse
	text, err := dialog.JSON(response.Response)
	if err != nil {
		return anthropic.ContentBlockParamUnion{}, fmt.Errorf("%s: %w", part.At, err)
	}
	failure, failed := response.Response["error"]
	failed = failed && failure != nil && len(response.Response) == 1
	block := anthropic.NewToolResultBlock(part.ID, text, failed)
	if !failed {
		block.OfToolResult.IsError = anthropic.ToolResultBlockParam{}.IsError
	}
	for i, file := range response.Parts {
		shown := dialog.Part{Part: &genai.Part{}, At: fmt.Sprintf("%s.parts[%d]", part.At, i)}
		if file.InlineData != nil {
			shown.InlineData = &genai.Blob{Data: file.InlineData.Data, MIMEType: file.InlineData.MIMEType, DisplayName: file.InlineData.DisplayName}
		} else if file.FileData != nil {
			shown.FileData = &genai.FileData{FileURI: file.FileData.FileURI, MIMEType: file.FileData.MIMEType}
		}
		content := anthropic.ToolResultBlockParamContentUnion{}
		if text, ok := dialog.Text(shown.Part); ok {
			content.OfText = &anthropic.TextBlockParam{Text: text}
		} else {
			media, err := mediaBlock(shown)
			if err != nil {
				return anthropic.ContentBlockParamUnion{}, err
			}
			content.OfImage, content.OfDocument = media.image, media.document
		}
		block.OfToolResult.Content = append(block.OfToolResult.Content, content)
	}
	return block, nil
}

func unsupported(part dialog.Part, where string) error {
	reason := ErrUnsupportedMessageContentType
	if part.InlineData != nil || part.FileData != nil {
		reason = ErrUnsupportedMIMEType
	}
	return fmt.Errorf("%s: %w: %s %s", part.At, reason, dialog.Describe(part.Part), where)
}
