package recall

import (
	"unicode"
	"unicode/utf8"
)

// word is a token of a text.
type word struct {
	// folded is the word in small letters, valid until the next one. It is nil if
	// nobody looks for it.
	folded []byte
	// whole says that the words before it are its parts: of order-7741 there are
	// "order", "7741" and, as a whole, "order-7741".
	whole      bool
	start, end int // in the text, in bytes
}

// wanted tells, by the byte that a word begins with, of which lengths the words
// are that are looked for. Most words of a log are ruled out by that.
type wanted [256]uint64

func (w *wanted) add(folded []byte) { w[folded[0]] |= lengthBit(len(folded)) }

func (w *wanted) has(first byte, length int) bool {
	return w == nil || w[first]&lengthBit(length) != 0
}

func lengthBit(n int) uint64 { return 1 << min(n, 63) }

// splitter cuts texts into words: runs of letters and digits, in small letters.
// What is joined by marks as identifiers, numbers, paths and addresses are is
// one more word as a whole. Scripts without spaces between words give each
// character, and each two that stand side by side.
type splitter struct {
	wanted *wanted // nil: all words are
	folded []byte
}

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

// classes and small are the class and the small letter of each byte of ASCII.
var classes, small = func() (table [256]class, small [256]byte) {
	for c := range utf8.RuneSelf {
		small[c] = byte(unicode.ToLower(rune(c)))
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
	return table, small
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

func classAt(text []byte) (class, int) {
	if text[0] < utf8.RuneSelf {
		return classes[text[0]], 1
	}
	r, size := utf8.DecodeRune(text)
	return classOf(r), size
}

// each calls visit with the words of text in order.
func (s *splitter) each(text []byte, visit func(word)) {
	for i := 0; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf { // which is nearly always so
			if c := classes[b]; c == letter || c == digit {
				i = s.joined(text, i, visit)
			} else {
				i++
			}
			continue
		}
		c, size := classAt(text[i:])
		switch c {
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
	allPlain := true
	for i := start; ; {
		end, last, plain := run(text, i)
		allPlain = allPlain && plain
		visit(word{s.fold(text[i:end], plain), false, i, end})
		if end < len(text) && classes[text[end]] == joiner && joins(text[end], last, text[end+1:]) {
			i = end + 1
			continue
		}
		if i > start && end-start <= maxWhole {
			visit(word{s.fold(text[start:end], allPlain), true, start, end})
		}
		return end
	}
}

// run returns the end of the letters and digits that begin at i, the class of the
// last of them, and whether all are ASCII.
func run(text []byte, i int) (end int, last class, plain bool) {
	plain = true
	for i < len(text) {
		c, size := classes[text[i]], 1
		if text[i] >= utf8.RuneSelf {
			c, size = classAt(text[i:])
			plain = plain && c != letter && c != digit
		}
		if c != letter && c != digit {
			break
		}
		last = c
		i += size
	}
	return i, last, plain
}

// joins reports whether a mark joins what is before it to what follows. A comma
// does so in numbers alone.
func joins(mark byte, before class, after []byte) bool {
	if len(after) == 0 {
		return false
	}
	c, _ := classAt(after)
	if mark == ',' {
		return before == digit && c == digit
	}
	return c == letter || c == digit
}

// fold returns a word in small letters, or nil if it is not wanted. Small letters
// beyond ASCII may have another length.
func (s *splitter) fold(text []byte, plain bool) []byte {
	if plain && !s.wanted.has(small[text[0]], len(text)) {
		return nil
	}
	folded := s.folded[:0]
	for i, c := range text {
		if c >= utf8.RuneSelf {
			for _, r := range string(text[i:]) {
				folded = utf8.AppendRune(folded, unicode.ToLower(r))
			}
			break
		}
		folded = append(folded, small[c])
	}
	s.folded = folded
	if !s.wanted.has(folded[0], len(folded)) {
		return nil
	}
	return folded
}

// unspaced visits the characters, and the pairs of them, that begin at start,
// and returns where they end.
func (s *splitter) unspaced(text []byte, start int, visit func(word)) int {
	before := -1
	for i := start; i < len(text); {
		c, size := classAt(text[i:])
		if c != unspaced {
			return i
		}
		visit(word{text[i : i+size], false, i, i + size})
		if before >= 0 {
			visit(word{text[before : i+size], true, before, i + size})
		}
		before = i
		i += size
	}
	return len(text)
}
