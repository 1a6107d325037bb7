package rig

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/server"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Serve serves a handler over h1, h2 or h2c, as an entrypoint does but without one, and returns its URL and a client.
// The record of each request goes into the channel.
func Serve(t *testing.T, protocol string, handler http.Handler) (string, *http.Client, chan telemetry.Record) {
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
		front := Listen(t, protocol, recorded)
		client := front.Client()
		wire := client.Transport.(*http.Transport)
		wire.DisableCompression = true
		if protocol == "h2c" {
			wire.Protocols = new(http.Protocols)
			wire.Protocols.SetUnencryptedHTTP2(true)
		}
		return front.URL, client, records
	}
	wire := &http.Transport{DisableCompression: true}
	t.Cleanup(wire.CloseIdleConnections)
	front := http1test.Serve(t, &server.Server{Handler: recorded}, nil)
	return "http://" + front.Address, &http.Client{Transport: wire}, records
}

// Listen starts a server of the standard library for h1, h2 or h2c.
func Listen(t *testing.T, protocol string, handler http.Handler) *httptest.Server {
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

// Service returns a service with one endpoint.
func Service(t *testing.T, name, url string) http.Handler {
	t.Helper()
	transport, err := forward.NewTransport("test@file", &dynamic.ServersTransport{InsecureSkipVerify: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := loadbalancer.NewServerSpec(dynamic.Server{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	pool := registry.NewPool(name)
	registry.Configure(pool, loadbalancer.PoolSpec{
		Name: name, Dialer: transport,
		Servers: []loadbalancer.ServerSpec{spec},
	})
	t.Cleanup(func() { registry.Release(name) })
	return forward.NewService(pool, forward.Options{Service: name, PassHostHeader: true, FlushInterval: -1})
}
