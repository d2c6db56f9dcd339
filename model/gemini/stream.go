package gemini

import (
	"reflect"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/clone"
)

// aggregate puts the pieces of a stream together.
type aggregate struct {
	pieces    int
	candidate *genai.Candidate // nil: none so far
	feedback  *genai.GenerateContentResponsePromptFeedback
	usage     *genai.GenerateContentResponseUsageMetadata
	version   string
}

// add takes in the next piece. Content grows; of everything else the last that
// was sent holds.
func (a *aggregate) add(piece *genai.GenerateContentResponse) {
	a.pieces++
	setIfSent(&a.feedback, piece.PromptFeedback)
	setIfSent(&a.usage, piece.UsageMetadata)
	setIfSent(&a.version, piece.ModelVersion)
	candidate := firstCandidate(piece)
	if candidate == nil {
		return
	}
	if a.candidate == nil {
		a.candidate = &genai.Candidate{Content: &genai.Content{Role: genai.RoleModel}}
	}
	if candidate.Content != nil {
		for _, part := range candidate.Content.Parts {
			a.addPart(part)
		}
	}
	setIfSent(&a.candidate.CitationMetadata, candidate.CitationMetadata)
	setIfSent(&a.candidate.GroundingMetadata, candidate.GroundingMetadata)
	setIfSent(&a.candidate.LogprobsResult, candidate.LogprobsResult)
	setIfSent(&a.candidate.AvgLogprobs, candidate.AvgLogprobs)
	setIfSent(&a.candidate.FinishReason, candidate.FinishReason)
	setIfSent(&a.candidate.FinishMessage, candidate.FinishMessage)
}

// addPart joins a piece of text to the text before it, thoughts with thoughts
// and answer with answer; any other part is added whole. A signature ends the
// text that it signs, and often comes in a piece with no text of its own.
func (a *aggregate) addPart(part *genai.Part) {
	content := a.candidate.Content
	if isText(part) && len(content.Parts) > 0 {
		last := content.Parts[len(content.Parts)-1]
		if isText(last) && last.Thought == part.Thought && len(last.ThoughtSignature) == 0 {
			last.Text += part.Text
			last.ThoughtSignature = clone.Of(part.ThoughtSignature)
			return
		}
	}
	if isText(part) && part.Text == "" && len(part.ThoughtSignature) == 0 {
		return
	}
	content.Parts = append(content.Parts, clone.Of(part)) // the piece is the consumer's by now
}

// ended reports whether the answer is complete: the service said why it
// stopped, or that there is no answer.
func (a *aggregate) ended() bool {
	if a.candidate == nil {
		return a.pieces > 0
	}
	return a.candidate.FinishReason != "" || a.feedback != nil
}

// response is the whole as if it had come in one.
func (a *aggregate) response() *genai.GenerateContentResponse {
	response := &genai.GenerateContentResponse{
		PromptFeedback: a.feedback, UsageMetadata: a.usage, ModelVersion: a.version,
	}
	if a.candidate != nil {
		response.Candidates = []*genai.Candidate{a.candidate}
	}
	return response
}

// isText reports whether there is nothing in the part but a text, which may be
// empty.
func isText(part *genai.Part) bool {
	rest := *part
	rest.Text, rest.Thought, rest.ThoughtSignature = "", false, nil
	return reflect.ValueOf(rest).IsZero()
}

func setIfSent[T comparable](field *T, sent T) {
	var none T
	if sent != none {
		*field = sent
	}
}
