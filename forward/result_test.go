package forward_test

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// TestResultOfATry has when it began and how long the head took, where the strategy needs that, and not while the
// client was still sending.
func TestResultOfATry(t *testing.T) {
	strategy, err := picker.NewStrategy("peakewma", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, upstream := range []string{"h1", "h2c"} {
		for _, timed := range []bool{true, false} {
			endpoints := newEndpoints(good)
			s := setup{upstream: upstream}
			if timed {
				s.policies = loadbalancer.Policies{Strategy: strategy}
			}
			g := newServers(t, s, 1, endpoints)
			service := forward.NewService(g.pool, forward.Options{})
			for _, what := range []sends{get, beyond} {
				r, _ := what.request(t, g.url)
				r.RequestURI, r.RemoteAddr = "/path", "192.0.2.1:1"
				began, result, err := forward.Try(service, g.pool, sink{http.Header{}}, r)
				if err != nil {
					t.Fatal(err)
				}
				equal(t, "status", result.Status, http.StatusOK)
				equal(t, "outcome", result.Outcome, loadbalancer.Answered)
				equal(t, "began", result.Began, began)
				if measured := result.Latency > 0; measured != (timed && what == get) {
					t.Errorf("%s %s: measured: %v", upstream, what.name, measured)
				}
				equal(t, "now", result.Now, result.Began+result.Latency)
			}
		}
	}
}
