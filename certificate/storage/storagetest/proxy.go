package storagetest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy passes TCP connections on to an address until the test ends, from another port of its host. Cut ends all of
// them for good, without a word to the server about what they were for.
func Proxy(t *testing.T, target string) (address string, cut func()) {
	t.Helper()
	p := start(t, target)
	return p.listener.Addr().String(), p.end
}

// Gate is Proxy, with a function that ends all connections and refuses new ones (false), or accepts them again (true).
func Gate(t *testing.T, target string) (address string, open func(bool)) {
	t.Helper()
	p := start(t, target)
	return p.listener.Addr().String(), p.open
}

func start(t *testing.T, target string) *proxy {
	t.Helper()
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target}
	p.jobs.Go(func() { p.serve(t) })
	t.Cleanup(p.end)
	return p
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

// open accepts connections, or ends all of them and those that come.
func (p *proxy) open(open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = !open
	if p.closed {
		for _, conn := range p.conns {
			_ = conn.Close()
		}
		p.conns = nil
	}
}

func (p *proxy) end() {
	p.open(false)
	_ = p.listener.Close()
	p.jobs.Wait()
}
