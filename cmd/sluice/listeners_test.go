package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// An address that a listener would share with an entrypoint of the process is refused: with reusePort the kernel would
// hand a part of the entrypoint's clients to the listener.
func TestListenersDoNotShareAnEntrypoint(t *testing.T) {
	s := sockets{&system{config: &static.Configuration{EntryPoints: map[string]*static.EntryPoint{
		"alone": {Address: ":8444"},
		"web":   {Address: ":8443", ReusePort: true, HTTP3: &static.HTTP3{}},
		"local": {Address: "127.0.0.1:8445", ReusePort: true},
		"named": {Address: "localhost:8446", ReusePort: true},
	}}}}
	for _, address := range []router.Address{
		{Network: "tcp", HostPort: ":8443"},
		{Network: "tcp", HostPort: "0.0.0.0:8443"},
		{Network: "tcp", HostPort: "[::]:8443"},
		{Network: "udp", HostPort: ":8443"},
		{Network: "tcp", HostPort: "127.0.0.1:8445"},
		{Network: "tcp", HostPort: "127.0.0.1:8446"},
	} {
		server, err := s.Server(router.Socket{Address: address, Template: "web"})
		if server != nil || err == nil || !strings.Contains(err.Error(), "reusePort would divide its clients") {
			t.Errorf("%s: %v, %v", address, server, err)
		}
	}
	for _, apart := range []static.EntryPoint{
		{Address: ":8444", ReusePort: true}, // It cannot be bound a second time.
		{Address: ":8443"},
		{Address: ":9443", ReusePort: true},
		{Address: "127.0.0.2:8445", ReusePort: true},
		{Address: ":8445/udp", ReusePort: true},
	} {
		if err := s.checkReusePort(&apart); err != nil {
			t.Errorf("%s: %v", apart.Address, err)
		}
	}
}

// TestRemovedListenersAreNotCountedForever proves that what counts the requests of an address keeps no more than twice
// the listeners that there are, and counts those of all.
func TestRemovedListenersAreNotCountedForever(t *testing.T) {
	exist := map[string]bool{}
	counters := metrics.New(metrics.Options{EntryPoints: true})
	counting := &listenerRequests{counters: counters, exist: func() map[string]bool { return exist }}
	const living, generations = 100, 50
	for generation := range generations {
		clear(exist)
		for i := range living {
			name := fmt.Sprintf("g%d_l%d@kubernetesgateway", generation, i)
			exist[name] = true
			for range 2 {
				counting.Finished(&telemetry.Record{
					Entrypoint: name, Method: "GET", Protocol: "http", Status: 200, Observe: telemetry.ObserveMetrics,
				})
			}
		}
	}
	known := 0
	for range counting.known.Range {
		known++
	}
	if known < living || known > 2*living+1 {
		t.Errorf("%d listeners are known, want %d to %d", known, living, 2*living+1)
	}
}
