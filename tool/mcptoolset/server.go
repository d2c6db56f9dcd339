package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is a server with which there is a session when it is needed.
type server struct {
	client    *mcp.Client
	transport mcp.Transport

	ctx        context.Context // done after Close
	cancel     context.CancelFunc
	work       sync.WaitGroup // what Close waits for
	connecting chan struct{}  // holds one: whoever connects

	mu      sync.Mutex
	session *session // nil: none, or lost
}

// session is a session, and a channel that is closed when it has ended.
type session struct {
	*mcp.ClientSession
	ended chan struct{}
}

func newServer(client *mcp.Client, transport mcp.Transport) *server {
	s := &server{client: client, transport: transport, connecting: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close ends what runs, waits for it and ends the session.
func (s *server) Close() error {
	s.cancel()
	s.connecting <- struct{}{} // whoever connects is done, and nobody will again
	s.drop(s.current())
	s.work.Wait()
	<-s.connecting
	return nil
}

// listTools asks for all tools of the server.
func (s *server) listTools(ctx context.Context) ([]*mcp.Tool, error) {
	var tools []*mcp.Tool
	err := s.do(ctx, true, func(ctx context.Context, session *session) error {
		tools = nil
		for t, err := range session.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			if tools = append(tools, t); len(tools) > maxTools {
				return fmt.Errorf("the server has more than %d tools", maxTools)
			}
		}
		return nil
	})
	return tools, err
}

// maxTools ends a list whose pages have no end.
const maxTools = 10_000

// callTool calls a tool, and again in a new session if repeatable says that
// this does no harm.
func (s *server) callTool(ctx context.Context, params *mcp.CallToolParams, repeatable bool) (result *mcp.CallToolResult, err error) {
	err = s.do(ctx, repeatable, func(ctx context.Context, session *session) error {
		result, err = session.CallTool(ctx, params)
		return err
	})
	return result, err
}

// errLost says that it is not known whether the server did what it was asked.
var errLost = errors.New("the connection to the tool's server was lost during the call, which may have been done or not; a further call makes a new connection")

// do has request made in a session. One that failed because its session was
// lost is made again, once, if that does no harm.
func (s *server) do(ctx context.Context, repeatable bool, request func(context.Context, *session) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	for attempt := 1; ; attempt++ {
		session, err := s.connect(ctx)
		if err == nil {
			if err = request(ctx, session); err == nil {
				return nil
			}
		}
		switch {
		case s.ctx.Err() != nil:
			return ErrClosed
		case ctx.Err() != nil || session == nil || answers(ctx, session, err):
			return err
		}
		s.drop(session)
		unknown := errors.Is(err, mcp.ErrSessionMissing) // then it was not done
		if attempt > 1 || !repeatable && !unknown {
			return fmt.Errorf("%w: %w", errLost, err)
		}
	}
}

// answers reports whether the server is there although a request failed.
func answers(ctx context.Context, session *session, err error) bool {
	var answer *jsonrpc.Error
	if errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing) {
		return false
	}
	if errors.As(err, &answer) {
		return true
	}
	err = session.Ping(ctx, nil)
	return err == nil || errors.As(err, &answer)
}

func (s *server) current() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

// drop ends a session that is of no use any more. It does not wait: a command
// may take its time.
func (s *server) drop(lost *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lost != nil && s.session == lost {
		s.session = nil
		s.work.Go(func() {
			_ = lost.Close() // how a lost session ends is of no interest
			<-lost.ended
		})
	}
}

// connect returns the session, a new one where there is none. It returns when
// ctx is done also if the server does not.
func (s *server) connect(ctx context.Context) (*session, error) {
	select {
	case s.connecting <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if found := s.current(); found != nil {
		select {
		case <-found.ended:
			s.drop(found)
		default:
			<-s.connecting
			return found, nil
		}
	}
	if s.ctx.Err() != nil {
		<-s.connecting
		return nil, ErrClosed
	}
	connected := make(chan error, 1)
	var fresh *session
	s.work.Go(func() {
		defer func() { <-s.connecting }()
		opened, err := s.client.Connect(ctx, another(s.transport), nil)
		if err == nil {
			fresh = &session{opened, make(chan struct{})}
			s.work.Go(func() {
				defer close(fresh.ended)
				_ = opened.Wait() // why it ended is what the next request says
			})
			s.mu.Lock()
			s.session = fresh
			s.mu.Unlock()
		}
		connected <- err
	})
	select {
	case err := <-connected:
		return fresh, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// another returns a transport like t for one more session.
func another(t mcp.Transport) mcp.Transport {
	switch t := t.(type) {
	case *mcp.CommandTransport:
		c := t.Command
		command := &exec.Cmd{
			Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, Stderr: c.Stderr, ExtraFiles: c.ExtraFiles,
			SysProcAttr: c.SysProcAttr, WaitDelay: c.WaitDelay, Err: c.Err,
		}
		return &mcp.CommandTransport{Command: command, TerminateDuration: t.TerminateDuration}
	case *mcp.StreamableClientTransport:
		return &mcp.StreamableClientTransport{
			Endpoint: t.Endpoint, HTTPClient: t.HTTPClient, MaxRetries: t.MaxRetries,
			DisableStandaloneSSE: t.DisableStandaloneSSE, OAuthHandler: t.OAuthHandler, MaxEventSize: t.MaxEventSize,
		}
	case *mcp.SSEClientTransport:
		return &mcp.SSEClientTransport{Endpoint: t.Endpoint, HTTPClient: t.HTTPClient, MaxEventSize: t.MaxEventSize}
	case *mcp.LoggingTransport:
		return &mcp.LoggingTransport{Transport: another(t.Transport), Writer: t.Writer}
	}
	return t
}
