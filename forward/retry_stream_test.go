package forward_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// fronts runs a test for every pair of a client's and an endpoint's protocol that differs on the way of a body.
func fronts(t *testing.T, test func(t *testing.T, s setup)) {
	t.Helper()
	for _, front := range []string{"h1", "h2"} {
		for _, upstream := range []string{"h1", "h2", "h2c"} {
			t.Run(front+" "+upstream, func(t *testing.T) { test(t, setup{front: front, upstream: upstream}) })
		}
	}
}

// TestNextTryGoesOnReading what the client sends later than the first endpoint fails.
func TestNextTryGoesOnReading(t *testing.T) {
	fronts(t, func(t *testing.T, s setup) {
		for name, first := range map[string]scenario{"closes": closes, "breaks off": breaksOff, "refuses": fails(503)} {
			for length, known := range map[string]int64{"length": 11, "chunks": -1} {
				t.Run(name+" "+length, func(t *testing.T) {
					second := make(chan struct{})
					endpoints := newEndpoints(func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.ReadFull(r.Body, make([]byte, 5))
						first(w, r)
					}, func(w http.ResponseWriter, r *http.Request) {
						close(second)
						good(w, r)
					})
					s.options.Retry = statuses(t, "503")
					g := newServers(t, s, 2, endpoints)
					reader, writer := io.Pipe()
					go func() {
						_, _ = io.WriteString(writer, "hello")
						<-second
						_, _ = io.WriteString(writer, " world")
						_ = writer.Close()
					}()
					r := request(t, http.MethodPut, g.url, reader)
					r.ContentLength = known
					response, body := g.do(t, r)
					unharmed(t, response, body, `PUT / "hello world" <nil>`)
					equal(t, "tries", g.record(t).Tries, 2)
					g.settledDown(t)
				})
			}
		}
	})
}

// TestLostBodyEndsTries once more of it was read than is kept, and the failure reaches the client while it still sends.
func TestLostBodyEndsTries(t *testing.T) {
	fronts(t, func(t *testing.T, s setup) {
		endpoints := newEndpoints(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 200))
			breaksOff(w, r)
		})
		s.options.Retry = &retry.Policy{Attempts: 2, MaxBody: 100, On: retry.OnAny}
		g := newServers(t, s, 2, endpoints)
		reader, writer := io.Pipe()
		defer writer.Close() //nolint:errcheck // a test's
		go func() { _, _ = io.WriteString(writer, strings.Repeat("x", 200)) }()
		response, _ := g.do(t, request(t, http.MethodPut, g.url, reader))
		equal(t, "answer", fmt.Sprint(response.StatusCode, endpoints.tries()), "502 1")
		equal(t, "recorded", g.record(t).Status, 502)
	})
}

// TestFailureDuringUpload reaches a client that still sends when no endpoint is left.
func TestFailureDuringUpload(t *testing.T) {
	fronts(t, func(t *testing.T, s setup) {
		endpoints := newEndpoints(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 5))
			breaksOff(w, r)
		})
		s.options.Retry = retryAll()
		g := newServers(t, s, 2, endpoints)
		reader, writer := io.Pipe()
		defer writer.Close() //nolint:errcheck // a test's
		go func() { _, _ = io.WriteString(writer, "hello") }()
		response, _ := g.do(t, request(t, http.MethodPut, g.url, reader))
		equal(t, "answer", fmt.Sprint(response.StatusCode, endpoints.tries()), "502 2")
		record := g.record(t)
		equal(t, "recorded", fmt.Sprint(record.Status, record.Tries), "502 2")
		g.settledDown(t)
	})
}

// TestEarlyAnswerToARepeatedBody comes while the rest is sent, and both go on.
func TestEarlyAnswerToARepeatedBody(t *testing.T) {
	fronts(t, func(t *testing.T, s setup) {
		endpoints := newEndpoints(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 5))
			breaksOff(w, r)
		}, echo)
		s.options = forward.Options{FlushInterval: -1, Retry: retryAll()}
		g := newServers(t, s, 2, endpoints)
		reader, writer := io.Pipe()
		go func() { _, _ = io.WriteString(writer, "hello") }()
		response, err := g.client.Do(request(t, http.MethodPut, g.url, reader))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close() //nolint:errcheck // a test's
		for _, piece := range []string{"hello", "again", "world"} {
			if piece != "hello" {
				_, _ = io.WriteString(writer, piece)
			}
			got := make([]byte, 5)
			if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != piece {
				t.Fatalf("%q came back, %v", got, err)
			}
		}
		_ = writer.Close()
		if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
			t.Errorf("%q is left, %v", rest, err)
		}
	})
}

// TestTryTime goes to another endpoint when one takes too long, and is a gateway time-out when none is left.
func TestTryTime(t *testing.T) {
	fronts(t, func(t *testing.T, s setup) {
		t.Parallel()
		for _, what := range []sends{put, post} {
			t.Run(what.name, func(t *testing.T) {
				policy := retryAll()
				policy.PerTry, policy.Attempts = 1500*time.Millisecond, 1 // A busy machine has to answer in it.
				s.options.Retry = policy
				endpoints := newEndpoints()
				endpoints.parts = []scenario{reads(endpoints.hangs), good, endpoints.hangs}
				g := newServers(t, s, 2, endpoints)
				r, want := what.request(t, g.url)
				response, body := g.do(t, r)
				if what == post {
					equal(t, "answer", fmt.Sprint(response.StatusCode, endpoints.tries()), "504 1")
					return
				}
				unharmed(t, response, body, want)
				r, _ = what.request(t, g.url)
				response, _ = g.do(t, r)
				equal(t, "answer", fmt.Sprint(response.StatusCode, endpoints.tries()), "504 4")
				g.record(t)
				if record := g.record(t); record.Reason != "endpoint: the time for a try is over (request sent); 2 tries" {
					t.Errorf("the reason is %q", record.Reason)
				}
				g.settledDown(t)
			})
		}
	})
}

// TestSlowClientsHaveTime although the time for a try is short.
func TestSlowClientsHaveTime(t *testing.T) {
	fronts(t, func(t *testing.T, s setup) {
		t.Parallel()
		policy := retryAll()
		policy.PerTry = 2500 * time.Millisecond // Half of it is what a busy machine may take for a piece.
		s.options.Retry = policy
		endpoints := newEndpoints(good)
		g := newServers(t, s, 1, endpoints)
		reader, writer := io.Pipe()
		go func() {
			for range 3 {
				_, _ = io.WriteString(writer, "slow")
				<-time.After(policy.PerTry / 2) //nolint:forbidigo // a slow client
			}
			_ = writer.Close()
		}()
		response, body := g.do(t, request(t, http.MethodPut, g.url, reader))
		unharmed(t, response, body, `PUT / "slowslowslow" <nil>`)
	})
}

// TestResponsesHaveTime once their head is there.
func TestResponsesHaveTime(t *testing.T) {
	for _, upstream := range []string{"h1", "h2c"} {
		t.Run(upstream, func(t *testing.T) {
			t.Parallel()
			policy := retryAll()
			policy.PerTry = 2 * time.Second // A busy machine has to send the head in it.
			endpoints := newEndpoints(func(w http.ResponseWriter, _ *http.Request) {
				_ = http.NewResponseController(w).Flush()
				<-time.After(policy.PerTry * 3 / 2) //nolint:forbidigo // a slow body
				_, _ = io.WriteString(w, "late")
			})
			g := newServers(t, setup{upstream: upstream, options: forward.Options{Retry: policy}}, 1, endpoints)
			_, body := g.get(t, "/")
			equal(t, "body", body, "late")
		})
	}
}

// TestNoTryWithoutClient begins no other try once the client has left, whether during a try or a wait.
func TestNoTryWithoutClient(t *testing.T) {
	for name, wait := range map[string]time.Duration{"try": 0, "wait": time.Hour} {
		for _, upstream := range []string{"h1", "h2c"} {
			t.Run(name+" "+upstream, func(t *testing.T) {
				policy := retryAll()
				policy.InitialInterval = wait
				reached := make(chan struct{})
				endpoints := newEndpoints()
				endpoints.parts = []scenario{func(w http.ResponseWriter, r *http.Request) {
					close(reached)
					if wait == 0 {
						endpoints.hangs(w, r)
					}
					breaksOff(w, r)
				}}
				g := newServers(t, setup{upstream: upstream, options: forward.Options{Retry: policy}}, 2, endpoints)
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					<-reached
					cancel()
				}()
				if response, err := g.client.Do(request(t, http.MethodGet, g.url, nil).WithContext(ctx)); err == nil {
					_ = response.Body.Close()
					t.Error("an answer came")
				}
				record := g.record(t)
				equal(t, "recorded", fmt.Sprint(record.Status, record.Tries, endpoints.tries()), "499 1 1")
				g.settledDown(t)
			})
		}
	}
}

// TestPanicsCountOut every try.
func TestPanicsCountOut(t *testing.T) {
	endpoints := newEndpoints(fails(503), good)
	panicked := make(chan any, 1)
	options := forward.Options{Retry: statuses(t, "503")}
	g := newServers(t, setup{options: options, around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				panicked <- recover()
				panic(http.ErrAbortHandler)
			}()
			next.ServeHTTP(bursting{w}, r)
		})
	}}, 2, endpoints)
	if response, err := g.client.Do(request(t, http.MethodGet, g.url, nil)); err == nil {
		_ = response.Body.Close()
		t.Error("an answer came")
	}
	equal(t, "panic", fmt.Sprint(wait(t, "the handler", panicked)), "the writer's own")
	equal(t, "tries", g.record(t).Tries, 2)
	g.settledDown(t)
}

type bursting struct{ http.ResponseWriter }

func (bursting) WriteHeader(int) { panic("the writer's own") }

// TestCloseEndsWhatIsUnderWay over every protocol, tunnels too, and another endpoint gets what may be repeated.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	for _, upstream := range []string{"h1", "h2", "h2c"} {
		t.Run(upstream, func(t *testing.T) {
			received := make(chan struct{}, 1)
			endpoints := newEndpoints()
			endpoints.parts = []scenario{func(w http.ResponseWriter, r *http.Request) {
				received <- struct{}{}
				endpoints.hangs(w, r)
			}, good}
			g := newServers(t, setup{upstream: upstream, options: forward.Options{Retry: retryAll()}}, 2, endpoints)
			go func() {
				<-received
				member := busy(g.pool)
				member.Upstream().RoundTripper().Close()
			}()
			_, body := g.get(t, "/")
			equal(t, "body", body, `GET / "" <nil>`)
			equal(t, "tries", g.record(t).Tries, 2)
			for range 4 { // The closed upstream makes no new connections.
				_, body := g.get(t, "/")
				equal(t, "body", body, `GET / "" <nil>`)
			}
			equal(t, "requests", endpoints.tries(), 6)
		})
	}
	t.Run("tunnel", func(t *testing.T) {
		g := newServers(t, setup{}, 1, newEndpoints(func(w http.ResponseWriter, _ *http.Request) {
			conn, buffered, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close() //nolint:errcheck // a test's
			_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_ = buffered.Flush()
			_, _ = io.Copy(io.Discard, conn)
		}))
		_, reader := g.raw(t, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		if _, err := http.ReadResponse(reader, nil); err != nil {
			t.Fatal(err)
		}
		memberOf(g.pool).Upstream().RoundTripper().Close()
		if _, err := io.ReadAll(reader); err != nil {
			t.Errorf("the client's side ends with %v", err)
		}
		g.record(t)
	})
}

// busy returns a member with a request in flight.
func busy(pool *loadbalancer.Pool) *loadbalancer.Member {
	for member := range pool.Snapshot().Members() {
		if member.Endpoint().InFlight() > 0 {
			return member
		}
	}
	return nil
}
