package recall_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recap-adk/recap/internal/recall"
)

func TestWords(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"Where is my Order?", "where is my order"},
		{"ORD-7741.", "ord 7741 ord-7741"},
		{"see a_b.go, x", "see a b go a_b.go x"},
		{"mail Ana.B@example.com!", "mail ana b example com ana.b@example.com"},
		{"/usr/local/bin", "usr local bin usr/local/bin"},
		{"it's 12,500 or 1, 2", "it s it's 12 500 12,500 or 1 2"},
		{"one,two -x- a--b", "one two x a b"},
		{"ÄRGER im Café", "ärger im café"},
		{"привет МИР", "привет мир"},
		{"订单号7741", "订 单 订单 号 单号 7741"},
		{"東京 and 大阪", "東 京 東京 and 大 阪 大阪"},
		{"주문 a", "주 문 주문 a"},
		{"हिन्दी", "हिन्दी"},
		{strings.Repeat("a-", 60) + "b", strings.Repeat("a ", 60) + "b"},
	} {
		if got := strings.Join(recall.Words(test.text), " "); got != test.want {
			t.Errorf("the words of %q are %q, want %q", test.text, got, test.want)
		}
	}
}

// What is ruled out without a look at it is nothing that is looked for.
func FuzzWords(f *testing.F) {
	f.Add("Ord-7741 for İstanbul K", "ORD-7741 istanbul k")
	f.Add("订单号7741", "单号")
	f.Fuzz(func(t *testing.T, text, query string) {
		looked := recall.Words(query)
		if len(looked) > 60 {
			t.Skip()
		}
		var want []string
		for _, w := range recall.Words(text) {
			if slices.Contains(looked, w) {
				want = append(want, w)
			}
		}
		if diff := cmp.Diff(want, recall.WordsWanted(text, query), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestTexts(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{"nothing", "", ""},
		{"a text", `{"parts": [ {"text": "a \"b\"\u00e9\ud83d\ude00\n"} ,{"text":"c"}], "role":"user"}`, "a \"b\"é😀 |c"},
		{"a thought", `{"parts":[{"text":"hm","thought":true},{"text":"so","thought":false}]}`, "so"},
		{"a call", `{"parts":[{"functionCall":{"id":"1","args":{"n":-1.5e3,"deep":[{"k":true,"x":null}]},"name":"look"}}]}`, "look|n|-1.5e3|deep|k|true|x"},
		{"a result", `{"parts":[{"functionResponse":{"id":"1","name":"look","response":{"output":"{\"a\":1}"}}}]}`, `look|output|{"a":1}`},
		{"a recall", `{"parts":[{"functionCall":{"args":{"query":"x"},"name":"recall"}},{"functionResponse":{"name":"recall","response":{"recalled":[{"text":"x"}]}}}]}`, ""},
		{"a result of another tool of that name", `{"parts":[{"functionResponse":{"name":"recall","response":{"cars":3}}}]}`, "recall|cars|3"},
		{"code", `{"parts":[{"executableCode":{"code":"1+1"}},{"codeExecutionResult":{"output":"2"}}]}`, "code|1+1|output|2"},
		{"data", `{"parts":[{"inlineData":{"data":"QUJD","mimeType":"image/png"}},{"text":"a","thoughtSignature":"eHh4"}]}`, "a"},
		{"broken", `{"parts":[{"text":"a`, "a"},
	} {
		if got := strings.Join(recall.Texts([]byte(test.content)), "|"); got != test.want {
			t.Errorf("%s: the texts are %q, want %q", test.name, got, test.want)
		}
	}
}

// FuzzTexts wants the texts to be those that encoding/json finds.
func FuzzTexts(f *testing.F) {
	f.Add("a \"b\\\\\" \u2028 \x00 😀")
	f.Fuzz(func(t *testing.T, text string) {
		recall.Texts([]byte(text)) // whatever it is, there is an end
		if !utf8.ValidString(text) {
			t.Skip()
		}
		content, err := json.Marshal(map[string]any{"role": text, "parts": []any{
			map[string]any{"text": text}, map[string]any{"functionCall": map[string]any{"name": "f", "args": map[string]any{"k": []any{text, text}}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		spaces := strings.NewReplacer("\n", " ", "\r", " ", "\t", " ", "\b", " ", "\f", " ")
		want := spaces.Replace(text)
		if diff := cmp.Diff([]string{want, "f", "k", want, want}, recall.Texts(content)); diff != "" {
			t.Errorf("%s\n-want +got:\n%s", content, diff)
		}
	})
}
