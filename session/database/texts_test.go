package database

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// awkwardText draws texts of what is written otherwise and what looks like it.
var awkwardText = rapid.Custom(func(t *rapid.T) string {
	pieces := rapid.SliceOf(rapid.SampledFrom([]string{
		"\x00", mark, mark + "u0000", mark + "x41", "u", "x", "0000", "ffff", "ff", `\`, `"`, `\u0000`, "\xff", "\xef\xbf", "a", "ü", "𝄞", "\ufffd",
	})).Draw(t, "pieces")
	return strings.Join(pieces, "") + rapid.String().Draw(t, "more")
})

func TestTextsAreReadAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := &texts{nul: rapid.Bool().Draw(t, "nul")}
		text := awkwardText.Draw(t, "text")
		stored := texts.text(text)
		if !utf8.ValidString(stored) || texts.nul && strings.Contains(stored, "\x00") {
			t.Fatalf("%q is stored as %q", text, stored)
		}
		if got := texts.original(stored); got != text {
			t.Fatalf("%q is stored as %q and read as %q", text, stored, got)
		}
	})
}

func TestJSONIsReadAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{awkwardText.Draw(t, "key"): awkwardText.Draw(t, "value"), "list": []any{awkwardText.Draw(t, "item"), 1.0}}
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		checkJSON(t, data)
	})
}

// FuzzJSON takes any JSON, as an application may give it as it is.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`"\u0000"`, `"\\u0000"`, `"\\\u0000"`, `"\ud834\udd1e"`, `"\ud834"`, `"\udd1e\ud834"`, `"\uD834x\uffff\uFFFF"`, `{"` + mark + `u0000":"` + mark + `"}`, `"\ud834\u0000"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if json.Valid(data) && utf8.Valid(data) {
			checkJSON(t, data)
		}
	})
}

func checkJSON(t rapid.TB, data []byte) {
	t.Helper()
	texts := &texts{json: true}
	stored := texts.stored(data)
	if !json.Valid(stored) {
		t.Fatalf("%s is stored as %s, which is not JSON", data, stored)
	}
	// Like the database, which keeps what the JSON says and not how.
	var kept any
	if err := json.Unmarshal(stored, &kept); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(kept); err != nil {
		t.Fatal(err)
	}
	if escapes := strings.ReplaceAll(b.String(), `\\`, ""); strings.Contains(escapes, `\u0000`) {
		t.Fatalf("%s is stored as %s", data, stored)
	}
	var want, got any
	if err := errors.Join(json.Unmarshal(data, &want), json.Unmarshal(texts.read([]byte(b.String())), &got)); err != nil {
		t.Fatalf("%s, stored as %s: %v", data, stored, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s is stored as %s (-want +got):\n%s", data, stored, diff)
	}
}

func TestGates(t *testing.T) {
	var g gates
	leave, err := g.enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.enter(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("one who gave up got %v", err)
	}
	other, err := g.enter(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	other()
	inside := make(chan struct{})
	go func() {
		leave, err := g.enter(t.Context(), "a")
		if err == nil {
			leave()
		}
		close(inside)
	}()
	leave()
	<-inside
	if len(g.gates) != 0 {
		t.Errorf("%d gates are left", len(g.gates))
	}
}
