package database_test

import (
	"bytes"
	"net"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// proxy stands between a service and a server, and cuts connections.
type proxy struct {
	tb  testing.TB
	dsn string // of the database, through the proxy

	network, address string // of the server

	mu    sync.Mutex
	conns []net.Conn
	left  int    // what the client may still send before the cut, in writes; negative: all
	text  string // what the write that is cut has in it, if not empty
	reach bool
	cut   bool // whether there was a cut
}

func init() {
	// It tells of every connection that is cut.
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil {
		panic(err)
	}
}

// newProxy makes a database and a proxy to it.
func newProxy(tb testing.TB, k kind) *proxy {
	tb.Helper()
	dsn := k.create(tb)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{tb: tb, left: -1}
	address := listener.Addr().(*net.TCPAddr)
	if k.name == "postgres" {
		cfg, err := pgx.ParseConfig(dsn)
		if err != nil {
			tb.Fatal(err)
		}
		p.network, p.address = pgxAddress(cfg)
		p.dsn = postgresWith(postgresWith(dsn, "host", "127.0.0.1"), "port", itoa(address.Port))
	} else {
		p.dsn = mysqlWith(tb, dsn, func(cfg *mysql.Config) {
			p.network, p.address = cfg.Net, cfg.Addr
			cfg.Net, cfg.Addr = "tcp", address.String()
		})
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { p.serve(client) })
		}
	})
	tb.Cleanup(func() {
		listener.Close()
		p.cutAll()
		wait.Wait()
	})
	return p
}

func pgxAddress(cfg *pgx.ConnConfig) (network, address string) {
	if cfg.Host != "" && cfg.Host[0] == '/' {
		return "unix", cfg.Host + "/.s.PGSQL." + itoa(int(cfg.Port))
	}
	return "tcp", net.JoinHostPort(cfg.Host, itoa(int(cfg.Port)))
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial(p.network, p.address)
	if err != nil {
		p.tb.Error(err)
		client.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, client, server)
	p.mu.Unlock()
	var wait sync.WaitGroup
	wait.Go(func() { p.pass(client, server, p.allow) })
	wait.Go(func() { p.pass(server, client, func([]byte) (bool, bool) { return true, false }) })
	wait.Wait()
}

// pass copies writes from one side to the other as long as they are allowed.
func (p *proxy) pass(from, to net.Conn, allow func(data []byte) (forward, end bool)) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		forward, end := allow(buffer[:n])
		if end {
			// No answer passes any more. The server is told all the same, and is
			// given the time to do it.
			from.Close()
		}
		if forward {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if end && forward {
			half, ok := to.(interface{ CloseWrite() error })
			if !ok || half.CloseWrite() != nil {
				return
			}
			for {
				if _, err := to.Read(buffer); err != nil {
					return
				}
			}
		}
		if end {
			return
		}
	}
}

// allow counts a write of the client: whether it reaches the server, and whether
// it is the last.
func (p *proxy) allow(data []byte) (forward, end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left < 0 || !bytes.Contains(data, []byte(p.text)) {
		return true, false
	}
	if p.left--; p.left >= 0 {
		return true, false
	}
	p.cut = true
	return p.reach, true
}

// cutAfter has the connection cut when the client has made n more writes. With
// reach the server gets the one more, but the client no answer.
func (p *proxy) cutAfter(n int, reach bool) { p.set(n, "", reach) }

// cutAt has the connection cut at the write that has the text in it.
func (p *proxy) cutAt(text string, reach bool) { p.set(0, text, reach) }

func (p *proxy) set(n int, text string, reach bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.text, p.reach, p.cut = n, text, reach, false
}

// mend lets everything pass again, and reports whether there was a cut.
func (p *proxy) mend() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = -1
	return p.cut
}

// cutAll cuts all connections there are.
func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}
