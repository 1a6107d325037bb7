package kubernetes

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"testing"
)

// listen is serve for callers that need only the address.
func listen(t testing.TB, address, name string, settings *tls.Config) string {
	t.Helper()
	return serve(t, address, name, settings).Addr
}

// serve answers everything at an address with a name in X-Pod, by TLS if there are settings, until it is closed or the
// test ends. It is what is not a pod: an address of a Service or of a node, a server outside, an endpoint by hand.
func serve(t testing.TB, address, name string, settings *tls.Config) *http.Server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Addr: listener.Addr().String(), TLSConfig: settings, ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Pod", name)
			if r.TLS != nil {
				w.Header().Set("X-Server-Name", r.TLS.ServerName)
			}
		}),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if settings != nil {
			_ = server.ServeTLS(listener, "", "") // returns ErrServerClosed
			return
		}
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	return server
}
