package forward

import (
	"net/http"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestResultOfATry says when it began and how long the head took, where somebody wants to know, and not while the
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
			service := NewService(g.pool, Options{})
			for _, what := range []sends{get, beyond} {
				r, _ := what.request(t, g.url)
				r.RequestURI, r.RemoteAddr = "/path", "192.0.2.1:1"
				x := service.newAttempt(sink{http.Header{}}, r, new(telemetry.Record), nil)
				x.state.ask.Now = g.pool.Instant(time.Now())
				if x.target.Member, err = g.pool.Acquire(&x.state.ask); err != nil {
					t.Fatal(err)
				}
				if err := service.try(x); err != nil {
					t.Fatal(err)
				}
				result := x.state.result
				equal(t, "status", result.Status, http.StatusOK)
				equal(t, "outcome", result.Outcome, loadbalancer.Answered)
				equal(t, "began", result.Began, x.state.ask.Now)
				if measured := result.Latency > 0; measured != (timed && what == get) {
					t.Errorf("%s %s: measured: %v", upstream, what.name, measured)
				}
				equal(t, "now", result.Now, result.Began+result.Latency)
			}
		}
	}
}
