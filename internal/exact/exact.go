// Package exact finds the values in a text that must not be paraphrased:
// numbers, amounts, dates, times, identifiers, addresses, paths and quoted
// names.
//
//	exact.Values(`Move "Big Blue" from 2024-05-20 to gate B42`)
//	// ["Big Blue" 2024-05-20 B42], without the quotes
//
// It knows patterns, not meaning. A value it finds can be looked up in another
// text letter by letter, which is how a summary is checked for what it lost.
package exact

import (
	"regexp"
	"strings"
	"unicode"
)

const months = `(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?`

// letters are those of scripts that put spaces between words. In others a run
// of letters is a sentence, and only the values within it are exact.
const letters = `\p{Latin}\p{Greek}\p{Cyrillic}\p{Arabic}\p{Hebrew}\p{Devanagari}`

// The alternatives are tried in order at each place, the most telling first.
var pattern = regexp.MustCompile(strings.Join([]string{
	`https?://[^\s"'<>]+`,
	`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`,
	`"[^"\n]{2,60}"|“[^”\n]{2,60}”|«[^»\n]{2,60}»`,
	`\b\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?`,
	`\d{4}年\d{1,2}月\d{1,2}日`,
	`\b\d{1,2}(?:st|nd|rd|th)?(?: of)? ` + months + `(?:,? \d{4}\b)?`,
	`\b` + months + ` \d{1,2}(?:st|nd|rd|th)?\b(?:,? \d{4}\b)?`,
	`\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp][Mm]\b)?`,
	`[$€£¥]\s?\d[\d,]*(?:\.\d+)?`,
	`(?:~|\.{1,2})?(?:/[\w.@+-]+)+/?|\b[\w.@+-]+(?:/[\w.@+-]+)+`,
	`[` + letters + `\d](?:[` + letters + `\d_.,-]*[` + letters + `\d_])?`,
}, "|"))

// Values returns the exact values in text, each once, in order of appearance.
func Values(text string) []string {
	var values []string
	seen := map[string]bool{}
	for _, match := range pattern.FindAllString(text, -1) {
		value := strings.TrimRight(strings.Trim(match, `"“”«»`), ".,;:!?)")
		if !tells(value) || seen[value] {
			continue
		}
		seen[value] = true
		values = append(values, value)
	}
	return values
}

// tells reports whether a match says something that could be got wrong: words
// without a digit or a sign of structure do not, nor does a single digit.
func tells(value string) bool {
	digits, letters := 0, 0
	for _, r := range value {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	switch {
	case digits == 1 && letters == 0:
		return strings.ContainsAny(value, "$€£¥/")
	case digits > 0:
		return len(value) > 1
	case strings.ContainsAny(value, "@"):
		return true
	case strings.Contains(value, "/"):
		return strings.Count(value, "/") > 1 || strings.ContainsAny(value, "._")
	default:
		return strings.Contains(value, " ") || strings.Contains(value, "_")
	}
}

// Missing returns those of values that do not stand in text.
func Missing(values []string, text string) []string {
	var missing []string
	for _, value := range values {
		if !strings.Contains(text, value) {
			missing = append(missing, value)
		}
	}
	return missing
}
