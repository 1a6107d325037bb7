package forward

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
)

// TestLargeHeads have no body behind them, and are more than is written to an endpoint of TLS at once.
func TestLargeHeads(t *testing.T) {
	const size = 9000
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := len(r.Header.Get("Cookie")); n != size {
				t.Errorf("a cookie of %d bytes came", n)
			}
			w.WriteHeader(code)
		})
	}
	t.Run("GET", func(t *testing.T) {
		g := newRig(t, setup{upstream: "h2", transport: &dynamic.ServersTransport{DisableHTTP2: true, InsecureSkipVerify: true}}, status(http.StatusOK))
		r := request(t, http.MethodGet, g.url, nil)
		r.Header.Set("Cookie", strings.Repeat("c", size))
		response, _ := g.do(t, r)
		equal(t, "status", response.StatusCode, http.StatusOK)
	})
	t.Run("upgrade", func(t *testing.T) {
		g := newRig(t, setup{upstream: "h2"}, status(http.StatusForbidden))
		_, reader := g.raw(t, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: "+strings.Repeat("c", size)+"\r\n\r\n")
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "status", response.StatusCode, http.StatusForbidden)
	})
}

// TestEndpointDiesDuringUpload while the client is silent, which is not the client's fault.
func TestEndpointDiesDuringUpload(t *testing.T) {
	for _, front := range []string{"h1", "h2", "h2c"} {
		for name, length := range map[string]int64{"length": 1000, "chunks": -1} {
			t.Run(front+" "+name, func(t *testing.T) {
				g := newProxy(t, setup{front: front, server: scripted(t, says(""))})
				reader, writer := io.Pipe()
				defer writer.Close() //nolint:errcheck // a test's
				go func() { _, _ = io.WriteString(writer, "hello") }()
				r := request(t, http.MethodPost, g.url, reader)
				r.ContentLength = length
				response, err := g.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				equal(t, "status", response.StatusCode, http.StatusBadGateway)
				record := g.record(t)
				equal(t, "recorded", record.Status, http.StatusBadGateway)
				if record.Reason == "" || strings.Contains(record.Reason, "client") {
					t.Errorf("the reason is %q", record.Reason)
				}
			})
		}
	}
}

// TestStalledUploads end when the endpoint closes the connection, which must not get it ejected: its clients owed the rest of their bodies.
// A request that was there as a whole does.
func TestStalledUploads(t *testing.T) {
	const long = 1000
	policy, err := outlier.NewPolicy(nil, &dynamic.OutlierDetection{
		ConsecutiveFailures: new(1), BaseEjectionTime: 3600e9, MaxEjectionTime: 3600e9, MaxEjectedPercent: new(50),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, front := range []string{"h1", "h2", "h2c"} {
		for _, upstream := range []string{"h1", "h2", "h2c"} {
			t.Run(front+" "+upstream, func(t *testing.T) {
				stalled := make(chan struct{}, 1)
				endpoints := newEndpoints(func(w http.ResponseWriter, r *http.Request) {
					if r.ContentLength == long {
						wait(t, "a read of the client's body", stalled)
					} else {
						_, _ = io.Copy(io.Discard, r.Body)
					}
					closes(w, r)
				})
				s := setup{front: front, upstream: upstream, policies: loadbalancer.Policies{Outlier: policy}}
				s.around = func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						r.Body = &stallingBody{ReadCloser: r.Body, left: len("hello"), stalled: stalled}
						next.ServeHTTP(w, r)
					})
				}
				g := newServers(t, s, 4, endpoints)
				for range 8 {
					reader, writer := io.Pipe()
					go func() { _, _ = io.WriteString(writer, "hello") }()
					r := request(t, http.MethodPost, g.url, reader)
					r.ContentLength = long
					response, err := g.client.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					_, _ = response.Body.Close(), writer.Close()
					equal(t, "status", response.StatusCode, http.StatusBadGateway)
				}
				g.registry.Flush(time.Now())
				equal(t, "ejections by stalled uploads", g.pool.Counters().Ejections.Load(), uint64(0))
				response, _ := g.do(t, request(t, http.MethodPost, g.url, strings.NewReader("hello")))
				equal(t, "status", response.StatusCode, http.StatusBadGateway)
				g.registry.Flush(time.Now())
				equal(t, "ejections by a whole request", g.pool.Counters().Ejections.Load(), uint64(1))
				g.settledDown(t)
			})
		}
	}
}

// stallingBody reports the read that follows the first bytes of a body.
type stallingBody struct {
	io.ReadCloser
	left    int
	stalled chan struct{}
}

func (b *stallingBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		b.left = -1
		b.stalled <- struct{}{}
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), max(b.left, 1))])
	if b.left > 0 {
		b.left -= n
	}
	return n, err
}
