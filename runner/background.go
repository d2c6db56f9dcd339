package runner

import (
	"context"
	"sync"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/session"
)

// maxWorkers bounds the compactions that one runner does at the same time.
const maxWorkers = 4

// background compacts sessions while nobody waits: one session at a time by
// one goroutine, and not more than maxWorkers goroutines.
type background struct {
	compactor *compaction.Compactor
	ctx       context.Context // of the work: it outlives requests
	cancel    context.CancelFunc

	mu      sync.Mutex
	closed  bool
	queue   []*job
	jobs    map[string]*job // queued or running, by session
	workers int
	idle    chan struct{} // closed while there is no worker
}

// job is a session to be compacted.
type job struct {
	key     string
	ctx     context.Context // values of the request, without its end
	session session.Session
	again   bool // something was appended while it was running
	running bool
}

func newBackground(compactor *compaction.Compactor) *background {
	ctx, cancel := context.WithCancel(context.Background())
	idle := make(chan struct{})
	close(idle)
	return &background{compactor: compactor, ctx: ctx, cancel: cancel, jobs: map[string]*job{}, idle: idle}
}

func (b *background) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// start has the session looked at soon.
func (b *background) start(ctx context.Context, s session.Session) {
	key := s.AppName() + "\x00" + s.UserID() + "\x00" + s.ID()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if known := b.jobs[key]; known != nil {
		known.again = known.running
		return
	}
	j := &job{key: key, ctx: context.WithoutCancel(ctx), session: s}
	b.jobs[key] = j
	b.queue = append(b.queue, j)
	if b.workers < maxWorkers {
		if b.workers == 0 {
			b.idle = make(chan struct{})
		}
		b.workers++
		go b.work()
	}
}

// work does jobs until there are none.
func (b *background) work() {
	for {
		j := b.next()
		if j == nil {
			return
		}
		b.compact(j)
	}
}

// next takes a job, or ends the worker.
func (b *background) next() *job {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		if b.workers--; b.workers == 0 {
			close(b.idle)
		}
		return nil
	}
	j := b.queue[0]
	b.queue = b.queue[1:]
	j.running = true
	return j
}

// compact compacts a session until nothing is left to do in it: a backlog goes
// window by window.
func (b *background) compact(j *job) {
	ctx, cancel := context.WithCancel(j.ctx)
	defer context.AfterFunc(b.ctx, cancel)()
	defer cancel()
	for {
		if b.ctx.Err() == nil {
			b.compactor.Drain(ctx, j.session)
		}
		if b.finish(j) {
			return
		}
	}
}

// finish ends a job unless the session has changed since.
func (b *background) finish(j *job) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if j.again && b.ctx.Err() == nil {
		j.again = false
		return false
	}
	delete(b.jobs, j.key)
	return true
}

// wait waits until there is no work, or ctx is done.
func (b *background) wait(ctx context.Context) error {
	b.mu.Lock()
	idle := b.idle
	b.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.compactor == nil {
		return nil
	}
	return b.compactor.Wait(ctx)
}

func (b *background) close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	err := b.wait(ctx)
	b.cancel()
	if err != nil {
		// What heeds its context ends now.
		b.mu.Lock()
		idle := b.idle
		b.mu.Unlock()
		<-idle
	}
	return err
}
