package metrics

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stream returns a connection of which an endpoint was tried in vain.
func stream() *Stream {
	return &Stream{
		Router: "db@file", Service: "servers@file", End: "client_eof", Undialled: 1, BytesReceived: 10, BytesSent: 2000,
		Duration: 90 * time.Second,
	}
}

func TestConnectionsAndSessionsAreCounted(t *testing.T) {
	metrics := New(Options{})
	entrypoint := metrics.Entrypoint("postgres")
	entrypoint.CountStream(stream())
	other := stream()
	other.Service, other.Duration, other.Undialled = "spare@file", 100*time.Millisecond, 0
	entrypoint.CountStream(other)
	entrypoint.CountStream(&Stream{Router: "db@file", End: "forbidden"})
	session := &Stream{
		Datagrams: true, Router: "db@file", Service: "servers@file", End: "idle", BytesReceived: 64, BytesSent: 512,
		DatagramsReceived: 2, DatagramsSent: 3, Duration: time.Second,
	}
	metrics.Entrypoint("dns").CountStream(session)
	metrics.Entrypoint("dns").CountStream(session)
	page := scrape(t, metrics)
	const labels = `{entrypoint="postgres",router="db@file",service="servers@file"`
	const udp = `{%s,entrypoint="dns",router="db@file",service="servers@file"} %d`
	demand(t, page,
		`sluice_tcp_connections_total{end="client_eof",entrypoint="postgres",router="db@file",service="servers@file"} 1`,
		`sluice_tcp_connections_total{end="client_eof",entrypoint="postgres",router="db@file",service="spare@file"} 1`,
		`sluice_tcp_connections_total{end="forbidden",entrypoint="postgres",router="db@file",service=""} 1`,
		`sluice_tcp_bytes_total{direction="received",entrypoint="postgres",router="db@file",service="servers@file"} 10`,
		`sluice_tcp_bytes_total{direction="sent",entrypoint="postgres",router="db@file",service="servers@file"} 2000`,
		`sluice_tcp_dial_errors_total`+labels+`} 1`,
		`sluice_tcp_connection_duration_seconds_bucket{router="db@file",le="0.1"} 2`,
		`sluice_tcp_connection_duration_seconds_bucket{router="db@file",le="60"} 2`,
		`sluice_tcp_connection_duration_seconds_bucket{router="db@file",le="600"} 3`,
		`sluice_tcp_connection_duration_seconds_count{router="db@file"} 3`,
		`sluice_tcp_connection_duration_seconds_sum{router="db@file"} 90.1`,
		`sluice_udp_sessions_total`+fmt.Sprintf(udp, `end="idle"`, 2),
		`sluice_udp_bytes_total`+fmt.Sprintf(udp, `direction="sent"`, 1024),
		`sluice_udp_datagrams_total`+fmt.Sprintf(udp, `direction="received"`, 4),
		`sluice_udp_datagrams_total`+fmt.Sprintf(udp, `direction="sent"`, 6))
	if traffic := metrics.Traffic(TrafficEntrypoints, []string{"postgres"})[0]; traffic.Requests != 0 {
		t.Errorf("%d requests are counted of connections", traffic.Requests)
	}
}

func TestOpenConnectionsAreThoseOfTCPPools(t *testing.T) {
	metrics := New(Options{})
	metrics.Register(Pools(slices.Values([]PoolStatus{
		{Protocol: "http", Service: "a@file", Endpoints: map[string]int{"serving": 1}, InFlight: 7},
		{Protocol: "tcp", Service: "a@file", Endpoints: map[string]int{"serving": 2}, InFlight: 3},
		{Protocol: "udp", Service: "a@file", Endpoints: map[string]int{"ejected": 1}, InFlight: 5},
	}))...)
	page := scrape(t, metrics)
	demand(t, page,
		`sluice_service_endpoints{protocol="http",service="a@file",state="serving"} 1`,
		`sluice_service_endpoints{protocol="tcp",service="a@file",state="serving"} 2`,
		`sluice_service_endpoints{protocol="udp",service="a@file",state="ejected"} 1`,
		`sluice_service_in_flight{service="a@file"} 7`, `sluice_tcp_connections_open{service="a@file"} 3`)
}

func TestDatagramServersAreRead(t *testing.T) {
	metrics := New(Options{})
	metrics.Register(DatagramServers(func() []DatagramServer {
		return []DatagramServer{{EntryPoint: "dns", Sessions: 12, Dropped: map[string]uint64{"no_route": 3, "overflow": 0}}}
	})...)
	demand(t, scrape(t, metrics), `sluice_udp_sessions_open{entrypoint="dns"} 12`,
		`sluice_udp_dropped_total{cause="no_route",entrypoint="dns"} 3`,
		`sluice_udp_dropped_total{cause="overflow",entrypoint="dns"} 0`)
}

// TestSeriesOfRemovedTCPRoutersAreDropped removes a router, has a connection of it end later, and brings it back.
func TestSeriesOfRemovedTCPRoutersAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics := New(Options{})
		names := StreamNames{map[string]bool{"db@file": true}, map[string]bool{"servers@file": true}}
		metrics.ServeStreamsOnly(func() (tcp, udp StreamNames) { return names, StreamNames{} })
		entrypoint := metrics.Entrypoint("postgres")
		count := func(want int) {
			t.Helper()
			got, line := scrape(t, metrics), fmt.Sprintf(`router="db@file",service="servers@file"} %d`, want)
			if shown := strings.Contains(got, line); shown != (want > 0) {
				t.Errorf("%s is shown: %t", line, shown)
			}
			if want == 0 && strings.Contains(got, "sluice_tcp_") {
				t.Error("series of a removed router are shown")
			}
		}
		entrypoint.CountStream(stream())
		pass := func(d time.Duration) { <-time.NewTimer(d).C }
		pass(time.Hour)
		count(1)
		names.Routers = nil
		count(1)
		pass(removedFor - time.Second)
		entrypoint.CountStream(stream())
		count(2)
		pass(removedFor - time.Second)
		count(2)
		pass(2 * time.Second)
		count(0)
		entrypoint.CountStream(stream())
		count(1)
		names.Routers = map[string]bool{"db@file": true}
		names.Services = nil
		count(1)
		pass(removedFor + time.Second)
		count(0)
	})
}

// TestNoConnectionIsLost counts while series are dropped, and adds up what those and the last ones have counted.
func TestNoConnectionIsLost(t *testing.T) {
	const each, counters = 2000, 4
	streams, seen := &Streams{}, uint64(0)
	key := streamKey{entrypoint: "web", router: stream().Router, service: stream().Service}
	drop := func() {
		known, found := streams.series.Load(key)
		if !found {
			return
		}
		series := known.(*streamSeries)
		counts := series.read()
		if series.counted = counts.total(); series.drop() {
			seen += series.counted
			streams.series.CompareAndDelete(key, known)
		}
	}
	var group sync.WaitGroup
	for range counters {
		group.Go(func() {
			for range each {
				streams.count("web", stream())
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		drop()
	}
	if seen != counters*each {
		t.Errorf("%d connections are counted, want %d", seen, counters*each)
	}
}

func TestCountingAConnectionIsCheap(t *testing.T) {
	metrics := New(Options{})
	entrypoint, counted := metrics.Entrypoint("postgres"), stream()
	entrypoint.CountStream(counted)
	if allocations := testing.AllocsPerRun(100, func() { entrypoint.CountStream(counted) }); allocations > 1 {
		t.Errorf("%v allocations, want at most 1", allocations)
	}
}

func BenchmarkCountStream(b *testing.B) {
	entrypoint, counted := New(Options{}).Entrypoint("postgres"), stream()
	b.ReportAllocs()
	for b.Loop() {
		entrypoint.CountStream(counted)
	}
}
