package docker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// handedOver is the configuration of both containers; BACKEND is a URL.
const handedOver = `
entryPoints: {web: {address: "127.0.0.1:80"}, traefik: {address: "127.0.0.1:8088"}}
providers: {file: {filename: /etc/sluice/routes.yaml}}
ping: {}
handover: {socket: /run/sluice/sluice.sock, drain: 5s, stay: true}
`

const handedOverRoutes = `
http:
  routers: {all: {rule: PathPrefix("/"), service: backend}}
  services: {backend: {loadBalancer: {servers: [{url: BACKEND}]}}}
`

// handOver replaces a container on the network of the host by a second one while clients send requests. None fails, and
// the engine restarts neither container. Both have the user and the capabilities that the documentation says.
func handOver(t *testing.T, e *engine) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "served")
	}))
	t.Cleanup(backend.Close)
	options, sockets := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		"sluice.yaml": handedOver, "routes.yaml": strings.ReplaceAll(handedOverRoutes, "BACKEND", backend.URL),
	} {
		if err := os.WriteFile(filepath.Join(options, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(name string) string {
		created, err := e.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Name: name,
			Config: &container.Config{
				Image: "sluice:dev", User: "0", Cmd: []string{"--configFile=/etc/sluice/sluice.yaml"},
				Healthcheck: &container.HealthConfig{
					Test:     []string{"CMD", "/sluice", "healthcheck", "--handover", "--configFile=/etc/sluice/sluice.yaml"},
					Interval: 200 * time.Millisecond, Timeout: 10 * time.Second, Retries: 1,
				},
			},
			HostConfig: &container.HostConfig{
				NetworkMode: "host", Binds: []string{options + ":/etc/sluice:ro", sockets + ":/run/sluice"},
				RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyUnlessStopped},
				CapDrop:       []string{"ALL"}, CapAdd: []string{"NET_BIND_SERVICE"},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		e.begin(created.ID)
		e.awaitHealth(created.ID, container.Healthy)
		return created.ID
	}
	old := begin("old")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var clients sync.WaitGroup
	var counts [2]atomic.Int64
	for i := range counts {
		clients.Go(func() { visit(ctx, t, i == 0, &counts[i]) })
	}
	more := func() {
		for i := range counts {
			before := counts[i].Load()
			harness.Until(t, "more requests", func() bool { return t.Failed() || counts[i].Load() > before })
		}
	}
	more()
	next := begin("new")
	more()
	e.awaitHealth(old, container.Unhealthy)
	if _, err := e.ContainerStop(t.Context(), old, client.ContainerStopOptions{}); err != nil {
		t.Fatal(err)
	}
	more()
	stop()
	clients.Wait()
	for name, id := range map[string]string{"old": old, "new": next} {
		state := e.inspect(id)
		if state.RestartCount != 0 || state.State.ExitCode != 0 || state.State.Running != (id == next) {
			t.Errorf("the %s container has restarted %d times: %+v", name, state.RestartCount, state.State)
		}
	}
	t.Logf("requests: %d on a kept connection, %d on new ones", counts[0].Load(), counts[1].Load())
}

// inspect returns the state of a container.
func (e *engine) inspect(id string) container.InspectResponse {
	e.t.Helper()
	result, err := e.ContainerInspect(e.t.Context(), id, client.ContainerInspectOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	return result.Container
}

// awaitHealth waits until the engine has found a container healthy, or not.
func (e *engine) awaitHealth(id string, want container.HealthStatus) {
	e.t.Helper()
	eventually(e.t, "a container is "+string(want), func() bool {
		state := e.inspect(id).State
		return state.Health != nil && state.Health.Status == want
	})
}

// visit sends requests until ctx ends, each on a connection of its own unless they are kept. The first that fails is an
// error.
func visit(ctx context.Context, t *testing.T, kept bool, count *atomic.Int64) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: !kept}
	defer transport.CloseIdleConnections()
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	for ctx.Err() == nil {
		request, err := http.NewRequest(http.MethodGet, "http://127.0.0.1/", http.NoBody) //nolint:noctx // None is given up.
		if err != nil {
			t.Error(err)
			return
		}
		response, err := transport.RoundTrip(request)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		if err == nil && response.StatusCode != http.StatusOK {
			err = errors.New(response.Status)
		}
		if err != nil {
			t.Errorf("after %d requests, connection kept: %t: %v", count.Load(), kept, err)
			return
		}
		count.Add(1)
		<-pace.C
	}
}
