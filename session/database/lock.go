package database

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

// compactionLocks are the locks that this service holds. They share one
// connection, which belongs to them as long as there are any: more would take
// away connections that the compactions themselves need.
type compactionLocks struct {
	turn chan struct{} // holds a value while one of the fields is in use
	conn *sql.Conn
	held map[key]*sql.Conn // the connection by which a lock was got
}

// lockPatience is how long the server may take to say whether a lock is free.
const lockPatience = 10 * time.Second

// TryLockCompaction is there for session.CompactionLocker. In SQLite, and with a
// pool of one connection, there are no locks, and it always succeeds.
func (s *service) TryLockCompaction(ctx context.Context, appName, userID, sessionID string) (unlock func(), ok bool, err error) {
	if s.dialect.tryLock == "" || s.pool.Stats().MaxOpenConnections == 1 {
		return func() {}, true, nil
	}
	k := key{appName, userID, sessionID}
	l := &s.locks
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	if l.held[k] != nil {
		return nil, false, nil
	}
	if l.conn == nil {
		if l.conn, err = s.pool.Conn(ctx); err != nil {
			l.conn = nil
			return nil, false, fmt.Errorf("session/database: lock: %s: %w", k, err)
		}
		l.held = map[key]*sql.Conn{}
	}
	if err := s.ask(ctx, s.queries.tryLock, k, &ok); err != nil {
		return nil, false, fmt.Errorf("session/database: lock: %s: %w", k, err)
	}
	if !ok {
		l.release()
		return nil, false, nil
	}
	by := l.conn
	l.held[k] = by
	return sync.OnceFunc(func() { s.unlock(k, by) }), true, nil
}

func (s *service) unlock(k key, by *sql.Conn) {
	l := &s.locks
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.held[k] != by {
		return // it went with its connection
	}
	delete(l.held, k)
	var unlocked bool
	// Where this fails the connection is gone, and with it the lock.
	_ = s.ask(context.Background(), s.queries.unlock, k, &unlocked)
	l.release()
}

// ask runs a query on the connection of the locks. On an error the connection
// and all locks are gone. A cancelled ctx, which would cut the connection, does
// not end it: other locks depend on that.
func (s *service) ask(ctx context.Context, query string, k key, answer *bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockPatience)
	defer cancel()
	var got sql.NullBool
	l := &s.locks
	err := l.conn.QueryRowContext(ctx, query, fmt.Sprintf("recap compaction %q %q %q", k.app, k.user, k.id)).Scan(&got)
	if err != nil {
		s.discard(l.conn)
		l.held = nil
		l.release()
		return err
	}
	*answer = got.Bool
	return nil
}

// release gives the connection back if no lock needs it.
func (l *compactionLocks) release() {
	if len(l.held) == 0 && l.conn != nil {
		_ = l.conn.Close()
		l.conn = nil
	}
}

func (l *compactionLocks) close() {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.held = nil
	l.release()
}
