package database

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// texts writes what a column cannot hold in another way, and reads it back.
// PostgreSQL takes no NUL in a text, and in its JSON neither that nor half of a
// surrogate pair; no server takes a text that is not UTF-8.
//
// In a stored text, mark followed by u and four hexadecimal digits stands for
// that code of UTF-16, and mark followed by x and two digits for that byte. mark
// itself is a code that Unicode keeps out of texts, and is written like this too.
// A nil *texts changes nothing.
type texts struct {
	nul  bool // whether NUL is among what a column cannot hold
	json bool // whether there is such a thing in a column of JSON
}

const mark = "\uffff"

// text is s as a column of text can hold it.
func (t *texts) text(s string) string {
	if t == nil || utf8.ValidString(s) && !strings.Contains(s, mark) && !(t.nul && strings.Contains(s, "\x00")) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(mark + "x" + hex.EncodeToString([]byte{s[i]}))
		case r == 0 && t.nul:
			b.WriteString(mark + "u0000")
		case s[i:i+size] == mark:
			b.WriteString(mark + "uffff")
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// original is the inverse of text.
func (t *texts) original(s string) string {
	if t == nil || !strings.Contains(s, mark) {
		return s
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, mark)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		switch {
		case strings.HasPrefix(after, "u0000"):
			b.WriteByte(0)
			s = after[5:]
		case strings.HasPrefix(after, "uffff"):
			b.WriteString(mark)
			s = after[5:]
		case len(after) >= 3 && after[0] == 'x' && isHex(after[1:3]):
			decoded, _ := hex.DecodeString(after[1:3])
			b.Write(decoded)
			s = after[3:]
		default: // somebody else wrote it
			b.WriteString(mark)
			s = after
		}
	}
}

// stored is JSON as a column of JSON can hold it.
func (t *texts) stored(data []byte) []byte {
	if t == nil || !t.json || !bytes.Contains(data, []byte(`\u`)) && !bytes.Contains(data, []byte(mark)) {
		return data
	}
	out := make([]byte, 0, len(data)+len(mark))
	for len(data) > 0 {
		n := 1
		switch {
		case isEscape(data):
			n = len(`\u0000`)
			code := string(bytes.ToLower(data[2:n]))
			switch {
			case isHigh(code) && isEscape(data[n:]) && isLow(string(bytes.ToLower(data[n+2:n+n]))):
				n += n
			case code == "0000" || code == "ffff" || isHigh(code) || isLow(code):
				out = append(append(out, mark...), 'u')
				out = append(out, code...)
				data = data[n:]
				continue
			}
		case data[0] == '\\' && len(data) > 1:
			n = 2
		case bytes.HasPrefix(data, []byte(mark)):
			out = append(out, mark+"uffff"...)
			data = data[len(mark):]
			continue
		}
		out = append(out, data[:n]...)
		data = data[n:]
	}
	return out
}

// read is the inverse of stored: JSON that means the same.
func (t *texts) read(data []byte) []byte {
	if t == nil || !t.json || !bytes.Contains(data, []byte(mark)) {
		return data
	}
	out := make([]byte, 0, len(data))
	for {
		before, after, found := bytes.Cut(data, []byte(mark))
		out = append(out, before...)
		if !found {
			return out
		}
		if len(after) >= 5 && after[0] == 'u' && isHex(string(after[1:5])) {
			out = append(out, '\\')
		} else {
			out = append(out, mark...)
		}
		data = after
	}
}

// isEscape reports whether JSON starts with \u and a code.
func isEscape(data []byte) bool {
	return len(data) >= 6 && data[0] == '\\' && data[1] == 'u' && isHex(string(data[2:6]))
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF") == "" }

// isHigh and isLow know the first and the second half of a surrogate pair.
func isHigh(code string) bool { return code >= "d800" && code < "dc00" }
func isLow(code string) bool  { return code >= "dc00" && code < "e000" }
