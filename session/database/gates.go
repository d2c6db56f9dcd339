package database

import (
	"context"
	"sync"
)

// gates let one goroutine at a time pass for each name, in the order in which
// they came. The zero value is ready for use.
type gates struct {
	mu    sync.Mutex
	gates map[string]*gate
}

type gate struct {
	inside chan struct{} // holds a value while somebody is
	users  int           // those inside and those who wait
}

// enter waits until the gate is free, or until ctx is done. The gate is free
// again when leave is called.
func (g *gates) enter(ctx context.Context, name string) (leave func(), err error) {
	g.mu.Lock()
	if g.gates == nil {
		g.gates = map[string]*gate{}
	}
	at := g.gates[name]
	if at == nil {
		at = &gate{inside: make(chan struct{}, 1)}
		g.gates[name] = at
	}
	at.users++
	g.mu.Unlock()

	select {
	case at.inside <- struct{}{}:
		return func() { <-at.inside; g.gone(name, at) }, nil
	case <-ctx.Done():
		g.gone(name, at)
		return nil, ctx.Err()
	}
}

func (g *gates) gone(name string, at *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(g.gates, name)
	}
}
