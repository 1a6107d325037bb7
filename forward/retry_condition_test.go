package forward_test

import (
	"net/http"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// TestRetryOn plays each kind of failure to policies that name one kind, over each protocol.
func TestRetryOn(t *testing.T) {
	kinds := []string{dynamic.RetryOnError, dynamic.RetryOnTimeout, dynamic.RetryOnInvalidHeader}
	for _, row := range []struct {
		name     string
		part     func(c *endpoints) scenario
		upstream []string
		kind     string
		status   int
	}{
		{"breaks off", func(*endpoints) scenario { return breaksOff }, []string{"h1", "h2c"}, dynamic.RetryOnError, 502},
		{"closes", func(*endpoints) scenario { return closes }, []string{"h1", "h2c"}, dynamic.RetryOnError, 502},
		{
			"half a head", func(*endpoints) scenario { return writes("HTTP/1.1 200 OK\r\nX-Bad: y") },
			[]string{"h1"},
			dynamic.RetryOnError, 502,
		},
		{"hangs", func(c *endpoints) scenario { return c.hangs }, []string{"h1", "h2c"}, dynamic.RetryOnTimeout, 504},
		{
			"nonsense", func(*endpoints) scenario { return writes("Bad.\r\n\r\n") },
			[]string{"h1"},
			dynamic.RetryOnInvalidHeader, 502,
		},
		{
			"status", func(*endpoints) scenario { return writes("HTTP/1.1 007 Bond\r\n\r\n") },
			[]string{"h1"},
			dynamic.RetryOnInvalidHeader, 502,
		},
		{"frame", func(*endpoints) scenario { return writesFrame }, []string{"h2c"}, dynamic.RetryOnInvalidHeader, 502},
	} {
		for _, upstream := range row.upstream {
			for _, kind := range kinds {
				t.Run(row.name+" over "+upstream+", retry on "+kind, func(t *testing.T) {
					t.Parallel()
					endpoints := newEndpoints()
					endpoints.parts = []scenario{row.part(endpoints), good}
					policy := exact(t, func(r *dynamic.ServerRetry) {
						if r.RetryOn, r.Status = []string{kind}, nil; row.kind == dynamic.RetryOnTimeout {
							r.PerTryTimeout = ptypes.Duration(2 * time.Second)
						}
					})
					g := newServers(t, setup{upstream: upstream, options: forward.Options{Retry: policy}}, 2, endpoints)
					want := row.status
					if kind == row.kind {
						want = http.StatusOK
					}
					response, _ := g.get(t, "/")
					equal(t, "status", response.StatusCode, want)
				})
			}
		}
	}
}

// writesFrame sends a frame on a stream that no request has opened, over HTTP/2.
func writesFrame(_ http.ResponseWriter, r *http.Request) {
	_, _ = conn(r).Write([]byte{0, 0, 1, 0, 0, 0, 0, 99, 'x'})
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// TestRetryTimeout begins no other try after the time is over.
func TestRetryTimeout(t *testing.T) {
	t.Parallel()
	endpoints := newEndpoints()
	endpoints.parts = []scenario{endpoints.hangs, good}
	policy := exact(t, func(r *dynamic.ServerRetry) {
		// The request has to reach the endpoint in the time for a try, also on a busy machine.
		r.PerTryTimeout, r.Timeout = ptypes.Duration(2*time.Second), ptypes.Duration(50*time.Millisecond)
	})
	g := newServers(t, setup{options: forward.Options{Retry: policy}}, 2, endpoints)
	response, _ := g.get(t, "/")
	equal(t, "status", response.StatusCode, http.StatusGatewayTimeout)
	equal(t, "tries", endpoints.tries(), 1)
	if policy.On != retry.OnAny {
		t.Errorf("it retries on %b", policy.On)
	}
}
