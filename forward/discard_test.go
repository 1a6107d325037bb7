package forward_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// unwanted is a writer that discards bodies.
type unwanted struct{ http.ResponseWriter }

// Discards is true.
func (unwanted) Discards() bool { return true }

// wrapper is a writer around another.
type wrapper struct{ http.ResponseWriter }

// Unwrap returns the other.
func (w wrapper) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestDiscardedBody demands that an endpoint can't keep a writer waiting that throws its body away, and that the
// answer counts.
func TestDiscardedBody(t *testing.T) {
	for name, body := range map[string]string{
		"hangs":  "Content-Length: 9\r\n\r\nhalf",
		"whole":  "Content-Length: 4\r\n\r\nbody",
		"chunks": "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n",
		"much":   "\r\n" + strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			server := scripted(t, func(conn net.Conn, _ *http.Request) {
				_, _ = io.WriteString(conn, "HTTP/1.1 500 No\r\n"+body)
				_, _ = io.Copy(io.Discard, conn)
			})
			g := newProxy(t, setup{server: server, around: func(service http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					recorder := httptest.NewRecorder()
					service.ServeHTTP(wrapper{unwanted{recorder}}, r)
					w.WriteHeader(http.StatusTeapot)
				})
			}})
			response, _ := g.get(t, "/")
			equal(t, "status", response.StatusCode, http.StatusTeapot)
			record := g.record(t)
			equal(t, "record", []any{record.Status, record.Reason}, []any{500, ""})
			equal(t, "in flight", memberOf(g.pool).Endpoint().InFlight(), 0)
		})
	}
}
