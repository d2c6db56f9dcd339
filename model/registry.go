package model

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Factory makes the model of a name that matched its pattern.
type Factory func(ctx context.Context, name string) (LLM, error)

var registry struct {
	sync.RWMutex
	entries []entry // oldest first
}

type entry struct {
	pattern string
	match   *regexp.Regexp
	make    Factory
}

// Register makes NewLLM use f for names that namePattern, a regular expression,
// matches from end to end. Of several that match, the one that was registered
// last is used, so an application can override an adapter. Adapters register
// themselves when they are imported. Register panics if namePattern is no
// regular expression or f is nil; it is safe for concurrent use.
func Register(namePattern string, f Factory) {
	match := regexp.MustCompile(`^(?:` + namePattern + `)$`)
	if f == nil {
		panic("model: no factory for " + namePattern)
	}
	registry.Lock()
	defer registry.Unlock()
	registry.entries = append(registry.entries, entry{pattern: namePattern, match: match, make: f})
}

// NewLLM makes the model of that name by the factory that is registered for it.
// A name that no pattern matches is an error that lists the patterns; mostly
// the import of an adapter is missing.
func NewLLM(ctx context.Context, name string) (LLM, error) {
	registry.RLock()
	entries := slices.Clone(registry.entries)
	registry.RUnlock()
	var patterns []string
	for _, e := range slices.Backward(entries) {
		if e.match.MatchString(name) {
			return e.make(ctx, name)
		}
		patterns = append(patterns, e.pattern)
	}
	slices.Sort(patterns)
	return nil, fmt.Errorf("model: nothing is registered for the name %q; an adapter is registered by importing it; patterns are: %s",
		name, strings.Join(slices.Compact(patterns), ", "))
}
