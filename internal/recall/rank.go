package recall

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// The parameters of BM25: how soon it counts no more that a word recurs, and how
// much a long event has to have more of them. That of text collections is 0.75;
// in a conversation a long event is more often one that says more.
const (
	saturation = 1.2
	lengthBias = 0.5
)

// maxTerms bounds the different words of a query that are looked for.
const maxTerms = 64

// query is what is looked for: words, and pairs of words that stand side by
// side.
type query struct {
	terms  map[string]int
	pairs  [maxTerms][maxTerms]uint8 // by the places of two words: that of the pair
	count  int                       // of terms and pairs
	wanted wanted
}

func newQuery(text string) *query {
	q := &query{terms: map[string]int{}}
	before := -1
	var pairs [][2]int
	new(splitter).each([]byte(text), func(w word) {
		term, ok := q.terms[string(w.folded)]
		if !ok {
			if len(q.terms) == maxTerms {
				before = -1
				return
			}
			term = len(q.terms)
			q.terms[string(w.folded)] = term
			q.wanted.add(w.folded)
		}
		if !w.whole {
			if before >= 0 {
				pairs = append(pairs, [2]int{before, term})
			}
			before = term
		}
	})
	q.count = len(q.terms)
	for _, p := range pairs {
		if at := &q.pairs[p[0]][p[1]]; *at == 0 && q.count <= math.MaxUint8 {
			*at = uint8(q.count)
			q.count++
		}
	}
	return q
}

// occurrence is how often a term or pair occurs in an event.
type occurrence struct{ term, times uint8 }

// found is an event in which something that is looked for occurs.
type found struct {
	id          string
	at          time.Time
	words       int
	first, last int // of its occurrences
	score       float64
}

// ranking gathers from each event, in one pass, how often what is looked for
// occurs in it. How much that tells is known only at the end.
type ranking struct {
	query       *query
	splitter    splitter
	walker      walker
	events      int
	words       int
	in          []int // how many events each term and pair is in
	found       []found
	occurrences []occurrence
	visit       func(word)

	// Of the event at hand.
	times  []uint8
	seen   []uint8
	length int
	before int
}

func newRanking(q *query) *ranking {
	r := &ranking{query: q, splitter: splitter{wanted: &q.wanted}, in: make([]int, q.count), times: make([]uint8, q.count)}
	r.visit = r.word // once, as it takes memory
	return r
}

// add reads an event. One without any text does not count.
func (r *ranking) add(id string, at time.Time, content []byte) {
	r.length, r.before = 0, -1
	r.walker.each(content, r.text)
	if r.length == 0 {
		return
	}
	r.events++
	r.words += r.length
	if len(r.seen) == 0 {
		return
	}
	first := len(r.occurrences)
	for _, term := range r.seen {
		r.occurrences = append(r.occurrences, occurrence{term, r.times[term]})
		r.in[term]++
		r.times[term] = 0
	}
	r.seen = r.seen[:0]
	r.found = append(r.found, found{id: id, at: at, words: r.length, first: first, last: len(r.occurrences)})
}

func (r *ranking) text(text []byte) { r.splitter.each(text, r.visit) }

func (r *ranking) word(w word) {
	r.length++
	term := -1
	if w.folded != nil {
		if known, ok := r.query.terms[string(w.folded)]; ok {
			term = known
			r.count(uint8(term))
		}
	}
	if w.whole {
		return
	}
	if r.before >= 0 && term >= 0 {
		if pair := r.query.pairs[r.before][term]; pair > 0 {
			r.count(pair)
		}
	}
	r.before = term
}

func (r *ranking) count(term uint8) {
	if r.times[term] == 0 {
		r.seen = append(r.seen, term)
	}
	if r.times[term] < math.MaxUint8 {
		r.times[term]++
	}
}

// best returns the events that fit best, from place skip on and so many at
// most, and whether there are more. Of those that fit alike the newer come
// first.
func (r *ranking) best(skip, most int) (list []found, more bool) {
	weights := r.weights()
	average := float64(r.words) / float64(max(1, r.events))
	for i := range r.found {
		f := &r.found[i]
		norm := saturation * (1 - lengthBias + lengthBias*float64(f.words)/average)
		f.score = 0
		for _, o := range r.occurrences[f.first:f.last] {
			times, norm := float64(o.times), norm
			if int(o.term) >= len(r.query.terms) {
				norm = saturation // that words stand side by side is no matter of length
			}
			f.score += weights[o.term] * times * (saturation + 1) / (times + norm)
		}
	}
	slices.SortStableFunc(r.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.at.Compare(a.at))
	})
	list = r.found[min(skip, len(r.found)):]
	if len(list) > most {
		return list[:most], true
	}
	return list, false
}

// weights is how much each term and pair tells: the rarer the more.
func (r *ranking) weights() []float64 {
	weights := make([]float64, len(r.in))
	for i, in := range r.in {
		weights[i] = math.Log(1 + (float64(r.events-in)+0.5)/(float64(in)+0.5))
	}
	return weights
}
