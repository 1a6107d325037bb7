package storagetest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy passes TCP connections on to an address until the test ends. Cut ends all of them for good, without a word to
// the server about what they were for.
func Proxy(t *testing.T, target string) (address string, cut func()) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target}
	p.jobs.Go(func() { p.serve(t) })
	t.Cleanup(p.cut)
	return listener.Addr().String(), p.cut
}

type proxy struct {
	listener net.Listener
	target   string
	jobs     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

func (p *proxy) serve(t *testing.T) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		if p.closed {
			_, _ = client.Close(), server.Close()
		}
		p.mu.Unlock()
		for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
			p.jobs.Go(func() {
				_, _ = io.Copy(to, from)
				_, _ = to.Close(), from.Close()
			})
		}
	}
}

func (p *proxy) cut() {
	p.mu.Lock()
	p.closed = true
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	_ = p.listener.Close()
	p.jobs.Wait()
}
