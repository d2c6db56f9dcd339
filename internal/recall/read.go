package recall

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/recap-adk/recap/session"
)

const (
	// maxResults is the number of events in the answer to a query.
	maxResults = 8
	// overhead is the number of tokens of an event besides its text.
	overhead = 60
	// smallest is the number of tokens below which a part of an event is of
	// little use.
	smallest = 100
)

// search finds the events that fit a query best.
func search(ctx context.Context, h *history, req Request, from, to time.Time) (*Result, error) {
	q := newQuery(req.Query)
	var r *ranking
	err := h.each(ctx, from, func() { r = newRanking(q) }, func(e *session.ScannedEvent) bool {
		if to.IsZero() || e.Timestamp.Before(to) {
			r.add(e.ID, e.Timestamp, e.Content)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	most := max(1, min(maxResults, req.MaxTokens/(overhead+smallest)))
	best, more := r.best(req.Page*most, most)
	result := &Result{Searched: r.events}
	var texts []text
	for _, f := range best {
		e, err := h.get(ctx, f.id, f.at)
		if err != nil {
			return nil, err
		}
		if e == nil {
			continue // it was deleted meanwhile, with the session
		}
		texts = append(texts, textOf(e))
	}
	weights := r.weights()
	for i, limit := range shares(texts, req.MaxTokens-overhead*len(texts)) {
		result.Events = append(result.Events, texts[i].around(q, weights, limit))
	}
	if more {
		next := req.Arguments
		next.Page++
		result.More = append(result.More, next)
	}
	return result, nil
}

// shares divides tokens among texts: to each what it needs or an equal share,
// and what is left to the first that need it.
func shares(texts []text, tokens int) []int {
	if len(texts) == 0 {
		return nil
	}
	equal := tokens / len(texts)
	shares := make([]int, len(texts))
	for i, t := range texts {
		shares[i] = min(t.tokens, equal)
		tokens -= shares[i]
	}
	for i, t := range texts {
		more := min(t.tokens-shares[i], tokens)
		shares[i] += more
		tokens -= more
	}
	return shares
}

// span reads in order from a time on, or with an end alone, back from there.
func span(ctx context.Context, h *history, req Request, from, to time.Time) (*Result, error) {
	most := req.MaxTokens/overhead + 1
	backward := from.IsZero()
	result := &Result{}
	var list []*session.ScannedEvent // the newest first
	err := h.each(ctx, from, func() { result.Searched, list = 0, nil }, func(e *session.ScannedEvent) bool {
		if !to.IsZero() && !e.Timestamp.Before(to) {
			return true
		}
		result.Searched++
		list = withText(list, e, most, !backward)
		return !backward || len(list) < most
	})
	if err != nil {
		return nil, err
	}
	if !backward {
		slices.Reverse(list)
	}
	texts := textsOf(list)
	shown := fit(texts, req.MaxTokens)
	for i, limit := range shown {
		result.Events = append(result.Events, texts[i].from(0, limit))
	}
	if n := len(shown); n < len(texts) {
		next := Arguments{From: FormatTime(texts[n].event.Timestamp), To: req.To}
		if backward {
			next = Arguments{To: FormatTime(texts[n].event.Timestamp)}
		}
		result.More = append(result.More, next)
	}
	if backward {
		slices.Reverse(result.Events)
	}
	return result, nil
}

// fit returns the tokens that each of the first texts gets, as many as fit. Of
// one that is large a part is shown.
func fit(texts []text, tokens int) []int {
	var limits []int
	for _, t := range texts {
		limit := min(t.tokens, max(tokens/2, smallest))
		if limit+overhead > tokens {
			break
		}
		tokens -= limit + overhead
		limits = append(limits, limit)
	}
	return limits
}

// around reads an event with what stands beside it, or goes on reading it.
func around(ctx context.Context, h *history, req Request) (*Result, error) {
	most := req.MaxTokens/overhead + 1
	var newer, older []*session.ScannedEvent // the newest first
	var target *text
	searched := 0
	err := h.each(ctx, time.Time{}, func() { newer, older, target, searched = nil, nil, nil, 0 }, func(e *session.ScannedEvent) bool {
		searched++
		switch {
		case e.ID == req.Around:
			t := textOf(e)
			target = &t
			return req.Offset == 0
		case target != nil:
			older = withText(older, e, most, false)
			return len(older) < most
		}
		newer = withText(newer, e, most, true)
		return true
	})
	if err == nil && target == nil {
		older, newer = nil, nil
		target, err = visible(h, req.Around)
	}
	switch {
	case err != nil:
		return nil, err
	case target == nil:
		return nil, unknown(req.Around)
	case req.Offset > 0:
		return &Result{Searched: searched, Events: []Event{target.from(req.Offset, req.MaxTokens-overhead)}}, nil
	}
	slices.Reverse(newer) // the nearest first
	return beside(*target, textsOf(older), textsOf(newer), searched, req.MaxTokens), nil
}

// visible is an event that is not covered: the reader may have been shown a part
// of it. What stands beside it is in the reader's prompt.
func visible(h *history, id string) (*text, error) {
	e, err := h.known(id)
	if e == nil || err != nil {
		return nil, err
	}
	t := textOf(e)
	return &t, nil
}

// withText adds an event to a list, if there is anything in it. A rolling list
// keeps about the last ones, and always as many as most.
func withText(list []*session.ScannedEvent, e *session.ScannedEvent, most int, rolling bool) []*session.ScannedEvent {
	if len(e.Content) == 0 || maySayNothing(e.Content) && textOf(e).whole == "" {
		return list
	}
	if rolling && len(list) >= 2*most {
		list = slices.Delete(list, 0, len(list)-most)
	}
	return append(list, e)
}

// maySayNothing is false for most contents, which saves to read them.
func maySayNothing(content []byte) bool {
	return len(content) < 50 || bytes.Contains(content, []byte("thought"))
}

func textsOf(events []*session.ScannedEvent) []text {
	var texts []text
	for _, e := range events {
		if t := textOf(e); t.whole != "" {
			texts = append(texts, t)
		}
	}
	return texts
}

// beside shows an event in half of the tokens, or all that it needs of them,
// and its neighbours, the nearest first, in the rest.
func beside(target text, older, newer []text, searched, tokens int) *Result {
	limit := min(target.tokens, tokens*2/3)
	tokens -= limit + overhead
	before := fit(older, tokens/2)
	for i, n := range before {
		tokens -= min(older[i].tokens, n) + overhead
	}
	after := fit(newer, tokens)
	result := &Result{Searched: searched}
	for i := range slices.Backward(before) {
		result.Events = append(result.Events, older[i].from(0, before[i]))
	}
	result.Events = append(result.Events, target.from(0, limit))
	for i := range after {
		result.Events = append(result.Events, newer[i].from(0, after[i]))
	}
	if n := len(before); n < len(older) {
		result.More = append(result.More, Arguments{To: FormatTime(older[n].event.Timestamp)})
	}
	if n := len(after); n < len(newer) {
		result.More = append(result.More, Arguments{From: FormatTime(newer[n].event.Timestamp)})
	}
	return result
}
