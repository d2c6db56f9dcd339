package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/genai"

	"github.com/recap-adk/recap/internal/clone"
	"github.com/recap-adk/recap/model"
	"github.com/recap-adk/recap/model/gemini"
)

func TestMain(m *testing.M) {
	// What the environment says about the service must not reach the tests.
	for _, name := range []string{
		"GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE",
		"GOOGLE_GEMINI_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION",
	} {
		os.Unsetenv(name)
	}
	// The client's dependencies start this one when the program does.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestRequestAsSent(t *testing.T) {
	req := &model.LLMRequest{
		Contents: []*genai.Content{genai.NewContentFromText("Will it rain?", genai.RoleUser)},
		Config: &genai.GenerateContentConfig{
			SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be brief."}}},
			Temperature:       genai.Ptr[float32](0.5),
			MaxOutputTokens:   100,
			Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
				Name: "forecast", Description: "Tells the weather.",
				ParametersJsonSchema: map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
			}}}},
			HTTPOptions: &genai.HTTPOptions{},
		},
	}
	const wantBody = `{
		"contents": [{"role": "user", "parts": [{"text": "Will it rain?"}]}],
		"systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
		"generationConfig": {"temperature": 0.5, "maxOutputTokens": 100},
		"tools": [{"functionDeclarations": [{
			"name": "forecast", "description": "Tells the weather.",
			"parametersJsonSchema": {"type": "object", "properties": {"city": {"type": "string"}}}
		}]}]
	}`
	tests := []struct {
		name    string
		model   string
		stream  bool
		wantURL string
	}{
		{"whole", "", false, "/v1beta/models/gemini-test:generateContent"},
		{"streamed", "", true, "/v1beta/models/gemini-test:streamGenerateContent?alt=sse"},
		{"another model", "gemini-other", false, "/v1beta/models/gemini-other:generateContent"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			service := serve(t, answer(`{"candidates": [{"content": {"role": "model", "parts": [{"text": "No."}]}, "finishReason": "STOP"}]}`))
			sent := clone.Of(req)
			sent.Model = test.model
			before := clone.Of(sent)
			collect(t, service.model(t), sent, test.stream)
			got := service.only(t)
			if got.url != test.wantURL {
				t.Errorf("URL is %s, want %s", got.url, test.wantURL)
			}
			if got.key != "test-key" {
				t.Errorf("API key is %q", got.key)
			}
			if diff := cmp.Diff(parse(t, wantBody), parse(t, got.body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, sent); diff != "" {
				t.Errorf("the request was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestTheUserHasTheLastWord(t *testing.T) {
	const goOn = "Go on as the system instruction says."
	user, said := genai.NewContentFromText("Hello", genai.RoleUser), genai.NewContentFromText("Hi", genai.RoleModel)
	tests := []struct {
		name     string
		contents []*genai.Content
		want     string
	}{
		{"no contents", nil, goOn},
		{"the model spoke last", []*genai.Content{user, said}, "Hello|Hi|" + goOn},
		{"the user spoke last", []*genai.Content{user}, "Hello"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			service := serve(t, answer(`{"candidates": [{"finishReason": "STOP"}]}`))
			collect(t, service.model(t), &model.LLMRequest{Contents: test.contents}, false)
			var sent struct{ Contents []*genai.Content }
			if err := json.Unmarshal([]byte(service.only(t).body), &sent); err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, content := range sent.Contents {
				texts = append(texts, content.Parts[0].Text)
			}
			if got := strings.Join(texts, "|"); got != test.want {
				t.Errorf("contents are %s, want %s", got, test.want)
			}
		})
	}
}

// What the service answers and what becomes of it, the same whole and streamed
// in one piece.
var answers = []struct {
	name string
	body string
	want model.LLMResponse
}{
	{
		"everything that is kept",
		`{
			"candidates": [{
				"content": {"role": "model", "parts": [{"text": "No."}]}, "finishReason": "STOP", "avgLogprobs": -0.25,
				"logprobsResult": {"chosenCandidates": [{"token": "No", "logProbability": -0.25}]},
				"citationMetadata": {"citationSources": [{"uri": "https://example.org/rain"}]},
				"groundingMetadata": {"webSearchQueries": ["rain"]}
			}, {"content": {"role": "model", "parts": [{"text": "a second candidate"}]}}],
			"usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 2, "totalTokenCount": 14, "cachedContentTokenCount": 8},
			"modelVersion": "gemini-test-001"
		}`,
		model.LLMResponse{
			Content:           genai.NewContentFromText("No.", genai.RoleModel),
			FinishReason:      genai.FinishReasonStop,
			AvgLogprobs:       -0.25,
			LogprobsResult:    &genai.LogprobsResult{ChosenCandidates: []*genai.LogprobsResultCandidate{{Token: "No", LogProbability: -0.25}}},
			CitationMetadata:  &genai.CitationMetadata{Citations: []*genai.Citation{{URI: "https://example.org/rain"}}},
			GroundingMetadata: &genai.GroundingMetadata{WebSearchQueries: []string{"rain"}},
			UsageMetadata:     &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 12, CandidatesTokenCount: 2, TotalTokenCount: 14, CachedContentTokenCount: 8},
			ModelVersion:      "gemini-test-001",
		},
	},
	{
		"cut at the token limit",
		`{"candidates": [{"content": {"role": "model", "parts": [{"text": "It m"}]}, "finishReason": "MAX_TOKENS"}]}`,
		model.LLMResponse{Content: genai.NewContentFromText("It m", genai.RoleModel), FinishReason: genai.FinishReasonMaxTokens},
	},
	{
		"all tokens spent before the first word",
		`{"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}`,
		model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel}, FinishReason: genai.FinishReasonMaxTokens, ErrorCode: "MAX_TOKENS", ErrorMessage: broken},
	},
	{
		"nothing to say",
		`{"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}`,
		model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel}, FinishReason: genai.FinishReasonStop},
	},
	{
		"refused answer",
		`{"candidates": [{"content": {"role": "model"}, "finishReason": "SAFETY"}]}`,
		model.LLMResponse{Content: &genai.Content{Role: genai.RoleModel}, FinishReason: genai.FinishReasonSafety, ErrorCode: "SAFETY", ErrorMessage: broken},
	},
	{
		"refused half-way",
		`{"candidates": [{"content": {"role": "model", "parts": [{"text": "Take"}]}, "finishReason": "RECITATION"}]}`,
		model.LLMResponse{Content: genai.NewContentFromText("Take", genai.RoleModel), FinishReason: genai.FinishReasonRecitation, ErrorCode: "RECITATION", ErrorMessage: broken},
	},
	{
		"blocked prompt",
		`{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 12}}`,
		model.LLMResponse{
			ErrorCode: "PROHIBITED_CONTENT", ErrorMessage: "the prompt was blocked",
			UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 12},
		},
	},
	{
		"no candidate and no reason",
		`{"modelVersion": "gemini-test-001"}`,
		model.LLMResponse{ErrorCode: "UNKNOWN_ERROR", ErrorMessage: "the answer has no candidate", ModelVersion: "gemini-test-001"},
	},
}

func TestAnswers(t *testing.T) {
	for _, test := range answers {
		t.Run(test.name, func(t *testing.T) {
			service := serve(t, answer(test.body))
			got := collect(t, service.model(t), question, false)
			if diff := cmp.Diff([]*model.LLMResponse{&test.want}, got); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			got = collect(t, service.model(t), question, true)
			if diff := cmp.Diff(&test.want, got[len(got)-1]); diff != "" {
				t.Errorf("streamed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStream(t *testing.T) {
	tests := []struct {
		name   string
		pieces []string
		// partial lists the partial responses, whole the last one, as texts.
		partial []string
		whole   string
	}{
		{
			"texts are joined",
			[]string{candidate(`{"text": "It is "}`), candidate(`{"text": "sunny."}`), stop},
			[]string{"It is ", "sunny."},
			"It is sunny.",
		},
		{
			"thoughts and answer are joined apart",
			[]string{candidate(`{"text": "Hm", "thought": true}`), candidate(`{"text": "m.", "thought": true}, {"text": "Su"}`), candidate(`{"text": "nny."}`), stop},
			[]string{"(Hm)", "(m.) Su", "nny."},
			"(Hmm.) Sunny.",
		},
		{
			"text around a call stays in order",
			[]string{candidate(`{"text": "Let me "}`), candidate(`{"text": "see."}, {"functionCall": {"name": "forecast", "args": {"city": "Rome"}}}`), candidate(`{"text": "One moment."}`), stop},
			[]string{"Let me ", "see. forecast", "One moment."},
			"Let me see. forecast One moment.",
		},
		{
			"parallel calls are not joined",
			[]string{candidate(`{"functionCall": {"name": "a"}}`), candidate(`{"functionCall": {"name": "b"}}`), stop},
			[]string{"a", "b"},
			"a b",
		},
		{
			"a signature with no text signs the text before it",
			[]string{candidate(`{"text": "Sun"}`), candidate(`{"text": "ny."}`), candidate(`{"text": "", "thoughtSignature": "c2lnbmVk"}`), stop},
			[]string{"Sun", "ny.", "[signed]"},
			"Sunny.[signed]",
		},
		{
			"a signature ends the text it signs",
			[]string{candidate(`{"text": "Sun", "thoughtSignature": "b25l"}`), candidate(`{"text": "ny.", "thoughtSignature": "dHdv"}`), stop},
			[]string{"Sun[one]", "ny.[two]"},
			"Sun[one] ny.[two]",
		},
		{
			"the signature of a call stays with it",
			[]string{candidate(`{"functionCall": {"name": "a"}, "thoughtSignature": "b25l"}`), candidate(`{"text": ""}`), stop},
			[]string{"a[one]", ""},
			"a[one]",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := collect(t, serve(t, answer(test.pieces...)).model(t), question, true)
			var partial []string
			for _, response := range got[:len(got)-1] {
				if !response.Partial {
					t.Errorf("a response before the last is not partial: %s", show(response))
				}
				partial = append(partial, show(response))
			}
			if diff := cmp.Diff(test.partial, partial); diff != "" {
				t.Errorf("partial (-want +got):\n%s", diff)
			}
			last := got[len(got)-1]
			if last.Partial || last.Content.Role != genai.RoleModel || last.FinishReason != genai.FinishReasonStop {
				t.Errorf("the last response is partial %v, role %q, finish reason %q", last.Partial, last.Content.Role, last.FinishReason)
			}
			if show(last) != test.whole {
				t.Errorf("whole is %q, want %q", show(last), test.whole)
			}
		})
	}
}

func TestStreamKeepsTheLastOfWhatIsSentOften(t *testing.T) {
	service := serve(t, answer(
		`{"candidates": [{"content": {"parts": [{"text": "a"}]}, "groundingMetadata": {"webSearchQueries": ["q"]}}], "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 6}, "modelVersion": "v1"}`,
		`{"candidates": [{"content": {"parts": [{"text": "b"}]}}]}`,
		`{"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 9}}`,
	))
	got := collect(t, service.model(t), question, true)
	want := &model.LLMResponse{
		Content:           genai.NewContentFromText("ab", genai.RoleModel),
		FinishReason:      genai.FinishReasonStop,
		GroundingMetadata: &genai.GroundingMetadata{WebSearchQueries: []string{"q"}},
		UsageMetadata:     &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 5, TotalTokenCount: 9},
		ModelVersion:      "v1",
	}
	if diff := cmp.Diff(want, got[len(got)-1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatAConsumerDoesToAPieceDoesNotReachTheWhole(t *testing.T) {
	service := serve(t, answer(candidate(`{"functionCall": {"name": "a", "args": {"city": "Rome"}}}`), stop))
	for response, err := range service.model(t).GenerateContent(t.Context(), question, true) {
		if err != nil {
			t.Fatal(err)
		}
		call := response.Content.Parts[0].FunctionCall
		if call.Name != "a" || call.Args["city"] != "Rome" {
			t.Errorf("call is %s %v", call.Name, call.Args)
		}
		call.Name, call.Args["city"] = "changed", "Oslo"
	}
}

func TestToolCallRoundTrip(t *testing.T) {
	const signed = `{"functionCall": {"id": "c-1", "name": "forecast", "args": {"city": "Rome"}}, "thoughtSignature": "AAH/gA=="}`
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
			service := serve(t, answer(`{"candidates": [{"content": {"role": "model", "parts": [`+signed+`]}, "finishReason": "STOP"}]}`))
			llm := service.model(t)
			responses := collect(t, llm, question, stream)
			called := responses[len(responses)-1].Content
			if got := called.Parts[0].ThoughtSignature; string(got) != "\x00\x01\xff\x80" {
				t.Fatalf("signature is %q", got)
			}
			collect(t, llm, &model.LLMRequest{Contents: []*genai.Content{
				question.Contents[0], called,
				{Role: genai.RoleUser, Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
					ID: "c-1", Name: "forecast", Response: map[string]any{"sky": "clear"},
				}}}},
			}}, stream)
			want := `{"contents": [
				{"role": "user", "parts": [{"text": "Will it rain?"}]},
				{"role": "model", "parts": [` + signed + `]},
				{"role": "user", "parts": [{"functionResponse": {"id": "c-1", "name": "forecast", "response": {"sky": "clear"}}}]}
			]}`
			requests := service.requests()
			if diff := cmp.Diff(parse(t, want), parse(t, requests[len(requests)-1].body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsOfTheService(t *testing.T) {
	tests := []struct {
		name    string
		status  int
		message string
		kind    error
	}{
		{"quota", 429, "Resource has been exhausted.", model.ErrRateLimit},
		{"no credentials", 401, "Request had invalid authentication credentials.", model.ErrAuth},
		{"not allowed", 403, "The caller does not have permission", model.ErrAuth},
		{"wrong key", 400, "API key not valid. Please pass a valid API key.", model.ErrAuth},
		{"too many tokens", 400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", model.ErrTooLong},
		{"too many tokens, as Vertex says it", 400, "The input token count is 1200000 but the model only supports up to 1048576.", model.ErrTooLong},
		{"another bad request", 400, "Unknown name \"x\".", nil},
		{"no such model", 404, "models/gemini-test is not found", nil},
		{"overloaded", 503, "The model is overloaded.", nil},
	}
	for _, test := range tests {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", test.name, stream), func(t *testing.T) {
				service := serve(t, func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(test.status)
					fmt.Fprintf(w, `{"error": {"code": %d, "message": %q, "status": "SOME_STATUS"}}`, test.status, test.message)
				})
				err := failure(t, service.model(t), t.Context(), stream)
				wantKind(t, err, test.status, test.kind)
				if !strings.Contains(err.Error(), test.message) {
					t.Errorf("error %q does not say %q", err, test.message)
				}
			})
		}
	}
}

func TestErrorsInAStream(t *testing.T) {
	started := "data: " + candidate(`{"text": "It is "}`) + "\n\n"
	tests := []struct {
		name   string
		rest   string // what the service sends after the first piece
		cut    bool   // whether it cuts the connection then
		status int
		kind   error
		says   string
	}{
		{"the connection is cut", "", true, 0, nil, "unexpected EOF"},
		{"the connection is cut within a piece", `data: {"candidates": [{"content": {"parts": [{"te`, true, 0, nil, "unexpected"},
		{"a piece is no JSON", "data: {\"candidates\": [\n\n", false, 0, nil, "unexpected end of JSON"},
		{"the answer never ends", "", false, 0, nil, "ended before the answer did"},
		{"the service gives up", "data: {\"error\": {\"code\": 429, \"message\": \"slow down\"}}\n\n", false, 429, model.ErrRateLimit, "slow down"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			service := serve(t, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, started+test.rest)
				if test.cut {
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				}
			})
			var texts []string
			var failed error
			for response, err := range service.model(t).GenerateContent(t.Context(), question, true) {
				if err != nil {
					failed = err
					continue
				}
				texts = append(texts, show(response))
			}
			if diff := cmp.Diff([]string{"It is "}, texts); diff != "" {
				t.Errorf("responses before the error (-want +got):\n%s", diff)
			}
			wantKind(t, failed, test.status, test.kind)
			if failed != nil && !strings.Contains(failed.Error(), test.says) {
				t.Errorf("error %q does not say %q", failed, test.says)
			}
		})
	}
}

func TestAStreamOfNothingIsAnError(t *testing.T) {
	service := serve(t, answer())
	if err := failure(t, service.model(t), t.Context(), true); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error is %v", err)
	}
}

func TestConsumerThatStopsEarlyReleasesTheConnection(t *testing.T) {
	released := make(chan struct{})
	service := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "data: "+candidate(`{"text": "It is "}`)+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(released)
	})
	for _, err := range service.model(t).GenerateContent(t.Context(), question, true) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	<-released
}

func TestCancellation(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("while waiting/stream=%v", stream), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			service := serve(t, func(w http.ResponseWriter, r *http.Request) {
				cancel()
				<-r.Context().Done()
			})
			if err := failure(t, service.model(t), ctx, stream); !errors.Is(err, context.Canceled) {
				t.Errorf("error is %v, want context.Canceled", err)
			}
		})
	}
	t.Run("within a stream", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		service := serve(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "data: "+candidate(`{"text": "It is "}`)+"\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		var failed error
		for _, err := range service.model(t).GenerateContent(ctx, question, true) {
			failed = err
			cancel()
		}
		if !errors.Is(failed, context.Canceled) {
			t.Errorf("error is %v, want context.Canceled", failed)
		}
	})
}

func TestNoConnection(t *testing.T) {
	service := serve(t, answer())
	llm := service.model(t)
	service.server.Close()
	err := failure(t, llm, t.Context(), false)
	wantKind(t, err, 0, nil)
	if !strings.Contains(err.Error(), "gemini") {
		t.Errorf("error %q does not name the provider", err)
	}
}

func TestNewModel(t *testing.T) {
	if _, err := gemini.NewModel(t.Context(), "", &genai.ClientConfig{APIKey: "k"}); err == nil {
		t.Error("there is a model without a name")
	}
	if _, err := gemini.NewModel(t.Context(), "gemini-test", nil); err == nil {
		t.Error("there is a model without a key")
	}
	_, err := gemini.NewModel(t.Context(), "gemini-test", &genai.ClientConfig{APIKey: "s3cret", Project: "p"})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error is %v, want one that does not tell the key", err)
	}
	cfg := &genai.ClientConfig{APIKey: "k"}
	llm, err := gemini.NewModel(t.Context(), "gemini-test", cfg)
	if err != nil {
		t.Fatal(err)
	}
	if llm.Name() != "gemini-test" {
		t.Errorf("name is %q", llm.Name())
	}
	if cfg.HTTPClient != nil || cfg.HTTPOptions.BaseURL != "" {
		t.Errorf("the configuration was changed: %+v", cfg.HTTPOptions)
	}
}

func TestVertexAI(t *testing.T) {
	service := serve(t, answer(`{"candidates": [{"finishReason": "SAFETY", "finishMessage": "not safe"}]}`))
	llm, err := gemini.NewModel(t.Context(), "gemini-test", &genai.ClientConfig{
		Backend: genai.BackendVertexAI, Project: "p", Location: "l",
		HTTPClient: service.server.Client(), HTTPOptions: genai.HTTPOptions{BaseURL: service.server.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := collect(t, llm, question, false)[0]
	if got.ErrorCode != "SAFETY" || got.ErrorMessage != "not safe" {
		t.Errorf("error is %q, %q", got.ErrorCode, got.ErrorMessage)
	}
	const want = "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-test:generateContent"
	if url := service.only(t).url; url != want {
		t.Errorf("URL is %s, want %s", url, want)
	}
}

func TestConcurrentCalls(t *testing.T) {
	service := serve(t, answer(`{"candidates": [{"content": {"role": "model", "parts": [{"text": "No."}]}, "finishReason": "STOP"}]}`))
	llm := service.model(t)
	req := &model.LLMRequest{
		Contents: question.Contents,
		Config: &genai.GenerateContentConfig{
			SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "Be brief."}}},
			HTTPOptions:       &genai.HTTPOptions{Headers: http.Header{"User-Agent": {"test"}}},
		},
	}
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			for _, err := range llm.GenerateContent(t.Context(), req, i%2 == 0) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
}

var question = &model.LLMRequest{Contents: []*genai.Content{genai.NewContentFromText("Will it rain?", genai.RoleUser)}}

// broken is the message of an answer that the service says nothing more about.
const broken = "the answer was broken off"

const stop = `{"candidates": [{"finishReason": "STOP"}]}`

// candidate is a piece of a stream with the given parts.
func candidate(parts string) string {
	return `{"candidates": [{"content": {"role": "model", "parts": [` + parts + `]}}]}`
}

// service is a local server that speaks the protocol of the Gemini API.
type service struct {
	server *httptest.Server
	mu     sync.Mutex
	seen   []request
}

type request struct{ url, key, body string }

func serve(t *testing.T, handler http.HandlerFunc) *service {
	t.Helper()
	s := &service{}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.seen = append(s.seen, request{url: r.URL.String(), key: r.Header.Get("x-goog-api-key"), body: string(body)})
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.server.Close)
	return s
}

// answer sends the pieces as a stream where one is asked for, else the first
// of them.
func answer(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
			fmt.Fprint(w, pieces[0])
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range pieces {
			fmt.Fprintf(w, "data: %s\r\n\r\n", strings.Join(strings.Fields(piece), " "))
		}
	}
}

func (s *service) model(t *testing.T) model.LLM {
	t.Helper()
	llm, err := gemini.NewModel(t.Context(), "gemini-test", &genai.ClientConfig{
		APIKey: "test-key", HTTPClient: s.server.Client(), HTTPOptions: genai.HTTPOptions{BaseURL: s.server.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	return llm
}

func (s *service) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *service) only(t *testing.T) request {
	t.Helper()
	seen := s.requests()
	if len(seen) != 1 {
		t.Fatalf("the service saw %d requests, want 1", len(seen))
	}
	return seen[0]
}

func collect(t *testing.T, llm model.LLM, req *model.LLMRequest, stream bool) []*model.LLMResponse {
	t.Helper()
	var responses []*model.LLMResponse
	for response, err := range llm.GenerateContent(t.Context(), req, stream) {
		if err != nil {
			t.Fatal(err)
		}
		responses = append(responses, response)
	}
	if len(responses) == 0 || !stream && len(responses) != 1 {
		t.Fatalf("there are %d responses", len(responses))
	}
	return responses
}

// failure is the error of a call that yields an error and nothing else.
func failure(t *testing.T, llm model.LLM, ctx context.Context, stream bool) error {
	t.Helper()
	var failed error
	for response, err := range llm.GenerateContent(ctx, question, stream) {
		if response != nil || failed != nil {
			t.Errorf("there is a response %v, or a second error after %v", response, failed)
		}
		failed = err
	}
	if failed == nil {
		t.Fatal("there is no error")
	}
	return failed
}

func wantKind(t *testing.T, err error, status int, kind error) {
	t.Helper()
	var failed *model.Error
	if !errors.As(err, &failed) {
		t.Fatalf("error is %v, want a *model.Error", err)
	}
	if failed.Provider != "gemini" || failed.Status != status || failed.Kind != kind {
		t.Errorf("provider %q, status %d, kind %v; want gemini, %d, %v", failed.Provider, failed.Status, failed.Kind, status, kind)
	}
}

// show is a response in short: its parts with a space between, thoughts in
// parentheses, calls by name, signatures in brackets.
func show(response *model.LLMResponse) string {
	var parts []string
	for _, part := range response.Content.Parts {
		text := part.Text
		if part.Thought {
			text = "(" + text + ")"
		}
		if part.FunctionCall != nil {
			text += part.FunctionCall.Name
		}
		if len(part.ThoughtSignature) > 0 {
			text += "[" + string(part.ThoughtSignature) + "]"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func parse(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

func TestModelsByName(t *testing.T) {
	t.Setenv("GOOGLE_API_KEY", "test-key")
	for _, name := range []string{
		"gemini-2.5-flash", "projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "projects/p/locations/l/endpoints/e",
	} {
		llm, err := model.NewLLM(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if llm.Name() != name {
			t.Errorf("name is %q, want %q", llm.Name(), name)
		}
	}
}
