package recall

import (
	"unicode"
	"unicode/utf8"
)

// word is a token of a text. Its bytes are valid until the next one.
type word struct {
	folded []byte
	// whole says that the words before it are its parts: of order-7741 there are
	// "order", "7741" and, as a whole, "order-7741".
	whole      bool
	start, end int // in the text, in bytes
}

// splitter cuts texts into words: runs of letters and digits, in small letters.
// What is joined by marks as identifiers, numbers, paths and addresses are is
// one more word as a whole. Scripts without spaces between words give each
// character, and each two that stand side by side.
type splitter struct{ folded []byte }

// maxWhole bounds the bytes of what is a word as a whole.
const maxWhole = 96

type class uint8

const (
	gap class = iota
	letter
	digit
	joiner
	unspaced
)

var classes = func() (table [utf8.RuneSelf]class) {
	for c := range table {
		switch r := rune(c); {
		case r >= '0' && r <= '9':
			table[c] = digit
		case unicode.IsLetter(r):
			table[c] = letter
		}
	}
	for _, c := range "-_.@/:+'#&," {
		table[c] = joiner
	}
	return table
}()

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		return classes[r]
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return unspaced
	case unicode.IsLetter(r), unicode.IsMark(r):
		return letter
	case unicode.IsDigit(r):
		return digit
	}
	return gap
}

func decode(text []byte) (rune, int) {
	if text[0] < utf8.RuneSelf {
		return rune(text[0]), 1
	}
	return utf8.DecodeRune(text)
}

// each calls visit with the words of text in order.
func (s *splitter) each(text []byte, visit func(word)) {
	for i := 0; i < len(text); {
		r, size := decode(text[i:])
		switch classOf(r) {
		case letter, digit:
			i = s.joined(text, i, visit)
		case unspaced:
			i = s.unspaced(text, i, visit)
		default:
			i += size
		}
	}
}

// joined visits the words that begin at start and are joined by marks, and
// returns where they end.
func (s *splitter) joined(text []byte, start int, visit func(word)) int {
	s.folded = s.folded[:0]
	parts, partStart, foldedStart := 0, start, 0
	last, i := gap, start
	for i < len(text) {
		r, size := decode(text[i:])
		c := classOf(r)
		if c == letter || c == digit {
			s.fold(r)
			last = c
			i += size
			continue
		}
		if c != joiner || !joins(r, last, text[i+size:]) {
			break
		}
		visit(word{s.folded[foldedStart:], false, partStart, i})
		parts++
		s.folded = append(s.folded, text[i])
		i += size
		partStart, foldedStart = i, len(s.folded)
	}
	visit(word{s.folded[foldedStart:], false, partStart, i})
	if parts > 0 && len(s.folded) <= maxWhole {
		visit(word{s.folded, true, start, i})
	}
	return i
}

// joins reports whether a mark joins what is before it to what follows. A comma
// does so in numbers alone.
func joins(mark rune, before class, after []byte) bool {
	if len(after) == 0 {
		return false
	}
	r, _ := decode(after)
	c := classOf(r)
	if mark == ',' {
		return before == digit && c == digit
	}
	return c == letter || c == digit
}

func (s *splitter) fold(r rune) {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		s.folded = append(s.folded, byte(r))
		return
	}
	s.folded = utf8.AppendRune(s.folded, unicode.ToLower(r))
}

// unspaced visits the characters, and the pairs of them, that begin at start,
// and returns where they end.
func (s *splitter) unspaced(text []byte, start int, visit func(word)) int {
	before := -1
	for i := start; ; {
		if i == len(text) {
			return i
		}
		r, size := decode(text[i:])
		if classOf(r) != unspaced {
			return i
		}
		visit(word{text[i : i+size], false, i, i + size})
		if before >= 0 {
			visit(word{text[before : i+size], true, before, i + size})
		}
		before = i
		i += size
	}
}
