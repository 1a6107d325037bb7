package bench

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// static is the configuration of a Sluice that reads a directory. The log reports new tables.
const static = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
log: {level: DEBUG}
ping: {}
metrics: {prometheus: {entryPoint: traefik}}
providers:
  file: {directory: "${DYNAMIC}", watch: true}
`

// start starts a Sluice on a declaration, and waits until it is ready.
func start(tb testing.TB, d *declaration) *harness.Sluice {
	tb.Helper()
	return harness.Start(tb, harness.Setup{Static: static, Dynamic: d.texts()})
}

// backend starts an endpoint, and returns its host and port.
func backend(tb testing.TB) string {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	tb.Cleanup(server.Close)
	return server.Listener.Addr().String()
}
