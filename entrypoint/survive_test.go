package entrypoint_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// panicking is a listener whose first connections panic: the first at its first Read, the second at its second.
type panicking struct {
	net.Listener
	number atomic.Int32
}

func (p *panicking) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	return &panickingConn{Conn: conn, reads: p.number.Add(1)}, err
}

type panickingConn struct {
	net.Conn
	reads int32
}

func (p *panickingConn) Read(b []byte) (int, error) {
	if p.reads--; p.reads == 0 {
		panic("a fault below the handlers")
	}
	return p.Conn.Read(b)
}

// TestFaultsBelowHandlers panic before the first request and behind it, which ends one connection each.
func TestFaultsBelowHandlers(t *testing.T) {
	s := startWith(t, http.HandlerFunc(hello), nil, func(ctx context.Context, network, address string) (net.Listener,
		error,
	) {
		listener, err := new(net.ListenConfig).Listen(ctx, network, address)
		return &panicking{Listener: listener}, err
	})
	const ask = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, sent := range []string{"", ask} {
		conn := s.dial()
		say(t, conn, sent)
		got, _ := io.ReadAll(conn)
		if strings.Contains(string(got), "hello") != (sent == ask) {
			t.Errorf("sent %q, got %q", sent, got)
		}
		line := s.logged("serving a connection panicked")
		for _, part := range []string{"error ", "a fault below the handlers", "127.0.0.1", "goroutine "} {
			if !strings.Contains(line, part) {
				t.Errorf("no %q in %q", part, line)
			}
		}
	}
	if got := s.raw(ask + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); strings.Count(got, "hello") != 2 {
		t.Errorf("then %q", got)
	}
}
