package forward_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// refusing returns a server without a listener.
func refusing(t *testing.T) dynamic.Server {
	t.Helper()
	return dynamic.Server{URL: "http://" + http1test.Reserve(t)}
}

func hangs(conn net.Conn, _ *http.Request) { _, _ = io.Copy(io.Discard, conn) }

// TestEndpointsThatFail shows what a client gets, what is recorded, and what is held against the endpoint.
func TestEndpointsThatFail(t *testing.T) {
	for name, test := range map[string]struct {
		server func(t *testing.T) dynamic.Server
		status int
		reason string
	}{
		"refuses":  {refusing, 502, "refused"},
		"hangs up": {func(t *testing.T) dynamic.Server { return scripted(t, says("")) }, 502, "without a response"},
		"is no server": {func(t *testing.T) dynamic.Server {
			return scripted(t, says("SSH-2.0-x\r\n\r\n"))
		}, 502, "malformed"},
		"cuts its head": {func(t *testing.T) dynamic.Server {
			return scripted(t, says("HTTP/1.1 200 OK\r\nX-A: b"))
		}, 502, "EOF"},
		"has two lengths": {
			answers("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), 502,
			"Content-Length",
		},
		"negative length": {answers("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), 502, "Content-Length"},
		"odd encoding":    {answers("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"), 502, "Transfer-Encoding"},
		"odd header":      {answers("HTTP/1.1 200 OK\r\nX-A b\r\n\r\n"), 502, "malformed"},
		"odd status":      {answers("HTTP/1.1 099 Odd\r\n\r\n"), 502, "status line"},
		"endless head":    {answers("HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 2<<20) + "\r\n\r\n"), 502, "too large"},
		"switches alone": {
			answers("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), 502,
			"101",
		},
		"hangs": {func(t *testing.T) dynamic.Server { return scripted(t, hangs) }, 504, "time-out"},
	} {
		t.Run(name, func(t *testing.T) {
			timeouts := &dynamic.ForwardingTimeouts{ResponseHeaderTimeout: ptypes.Duration(100 * time.Millisecond)}
			if name != "hangs" {
				timeouts.ResponseHeaderTimeout = ptypes.Duration(eventTimeout)
			}
			g := newProxy(t, setup{server: test.server(t), transport: &dynamic.ServersTransport{ForwardingTimeouts: timeouts}})
			response, body := g.get(t, "/")
			equal(t, "status", response.StatusCode, test.status)
			equal(t, "body", body, http.StatusText(test.status))
			record := g.record(t)
			equal(t, "recorded status", record.Status, test.status)
			if !strings.Contains(record.Reason, test.reason) || record.Reason == "" {
				t.Errorf("recorded reason %q, want one with %q", record.Reason, test.reason)
			}
			wanted := telemetry.CodeBroken
			switch name {
			case "refuses":
				wanted = telemetry.CodeUnreachable
			case "hangs":
				wanted = telemetry.CodeTimeout
			}
			equal(t, "code", record.Code, wanted)
			member := memberOf(g.pool)
			equal(t, "record", []any{record.Service, record.Endpoint, record.Tries}, []any{"svc@file", member.Address(), 1})
			equal(t, "in flight", member.Endpoint().InFlight(), 0)
			failures := 0
			if name == "refuses" {
				failures = 1
			}
			equal(t, "connect failures", member.Endpoint().ConnectFailures(), failures)
		})
	}
}

func answers(text string) func(*testing.T) dynamic.Server {
	return func(t *testing.T) dynamic.Server {
		t.Helper()
		return scripted(t, says(text))
	}
}

func TestEmptyPool(t *testing.T) {
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	transport, err := forward.NewTransport("test", &dynamic.ServersTransport{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := registry.NewPool("svc@file")
	registry.Configure(pool, loadbalancer.PoolSpec{Name: "svc@file", Dialer: transport})
	record := &telemetry.Record{}
	r := httptest.NewRequestWithContext(telemetry.WithRecord(t.Context(), record), http.MethodGet, "/", nil)
	w := httptest.NewRecorder()
	forward.NewService(pool, forward.Options{Service: "svc@file"}).ServeHTTP(w, r)
	equal(t, "answer", []any{w.Code, w.Body.String()}, []any{503, "Service Unavailable"})
	equal(t, "code", record.Code, telemetry.CodeNoEndpoint)
	equal(t, "record", []any{record.Status, record.Service, record.Tries}, []any{503, "svc@file", 0})
	if record.Reason == "" {
		t.Error("no reason was recorded")
	}
}

// TestEndpointBreaksOff has a response that ends too early: no client may take it for a whole one.
func TestEndpointBreaksOff(t *testing.T) {
	for name, text := range map[string]string{
		"length":        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
		"chunks":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
		"broken chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\nzz\r\n",
	} {
		for _, front := range []string{"h1", "h2", "h2c"} {
			t.Run(name+" "+front, func(t *testing.T) {
				g := newProxy(t, setup{front: front, server: scripted(t, says(text)), options: forward.Options{FlushInterval: -1}})
				response, err := g.client.Do(request(t, http.MethodGet, g.url, nil))
				if err == nil {
					_, err = io.ReadAll(response.Body)
					_ = response.Body.Close()
				}
				if err == nil {
					t.Error("the client takes the response for a whole one")
				}
				record := g.record(t)
				if record.Status != http.StatusOK || !strings.Contains(record.Reason, "response begun") {
					t.Errorf("recorded %d, %q", record.Status, record.Reason)
				}
			})
		}
	}
}

// TestSurplusBytesAreDropped has an endpoint send more than a response, at once or while the connection is idle.
func TestSurplusBytesAreDropped(t *testing.T) {
	const answer, stray = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"
	for _, late := range []bool{false, true} {
		proceed, written := make(chan struct{}), make(chan struct{})
		server := scripted(t, func(conn net.Conn, head *http.Request) {
			if !late {
				_, _ = io.WriteString(conn, answer+stray)
			} else {
				_, _ = io.WriteString(conn, answer)
				<-proceed
				_, _ = io.WriteString(conn, stray)
				written <- struct{}{}
			}
			hangs(conn, head)
		})
		g := newProxy(t, setup{server: server})
		for range 3 {
			_, body := g.get(t, "/")
			equal(t, "body", body, "ok")
			if late {
				proceed <- struct{}{}
				wait(t, "the stray bytes", written)
			}
		}
		g.registry.Release("svc@file")
	}
}

func TestClientThatLeft(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		arrived, left := make(chan struct{}), make(chan struct{})
		g := newRig(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/streaming" {
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
			}
			arrived <- struct{}{}
			<-r.Context().Done()
			left <- struct{}{}
		}))
		for path, status := range map[string]int{"/": forward.StatusClientClosedRequest, "/streaming": 200} {
			ctx, cancel := context.WithCancel(t.Context())
			begun, gone := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(gone)
				response, err := g.client.Do(request(t, http.MethodGet, g.url+path, nil).WithContext(ctx))
				if err == nil {
					close(begun)
					_, _ = io.ReadAll(response.Body)
					_ = response.Body.Close()
				}
			}()
			wait(t, "the request", arrived)
			if path == "/streaming" {
				wait(t, "the head", begun)
			}
			cancel()
			wait(t, "the endpoint to see it", left)
			wait(t, "the client", gone)
			record := g.record(t)
			equal(t, path+": status", record.Status, status)
			if !strings.Contains(record.Reason, "client left") {
				t.Errorf("%s: reason %q", path, record.Reason)
			}
		}
	})
}

func TestDeadlineOfTheRequest(t *testing.T) {
	g := newProxy(t, setup{server: scripted(t, hangs), around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), 50*time.Millisecond)
			defer cancel()
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}})
	response, _ := g.get(t, "/")
	equal(t, "status", response.StatusCode, http.StatusGatewayTimeout)
}

// TestTimeouts distinguishes an endpoint that takes too long from a client that does.
func TestTimeouts(t *testing.T) {
	none := func() io.Reader { return nil }
	half := func() io.Reader {
		silent, writer := io.Pipe()
		t.Cleanup(func() { _ = writer.Close() })
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader("bo"), silent), silent}
	}
	begins := says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
	for name, test := range map[string]struct {
		script  func(net.Conn, *http.Request)
		body    func() io.Reader
		phase   forward.Phase
		excused bool
	}{
		"no response":  {hangs, none, forward.RequestSent, false},
		"a whole body": {hangs, func() io.Reader { return strings.NewReader("body") }, forward.RequestSent, false},
		"half a body":  {hangs, half, forward.RequestSent, true},
		"a body in time": {hangs, func() io.Reader {
			return io.MultiReader(strings.NewReader("bo"), late{})
		}, forward.RequestSent, true},
		"half the response": {func(conn net.Conn, r *http.Request) {
			begins(conn, r)
			hangs(conn, r)
		}, none, forward.ResponseBegun, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newProxy(t, setup{server: scripted(t, test.script)})
			try := func(limit time.Duration) telemetry.Record {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				r := httptest.NewRequestWithContext(ctx, http.MethodPut, "/", test.body())
				return serveOnce(t, g, httptest.NewRecorder(), r, forward.Options{})
			}
			limit := 100 * time.Millisecond
			record := try(limit)
			for phaseOf(record) != test.phase.String() && limit < eventTimeout { // The machine was busy for as long.
				limit *= 4
				record = try(limit)
			}
			if test.phase != forward.ResponseBegun {
				equal(t, "status", record.Status, http.StatusGatewayTimeout)
				equal(t, "code", record.Code, telemetry.CodeTimeout)
			}
			equal(t, "phase", phaseOf(record), test.phase.String())
			equal(t, "client's fault", record.Excused, test.excused)
		})
	}
}

// late is a body that a middleware has given up, because the time of its request was over.
type late struct{}

func (late) Read([]byte) (int, error) { return 0, context.DeadlineExceeded }

func TestPhases(t *testing.T) {
	for name, test := range map[string]struct {
		server dynamic.Server
		phase  forward.Phase
		code   telemetry.Code
	}{
		"refused": {refusing(t), forward.NothingSent, telemetry.CodeUnreachable},
		"hung up": {scripted(t, says("")), forward.RequestSent, telemetry.CodeBroken},
		"broken off": {
			scripted(t, says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")), forward.ResponseBegun,
			telemetry.CodeBroken,
		},
	} {
		g := newProxy(t, setup{server: test.server})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		record := serveOnce(t, g, httptest.NewRecorder(), r, forward.Options{})
		equal(t, name+": phase", phaseOf(record), test.phase.String())
		equal(t, name+": code", record.Code, test.code)
		equal(t, name+": client's fault", record.Excused, false)
	}
}

// serveOnce serves a request with a service over the rig's pool and returns its record. An aborted response is no
// failure of the test.
func serveOnce(t *testing.T, g *rig, w http.ResponseWriter, r *http.Request, options forward.Options) telemetry.Record {
	t.Helper()
	record := &telemetry.Record{}
	func() {
		defer func() {
			if cause := recover(); cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // as net/http
				panic(cause)
			}
		}()
		forward.NewService(g.pool, options).ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), record)))
	}()
	return *record
}

// phaseOf returns the phase that ends the reason of a failed request.
func phaseOf(record telemetry.Record) string {
	reason := strings.TrimSuffix(record.Reason, ")")
	return reason[strings.LastIndex(reason, "(")+1:]
}

// TestWriterThatPanics has a middleware that gives up in the middle of the response.
func TestWriterThatPanics(t *testing.T) {
	g := newRig(t, setup{around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(panicking{w}, r) })
	}}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") }))
	if response, err := g.client.Do(request(t, http.MethodGet, g.url, nil)); err == nil {
		_ = response.Body.Close()
		t.Error("the client got a response")
	}
	g.record(t)
	member := memberOf(g.pool)
	equal(t, "in flight", member.Endpoint().InFlight(), 0)
}

type panicking struct{ http.ResponseWriter }

func (panicking) Write([]byte) (int, error) { panic(http.ErrAbortHandler) }

// TestStaleIdleConnection has an endpoint that closes connections between requests: none is sent where it gets lost.
func TestStaleIdleConnection(t *testing.T) {
	closed := make(chan struct{})
	server := scripted(t, func(conn net.Conn, _ *http.Request) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		_ = conn.Close()
		closed <- struct{}{}
	})
	g := newProxy(t, setup{server: server})
	for range 20 {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			response, _ := g.do(t, request(t, method, g.url, nil))
			equal(t, method+": status", response.StatusCode, http.StatusOK)
			wait(t, "the end of the connection", closed)
		}
	}
}

// TestRequestWithoutMeaning is about a request that no endpoint could read in one way.
func TestRequestWithoutMeaning(t *testing.T) {
	g := newProxy(t, setup{server: refusing(t)})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header["X-A"] = []string{"a\r\nX-B: b"}
	record := serveOnce(t, g, httptest.NewRecorder(), r, forward.Options{})
	equal(t, "phase", phaseOf(record), forward.NothingSent.String())
	equal(t, "status", record.Status, http.StatusBadRequest)
	equal(t, "client's fault", record.Excused, true)
}

// TestClientThatTakesNothing has a client that leaves in the middle of a response, which is no fault of the endpoint.
func TestClientThatTakesNothing(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("a", 1_000_000)
	for _, interval := range []time.Duration{0, time.Hour, -1} {
		g := newProxy(t, setup{server: scripted(t, says(text))})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		record := serveOnce(t, g, refusingWriter{http.Header{}}, r, forward.Options{FlushInterval: interval})
		if !strings.Contains(record.Reason, io.ErrClosedPipe.Error()) {
			t.Errorf("%v: the reason is %q", interval, record.Reason)
		}
		equal(t, interval.String()+": phase", phaseOf(record), forward.ResponseBegun.String())
		equal(t, interval.String()+": client's fault", record.Excused, true)
	}
}

type refusingWriter struct{ header http.Header }

func (w refusingWriter) Header() http.Header     { return w.header }
func (refusingWriter) WriteHeader(int)           {}
func (refusingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestReleasedUpstreamKeepsNoConnection(t *testing.T) {
	for _, upstream := range []string{"h1", "h2", "h2c"} {
		closed := make(chan struct{}, 10)
		state := func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				closed <- struct{}{}
			}
		}
		g := newRig(t, setup{upstream: upstream, state: state},
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "body")
			}))
		g.get(t, "/")
		g.registry.Release("svc@file")
		wait(t, upstream+": the connection's end", closed)
		response, _ := g.get(t, "/") // a request of the old table
		equal(t, upstream+": status", response.StatusCode, http.StatusOK)
		wait(t, upstream+": the second connection's end", closed)
	}
}
