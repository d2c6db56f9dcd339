package sessiontest

import (
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/tool/toolconfirmation"
)

// fullEvent has every field set that a stored event can have.
func fullEvent() *session.Event {
	return &session.Event{
		LLMResponse:  fullResponse(),
		ID:           "full",
		Timestamp:    at(7).Add(654321 * time.Microsecond),
		InvocationID: "inv-7",
		Branch:       "root.planner",
		// A text that SQL and JSON would have to quote.
		IsolationScope:     `task "7"'s; -- <scope> \ ü`,
		Author:             "planner",
		Actions:            fullActions(),
		LongRunningToolIDs: []string{"call-1", "call-2"},
		Routes:             []string{"yes", "no"},
		Output:             map[string]any{"answer": "yes", "list": []any{1.0, nil, true}},
		RequestedInput: &session.RequestInput{
			InterruptID: "interrupt-1",
			Message:     "How many seats?",
			ResponseSchema: &jsonschema.Schema{
				Type:       "object",
				Properties: map[string]*jsonschema.Schema{"seats": {Type: "integer", Description: "number of seats"}},
				Required:   []string{"seats"},
			},
			Payload: map[string]any{"flight": "TP047"},
		},
		NodeInfo: &session.NodeInfo{Path: "root/planner@1", MessageAsOutput: true, OutputFor: []string{"root"}},
	}
}

func fullResponse() model.LLMResponse {
	citation := &genai.Citation{StartIndex: 1, EndIndex: 5, License: "MIT", Title: "A title", URI: "https://example.org/?a=1&b=2"}
	citation.PublicationDate.Year, citation.PublicationDate.Month, citation.PublicationDate.Day = 2026, time.March, 1
	modality := []*genai.ModalityTokenCount{{Modality: genai.MediaModalityText, TokenCount: 11}}
	return model.LLMResponse{
		Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
			{Text: "thinking", Thought: true, ThoughtSignature: []byte{0, 255, 254, 1}},
			{Text: "ünïcode ✈ 𝄞 \u2028 <b>&amp;</b> \"quoted\" \\ \x00 end"},
			{InlineData: &genai.Blob{Data: []byte{0x89, 'P', 'N', 'G', 0, 0xff}, MIMEType: "image/png"}},
			{FileData: &genai.FileData{FileURI: "gs://bucket/file", MIMEType: "application/pdf"}},
			{FunctionCall: &genai.FunctionCall{ID: "call-1", Name: "search", Args: map[string]any{"no": "TP047", "seats": 2.0, "nested": map[string]any{"x": []any{"y"}}}}},
			{FunctionResponse: &genai.FunctionResponse{ID: "call-0", Name: "search", Response: map[string]any{"price": 100.5}, Scheduling: genai.FunctionResponseSchedulingSilent}},
			{ExecutableCode: &genai.ExecutableCode{Code: "print(1)", Language: genai.LanguagePython}},
			{CodeExecutionResult: &genai.CodeExecutionResult{Outcome: genai.OutcomeOK, Output: "1"}},
		}},
		CitationMetadata: &genai.CitationMetadata{Citations: []*genai.Citation{citation}},
		GroundingMetadata: &genai.GroundingMetadata{
			GroundingChunks:   []*genai.GroundingChunk{{Web: &genai.GroundingChunkWeb{Title: "Lisbon", URI: "https://example.org"}}},
			GroundingSupports: []*genai.GroundingSupport{{ConfidenceScores: []float32{0.5}, GroundingChunkIndices: []int32{0}, Segment: &genai.Segment{EndIndex: 4, Text: "text"}}},
			SearchEntryPoint:  &genai.SearchEntryPoint{RenderedContent: "<div/>", SDKBlob: []byte{1, 2}},
			WebSearchQueries:  []string{"flights to Lisbon"},
		},
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount: 321, CandidatesTokenCount: 17, ThoughtsTokenCount: 5, CachedContentTokenCount: 200, ToolUsePromptTokenCount: 3,
			TotalTokenCount: 346, PromptTokensDetails: modality, CacheTokensDetails: modality, TrafficType: genai.TrafficTypeOnDemand,
		},
		CustomMetadata: map[string]any{
			"trace": "t-1", "n": 1.5, "Recap": "another key",
			"recap": map[string]any{"manifest": map[string]any{"level": 1.0, "active": []any{"a", "b"}}},
		},
		LogprobsResult: &genai.LogprobsResult{
			ChosenCandidates:  []*genai.LogprobsResultCandidate{{Token: "a", TokenID: 3, LogProbability: -0.25}},
			TopCandidates:     []*genai.LogprobsResultTopCandidates{{Candidates: []*genai.LogprobsResultCandidate{{Token: "b", LogProbability: -1.5}}}},
			LogProbabilitySum: genai.Ptr[float32](-1.75),
		},
		InputTranscription:      &genai.Transcription{Text: "said by the user", Finished: true, LanguageCode: "pt-PT", StartOffset: time.Second, EndOffset: 3 * time.Second},
		OutputTranscription:     &genai.Transcription{Text: "said by the model", SpeakerLabel: "1"},
		ModelVersion:            "gemini-9-pro-001",
		TurnComplete:            true,
		Interrupted:             true,
		SessionResumptionHandle: "handle-1",
		ErrorCode:               "SAFETY",
		ErrorMessage:            "the answer was blocked",
		FinishReason:            genai.FinishReasonMaxTokens,
		AvgLogprobs:             -0.123456789012345,
	}
}

func fullActions() session.EventActions {
	return session.EventActions{
		StateDelta:    map[string]any{"k": "v", "app:k": 1.0, "user:k": nil, "nested": map[string]any{"x": []any{true}}},
		ArtifactDelta: map[string]int64{"ticket.pdf": 3, "user:map.png": 0},
		RequestedToolConfirmations: map[string]toolconfirmation.ToolConfirmation{
			"call-1": {Hint: "Book it?", Confirmed: true, Payload: map[string]any{"seats": 2.0}},
		},
		RewindBeforeInvocationID: "inv-0",
		RequestedAuthConfigs:     map[string]any{"call-2": map[string]any{"authScheme": map[string]any{"type": "oauth2"}, "credentialKey": "key"}},
		SkipSummarization:        true,
		TransferToAgent:          "booker",
		Escalate:                 true,
		Compaction: session.NewEventCompaction(at(0), at(5).Add(123456*time.Microsecond), genai.NewContentFromText("A summary.", genai.RoleModel),
			[]session.EventRef{{InvocationID: "inv-2", Timestamp: at(2).Add(time.Microsecond)}}),
	}
}

// neverStored are the fields that fullEvent leaves at their zero value.
var neverStored = []string{"Partial"}

// zeroFields lists the fields of a struct that are zero, and those of the
// structs of this module that it has as fields.
func zeroFields(v reflect.Value) (zero []string) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		if value.IsZero() {
			zero = append(zero, field.Name)
			continue
		}
		for value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		switch value.Interface().(type) {
		case model.LLMResponse, session.EventActions, session.RequestInput, session.NodeInfo, session.EventCompaction:
			zero = append(zero, zeroFields(value)...)
		}
	}
	return zero
}

// only returns an event that has nothing but what change sets.
func only(change func(*session.Event)) *session.Event {
	event := &session.Event{ID: "e", Timestamp: at(0)}
	change(event)
	return event
}

func metadata(value any) *session.Event {
	return only(func(e *session.Event) { e.CustomMetadata = map[string]any{"recap": value} })
}

func withModel(e *session.Event) *session.Event {
	e.ModelVersion = "gemini-9"
	return e
}

var roundTripTests = []test{
	{"test event has every field set", func(f *fixture) {
		// A field that was added to Event must be added to fullEvent.
		f.same("fields that are zero", zeroFields(reflect.ValueOf(fullEvent())), neverStored)
	}},
	{"of an event with every field set", survive(fullEvent())},
	{"of an event with nothing set", survive(only(func(*session.Event) {}))},
	{"of each field alone", func(f *fixture) {
		f.create(nil)
		full := fullEvent()
		var want []*session.Event
		for name, fields := range map[string][2]reflect.Value{
			"response": {reflect.ValueOf(&full.LLMResponse).Elem()},
			"actions":  {reflect.ValueOf(&full.Actions).Elem()},
			"event":    {reflect.ValueOf(full).Elem()},
		} {
			for i := range fields[0].NumField() {
				event := only(func(*session.Event) {})
				to := map[string]reflect.Value{
					"response": reflect.ValueOf(&event.LLMResponse).Elem(),
					"actions":  reflect.ValueOf(&event.Actions).Elem(),
					"event":    reflect.ValueOf(event).Elem(),
				}[name]
				if field := to.Type().Field(i).Name; field == "LLMResponse" || field == "Actions" || field == "Timestamp" || field == "Compaction" {
					continue
				}
				to.Field(i).Set(fields[0].Field(i))
				event.ID = name + to.Type().Field(i).Name
				event.Timestamp = at(len(want))
				f.append(f.get(), event)
				want = append(want, event)
			}
		}
		f.sameEvents("stored events", f.get(), want...)
	}},
	{"of a summary with a manifest", func(f *fixture) {
		event := summary("c", at(1), at(0), at(1))
		event.CustomMetadata = map[string]any{"recap": map[string]any{"manifest": map[string]any{"level": 2.0}}}
		event.UsageMetadata = &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 9}
		event.ModelVersion = "gemini-9"
		survive(event)(f)
	}},
	{"of reserved metadata", survive(metadata(map[string]any{"manifest": "m"}))},
	{"of reserved metadata and fields beside", survive(withModel(metadata(map[string]any{"manifest": "m"})))},
	{"of reserved metadata that is called event", survive(metadata(map[string]any{"event": map[string]any{"modelVersion": "x"}}))},
	{"of reserved metadata that is called event, and fields beside", survive(withModel(metadata(map[string]any{"event": "x", "m": "n"})))},
	{"of reserved metadata that is empty", survive(withModel(metadata(map[string]any{})))},
	{"of reserved metadata that is no object", survive(withModel(metadata("text")))},
	{"of reserved metadata that is null", survive(withModel(metadata(nil)))},
	{"of metadata and fields beside", survive(withModel(only(func(e *session.Event) { e.CustomMetadata = map[string]any{"recap2": "x"} })))},
	{"leaves absent metadata nil", func(f *fixture) {
		f.append(f.create(nil), withModel(say("e", at(0), "x")))
		if got := f.get().Events().At(0); got.CustomMetadata != nil || got.ModelVersion != "gemini-9" {
			f.Errorf("metadata is %#v, model version %q", got.CustomMetadata, got.ModelVersion)
		}
	}},
	{"of outputs of every type", func(f *fixture) {
		for i, output := range []any{"text", "", 1.5, 0.0, true, false, []any{}, map[string]any{}} {
			event := say("", at(i), "x")
			event.Output = output
			if i == 0 {
				f.create(nil)
			}
			f.append(f.get(), event)
			f.sameEvents("the last event", f.getAs(&session.GetRequest{AppName: app, UserID: user, SessionID: id, NumRecentEvents: 1}), event)
		}
	}},
}

var (
	// awkward are texts that a database or its JSON may not take as they are.
	awkward = []string{
		"\x00", "a\x00b\x00", "\\u0000", "\\\x00", `\"\\u0000`, "\uffff", "\uffffu0000", "\uffffuffff", "\ufffd", "𝄞", "\u2028", "'; --", "?", "$1", "%s", "{}", " a ", "é", "e\u0301",
	}
	// numbers are those that a number of some databases, or its text, does not hold.
	numbers = []any{0.1, math.Copysign(0, -1), 1e21, 1e-7, 1e308, 5e-324, 9007199254740993.0, 123456789012345678.0, -1.5e-300}
)

// storageTests are about values that a database may hold in another form.
var storageTests = []test{
	{"of awkward texts in content, metadata and state", func(f *fixture) {
		s := f.create(nil)
		all := map[string]any{}
		for i, text := range awkward {
			event := say("", at(i), text)
			event.CustomMetadata = map[string]any{text: map[string]any{text: []any{text}}}
			event.Output, event.ErrorMessage, event.ErrorCode, event.Branch, event.ModelVersion = text, text, text, text, text
			event.Author, event.InvocationID, event.IsolationScope = text, text, text
			event.Actions.StateDelta = map[string]any{text: text, "app:" + text: text, "user:" + text: text}
			for key, value := range event.Actions.StateDelta {
				all[key] = value
			}
			f.append(s, event)
		}
		f.sameEvents("stored events", f.get(), events(s)...)
		f.same("stored state", values(f.get()), all)
		f.same("state of a list", values(f.list(user)[0]), all)
		f.same("state of another session", len(values(f.createAs(app, user, "other", nil))), 2*len(awkward))
	}},
	{"of awkward texts in the state of Create", func(f *fixture) {
		state := map[string]any{}
		for _, text := range awkward {
			state[text], state["app:"+text], state["user:"+text] = text, []any{text}, text
		}
		f.same("state", values(f.create(state)), state)
		f.same("stored state", values(f.get()), state)
	}},
	{"of a text that is not UTF-8", func(f *fixture) {
		event := say("e", at(0), "x")
		event.ErrorMessage = "caf\xe9 \xff\xfe"
		survive(event)(f)
	}},
	{"of numbers of every size", func(f *fixture) {
		event := say("e", at(0), "x")
		event.Output = numbers
		event.Actions.StateDelta = map[string]any{"numbers": numbers, "app:numbers": numbers}
		event.Content.Parts[0].FunctionCall = &genai.FunctionCall{Name: "f", Args: map[string]any{"numbers": numbers}}
		survive(event)(f)
		f.same("stored state", values(f.get()), map[string]any{"numbers": numbers, "app:numbers": numbers})
	}},
	{"of a schema with JSON in it", func(f *fixture) {
		event := say("e", at(0), "x")
		event.RequestedInput = &session.RequestInput{InterruptID: "i", ResponseSchema: &jsonschema.Schema{
			Type: "object", Default: []byte(`{"a":1,"b":[1,2]}`),
		}}
		survive(event)(f)
	}},
	{"of a large event", func(f *fixture) {
		survive(say("e", at(0), strings.Repeat("0123456789abcdef", 1<<16)))(f)
	}},
	{"keeps names apart that are nearly equal", func(f *fixture) {
		for _, name := range []string{"ada", "Ada", "ADA", "ada ", " ada", "adá", "ada\t"} {
			f.append(f.createAs(app, name, id, map[string]any{"user:name": name}), say(name, at(0), name))
			f.append(f.createAs(app, user, "s"+name, nil), say(name, at(0), name))
		}
		for _, name := range []string{"ada", "Ada", "ADA", "ada ", " ada", "adá", "ada\t"} {
			got := f.getAs(&session.GetRequest{AppName: app, UserID: name, SessionID: id})
			f.same("events of "+name, ids(got), []string{name})
			f.same("state of "+name, values(got), map[string]any{"user:name": name})
		}
		f.same("number of sessions", len(f.list("Ada")), 1)
		f.same("number of sessions of all", len(f.list("")), 14)
	}},
}

// survive tests that an event is read as it was stored.
func survive(event *session.Event) func(*fixture) {
	return func(f *fixture) {
		want := event.Clone()
		s := f.create(nil)
		f.append(s, event.Clone())
		f.sameEvents("stored events", f.get(), want)
		f.sameEvents("events of the handle", s, want)
	}
}
