package database_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"google.golang.org/genai"

	"github.com/recap-adk/recap/compaction"
	"github.com/recap-adk/recap/session"
	"github.com/recap-adk/recap/session/database"
)

// lock takes the lock of a session and wants to get it, or not.
func lock(t *testing.T, service session.Service, id string, want bool) (unlock func()) {
	t.Helper()
	unlock, ok, err := service.(session.CompactionLocker).TryLockCompaction(t.Context(), trip.AppName, trip.UserID, id)
	if err != nil || ok != want || ok != (unlock != nil) {
		t.Fatalf("the lock of %s: %v, %v, want %v", id, ok, err, want)
	}
	return unlock
}

func TestTryLockCompaction(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		dsn := k.create(t)
		first, second, elsewhere := k.openAsIs(t, dsn), k.openAsIs(t, dsn), k.openAsIs(t, k.create(t))
		unlock := lock(t, first, "a", true)
		lock(t, first, "a", false)
		lock(t, second, "a", false)
		unlockB := lock(t, first, "b", true)
		lock(t, second, "b", false)
		lock(t, second, "c", true)()
		lock(t, elsewhere, "a", true)()
		unlock()
		unlock()
		lock(t, second, "b", false)
		unlockAgain := lock(t, second, "a", true)
		unlock()
		lock(t, first, "a", false)
		unlockAgain()
		unlockB()
		for _, service := range []session.Service{first, second, elsewhere} {
			if n := database.Pool(service).Stats().InUse; n != 0 {
				t.Errorf("%d connections are in use", n)
			}
		}
	})
}

func TestLockGoesWithItsProcess(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		dsn := k.create(t)
		service, other := k.openAsIs(t, dsn), k.openAsIs(t, dsn)
		unlock := lock(t, service, "a", true)
		if err := service.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
		database.Pool(other).SetMaxOpenConns(2) // that of the locks, and another
		// The server may take its time to notice.
		for {
			unlock, ok, err := other.(session.CompactionLocker).TryLockCompaction(t.Context(), trip.AppName, trip.UserID, "a")
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				defer unlock()
				break
			}
		}
		unlock() // does nothing any more
		lock(t, other, "a", false)
	})
}

// The connection of the locks is cut: the locks are gone, and there will be
// others.
func TestLockGoesWithItsConnection(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		proxy := newProxy(t, k)
		service := k.openAsIs(t, proxy.dsn)
		unlock := lock(t, service, "a", true)
		proxy.cutAll()
		if _, _, err := service.(session.CompactionLocker).TryLockCompaction(t.Context(), trip.AppName, trip.UserID, "b"); err == nil {
			t.Error("the lost connection was not noticed")
		}
		unlock()
		lock(t, service, "b", true)()
	})
}

func TestNoLocks(t *testing.T) {
	service := open(t, newFile(t))
	lock(t, service, "a", true)()
	lock(t, service, "a", true)
	lock(t, service, "a", true)
	onEach(t, servers, func(t *testing.T, k kind) {
		service := k.open(t, k.create(t))
		database.Pool(service).SetMaxOpenConns(1)
		lock(t, service, "a", true)
		create(t, service) // for which there still is a connection
	})
}

func TestLockWhenCancelled(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		service := k.openAsIs(t, k.create(t))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, ok, err := service.(session.CompactionLocker).TryLockCompaction(ctx, "a", "b", "c"); ok || !errors.Is(err, context.Canceled) {
			t.Errorf("TryLockCompaction returned %v, %v", ok, err)
		}
	})
}

// counting is a summarizer that waits, while it is called, until all others have
// ended.
type counting struct {
	mu     sync.Mutex
	calls  int
	others *sync.WaitGroup
}

func (c *counting) SummarizeEvents(context.Context, []*session.Event) (compaction.SummarizeResult, error) {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	c.others.Wait()
	return compaction.SummarizeResult{Content: genai.NewContentFromText("S", genai.RoleModel)}, nil
}

// Of several processes that want to compact one session, one pays.
func TestOneSummaryIsPaidFor(t *testing.T) {
	onEach(t, servers, func(t *testing.T, k kind) {
		const processes = 4
		dsn := k.create(t)
		service := k.open(t, dsn)
		handle := create(t, service)
		for i := range 4 {
			question, answer := say("", at(2*i), "How are the flights to Lisbon on that day, and what do they cost?"), say("", at(2*i+1), "There are two, at 9:40 and at 17:05, for 100 EUR each.")
			answer.Author = "planner"
			question.InvocationID, answer.InvocationID = fmt.Sprint("inv-", i), fmt.Sprint("inv-", i)
			add(t, service, handle, question, answer)
		}
		summarizer := &counting{others: new(sync.WaitGroup)}
		summarizer.others.Add(processes - 1)
		outcomes := make(chan compaction.Kind, processes)
		for range processes {
			c, err := compaction.NewCompactor(&compaction.Config{CompactionInterval: 2, Summarizer: summarizer}, k.openAsIs(t, dsn))
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				outcome := c.MaybeCompact(t.Context(), handle)
				outcomes <- outcome.Kind
				if outcome.Kind == compaction.Superseded {
					summarizer.others.Done()
				}
			}()
		}
		got := map[compaction.Kind]int{}
		for range processes {
			got[<-outcomes]++
		}
		if summarizer.calls != 1 || got[compaction.Applied] != 1 || got[compaction.Superseded] != processes-1 {
			t.Errorf("the summarizer was called %d times, outcomes %v", summarizer.calls, got)
		}
	})
}
