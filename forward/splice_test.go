package forward_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/forward"
)

// splicer is a writer that can say that it keeps nothing back, and counts what it takes by itself.
type splicer struct {
	http.ResponseWriter
	direct bool
	taken  int64
}

func (s *splicer) Splices() bool { return s.direct }

func (s *splicer) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *splicer) ReadFrom(source io.Reader) (int64, error) {
	n, err := io.Copy(s.ResponseWriter, source)
	s.taken += n
	return n, err
}

// TestLargeBodiesAreHandedOver with a flush interval too, to writers that keep nothing back, and to no other.
func TestLargeBodiesAreHandedOver(t *testing.T) {
	const size = 1 << 20
	endpoint := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1048576")
		_, _ = io.WriteString(w, strings.Repeat("x", size))
	})
	for name, direct := range map[string]bool{"keeps nothing back": true, "may keep some back": false} {
		t.Run(name, func(t *testing.T) {
			writers := make(chan *splicer, 1)
			g := newRig(t, setup{
				options: forward.Options{FlushInterval: 100 * time.Millisecond},
				around: func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						s := &splicer{ResponseWriter: w, direct: direct}
						defer func() { writers <- s }()
						next.ServeHTTP(s, r)
					})
				},
			}, endpoint)
			response, body := g.do(t, request(t, http.MethodGet, g.url, nil))
			equal(t, "status", response.StatusCode, http.StatusOK)
			equal(t, "length", len(body), size)
			taken := (<-writers).taken
			if direct && taken < size/2 || !direct && taken != 0 {
				t.Errorf("%d bytes were handed over", taken)
			}
		})
	}
}
