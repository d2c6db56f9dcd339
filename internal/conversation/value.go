package conversation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// decode is json.Unmarshal with errors that speak of the JSON and not of Go.
func decode(raw json.RawMessage, v any) error {
	if len(raw) == 0 {
		return errors.New("missing")
	}
	err := json.Unmarshal(raw, v)
	var typeErr *json.UnmarshalTypeError
	if errors.As(err, &typeErr) {
		if typeErr.Field == "" {
			return fmt.Errorf("unexpected JSON %s", typeErr.Value)
		}
		return fmt.Errorf("%s: unexpected JSON %s", typeErr.Field, typeErr.Value)
	}
	return err
}

// objectOr returns the JSON object, or, if it is none or would lose something
// in a map, a map that holds the text verbatim under the key.
func objectOr(key, text string) map[string]any {
	if object, ok := losslessObject(text); ok {
		return object
	}
	return map[string]any{key: text}
}

// arguments returns the arguments of a call, nil if there are none.
func arguments(text string) map[string]any {
	if trimmed := strings.TrimSpace(text); trimmed == "" || trimmed == "null" {
		return nil
	}
	return objectOr("arguments", text)
}

// losslessObject decodes a JSON object and reports whether the text is one and
// all of it is in the map: no duplicate keys, no number that a float64 changes,
// no half surrogate pairs.
func losslessObject(text string) (map[string]any, bool) {
	// Valid also bounds the depth, and with it the recursion below.
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || !json.Valid([]byte(text)) {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	value, ok := losslessValue(decoder)
	object, _ := value.(map[string]any)
	return object, ok
}

func losslessValue(decoder *json.Decoder) (any, bool) {
	token, err := decoder.Token()
	if err != nil {
		return nil, false
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return losslessArray(decoder)
		}
		return losslessMembers(decoder)
	case json.Number:
		return exactFloat(token.String())
	case string:
		return token, isExact(token)
	}
	return token, true // a bool or nil
}

func losslessArray(decoder *json.Decoder) (any, bool) {
	list := []any{}
	for decoder.More() {
		value, ok := losslessValue(decoder)
		if !ok {
			return nil, false
		}
		list = append(list, value)
	}
	_, err := decoder.Token() // the closing bracket
	return list, err == nil
}

func losslessMembers(decoder *json.Decoder) (any, bool) {
	object := map[string]any{}
	for decoder.More() {
		token, err := decoder.Token()
		key, isString := token.(string)
		if _, twice := object[key]; err != nil || !isString || twice || !isExact(key) {
			return nil, false
		}
		value, ok := losslessValue(decoder)
		if !ok {
			return nil, false
		}
		object[key] = value
	}
	_, err := decoder.Token() // the closing brace
	return object, err == nil
}

// isExact reports whether nothing in the decoded string had to be replaced.
// A replacement character that was in the text counts as replaced: verbatim is
// always right.
func isExact(s string) bool {
	return !strings.ContainsRune(s, '\uFFFD')
}

// exactFloat parses a JSON number and reports whether the float64, written
// out again, has the same value.
func exactFloat(number string) (float64, bool) {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	return f, normalForm(number) == normalForm(strconv.FormatFloat(f, 'e', -1, 64))
}

// normalForm returns sign, digits and exponent of a number, so that numbers of
// the same value have the same form.
func normalForm(number string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	scale, err := strconv.Atoi(cmp.Or(exponent, "0"))
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return fmt.Sprintf("%t 0", negative)
	}
	if err != nil {
		return number
	}
	significant := strings.TrimRight(digits, "0")
	scale += len(digits) - len(significant) - len(fraction)
	return fmt.Sprintf("%t %s %d", negative, significant, scale)
}
