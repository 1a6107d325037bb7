package forward_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// memoryNetwork connects clients, proxy and endpoints within a bubble of testing/synctest, by address.
type memoryNetwork struct {
	mutex     sync.Mutex
	listeners map[string]*memoryListener
}

func newMemoryNetwork() *memoryNetwork {
	return &memoryNetwork{listeners: map[string]*memoryListener{}}
}

type memoryListener struct {
	address net.Addr
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Addr() net.Addr { return l.address }

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (n *memoryNetwork) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mutex.Lock()
	l := n.listeners[address]
	n.mutex.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
	}
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listen returns a listener at an address.
func (n *memoryNetwork) listen(t *testing.T, address string) net.Listener {
	t.Helper()
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	l := &memoryListener{address: tcp, conns: make(chan net.Conn), closed: make(chan struct{})}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.listeners[address] = l
	return l
}

// serveOwn serves a handler over HTTP/1.1 as an entrypoint does, until the test ends.
func (n *memoryNetwork) serveOwn(t *testing.T, address string, handler http.Handler) {
	t.Helper()
	http1test.ServeListener(t, &server.Server{Handler: handler}, n.listen(t, address), nil)
}

// serve serves a handler over HTTP/1.1 and h2c at an address, until the test ends.
func (n *memoryNetwork) serve(t *testing.T, address string, handler http.Handler) {
	t.Helper()
	l := n.listen(t, address)
	server := &http.Server{
		Handler: handler, Protocols: new(http.Protocols), ErrorLog: silent(), ReadHeaderTimeout: time.Hour,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
}

// bubble is a client, a proxy and endpoints in a bubble.
type bubble struct {
	client   *http.Client
	registry *loadbalancer.Registry
	pool     *loadbalancer.Pool
	records  chan telemetry.Record
}

const bubbleURL = "http://192.0.2.1:80/"

// newBubble starts a proxy for size endpoints. front and upstream are h1 or h2c.
func newBubble(t *testing.T, front, upstream string, size int, s setup, endpoint http.Handler) *bubble {
	t.Helper()
	network := newMemoryNetwork()
	transport, err := forward.NewTransport("test@file", &dynamic.ServersTransport{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport.DialWith(network.dial)
	s.policies.RetryPercent = 1000
	pool := loadbalancer.PoolSpec{Name: "svc@file", Dialer: transport, Policies: s.policies}
	for i := range size {
		address := net.JoinHostPort(net.IPv4(198, 51, 100, byte(i+1)).String(), "80")
		network.serve(t, address, endpoint)
		spec, err := loadbalancer.NewServerSpec(dynamic.Server{URL: schemes[upstream] + "://" + address})
		if err != nil {
			t.Fatal(err)
		}
		pool.Servers = append(pool.Servers, spec)
	}
	b := &bubble{registry: loadbalancer.NewRegistry(loadbalancer.Options{}), records: make(chan telemetry.Record, 100)}
	b.pool = b.registry.NewPool(pool.Name)
	b.registry.Configure(b.pool, pool)
	s.options.Service = pool.Name
	service := forward.NewService(b.pool, s.options)
	serve := network.serve
	if front == "h1" {
		serve = network.serveOwn
	}
	serve(t, "192.0.2.1:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record := new(telemetry.Record)
		defer func() { b.records <- *record }()
		service.ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), record)))
	}))
	wire := &http.Transport{DialContext: network.dial, Protocols: new(http.Protocols)}
	wire.Protocols.SetHTTP1(front == "h1")
	wire.Protocols.SetUnencryptedHTTP2(front == "h2c")
	b.client = &http.Client{Transport: wire}
	t.Cleanup(func() {
		b.registry.Release(pool.Name)
		wire.CloseIdleConnections()
	})
	return b
}

// pauseFor waits in the time of the bubble.
func pauseFor(d time.Duration) { <-time.NewTimer(d).C }
