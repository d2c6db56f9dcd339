package recall

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	icontext "github.com/recap-adk/recap/internal/context"
)

// walker finds the texts in a content that is written as JSON, without building
// it: what is said, code and its output, and of calls and results the name and
// all that is in them. Thoughts are no text, nor is what was recalled, which is
// in the log already. Of JSON that is broken it finds some.
type walker struct{ unescaped []byte }

// each calls visit with each text in order. A text is valid until the next one.
func (w *walker) each(content []byte, visit func([]byte)) {
	for key, parts := range fields(content) {
		if string(key) != "parts" {
			continue
		}
		for part := range elements(parts) {
			w.part(part, visit)
		}
	}
}

func (w *walker) part(part []byte, visit func([]byte)) {
	var text, thought, call, response, code, output []byte
	for key, value := range fields(part) {
		switch string(key) {
		case "text":
			text = value
		case "thought":
			thought = value
		case "functionCall":
			call = value
		case "functionResponse":
			response = value
		case "executableCode":
			code = value
		case "codeExecutionResult":
			output = value
		case "fileData":
			w.all(value, visit)
		}
	}
	if string(thought) == "true" {
		return
	}
	w.all(text, visit)
	w.tool(call, "args", visit)
	w.tool(response, "response", visit)
	w.all(code, visit)
	w.all(output, visit)
}

// tool visits the name and the data of a call or result.
func (w *walker) tool(value []byte, dataKey string, visit func([]byte)) {
	var name, data []byte
	for key, value := range fields(value) {
		switch string(key) {
		case "name":
			name = value
		case dataKey:
			data = value
		}
	}
	if string(name) == recallName && (dataKey == "args" || hasField(data, icontext.RecalledKey)) {
		return
	}
	w.all(name, visit)
	w.all(data, visit)
}

const recallName = `"` + icontext.RecallName + `"`

func hasField(object []byte, name string) bool {
	for key := range fields(object) {
		if string(key) == name {
			return true
		}
	}
	return false
}

// all visits the strings, keys and numbers of a value.
func (w *walker) all(value []byte, visit func([]byte)) {
	for i := 0; i < len(value); {
		switch c := value[i]; {
		case c == '"':
			end := skipString(value, i)
			visit(w.unescape(value[i:end]))
			i = end
		case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f':
			end := i + 1
			for end < len(value) && bytes.IndexByte(ends, value[end]) < 0 {
				end++
			}
			visit(value[i:end])
			i = end
		default:
			i++
		}
	}
}

// ends are the characters that may follow a number or a name.
var ends = []byte(" \t\r\n,]}\":[{")

// unescape is the text of a string in quotes.
func (w *walker) unescape(quoted []byte) []byte {
	text := bytes.TrimSuffix(quoted[1:], []byte{'"'})
	at := bytes.IndexByte(text, '\\')
	if at < 0 {
		return text
	}
	out := append(w.unescaped[:0], text[:at]...)
	for text = text[at:]; len(text) > 0; {
		if text[0] != '\\' || len(text) == 1 {
			out, text = append(out, text[0]), text[1:]
			continue
		}
		c := text[1]
		text = text[2:]
		switch c {
		case 'u':
			var r rune
			r, text = hexRune(text)
			out = utf8.AppendRune(out, r)
		case 'n', 'r', 't', 'b', 'f':
			out = append(out, ' ')
		default:
			out = append(out, c)
		}
	}
	w.unescaped = out
	return out
}

// hexRune reads the digits behind \u, and those of the second half of a pair.
func hexRune(text []byte) (rune, []byte) {
	unit := func(at int) rune {
		if len(text) < at+4 {
			return utf8.RuneError
		}
		n, err := strconv.ParseUint(string(text[at:at+4]), 16, 16)
		if err != nil {
			return utf8.RuneError
		}
		return rune(n)
	}
	r := unit(0)
	if utf16.IsSurrogate(r) && len(text) >= 10 && text[4] == '\\' && text[5] == 'u' {
		if pair := utf16.DecodeRune(r, unit(6)); pair != utf8.RuneError {
			return pair, text[10:]
		}
	}
	return r, text[min(4, len(text)):]
}

// fields yields the keys of an object, without their quotes, and the values.
func fields(object []byte) func(yield func(key, value []byte) bool) {
	return func(yield func(key, value []byte) bool) {
		i := skipSpace(object, 0)
		if i == len(object) || object[i] != '{' {
			return
		}
		for i++; ; {
			if i = skipSpace(object, i); i == len(object) || object[i] != '"' {
				return
			}
			end := skipString(object, i)
			key := bytes.TrimSuffix(object[i+1:end], []byte{'"'})
			if i = skipSpace(object, end); i == len(object) || object[i] != ':' {
				return
			}
			i = skipSpace(object, i+1)
			end = skipValue(object, i)
			if !yield(key, object[i:end]) {
				return
			}
			if i = skipSpace(object, end); i == len(object) || object[i] != ',' {
				return
			}
			i++
		}
	}
}

// elements yields the elements of an array.
func elements(array []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		i := skipSpace(array, 0)
		if i == len(array) || array[i] != '[' {
			return
		}
		for i++; ; i++ {
			i = skipSpace(array, i)
			end := skipValue(array, i)
			if end == i || !yield(array[i:end]) {
				return
			}
			if i = skipSpace(array, end); i == len(array) || array[i] != ',' {
				return
			}
		}
	}
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the end of the string that begins at i.
func skipString(data []byte, i int) int {
	for i++; i < len(data); {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			break
		}
		end := i + n
		slashes := 0
		for end-slashes > i && data[end-slashes-1] == '\\' {
			slashes++
		}
		if i = end + 1; slashes%2 == 0 {
			return i
		}
	}
	return len(data)
}

// skipValue returns the end of the value that begins at i.
func skipValue(data []byte, i int) int {
	for depth := 0; i < len(data); {
		switch c := data[i]; c {
		case '"':
			i = skipString(data, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			for i++; i < len(data) && bytes.IndexByte(ends, data[i]) < 0; i++ {
			}
		}
		if depth == 0 {
			return i
		}
	}
	return len(data)
}
