package start

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestFirstProbes requests /ping and /ready from the moment at which the entrypoint listens, while a provider has no
// state yet: no probe of a Sluice that starts is answered 404.
func TestFirstProbes(t *testing.T) {
	t.Parallel()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	address := harness.FreeAddress(t)
	harness.Start(t, harness.Setup{
		Static: `
entryPoints:
  traefik: {address: "` + address + `"}
providers:
  docker: {endpoint: "tcp://` + silent.Addr().String() + `"}
ping: {}
`,
		NotReady: true,
	})
	for _, probe := range []struct {
		path   string
		status int
	}{{"/ready", http.StatusServiceUnavailable}, {"/ping", http.StatusOK}} {
		if got := firstStatus(t, "http://"+address+probe.path); got != probe.status {
			t.Errorf("%s: status %d, want %d", probe.path, got, probe.status)
		}
	}
}

// firstStatus returns the status of the first response.
func firstStatus(t *testing.T, url string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
			return response.StatusCode
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatal("no response in time")
		}
	}
}
