package exact_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/recap-adk/recap/internal/exact"
)

func ExampleValues() {
	for _, v := range exact.Values(`Please move "Big Blue" from 2024-05-20 to gate B42, it is $1,250.50 now.`) {
		fmt.Println(v)
	}
	// Output:
	// Big Blue
	// 2024-05-20
	// B42
	// $1,250.50
}

func TestValues(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                   nil,
		"Hi! Could you help me, please?":     nil,
		"I have 2 bags.":                     nil,
		"It costs $5 or 12 EUR.":             {"$5", "12"},
		"my user ID is mia_li_3668.":         {"mia_li_3668"},
		"use my 7447 card":                   {"7447"},
		"on May 20th or 3 June 2026":         {"May 20th", "3 June 2026"},
		"before 11:30 AM, or 23:05":          {"11:30 AM", "23:05"},
		"write to ana@example.com.":          {"ana@example.com"},
		"see https://example.com/a?b=1.":     {"https://example.com/a?b=1"},
		"port packages/ui/docs/theme.md now": {"packages/ui/docs/theme.md"},
		"and/or":                             nil,
		"cat ~/.config/recap.toml":           {"~/.config/recap.toml"},
		"call it “Nordic Oak” then":          {"Nordic Oak"},
		"HAT170 and HAT170 again":            {"HAT170"},
		"version 1.26.8":                     {"1.26.8"},
		"12,500 tokens":                      {"12,500"},
		"at 2026-03-01T09:00:36Z":            {"2026-03-01T09:00:36Z"},
		"snake_case names":                   {"snake_case"},
		"航班 HAT170 在 2024-05-20":             {"HAT170", "2024-05-20"},
		"我想把航班HAT170改到2024年5月21日":            {"HAT170", "2024年5月21日"},
	} {
		if got := exact.Values(text); !slices.Equal(got, want) {
			t.Errorf("Values(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestMissing(t *testing.T) {
	got := exact.Missing([]string{"HAT170", "7447"}, "card 7447 charged")
	if !slices.Equal(got, []string{"HAT170"}) {
		t.Errorf("Missing = %q", got)
	}
}

func FuzzValues(f *testing.F) {
	f.Add(`a "b c" 2024-05-20 $5`)
	f.Fuzz(func(t *testing.T, text string) {
		values := exact.Values(text)
		if missing := exact.Missing(values, text); len(missing) > 0 {
			t.Errorf("values %q do not stand in the text", missing)
		}
	})
}
