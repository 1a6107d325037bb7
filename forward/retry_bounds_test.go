package forward_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
)

// TestDeadlineWhileWaiting for the next try is a gateway time-out, whatever the last one got: the client has not left.
func TestDeadlineWhileWaiting(t *testing.T) {
	for name, first := range map[string]scenario{"connection error": breaksOff, "status": fails(503)} {
		t.Run(name, func(t *testing.T) {
			policy := exact(t, func(r *dynamic.ServerRetry) {
				r.InitialInterval, r.Status = ptypes.Duration(time.Hour), []string{"503"}
			})
			s := setup{options: forward.Options{Retry: policy}, around: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					ctx, cancel := context.WithTimeout(r.Context(), 200*time.Millisecond)
					defer cancel()
					next.ServeHTTP(w, r.WithContext(ctx))
				})
			}}
			s.policies.RetryPercent = retry.NoBudget
			g := newServers(t, s, 2, newEndpoints(first))
			response, _ := g.get(t, "/")
			equal(t, "answer", fmt.Sprint(response.StatusCode, g.record(t).Status), "504 504")
			g.settledDown(t)
		})
	}
}

// TestTimeForATryIsNotTwice the time of the policy for a request whose body is sent at once.
func TestTimeForATryIsNotTwice(t *testing.T) {
	fronts(t, func(t *testing.T, s setup) {
		t.Parallel()
		policy := retryAll()
		policy.PerTry, policy.Attempts = 2*time.Second, 0
		s.options.Retry = policy
		endpoints := newEndpoints()
		endpoints.parts = []scenario{reads(endpoints.hangs)}
		g := newServers(t, s, 1, endpoints)
		var took time.Duration
		for n := range 5 { // Until the machine is not busy for the time of a second try.
			r, _ := put.request(t, g.url)
			began := time.Now()
			response, _ := g.do(t, r)
			took = time.Since(began)
			equal(t, "answer", fmt.Sprint(response.StatusCode, endpoints.tries()), fmt.Sprint(504, n+1))
			if took < 2*policy.PerTry {
				break
			}
		}
		if took < policy.PerTry || took >= 2*policy.PerTry {
			t.Errorf("the try took %v", took)
		}
	})
}

// TestEndpointsHaveTimeAfterSlowClients whose body ends shortly before the time for a try would be over.
func TestEndpointsHaveTimeAfterSlowClients(t *testing.T) {
	fronts(t, func(t *testing.T, s setup) {
		t.Parallel()
		policy := retryAll()
		policy.PerTry = 3 * time.Second // Half of it is what a busy machine may take.
		s.options.Retry = policy
		endpoints := newEndpoints(reads(func(w http.ResponseWriter, r *http.Request) {
			<-time.After(policy.PerTry / 2) //nolint:forbidigo // an endpoint that thinks
			good(w, r)
		}))
		g := newServers(t, s, 2, endpoints)
		reader, writer := io.Pipe()
		go func() {
			_, _ = io.WriteString(writer, "hello")
			<-time.After(policy.PerTry * 3 / 4) //nolint:forbidigo // a slow client
			_ = writer.Close()
		}()
		response, _ := g.do(t, request(t, http.MethodPut, g.url, reader))
		equal(t, "answer", fmt.Sprint(response.StatusCode, endpoints.tries()), "200 1")
	})
}

// TestSilentClientAfterAHint gets an answer although the endpoint that broke off had sent an informational response
// before.
func TestSilentClientAfterAHint(t *testing.T) {
	for _, upstream := range []string{"h1", "h2", "h2c"} {
		t.Run(upstream, func(t *testing.T) {
			t.Parallel()
			endpoints := newEndpoints(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadFull(r.Body, make([]byte, 5)) // which sends 100 Continue
				breaksOff(w, r)
			}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
			g := newServers(t, setup{upstream: upstream, options: forward.Options{Retry: retryAll()}}, 2, endpoints)
			_, reader := g.raw(t, "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\nhello")
			status := http.StatusContinue
			for status == http.StatusContinue {
				response, err := http.ReadResponse(reader, nil)
				if err != nil {
					t.Fatal(err)
				}
				status = response.StatusCode
			}
			record := g.record(t)
			equal(t, "answer", fmt.Sprint(status, record.Tries), "204 2")
			// The first try still waits for the client.
			equal(t, "released", record.Released, false)
			if rest, err := io.ReadAll(reader); len(rest) > 0 || err != nil {
				t.Errorf("%q follows, %v", rest, err)
			}
		})
	}
}

// TestLastWordsAreNoRefusal when they say that the endpoint has taken the request in: it may have been processed.
func TestLastWordsAreNoRefusal(t *testing.T) {
	endpoints := newEndpoints(good)
	healthy := listen(t, "h2c", endpoints, nil)
	dying := refuser(t, func(conn net.Conn, stream uint32) {
		_, _ = conn.Write(frame(goAwayFrame, 0, stream, 7)) // REFUSED_STREAM
		_ = conn.Close()
	})
	g := newProxy(t, setup{
		server: dying, more: []dynamic.Server{{URL: "h2c" + healthy.URL[len("http"):]}},
		options: forward.Options{Retry: retryAll()},
	})
	broken := 0
	for range 6 {
		response, _ := g.do(t, request(t, http.MethodPost, g.url, strings.NewReader("body")))
		equal(t, "tries", g.record(t).Tries, 1)
		if response.StatusCode == http.StatusBadGateway {
			broken++
		}
	}
	if broken == 0 {
		t.Error("no request came to the endpoint that breaks off")
	}
}
