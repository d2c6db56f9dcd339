package memory

import (
	"cmp"
	"math"
	"slices"
	"unicode"
)

// maxResults bounds what one search returns.
const maxResults = 20

// unspaced are the scripts in which words are not set apart, or carry endings
// that belong to no word.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// words are the words of text, without regard to case. Where words are not set
// apart they are all pairs of neighbours; singles says that the characters
// themselves are words, too.
func words(text string, singles bool) map[string]bool {
	found := map[string]bool{}
	var run []rune // of one kind
	dense := false
	end := func() {
		switch {
		case len(run) == 0:
		case !dense:
			found[string(run)] = true
		default:
			for i := range run {
				if i > 0 {
					found[string(run[i-1:i+1])] = true
				}
				if singles || len(run) == 1 {
					found[string(run[i:i+1])] = true
				}
			}
		}
		run = run[:0]
	}
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != 'ー' {
			end()
			continue
		}
		if now := unicode.In(r, unspaced...) || r == 'ー'; now != dense {
			end()
			dense = now
		}
		run = append(run, fold(r))
	}
	end()
	return found
}

// fold is the same for all cases of a letter.
func fold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// indexed is an entry and its words.
type indexed struct {
	Entry
	words map[string]bool
}

// search returns the entries that have a word of query, the best first: those
// with the most words of it, of which a rare one counts more. Of equals the
// newer is better.
func search(entries []indexed, query string) []Entry {
	var wanted []string
	for word := range words(query, false) {
		wanted = append(wanted, word)
	}
	slices.Sort(wanted) // sums of floats depend on the order
	weight := map[string]float64{}
	for _, word := range wanted {
		in := 0
		for _, entry := range entries {
			if entry.words[word] {
				in++
			}
		}
		weight[word] = math.Log(1 + float64(len(entries))/float64(max(in, 1)))
	}

	type hit struct {
		Entry
		score float64
	}
	var hits []hit
	for _, entry := range entries {
		score := 0.0
		for _, word := range wanted {
			if entry.words[word] {
				score += weight[word]
			}
		}
		if score > 0 {
			hits = append(hits, hit{entry.Entry, score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.Timestamp.Compare(a.Timestamp), cmp.Compare(a.ID, b.ID))
	})
	best := []Entry{}
	for _, hit := range hits[:min(len(hits), maxResults)] {
		best = append(best, hit.Entry)
	}
	return best
}
