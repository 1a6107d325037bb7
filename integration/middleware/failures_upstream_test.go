package middleware

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// The ways in which an upstream fails.
const (
	refuses = "refuses" // No listener.
	resets  = "resets"  // The connection is reset once the request has arrived.
	hangs   = "hangs"   // There is no answer.
	half    = "half"    // The body ends too early, after more of it than is buffered.
	failing = "500"
	slow    = "slow"  // The answer takes a while: longer than is allowed where a middleware has a word in that.
	early   = "early" // The answer is there before the request has been read.
)

// The middlewares allow an answer half of what it takes where they look at the time, so that a machine which is busy
// with something else neither makes a quick one slow nor a slow one quick. No other limit concerns what is slow.
const (
	slowness     = 100 * time.Millisecond
	muchSlowness = 5 * time.Second
)

// upstream fails each request in the way that is the first part of its host, or, where "once" is the last one, only the
// first one of that host.
type upstream struct {
	address string

	mutex sync.Mutex
	asked map[string]int
}

func startUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{asked: map[string]int{}}
	server := httptest.NewUnstartedServer(u)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // What it does on purpose.
	// A retry after a closed idle connection must not be counted.
	server.Config.SetKeepAlivesEnabled(false)
	server.Start()
	t.Cleanup(server.Close)
	u.address = server.Listener.Addr().String()
	return u
}

// count returns the number of requests for a host.
func (u *upstream) count(host string) int {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.asked[host]
}

// ServeHTTP fails, or answers with what it got.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mutex.Lock()
	u.asked[r.Host]++
	first := u.asked[r.Host] == 1
	u.mutex.Unlock()
	failure, rest, _ := strings.Cut(strings.TrimSuffix(r.Host, ".test"), ".")
	if failure != early {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	if first || !strings.HasSuffix(rest, "once") {
		fail(w, r, failure)
		return
	}
	_, _ = io.WriteString(w, "good")
}

// fail leaves marks in the head, which must not be in the head of another response.
func fail(w http.ResponseWriter, r *http.Request, failure string) {
	w.Header().Set("X-Failed", failure)
	w.Header().Set("Set-Cookie", "failed="+failure)
	switch failure {
	case resets:
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_ = connection.(*net.TCPConn).SetLinger(0)
		_ = connection.Close()
	case hangs:
		<-r.Context().Done()
	case half:
		w.Header().Set("Content-Length", "2097152")
		_, _ = io.Copy(w, harness.Pattern(1<<20))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case failing:
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "broken")
	case slow:
		timer := time.NewTimer(slownessOf(r.Host))
		defer timer.Stop()
		select {
		case <-timer.C:
			_, _ = io.WriteString(w, "at last")
		case <-r.Context().Done():
		}
	case early:
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		w.Header().Set("Content-Length", "4")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "stop")
		_ = control.Flush()
	}
}

func slownessOf(host string) time.Duration {
	if strings.Contains(host, "timeout") || strings.Contains(host, "breaker") {
		return muchSlowness
	}
	return slowness
}
