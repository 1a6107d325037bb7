package adaptiveconcurrency_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The service of these tests answers 200 requests a second unless it is changed: 20 at a time in 100 ms each.

// atLeast checks what a load gets.
func atLeast(t *testing.T, what string, step limited, served, want float64) {
	t.Helper()
	_, levels := step.Status()
	t.Logf("%s: %.0f requests a second at %v", what, served, levels)
	if served < want {
		t.Errorf("%s: %.0f requests a second, want %.0f, at %v", what, served, want, levels)
	}
}

// TestFindsTheCapacity has three times as many requests as the service can serve, from the start or after a normal
// load.
func TestFindsTheCapacity(t *testing.T) {
	for _, test := range []struct {
		before int
		even   bool
	}{{0, false}, {100, false}, {100, true}} {
		bubble(t, test.even, func(t *testing.T, _ *service, c *clients, step limited) {
			if test.before > 0 {
				served, _ := c.load(t, test.before, 3*time.Second)
				atLeast(t, "before", step, served, 0.9*float64(test.before))
			}
			c.load(t, 600, 3*time.Second)
			served, p99 := c.load(t, 600, 4*time.Second)
			atLeast(t, "overload", step, served, 0.9*200)
			_, levels := step.Status()
			if limit := levels["limit"]; limit < 16 || limit > 50 || p99 > 800*time.Millisecond {
				t.Errorf("p99 is %v, at %v", p99, levels)
			}
			c.load(t, 160, time.Second)
			served, p99 = c.load(t, 160, 4*time.Second)
			atLeast(t, "afterwards", step, served, 0.9*160)
			if p99 > 800*time.Millisecond {
				t.Errorf("afterwards: p99 is %v", p99)
			}
		})
	}
}

// TestManyAtATime has a load that begins at once, of a service that answers 100 requests at a time.
func TestManyAtATime(t *testing.T) {
	bubble(t, false, func(t *testing.T, s *service, c *clients, step limited) {
		s.set(100, 100*time.Millisecond)
		c.load(t, 500, 2*time.Second)
		served, _ := c.load(t, 500, 2*time.Second)
		atLeast(t, "normal load", step, served, 0.9*500)
	})
}

// TestFewAtATime overloads a service with fewer places than the least limit.
func TestFewAtATime(t *testing.T) {
	bubble(t, false, func(t *testing.T, s *service, c *clients, step limited) {
		s.set(4, 100*time.Millisecond)
		c.load(t, 120, 5*time.Second)
		served, _ := c.load(t, 120, 20*time.Second)
		atLeast(t, "overload", step, served, 0.8*40)
		if _, levels := step.Status(); levels["limit"] > 20 {
			t.Errorf("it stands at %v", levels)
		}
	})
}

// TestCreeps overloads a service for a minute: the limit does not grow with the queue that it makes.
func TestCreeps(t *testing.T) {
	bubble(t, false, func(t *testing.T, s *service, c *clients, step limited) {
		s.set(10, 100*time.Millisecond)
		served, _ := c.load(t, 150, time.Minute)
		atLeast(t, "overload", step, served, 90)
		if _, levels := step.Status(); levels["limit"] > 30 {
			t.Errorf("it stands at %v", levels)
		}
	})
}

// TestLatencySteps has the service become slower under overload, and fast again: after five seconds it is used.
func TestLatencySteps(t *testing.T) {
	bubble(t, false, func(t *testing.T, s *service, c *clients, step limited) {
		c.load(t, 100, 2*time.Second)
		c.load(t, 600, 3*time.Second)
		for _, work := range []time.Duration{300 * time.Millisecond, 100 * time.Millisecond} {
			s.set(20, work)
			c.load(t, 600, 5*time.Second)
			served, _ := c.load(t, 600, 4*time.Second)
			atLeast(t, work.String(), step, served, 0.8*20/work.Seconds())
		}
		c.load(t, 160, time.Second)
		served, _ := c.load(t, 160, 4*time.Second)
		atLeast(t, "without overload", step, served, 0.9*160)
	})
}

// TestSlowerWithoutOverload has the latency change, and with it the number of requests that have to be in progress.
func TestSlowerWithoutOverload(t *testing.T) {
	bubble(t, false, func(t *testing.T, s *service, c *clients, step limited) {
		for _, work := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 50 * time.Millisecond} {
			s.set(200, work)
			c.load(t, 240, 5*time.Second)
			served, _ := c.load(t, 240, 5*time.Second)
			atLeast(t, work.String(), step, served, 0.85*240)
		}
	})
}

// TestThrashing has a service that answers fewer requests a second the more it has: the limit keeps it from that.
func TestThrashing(t *testing.T) {
	bubble(t, false, func(t *testing.T, s *service, c *clients, step limited) {
		s.thrash = 0.05
		c.load(t, 100, 2*time.Second)
		c.load(t, 600, 5*time.Second)
		served, _ := c.load(t, 600, 5*time.Second)
		atLeast(t, "overload", step, served, 0.5*200)
		c.load(t, 120, 3*time.Second)
		served, _ = c.load(t, 120, 5*time.Second)
		atLeast(t, "afterwards", step, served, 0.9*120)
	})
}

// TestLongPolls has requests whose answers take half a minute, beside a load that the service can serve.
func TestLongPolls(t *testing.T) {
	bubble(t, false, func(t *testing.T, s *service, c *clients, step limited) {
		s.set(100, 50*time.Millisecond)
		c.load(t, 200, 2*time.Second)
		polls := &clients{handler: c.handler, path: "/poll", patience: time.Minute}
		c.group.Go(func() {
			polls.load(t, 1, 40*time.Second)
			polls.group.Wait()
		})
		for range 2 {
			served, _ := c.load(t, 200, 20*time.Second)
			atLeast(t, "beside polls", step, served, 0.95*200)
		}
	})
}

// TestFailuresLowerTheLimit has a service that says that it is overloaded, and then answers again: the limit falls to
// the least one, and rises.
func TestFailuresLowerTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, step := build(t, defaults())
		var status atomic.Int64
		status.Store(http.StatusNoContent)
		c := &clients{path: "/", patience: time.Second}
		c.handler = step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, int(status.Load()), 50*time.Millisecond)
		}))
		c.load(t, 400, 3*time.Second)
		if _, levels := step.Status(); levels["limit"] < 20 {
			t.Errorf("before failures it stands at %v", levels)
		}
		status.Store(http.StatusServiceUnavailable)
		c.load(t, 400, 5*time.Second)
		if _, levels := step.Status(); levels["limit"] != 5 {
			t.Errorf("after failures it stands at %v", levels)
		}
		status.Store(http.StatusNoContent)
		c.load(t, 400, 3*time.Second)
		served, _ := c.load(t, 400, 2*time.Second)
		atLeast(t, "afterwards", step, served, 0.98*400)
		c.group.Wait()
	})
}
