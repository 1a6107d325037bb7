package forward_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// conversation is a client in memory: it sends the same request a number of times, each when the last one is answered,
// and hangs up.
type conversation struct {
	request  string
	unread   string
	left     int
	answered int
	ended    chan struct{}
	once     sync.Once
}

func (c *conversation) Read(p []byte) (int, error) {
	if c.unread == "" {
		if c.left == 0 {
			return 0, io.EOF
		}
		c.left--
		c.unread = c.request
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

func (c *conversation) Write(p []byte) (int, error) {
	c.answered++
	return len(p), nil
}

func (c *conversation) Close() error {
	c.once.Do(func() { close(c.ended) })
	return nil
}

func (c *conversation) LocalAddr() net.Addr { return address("192.0.2.1:80") }

func (c *conversation) RemoteAddr() net.Addr { return address("198.51.100.7:54321") }

func (c *conversation) SetDeadline(time.Time) error      { return nil }
func (c *conversation) SetReadDeadline(time.Time) error  { return nil }
func (c *conversation) SetWriteDeadline(time.Time) error { return nil }

func address(text string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text)) }

// cannedConn is an endpoint in memory: it answers each write with the same bytes.
type cannedConn struct {
	conversation
	answer string
	ready  string
}

func (e *cannedConn) Write(p []byte) (int, error) {
	e.ready = e.answer
	return len(p), nil
}

func (e *cannedConn) Read(p []byte) (int, error) {
	n := copy(p, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}

type silence struct{}

func (silence) Debug(string, ...any) {}
func (silence) Info(string, ...any)  {}
func (silence) Warn(string, ...any)  {}
func (silence) Error(string, ...any) {}

// message returns a head with count fields beside those given, with the names and lengths of a browser's or a server's.
func message(first string, fields ...string) string {
	return first + "\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\n"
}

func smallRequest() string { return message("GET /api/users HTTP/1.1", "Host: shop.example.com") }

func smallAnswer() string {
	return message("HTTP/1.1 200 OK", "Content-Type: text/plain", "Content-Length: 128",
		"Date: Sat, 21 Nov 2026 10:00:00 GMT", "Server: b") +
		strings.Repeat("x", 128)
}

// browserRequest has 20 fields, one of them a cookie of 1 KiB.
func browserRequest() string {
	return message("GET /api/users?page=2 HTTP/1.1",
		"Host: shop.example.com", "Connection: keep-alive", "Cache-Control: max-age=0",
		`Sec-Ch-Ua: "Chromium";v="130", "Not?A_Brand";v="99"`,
		"Sec-Ch-Ua-Mobile: ?0", `Sec-Ch-Ua-Platform: "Linux"`, "Upgrade-Insecure-Requests: 1", "Dnt: 1",
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
		"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: navigate", "Sec-Fetch-User: ?1", "Sec-Fetch-Dest: document",
		"Referer: http://shop.example.com/catalog/42", "Accept-Encoding: gzip, deflate, br, zstd",
		"Accept-Language: en-US,en;q=0.9,de;q=0.8",
		"Pragma: no-cache", "Priority: u=0, i", "Cookie: session="+strings.Repeat("c", 1016))
}

// browserAnswer has 15 fields.
func browserAnswer() string {
	return message("HTTP/1.1 200 OK", "Content-Type: text/html; charset=utf-8", "Content-Length: 128",
		"Date: Sat, 21 Nov 2026 10:00:00 GMT",
		"Server: backend", `Etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"`, "Vary: Accept-Encoding",
		"Cache-Control: public, max-age=3600",
		"X-Frame-Options: DENY", "Referrer-Policy: no-referrer", "Link: </style.css>; rel=preload",
		"X-Request-Id: 7f3c2a1b9d8e4f60",
		"Strict-Transport-Security: max-age=31536000", "Content-Language: en",
		"Set-Cookie: sid=abcdefghijklmnopqrstuvwxyz; Path=/; HttpOnly",
		"Last-Modified: Fri, 20 Nov 2026 10:00:00 GMT") + strings.Repeat("x", 128)
}

// chain is the whole way of a request in memory: entrypoint, router, middlewares, service, and an endpoint that gives
// one answer.
type chain struct {
	listener *memoryListener
	tb       testing.TB
	stop     context.CancelFunc
	served   chan error
}

func newChain(tb testing.TB, answer string, middlewares ...string) *chain {
	tb.Helper()
	memory := &memoryListener{
		address: address("192.0.2.1:80"), conns: make(chan net.Conn), closed: make(chan struct{}),
	}
	c := newChainOn(tb, memory, "203.0.113.5:80", func(context.Context, string, string) (net.Conn, error) {
		return &cannedConn{answer: answer, conversation: conversation{ended: make(chan struct{})}}, nil
	}, middlewares...)
	c.listener = memory
	return c
}

// newChainOn serves those whom the listener accepts, with an endpoint that dial connects to; nil is as ever.
func newChainOn(
	tb testing.TB, on net.Listener, endpoint string, dial func(context.Context, string, string) (net.Conn, error),
	middlewares ...string,
) *chain {
	tb.Helper()
	transport, err := forward.NewTransport("bench@file", &dynamic.ServersTransport{}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if dial != nil {
		transport.DialWith(dial)
	}
	spec, err := loadbalancer.NewServerSpec(dynamic.Server{URL: "http://" + endpoint, Weight: new(1)})
	if err != nil {
		tb.Fatal(err)
	}
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	pool := registry.NewPool("bench@internal")
	registry.Configure(pool, loadbalancer.PoolSpec{
		Name: "bench@internal", Servers: []loadbalancer.ServerSpec{spec},
		Dialer: transport,
	})
	again, err := retry.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	service := forward.NewService(pool, forward.Options{
		Service: "bench@internal", PassHostHeader: true, FlushInterval: 100 * time.Millisecond, Retry: again,
	})
	target := route(tb, service, registry, middlewares)
	config := new(static.EntryPoint)
	config.SetDefaults()
	config.Address = "192.0.2.1:80"
	c := &chain{tb: tb, served: make(chan error, 1)}
	counters := metrics.New(metrics.Options{EntryPoints: true}).Entrypoint("web")
	front, err := entrypoint.New("web", config, target.Handler("web"), nil, entrypoint.Dependencies{
		Logger: silence{}, Connections: counters, Sinks: []entrypoint.Sink{telemetry.Requests{Entrypoint: counters}},
		Listen: func(context.Context, string, string) (net.Listener, error) { return on, nil },
	})
	if err == nil {
		err = front.Listen(tb.Context())
	}
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go func() { c.served <- front.Serve(ctx) }()
	return c
}

func (c *chain) close() {
	c.stop()
	if err := <-c.served; err != nil {
		c.tb.Error(err)
	}
}

// exchange lets a client send n requests.
func (c *chain) attempt(request string, n int) {
	client := &conversation{request: request, left: n, ended: make(chan struct{})}
	c.listener.conns <- client
	<-client.ended
	if client.answered != n {
		c.tb.Errorf("%d of %d requests were answered", client.answered, n)
	}
}

// route compiles a configuration with one router.
func route(
	tb testing.TB, service http.Handler, registry *loadbalancer.Registry, middlewares []string,
) *router.ActiveTable {
	tb.Helper()
	entrypoints := []router.EntryPoint{{Name: "web", Port: 80, Default: true, Policy: canonical.DefaultPolicy()}}
	transport := &dynamic.ServersTransport{}
	transport.SetDefaults()
	target := router.NewActiveTable(entrypoints)
	compiler := router.NewCompiler(router.Options{
		EntryPoints: entrypoints, Registry: registry, Internal: map[string]http.Handler{"bench@internal": service},
		Transport: transport, Tickets: certificate.NewTickets(),
	}, target)
	config := &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{
			Routers: immutable.Of(map[string]*dynamic.Router{"r@file": {
				Rule: "Host(`shop.example.com`) && PathPrefix(`/api`)", Service: "bench@internal", Middlewares: middlewares,
			}}),
			Services: immutable.Of(map[string]*dynamic.Service{}),
			Middlewares: immutable.Of(map[string]*dynamic.Middleware{
				"strip@file": {StripPrefix: &dynamic.StripPrefix{Prefixes: []string{"/api"}}},
				"add@file":   {AddPrefix: &dynamic.AddPrefix{Prefix: "/v2"}},
				"headers@file": {Headers: &dynamic.Headers{
					CustomRequestHeaders:  map[string]string{"X-Team": "shop"},
					CustomResponseHeaders: map[string]string{"X-Served-By": "edge", "Server": ""},
				}},
			}),
			ServersTransports: immutable.Of(map[string]*dynamic.ServersTransport{}),
		},
		TLS: &dynamic.TLSConfiguration{Options: immutable.Of(map[string]*dynamic.TLSOptions{})},
	}
	changed := []dynamic.Ref{{Kind: dynamic.KindRouter, Name: "r@file"}}
	compiled := compiler.Compile(router.Input{Configuration: config, Changed: changed, Final: true})
	for _, verdict := range compiled.Verdicts {
		tb.Error(verdict.Reason)
	}
	compiled.Activate(1)
	return target
}

func cases() map[string]struct {
	request, answer string
	middlewares     []string
} {
	return map[string]struct {
		request, answer string
		middlewares     []string
	}{
		"small":       {smallRequest(), smallAnswer(), nil},
		"browser":     {browserRequest(), browserAnswer(), nil},
		"middlewares": {browserRequest(), browserAnswer(), []string{"strip", "add", "headers"}},
	}
}

// BenchmarkChain is one exchange through everything but the kernel.
func BenchmarkChain(b *testing.B) {
	for name, test := range cases() {
		b.Run(name, func(b *testing.B) {
			c := newChain(b, test.answer, test.middlewares...)
			defer c.close()
			c.attempt(test.request, 100)
			b.ReportAllocs()
			b.ResetTimer()
			c.attempt(test.request, b.N)
		})
	}
}
