package recall

// Pages makes the pages of services that cannot scan so many events long.
func Pages(size int) { pageSize = size }

// Words are the words of a text.
func Words(text string) []string {
	var words []string
	new(splitter).each([]byte(text), func(w word) { words = append(words, string(w.folded)) })
	return words
}

// WordsWanted are those of the words of a text that a query has.
func WordsWanted(text, query string) []string {
	q := newQuery(query)
	s := splitter{wanted: &q.wanted}
	var words []string
	s.each([]byte(text), func(w word) {
		if _, ok := q.terms[string(w.folded)]; ok && w.folded != nil {
			words = append(words, string(w.folded))
		}
	})
	return words
}

// Texts are the texts of a content as JSON.
func Texts(content []byte) []string {
	var texts []string
	new(walker).each(content, func(text []byte) { texts = append(texts, string(text)) })
	return texts
}
