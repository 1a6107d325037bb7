package buffering_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vulcand/oxy/v2/buffer"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// TestLikeOxy compares with the library that users come from, where that is right.
func TestLikeOxy(t *testing.T) {
	handlers := map[string]http.HandlerFunc{
		"empty": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) },
		"fields": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("X-A", "a")
			w.Header().Add("X-A", "b")
			w.WriteHeader(302)
		},
		"echo": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(201)
			_, _ = fmt.Fprintf(w, "%s %d %s", r.Method, r.ContentLength, body)
		},
		"large":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); _, _ = w.Write(make([]byte, 500)) },
		"too large": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); _, _ = w.Write(make([]byte, 501)) },
		"fails":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(504); _, _ = io.WriteString(w, "sorry") },
	}
	for name, handler := range handlers {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for _, size := range []int{0, 1, 99, 300, 301} {
				calls := [2]int{}
				count := func(i int) http.HandlerFunc {
					return func(w http.ResponseWriter, r *http.Request) { calls[i]++; handler(w, r) }
				}
				const retry = "IsNetworkError() && Attempts() <= 2"
				library, err := buffer.New(count(0), buffer.MaxRequestBodyBytes(300), buffer.MemRequestBodyBytes(100),
					buffer.MaxResponseBodyBytes(500),
					buffer.MemResponseBodyBytes(100), buffer.Retry(retry))
				if err != nil {
					t.Fatal(err)
				}
				own := newBuffering(t, dynamic.Buffering{
					MaxRequestBodyBytes: 300, MemRequestBodyBytes: 100, MaxResponseBodyBytes: 500, MemResponseBodyBytes: 100,
					RetryExpression: retry,
				}).Wrap(count(1))
				var got [2]string
				for i, handler := range []http.Handler{library, own} {
					w := httptest.NewRecorder()
					r := httptest.NewRequestWithContext(t.Context(), method, "/", strings.NewReader(strings.Repeat("x", size)))
					handler.ServeHTTP(w, r)
					got[i] = fmt.Sprintf("%d %q %q", w.Code, w.Header()["X-A"], strings.TrimSpace(w.Body.String()))
				}
				if got[0] != got[1] || calls[0] != calls[1] {
					t.Errorf("%s %s %d: oxy %s in %d tries, here %s in %d", name, method, size, got[0], calls[0], got[1], calls[1])
				}
			}
		}
	}
}

func BenchmarkBuffering(b *testing.B) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") })
	for name, test := range map[string]struct {
		handler http.Handler
		header  string
	}{
		"nothing to do": {next, "Content-Type: application/grpc"},
		"upgrade":       {next, "Connection: Upgrade\r\nUpgrade: websocket"},
		"response":      {answers, "Accept: */*"},
	} {
		b.Run(name, func(b *testing.B) {
			handler := newBuffering(b, dynamic.Buffering{MaxRequestBodyBytes: 1 << 20}).Wrap(test.handler)
			r := middlewaretest.Request(b, "GET /", test.header)
			w := new(middlewaretest.Writer)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}
