package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// draining are shorter times for draining than those of deploy/kubernetes.
func draining(web string) []string {
	return []string{
		"--entryPoints.web.address=" + web,
		"--entryPoints.web.transport.lifeCycle.requestAcceptGraceTimeout=3s",
		"--entryPoints.web.transport.lifeCycle.graceTimeOut=5s",
		"--entryPoints.traefik.transport.lifeCycle.requestAcceptGraceTimeout=3s",
	}
}

// sluiceIsUpgraded restarts two Sluices, one after the other, under load of clients that use the other one if a
// connection is refused. No request fails, and /ready reports the shutdown before connections are refused.
func sluiceIsUpgraded(t *testing.T, c *cluster.Cluster) {
	c.Apply(namespace("port"), polite("port/ship"))
	c.Scale("port/ship", 3)
	// No connection takes these ports while nothing listens.
	n := &nomads{t: t, places: []string{harness.FreeAddress(t), harness.FreeAddress(t)}}
	n.reached = make([]atomic.Int64, len(n.places))
	var gates []*gate
	for _, place := range n.places {
		g := open(t, c, static, draining(place)...)
		g.serves("ship.test")
		gates = append(gates, g)
	}
	stop := n.start(clients)
	for i, place := range n.places {
		n.reaches(i)
		dismiss(t, gates[i])
		n.reaches(1 - i)
		gates[i] = open(t, c, static, draining(place)...)
		n.reaches(i)
	}
	stop()
	if n.elsewhere.Load() == 0 {
		t.Error("no connection was ever refused, so this shows nothing")
	}
	t.Logf("%d requests, %d connections were refused", n.served.Load(), n.elsewhere.Load())
}

// dismiss sends SIGTERM: /ready reports it at once, while connections are still accepted; then the process completes
// its requests and ends.
func dismiss(t *testing.T, g *gate) {
	t.Helper()
	g.Signal(syscall.SIGTERM)
	g.Until("draining", func(r harness.Readiness) bool { return r.Draining && r.Status == http.StatusServiceUnavailable })
	if got := harness.NewClient(t, harness.H1, g.Addr("web"), "ship.test", nil).Get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("a new connection while /ready says no: status %d", got.StatusCode)
	}
	if code := g.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// nomads are clients that try the next address if a connection is refused.
type nomads struct {
	t                 testing.TB
	places            []string
	reached           []atomic.Int64 // connections to each of the places
	served, elsewhere atomic.Int64
}

// start sends so many clients on their way. None of their requests may fail until they are stopped.
func (n *nomads) start(count int) (stop func()) {
	done := make(chan struct{})
	var busy sync.WaitGroup
	for number := range count {
		busy.Go(func() { n.wander(number, done) })
	}
	stop = sync.OnceFunc(func() { close(done); busy.Wait() })
	n.t.Cleanup(stop)
	return stop
}

func (n *nomads) wander(number int, done <-chan struct{}) {
	next := number
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		next++
		return n.dial(ctx, next)
	}}
	defer transport.CloseIdleConnections()
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	for i := 1; ; i++ {
		if err := visit(transport, "http://ship.test/?wait=20ms"); err != nil {
			n.t.Errorf("a request was lost: %v", err)
			return
		}
		n.served.Add(1)
		if i%20 == 0 {
			transport.CloseIdleConnections() // The next connection goes to the next place.
		}
		select {
		case <-done:
			return
		case <-ticker.C:
		}
	}
}

// dial connects to a place, and to the one after it when the first one does not listen.
func (n *nomads) dial(ctx context.Context, first int) (net.Conn, error) {
	var failures []error
	for i := range n.places {
		at := (first + i) % len(n.places)
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", n.places[at])
		if err == nil {
			n.reached[at].Add(1)
			return connection, nil
		}
		n.elsewhere.Add(1)
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// reaches waits for a new connection to a place.
func (n *nomads) reaches(at int) {
	n.t.Helper()
	before := n.reached[at].Load()
	until(n.t, func() bool { return n.reached[at].Load() > before }, func() string {
		return fmt.Sprintf("there is no connection to %s", n.places[at])
	})
}

// visit makes one request.
func visit(transport http.RoundTripper, url string) error {
	request, err := http.NewRequest(http.MethodGet, url, http.NoBody) //nolint:noctx // None is given up.
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // It was read.
	if pod := response.Header.Get("X-Pod"); response.StatusCode != http.StatusOK || !strings.HasPrefix(pod, "port/ship-") {
		return fmt.Errorf("status %d from pod %q", response.StatusCode, pod)
	}
	return nil
}
