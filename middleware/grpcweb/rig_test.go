package grpcweb

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// serve starts a server of a protocol (h1, h2, h2c), as an entrypoint does, and returns its URL and a client. The
// record of each request goes into the channel.
func serve(t *testing.T, protocol string, handler http.Handler) (string, *http.Client, chan telemetry.Record) {
	t.Helper()
	records := make(chan telemetry.Record, 1000)
	recorded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record := &telemetry.Record{}
		defer func() { records <- *record }()
		handler.ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), record)))
		if record.Status == telemetry.StatusClientClosedRequest {
			panic(http.ErrAbortHandler)
		}
	})
	if protocol != "h1" {
		server := listen(t, protocol, recorded)
		client := server.Client()
		wire := client.Transport.(*http.Transport)
		wire.DisableCompression = true
		if protocol == "h2c" {
			wire.Protocols = new(http.Protocols)
			wire.Protocols.SetUnencryptedHTTP2(true)
		}
		return server.URL, client, records
	}
	wire := &http.Transport{DisableCompression: true}
	t.Cleanup(wire.CloseIdleConnections)
	return "http://" + ownServer(t, recorded), &http.Client{Transport: wire}, records
}

func ownServer(t *testing.T, handler http.Handler) (address string) {
	t.Helper()
	server := &server.Server{Handler: handler}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { server.ServeConn(context.Background(), conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		_ = server.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

// listen starts a server of the standard library.
func listen(t *testing.T, protocol string, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	switch protocol {
	case "h2":
		server.EnableHTTP2 = true
		server.StartTLS()
	case "h2c":
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Config.Protocols.SetHTTP1(true)
		server.Start()
	default:
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

// toEndpoint returns a service with one endpoint.
func toEndpoint(t *testing.T, name, url string) http.Handler {
	t.Helper()
	transport, err := forward.NewTransport("test@file", &dynamic.ServersTransport{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	server, err := loadbalancer.NewServerSpec(dynamic.Server{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	pool := registry.NewPool(name)
	registry.Configure(pool, loadbalancer.PoolSpec{
		Name: name, Dialer: transport,
		Servers: []loadbalancer.ServerSpec{server},
	})
	t.Cleanup(func() { registry.Release(name) })
	return forward.NewService(pool, forward.Options{Service: name, PassHostHeader: true, FlushInterval: -1})
}

func request(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
