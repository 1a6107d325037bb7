package deploy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const upgraded = `
entryPoints:
  web: {address: "${WEB}", transport: {lifeCycle: {requestAcceptGraceTimeout: 300ms, graceTimeOut: 10s}}}
  traefik: {address: "127.0.0.1:0"}
providers: {file: {directory: "${DYNAMIC}"}}
ping: {}
`

const upgradedRoutes = `
http:
  routers: {all: {rule: PathPrefix("/"), service: slow}}
  services: {slow: {loadBalancer: {servers: [{url: "${BACKEND}"}]}}}
`

// TestAnUpgradeLosesNothing replaces Sluice on two nodes, one after the other, as the DaemonSet does: SIGTERM, and
// another one on the same port once the old one has ended. Clients go to the other node when the first one takes no
// connection, and retry nothing else. None of their requests fails.
func TestAnUpgradeLosesNothing(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(20 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "served")
	}))
	t.Cleanup(backend.Close)
	launch := func(address string) *harness.Sluice {
		return harness.Start(t, harness.Setup{
			Static: upgraded, Dynamic: map[string]string{"routes.yaml": upgradedRoutes},
			Vars: map[string]string{"BACKEND": backend.URL, "WEB": address},
		})
	}
	// No connection takes these ports while nothing listens.
	addresses := []string{harness.FreeAddress(t), harness.FreeAddress(t)}
	nodes := []*harness.Sluice{launch(addresses[0]), launch(addresses[1])}
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var served, elsewhere atomic.Int64
	for first := range 8 {
		clients.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			for ctx.Err() == nil {
				err := visit(transport, addresses[first%2])
				if refused(err) {
					elsewhere.Add(1)
					err = visit(transport, addresses[(first+1)%2])
				}
				if err != nil {
					t.Errorf("a request was lost: %v", err)
					return
				}
				served.Add(1)
			}
		})
	}
	for i, node := range nodes {
		before := served.Load()
		node.Stop()
		nodes[i] = launch(addresses[i])
		if served.Load() == before {
			t.Errorf("no request was served while node %d was replaced", i)
		}
	}
	cancel()
	clients.Wait()
	t.Logf("%d requests, of which %d went to the other node", served.Load(), elsewhere.Load())
	if elsewhere.Load() == 0 {
		t.Error("no node ever refused a connection, so this shows nothing")
	}
}

// visit makes one request and reads the answer.
func visit(transport *http.Transport, address string) error {
	request, err := http.NewRequest(http.MethodGet, "http://"+address+"/", http.NoBody) //nolint:noctx // None is given up.
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // It was read.
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || string(body) != "served") {
		err = errors.New(response.Status + ": " + string(body))
	}
	return err
}

// refused reports whether no connection was made, so that no request can have been lost.
func refused(err error) bool {
	failure, ok := errors.AsType[*net.OpError](err)
	return ok && failure.Op == "dial"
}
