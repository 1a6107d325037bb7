package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/http2/client"
)

// againstServer is a rig whose endpoint is net/http's server, which sends bodies back.
func againstServer(t testing.TB, config client.Config) *rig {
	t.Helper()
	return serverOf(t, config, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
}

func serverOf(t testing.TB, config client.Config, handler http.HandlerFunc) *rig {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	config.Dial = func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	g := rigOf(t, config, nil)
	g.dial = config.Dial
	return g
}
