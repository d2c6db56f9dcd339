package tokens

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"
)

func TestText(t *testing.T) {
	tests := []struct {
		text string
		want int
	}{
		{"", 0},
		{"hello world", 2},
		{"supercalifragilistic", 6},
		{"We know what we are, but know not what we may be.", 14},
		{"1234567", 3},
		{"🙂", 1},
		{"\xff", 1}, // as U+FFFD
		{" ", 1},
		{"<|endoftext|>", 7}, // text that a user typed, no control token
	}
	c := New()
	for range 2 { // counted, then remembered
		for _, test := range tests {
			if got := c.Text(test.text); got != test.want {
				t.Errorf("%q: %d tokens, want %d", test.text, got, test.want)
			}
		}
	}
}

func TestContent(t *testing.T) {
	tests := []struct {
		name string
		part *genai.Part
		want []string // the texts whose tokens are counted
	}{
		{"nil", nil, nil},
		{"empty", &genai.Part{}, nil},
		{"text", &genai.Part{Text: "hello world"}, []string{"hello world"}},
		{"thought", &genai.Part{Text: "hm", Thought: true, ThoughtSignature: []byte("xyz")}, []string{"hm"}},
		{"call", &genai.Part{FunctionCall: &genai.FunctionCall{ID: "c1", Name: "book", Args: map[string]any{"seat": "12A", "n": 2.0}}},
			[]string{"book", `{"n":2,"seat":"12A"}`}},
		{"call without arguments", &genai.Part{FunctionCall: &genai.FunctionCall{Name: "book"}}, []string{"book", "{}"}},
		{"response", &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: "c1", Name: "book", Response: map[string]any{"output": "<ok & done>\n"}}},
			[]string{"book", `{"output":"<ok & done>\n"}`}},
		{"code", &genai.Part{ExecutableCode: &genai.ExecutableCode{Code: "print(1)"}}, []string{"print(1)"}},
		{"code result", &genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: "1"}}, []string{"1"}},
		{"image", &genai.Part{InlineData: &genai.Blob{MIMEType: "image/png", Data: make([]byte, 1000)}}, nil},
		{"no JSON", &genai.Part{FunctionCall: &genai.FunctionCall{Name: "f", Args: map[string]any{"c": complex(1, 2)}}},
			[]string{"f", "map[c:(1+2i)]"}},
	}
	c := New()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := 0
			for _, text := range test.want {
				want += New().Text(text)
			}
			content := &genai.Content{Parts: []*genai.Part{test.part, test.part}}
			for range 2 {
				if got := c.Content(content); got != 2*want {
					t.Errorf("%d tokens, want twice %d", got, want)
				}
			}
		})
	}
}

func TestRequest(t *testing.T) {
	c := New()
	declaration := &genai.FunctionDeclaration{Name: "book", Description: "Books a seat."}
	contents := []*genai.Content{genai.NewContentFromText("hello world", genai.RoleUser), nil}
	config := &genai.GenerateContentConfig{
		SystemInstruction: genai.NewContentFromText("Be kind.", genai.RoleUser),
		Tools:             []*genai.Tool{nil, {FunctionDeclarations: []*genai.FunctionDeclaration{declaration}}},
	}
	if got, want := c.Request(contents, nil), 2+4; got != want {
		t.Errorf("contents: %d tokens, want %d", got, want)
	}
	want := 2 + 4 + c.Text("Be kind.") + 4 + c.Text(`{"description":"Books a seat.","name":"book"}`)
	if got := c.Request(contents, config); got != want {
		t.Errorf("with config: %d tokens, want %d", got, want)
	}
}

func TestConcurrentUse(t *testing.T) {
	c := New()
	want := c.Content(history(20))
	shared := New()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := shared.Content(history(20)); got != want {
				t.Errorf("%d tokens, want %d", got, want)
			}
		})
	}
	wg.Wait()
}

// history returns a content with n different texts and tool results.
func history(n int) *genai.Content {
	content := &genai.Content{}
	for i := range n {
		text := fmt.Sprintf("Message %d: %s", i, strings.Repeat("the quick brown fox, ", 20))
		content.Parts = append(content.Parts, &genai.Part{Text: text},
			&genai.Part{FunctionResponse: &genai.FunctionResponse{Name: "read", Response: map[string]any{"output": text}}})
	}
	return content
}

// BenchmarkCounter counts a prompt for the first time, and again as the next
// call's prompt has it.
func BenchmarkCounter(b *testing.B) {
	prompt := []*genai.Content{history(500)}
	b.Run("prompt=new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			New().Request(prompt, nil)
		}
	})
	b.Run("prompt=known", func(b *testing.B) {
		b.ReportAllocs()
		c := New()
		c.Request(prompt, nil)
		for b.Loop() {
			c.Request(prompt, nil)
		}
	})
}

// BenchmarkText has texts on which a tokenizer can be slow.
func BenchmarkText(b *testing.B) {
	for _, unit := range []string{" ", "a", "A", "7", "\n", "=", "語"} {
		text := strings.Repeat(unit, 100_000)
		b.Run(fmt.Sprintf("unit=%q", unit), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				New().Text(text)
			}
		})
	}
}
