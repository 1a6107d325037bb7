package adaptiveconcurrency_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/telemetry"
)

// between checks a latency of the status, in milliseconds.
func between(t *testing.T, step limited, name string, least, most int64) {
	t.Helper()
	if _, levels := step.Status(); levels[name] < 1000*least || levels[name] > 1000*most {
		t.Errorf("%s is not from %d to %d ms, at %v", name, least, most, levels)
	}
}

// TestOnlyAnswersOfEndpointsAreSamples has a service that answers in 100 ms, beside four times as many requests that
// say nothing about it.
func TestOnlyAnswersOfEndpointsAreSamples(t *testing.T) {
	refuse := func(w http.ResponseWriter, code telemetry.Code, status int, r *http.Request) {
		telemetry.RecordFrom(r.Context()).Code = code
		w.WriteHeader(status)
	}
	for name, other := range map[string]http.HandlerFunc{
		"redirected": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) },
		"empty":      func(http.ResponseWriter, *http.Request) {},
		"answered later": func(w http.ResponseWriter, _ *http.Request) {
			pause(20 * time.Millisecond)
			w.WriteHeader(http.StatusOK)
		},
		"circuit open": func(w http.ResponseWriter, r *http.Request) {
			refuse(w, telemetry.CodeTripped, http.StatusServiceUnavailable, r)
		},
		"no endpoint": func(w http.ResponseWriter, r *http.Request) {
			refuse(w, telemetry.CodeNoEndpoint, http.StatusServiceUnavailable, r)
		},
		"out of time before an endpoint": func(w http.ResponseWriter, r *http.Request) {
			refuse(w, telemetry.CodeTimeout, http.StatusGatewayTimeout, r)
		},
		"the client's body timed out": func(w http.ResponseWriter, r *http.Request) {
			record := telemetry.RecordFrom(r.Context())
			record.Tries, record.Excused = record.Tries+1, true
			refuse(w, telemetry.CodeTimeout, http.StatusGatewayTimeout, r)
		},
		"left at once": func(_ http.ResponseWriter, r *http.Request) {
			telemetry.RecordFrom(r.Context()).Tries++
			<-r.Context().Done()
		},
		"left before an endpoint": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, step := build(t, defaults())
				handler := step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/other" {
						other(w, r)
						return
					}
					answer(w, r, http.StatusNoContent, 100*time.Millisecond)
				}))
				c := &clients{handler: handler, path: "/", patience: time.Second}
				others := &clients{handler: handler, path: "/other", patience: time.Millisecond}
				c.group.Go(func() { others.load(t, 400, 4*time.Second) })
				served, _ := c.load(t, 100, 4*time.Second)
				atLeast(t, name, step, served, 0.9*100)
				between(t, step, "rtt_short_us", 95, 115)
				between(t, step, "rtt_long_us", 95, 115)
				c.group.Wait()
				others.group.Wait()
				if _, levels := step.Status(); levels["limit"] < 10 {
					t.Errorf("the limit has fallen, at %v", levels)
				}
			})
		})
	}
}

// TestAllLeaveAtOnce has no response to measure: neither the first latency nor a later one changes.
func TestAllLeaveAtOnce(t *testing.T) {
	for _, before := range []time.Duration{0, 2 * time.Second} {
		bubble(t, true, func(t *testing.T, _ *service, c *clients, step limited) {
			c.load(t, 100, before)
			c.group.Wait()
			_, levels := step.Status()
			limit, long := levels["limit"], levels["rtt_long_us"]
			c.patience = time.Millisecond
			c.load(t, 400, 2*time.Second)
			if _, levels := step.Status(); levels["limit"] != limit || levels["rtt_long_us"] != long {
				t.Errorf("after %v the limit was %d and the latency %d, it stands at %v", before, limit, long, levels)
			}
		})
	}
}

// TestAMinorityIsAnswered has two thirds of the clients leave after 160 ms, when responses take 400 ms: what the others
// get is the latency.
func TestAMinorityIsAnswered(t *testing.T) {
	bubble(t, true, func(t *testing.T, s *service, c *clients, step limited) {
		s.set(1000, 100*time.Millisecond)
		c.load(t, 100, 2*time.Second)
		s.set(1000, 400*time.Millisecond)
		impatient := &clients{handler: c.handler, path: "/", patience: 160 * time.Millisecond}
		c.group.Go(func() { impatient.load(t, 20, 3*time.Second) })
		c.load(t, 10, 3*time.Second)
		between(t, step, "rtt_short_us", 350, 450)
		c.group.Wait()
		impatient.group.Wait()
	})
}

// TestTimeouts has endpoints that do not answer in time after they did: the limit falls, and the time is the latency.
func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, step := build(t, defaults())
		work := 50 * time.Millisecond
		c := &clients{path: "/", patience: time.Minute}
		c.handler = step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if work < time.Second {
				answer(w, r, http.StatusNoContent, work)
				return
			}
			record := telemetry.RecordFrom(r.Context())
			record.Tries++
			pause(work)
			record.Code = telemetry.CodeTimeout
			w.WriteHeader(http.StatusGatewayTimeout)
		}))
		c.load(t, 400, 3*time.Second)
		if _, levels := step.Status(); levels["limit"] < 20 {
			t.Errorf("before it stands at %v", levels)
		}
		c.group.Wait()
		work = time.Second
		c.load(t, 100, time.Minute)
		between(t, step, "rtt_short_us", 900, 1100)
		if _, levels := step.Status(); levels["limit"] != 5 {
			t.Errorf("afterwards it stands at %v", levels)
		}
		c.group.Wait()
	})
}

// TestReplacedFailures has a middleware after this one replace the answers of an overloaded endpoint.
func TestReplacedFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, step := build(t, defaults())
		status := http.StatusNoContent
		c := &clients{path: "/", patience: time.Second}
		c.handler = step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer(new(middlewaretest.Writer), r, status, 50*time.Millisecond)
			w.WriteHeader(http.StatusNoContent)
		}))
		c.load(t, 400, 3*time.Second)
		c.group.Wait()
		status = http.StatusServiceUnavailable
		c.load(t, 400, 5*time.Second)
		c.group.Wait()
		if _, levels := step.Status(); levels["limit"] != 5 {
			t.Errorf("it stands at %v", levels)
		}
	})
}

// TestSamplesOnTheWire sends requests to a real service: an answer of a middleware is no sample, those of the endpoint
// and of the service that has waited for it are.
func TestSamplesOnTheWire(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		_, step := build(t, defaults())
		own := func(next http.Handler) http.Handler {
			return step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/own" {
					pause(10 * time.Millisecond)
					w.WriteHeader(http.StatusOK)
					return
				}
				next.ServeHTTP(w, r)
			}))
		}
		setup := rig.Setup{
			Wrap: own, Upstream: upstream,
			Endpoint: func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/hangs" {
					<-r.Context().Done()
					return
				}
				pause(10 * time.Millisecond)
				w.WriteHeader(http.StatusOK)
			},
		}
		answers := rig.New(t, setup)
		setup.ResponseHeaderTimeout = 100 * time.Millisecond
		hangs := rig.New(t, setup)
		send := func(g *rig.Rig, path string, n, want int) {
			t.Helper()
			for range n {
				response, _, err := g.Do(client, g.Request(http.MethodGet, path, nil))
				if err != nil || response.StatusCode != want {
					t.Fatalf("%s: %+v, %v", path, response, err)
				}
				g.Record()
			}
		}
		send(answers, "/own", 20, http.StatusOK)
		if _, levels := step.Status(); levels["rtt_short_us"] != 0 {
			t.Errorf("after answers of a middleware it stands at %v", levels)
		}
		send(answers, "/", 20, http.StatusOK)
		_, levels := step.Status()
		if levels["rtt_short_us"] < 9000 { // A bucket is up to an eighth wide.
			t.Errorf("after answers of an endpoint it stands at %v", levels)
		}
		short := levels["rtt_short_us"]
		send(hangs, "/hangs", 20, http.StatusGatewayTimeout)
		if _, levels = step.Status(); levels["rtt_short_us"] < 90_000 || levels["rtt_short_us"] < short {
			t.Errorf("after time-outs it stands at %v", levels)
		}
	})
}
