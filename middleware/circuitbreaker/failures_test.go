package circuitbreaker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// endpoint is what an endpoint does with a connection on which it has read the head of a request.
type endpoint func(conn net.Conn)

func says(text string) endpoint {
	return func(conn net.Conn) { _, _ = io.WriteString(conn, text) }
}

// scripted starts an endpoint and returns its address.
func scripted(t *testing.T, script endpoint) string {
	t.Helper()
	if script == nil { // No listener.
		return http1test.Reserve(t)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					script(conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

// service returns a service whose one endpoint is at the address, and has a time for the head of a response.
func service(t *testing.T, address string, head time.Duration) http.Handler {
	t.Helper()
	transport, err := forward.NewTransport("test@file", &dynamic.ServersTransport{
		ForwardingTimeouts: &dynamic.ForwardingTimeouts{ResponseHeaderTimeout: ptypes.Duration(head)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := loadbalancer.NewServerSpec(dynamic.Server{URL: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	t.Cleanup(func() { registry.Release("svc@file") })
	pool := registry.NewPool("svc@file")
	registry.Configure(pool, loadbalancer.PoolSpec{
		Name: "svc@file", Dialer: transport,
		Servers: []loadbalancer.ServerSpec{spec},
	})
	return forward.NewService(pool, forward.Options{Service: "svc@file"})
}

// TestWhatClientsSee lets an endpoint fail in seven ways, and checks what clients get before and after the breaker
// trips.
func TestWhatClientsSee(t *testing.T) {
	released := make(chan struct{})
	defer close(released)
	const onMost = "NetworkErrorRatio() > 0.5 || ResponseCodeRatio(500, 600, 0, 600) > 0.5"
	for _, test := range []struct {
		name       string
		script     endpoint
		expression string
		before     string
		after      string
	}{
		{"refuses", nil, onMost, "502 Bad Gateway", "503 Service Unavailable\n"},
		{"resets", func(conn net.Conn) {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}, onMost, "502 Bad Gateway", "503 Service Unavailable\n"},
		{"hangs", func(conn net.Conn) { hang(conn, released) }, onMost, "504 Gateway Timeout", "503 Service Unavailable\n"},
		{
			"answers half", says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), onMost, "no end",
			"503 Service Unavailable\n",
		},
		{"says 500", says("HTTP/1.1 500 Oh\r\nContent-Length: 3\r\n\r\nno!"), onMost, "500 no!", "503 Service Unavailable\n"},
		{"is slow", func(conn net.Conn) {
			time.AfterFunc(30*time.Millisecond, func() {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			})
			hang(conn, released)
		}, "LatencyAtQuantileMS(50.0) > 20", "200 ok", "503 Service Unavailable\n"},
		{
			"answers early", says("HTTP/1.1 413 Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"), onMost, "413 no",
			"413 no",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := build(t, dynamic.CircuitBreaker{Expression: test.expression, CheckPeriod: 1}, nil)
			head := http1test.Timeout
			if test.name == "hangs" {
				head = time.Second
			}
			breaker := c.For("router web@file").Wrap(service(t, scripted(t, test.script), head))
			address := ownServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				breaker.ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), new(telemetry.Record))))
			}))
			if got := sees(t, address); got != test.before {
				t.Errorf("the first client sees %q, want %q", got, test.before)
			}
			if got := sees(t, address); got != test.after {
				t.Errorf("the second client sees %q, want %q", got, test.after)
			}
		})
	}
}

// hang reads until the client or the test ends.
func hang(conn net.Conn, released <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	go func() {
		<-released
		cancel()
	}()
	_, _ = io.Copy(io.Discard, conn)
	stop()
	cancel()
}

// sees sends a request with a body, and returns the client's result.
func sees(t *testing.T, address string) string {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	body := io.LimitReader(zeroes{}, 100)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address, body)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return "no end" // Nor a beginning, where the server had not sent what it had.
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "no end"
	}
	return fmt.Sprintf("%d %s", answer.StatusCode, text)
}

// zeroes has no end.
type zeroes struct{}

// Read gives zeroes.
func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestClientsThatOweTheirBody has timeouts while the client's body is incomplete, which do not count, and while the
// service does not answer.
func TestClientsThatOweTheirBody(t *testing.T) {
	released := make(chan struct{})
	defer close(released)
	b := build(t, dynamic.CircuitBreaker{Expression: "NetworkErrorRatio() > 0 || ResponseCodeRatio(500, 600, 0, 600) > 0"},
		nil).For("o").(*breaker)
	handler := b.Wrap(service(t, scripted(t, func(conn net.Conn) { hang(conn, released) }), time.Second))
	for _, test := range []struct {
		body  io.Reader
		time  time.Duration
		after string
	}{{late{}, 50 * time.Millisecond, standby}, {strings.NewReader("body"), 10 * time.Second, tripped}} {
		ctx, cancel := context.WithTimeout(t.Context(), test.time)
		r := httptest.NewRequestWithContext(telemetry.WithRecord(ctx, new(telemetry.Record)), http.MethodPost, "/", test.body)
		r.ContentLength = 4
		if _, owes := test.body.(late); owes {
			r.Body = late{ctx}
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		cancel()
		if state, _ := b.Status(); w.Code != http.StatusGatewayTimeout || state != test.after {
			t.Errorf("%T: status %d, and the breaker is %s, want %s", test.body, w.Code, state, test.after)
		}
	}
}

// late is a body that does not come until the time for the request is over.
type late struct{ ended context.Context }

// Read waits.
func (l late) Read([]byte) (int, error) {
	<-l.ended.Done()
	return 0, l.ended.Err()
}

// Close does nothing.
func (late) Close() error { return nil }

// TestClientsThatLeaveAResponse has a client close its connection while a response goes on, which is no failure of the
// endpoint.
func TestClientsThatLeaveAResponse(t *testing.T) {
	released := make(chan struct{})
	defer close(released)
	address := scripted(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
		hang(conn, released)
	})
	b := build(t, dynamic.CircuitBreaker{Expression: onErrors, CheckPeriod: 1}, nil).For("router web@file").(*breaker)
	handler, ended := b.Wrap(service(t, address, http1test.Timeout)), make(chan telemetry.Record, 1)
	front := ownServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record := new(telemetry.Record)
		defer func() { ended <- *record }()
		handler.ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), record)))
	}))
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", front)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "HTTP/1.1 200 OK\r\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	_ = conn.Close()
	select {
	case record := <-ended:
		if record.Broken {
			t.Errorf("the record says %+v", record)
		}
	case <-t.Context().Done():
	}
	b.stands(t, standby)
}

func (b *breaker) stands(t *testing.T, want string) {
	t.Helper()
	w, now := b.phase.Load().window, b.now()
	if state, _ := b.Status(); state != want || w.networkErrors(now) != 0 || w.requests(now) != 1 {
		t.Errorf("the state is %s, the ratio %v of %d", state, w.networkErrors(now), w.requests(now))
	}
}
