package externalauth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/authorize"
	"github.com/sluiceproxy/sluice/middleware/externalauth"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step returns an externalAuth.
func step(t *testing.T, config dynamic.ExternalAuth, service http.HandlerFunc) *externalauth.ExternalAuth {
	t.Helper()
	config.Service = "authorization"
	made, err := externalauth.New("auth", config, service)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// passes has a step decide about a request, and returns the response and whether the request went on.
func passes(made *externalauth.ExternalAuth, r *http.Request) (w *httptest.ResponseRecorder, passed bool) {
	w = httptest.NewRecorder()
	made.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
	return w, passed
}

// TestTimeout has a service that never answers refuse after 30 s, of which the service knows in both protocols.
func TestTimeout(t *testing.T) {
	for _, protocol := range []string{"http", "grpc"} {
		synctest.Test(t, func(t *testing.T) {
			var told string
			made := step(t, dynamic.ExternalAuth{Protocol: protocol}, func(_ http.ResponseWriter, r *http.Request) {
				told = r.Header.Get("Grpc-Timeout")
				<-r.Context().Done()
			})
			record := new(telemetry.Record)
			r := middlewaretest.Request(t, "GET /")
			start := time.Now()
			w, passed := passes(made, r.WithContext(telemetry.WithRecord(t.Context(), record)))
			equal(t, protocol+": status", w.Code, http.StatusForbidden)
			equal(t, protocol+": passed", passed, false)
			equal(t, protocol+": time", time.Since(start), 30*time.Second)
			equal(t, protocol+": failed", made.Counts()["failed"], 1)
			if protocol == "grpc" {
				equal(t, "Grpc-Timeout", told, "30000m")
			}
			if !strings.Contains(record.Reason, "30s") {
				t.Errorf("%s: the reason is %q", protocol, record.Reason)
			}
		})
	}
}

// TestDeadlineOfTheRequest has the time of a request that ends before that of the service decide: gRPC is told what is
// left, and the client gets 504.
func TestDeadlineOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told string
		made := step(t, dynamic.ExternalAuth{Protocol: "grpc"}, func(_ http.ResponseWriter, r *http.Request) {
			told = r.Header.Get("Grpc-Timeout")
			<-r.Context().Done()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		w, passed := passes(made, middlewaretest.Request(t, "GET /").WithContext(ctx))
		equal(t, "status", w.Code, http.StatusGatewayTimeout)
		equal(t, "passed", passed, false)
		equal(t, "Grpc-Timeout", told, "2000m")
	})
}

// TestRequestsInFlightAreBounded has more requests at a time than may be with the service: the others wait, and those
// that wait too long are refused.
func TestRequestsInFlightAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flying, most, passed, refused atomic.Int64
		answers := make(chan struct{})
		made := step(t, dynamic.ExternalAuth{}, func(w http.ResponseWriter, _ *http.Request) {
			if now := flying.Add(1); now > most.Load() {
				most.Store(now)
			}
			<-answers
			flying.Add(-1)
			w.WriteHeader(http.StatusOK)
		})
		var all sync.WaitGroup
		ask := func() {
			all.Go(func() {
				switch _, went := passes(made, middlewaretest.Request(t, "GET /")); went {
				case true:
					passed.Add(1)
				case false:
					refused.Add(1)
				}
			})
		}
		for range authorize.MaxInFlight {
			ask()
		}
		synctest.Wait()
		equal(t, "in flight", flying.Load(), authorize.MaxInFlight)
		<-time.NewTimer(20 * time.Second).C // Those that come now have 20 s left when the others have none.
		for range 10 {
			ask()
		}
		synctest.Wait()
		equal(t, "in flight, with others that wait", flying.Load(), authorize.MaxInFlight)
		<-time.NewTimer(5 * time.Second).C
		close(answers)
		all.Wait()
		equal(t, "passed", passed.Load(), authorize.MaxInFlight+10)
		equal(t, "refused", refused.Load(), 0)
		if most.Load() > authorize.MaxInFlight {
			t.Errorf("%d requests were with the service at a time", most.Load())
		}
	})
}

// TestRequestsThatWaitAreRefused has requests that find no slot within their time refuse.
func TestRequestsThatWaitAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, refused atomic.Int64
		made := step(t, dynamic.ExternalAuth{}, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			<-r.Context().Done()
			<-time.NewTimer(time.Hour).C // It does not heed the end of its time.
			w.WriteHeader(http.StatusOK)
		})
		var all sync.WaitGroup
		for range authorize.MaxInFlight + 1 {
			all.Go(func() {
				w, went := passes(made, middlewaretest.Request(t, "GET /"))
				if !went && w.Code == http.StatusForbidden {
					refused.Add(1)
				}
			})
		}
		all.Wait()
		equal(t, "asked", asked.Load(), authorize.MaxInFlight)
		equal(t, "refused", refused.Load(), authorize.MaxInFlight+1)
	})
}

// stalled is a client that does not read.
type stalled struct {
	*httptest.ResponseRecorder
	reads chan struct{}
}

func (w stalled) Write(p []byte) (int, error) {
	<-w.reads
	return w.ResponseRecorder.Write(p)
}

// TestClientsThatDoNotReadHoldNoSlot has as many clients not read their refusals as requests may be with the service.
func TestClientsThatDoNotReadHoldNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := step(t, dynamic.ExternalAuth{}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/refused" {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write([]byte("no"))
				return
			}
			w.WriteHeader(http.StatusOK)
		})
		var all sync.WaitGroup
		reads := make(chan struct{})
		for range authorize.MaxInFlight {
			all.Go(func() {
				made.Wrap(http.NotFoundHandler()).ServeHTTP(stalled{httptest.NewRecorder(), reads},
					middlewaretest.Request(t, "GET /refused"))
			})
		}
		synctest.Wait()
		start := time.Now()
		_, passed := passes(made, middlewaretest.Request(t, "GET /"))
		equal(t, "passed", passed, true)
		equal(t, "time", time.Since(start), 0)
		close(reads)
		all.Wait()
	})
}

// TestDenialIsBounded has a refusal with more than 1 MiB be no answer, and one with 1 MiB be handed on.
func TestDenialIsBounded(t *testing.T) {
	for _, size := range []int{1 << 20, 1<<20 + 1} {
		made := step(t, dynamic.ExternalAuth{}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write(make([]byte, size))
		})
		w, passed := passes(made, middlewaretest.Request(t, "GET /"))
		want := http.StatusUnauthorized
		if size > 1<<20 {
			want = http.StatusForbidden
		}
		equal(t, "status", w.Code, want)
		equal(t, "passed", passed, false)
		if size > 1<<20 && w.Body.Len() > 1<<10 || size == 1<<20 && w.Body.Len() != size {
			t.Errorf("of %d bytes the client got %d", size, w.Body.Len())
		}
	}
}

// TestBodies has bodies of different lengths, announced or not, reach the service and the backend whole, or be refused.
func TestBodies(t *testing.T) {
	for _, test := range []struct {
		max     int64
		body    string
		chunked bool
		status  int
		shown   string
	}{
		{0, "secret", false, http.StatusOK, ""},
		{0, "secret", true, http.StatusOK, ""},
		{6, "secret", false, http.StatusOK, "secret"},
		{6, "secret", true, http.StatusOK, "secret"},
		{5, "secret", false, http.StatusRequestEntityTooLarge, "none"},
		{5, "secret", true, http.StatusRequestEntityTooLarge, "none"},
		{5, "", true, http.StatusOK, ""},
	} {
		shown := "none"
		made := step(t, dynamic.ExternalAuth{MaxBodySize: test.max}, func(w http.ResponseWriter, r *http.Request) {
			shown = read(t, r)
			equal(t, "Content-Length", r.ContentLength, int64(len(test.shown)))
			equal(t, "transfer codings", len(r.TransferEncoding), 0)
			w.WriteHeader(http.StatusOK)
		})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(test.body))
		r.Header.Set("Content-Length", strconv.Itoa(len(test.body)))
		if test.chunked {
			r.ContentLength, r.TransferEncoding = -1, []string{"chunked"}
		}
		w, got := httptest.NewRecorder(), ""
		made.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = read(t, r) })).ServeHTTP(w, r)
		equal(t, "status", w.Code, test.status)
		equal(t, "shown to the service", shown, test.shown)
		if test.status == http.StatusOK {
			equal(t, "what the backend gets", got, test.body)
		}
	}
}
