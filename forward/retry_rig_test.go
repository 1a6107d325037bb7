package forward_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// retryAll is a policy that allows everything.
func retryAll() *retry.Policy {
	return &retry.Policy{Attempts: 2, MaxBody: 64 << 10, On: retry.OnAny}
}

// statuses is a policy that tries again on status codes too.
func statuses(t *testing.T, codes ...string) *retry.Policy {
	t.Helper()
	policy := retryAll()
	var err error
	if policy.Status, err = dynamic.ParseStatusCodes(codes); err != nil {
		t.Fatal(err)
	}
	return policy
}

// scenario is what an endpoint does with a request.
type scenario func(w http.ResponseWriter, r *http.Request)

// endpoints serves all endpoints of a pool: each request gets the next part, and the last part repeats.
type endpoints struct {
	mutex sync.Mutex
	parts []scenario
	// received are the requests, without bodies, and by the address of the endpoint that received each.
	received []*http.Request
	by       []string
	closed   chan struct{}
}

func newEndpoints(parts ...scenario) *endpoints {
	return &endpoints{parts: parts, closed: make(chan struct{})}
}

func (c *endpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	part := c.parts[min(len(c.received), len(c.parts)-1)]
	c.received = append(c.received, r.Clone(r.Context()))
	c.by = append(c.by, r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
	c.mutex.Unlock()
	part(w, r)
}

// requests returns what came so far.
func (c *endpoints) requests() []*http.Request {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.received)
}

func (c *endpoints) tries() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.received)
}

// distinct fails the test when an endpoint got a request twice.
func (c *endpoints) distinct(t *testing.T) {
	t.Helper()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	seen := map[string]bool{}
	for _, by := range c.by {
		if seen[by] {
			t.Errorf("%s got it twice: %q", by, c.by)
		}
		seen[by] = true
	}
}

// newServers starts a proxy in front of size servers that answer as the endpoints do.
func newServers(t *testing.T, s setup, size int, endpoints *endpoints) *rig {
	t.Helper()
	s.policies.RetryPercent = 1000
	s.transport = &dynamic.ServersTransport{InsecureSkipVerify: true}
	var servers []dynamic.Server
	for range size {
		server := listen(t, s.upstream, endpoints, nil)
		_, address, _ := strings.Cut(server.URL, "://")
		servers = append(servers, dynamic.Server{URL: schemes[s.upstream] + "://" + address})
	}
	if endpoints != nil {
		t.Cleanup(func() { close(endpoints.closed) })
	}
	for range s.dead {
		_, address, _ := strings.Cut(refusing(t).URL, "://")
		servers = append(servers, dynamic.Server{URL: schemes[s.upstream] + "://" + address})
	}
	s.server, s.more = servers[0], servers[1:]
	return newProxy(t, s)
}

var schemes = map[string]string{"": "http", "h1": "http", "h2": "https", "h2c": "h2c"}

// conn returns the connection of a request to an endpoint.
func conn(r *http.Request) *net.TCPConn {
	switch conn := r.Context().Value(connKey{}).(type) {
	case *net.TCPConn:
		return conn
	case *lingeringConn:
		return conn.TCPConn
	case *tls.Conn:
		return conn.NetConn().(*net.TCPConn)
	}
	panic("no connection")
}

// good answers with what it got.
func good(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	w.Header().Set("X-Good", "yes")
	w.Header().Add("Set-Cookie", "good=1")
	_, _ = fmt.Fprintf(w, "%s %s %q %v", r.Method, r.URL.Path, body, err)
}

// reads reads the body before it goes on.
func reads(then scenario) scenario {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		then(w, r)
	}
}

// breaksOff ends the stream over HTTP/2, and the connection over HTTP/1.1, at once: net/http waits for the body first.
func breaksOff(_ http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		_ = conn(r).Close()
	}
	panic(http.ErrAbortHandler)
}

func closes(_ http.ResponseWriter, r *http.Request) {
	_ = conn(r).Close()
	panic(http.ErrAbortHandler)
}

func resets(_ http.ResponseWriter, r *http.Request) {
	_ = conn(r).SetLinger(0)
	closes(nil, r)
}

// fails answers with a status, and with what no client may see.
func fails(status int) scenario {
	return func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // net/http waits for the body otherwise.
		w.Header().Set("X-Bad", "yes")
		w.Header().Add("Set-Cookie", "bad=1")
		w.Header().Set("Trailer", "X-Bad-Trailer")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "bad")
		w.Header().Set("X-Bad-Trailer", "yes")
	}
}

// hangs until the client or the test has gone.
func (c *endpoints) hangs(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-c.closed:
	}
	panic(http.ErrAbortHandler)
}

// hints sends an informational response first.
func hints(then scenario) scenario {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Hint", "yes")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("X-Hint")
		then(w, r)
	}
}

// begins sends the head and a part of the body.
func begins(_ int) scenario {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// writes writes bytes in place of an answer, over HTTP/1.1.
func writes(text string) scenario {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buffered.WriteString(text)
		_ = buffered.Flush()
		_ = conn.Close()
	}
}

// unharmed fails the test unless the client sees a good answer, and nothing of any other.
func unharmed(t *testing.T, response *http.Response, body, want string) {
	t.Helper()
	equal(t, "status", response.StatusCode, http.StatusOK)
	equal(t, "body", body, want)
	equal(t, "cookies", response.Header["Set-Cookie"], []string{"good=1"})
	for name := range response.Header {
		if strings.Contains(name, "Bad") || strings.Contains(name, "Hint") {
			t.Errorf("the client sees %s", name)
		}
	}
	if len(response.Trailer) > 0 {
		t.Errorf("the client sees the trailers %v", response.Trailer)
	}
}

// settledDown fails the test unless every endpoint was counted out that was counted in.
func (g *rig) settledDown(t *testing.T) {
	t.Helper()
	for member := range g.pool.Snapshot().Members() {
		if n := member.Endpoint().InFlight(); n != 0 {
			t.Errorf("%d requests are still in flight to %s", n, member.Address())
		}
	}
}
