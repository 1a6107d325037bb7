package health

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"
)

// BenchmarkIdleProbes measures what ten thousand probes hold between their checks, and what the first round of
// checks costs beside the wire.
func BenchmarkIdleProbes(b *testing.B) {
	const probes = 10_000
	server := &silentEndpoint{}
	check := every(b, time.Hour, nil)
	before := runtime.NumGoroutine()
	var held, goroutines uint64
	for b.Loop() {
		prober := NewProber(64)
		begin := heap()
		var first sync.WaitGroup
		first.Add(probes)
		done := func(Result) { first.Done() }
		for range probes {
			prober.Start(server.target(), check, done)
		}
		first.Wait()
		prober.idle()
		if now := heap(); now > begin { // What the round before has stopped may go during this one.
			held = max(held, now-begin)
		}
		goroutines = uint64(runtime.NumGoroutine() - before)
		prober.Close()
	}
	b.ReportMetric(float64(held)/probes, "B/probe")
	b.ReportMetric(float64(goroutines), "goroutines")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/probes, "ns/check")
}

// idle waits until no worker runs.
func (p *Prober) idle() { p.workers.Wait() }

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkStartStop measures what an endpoint that comes and goes costs beside the wire.
func BenchmarkStartStop(b *testing.B) {
	prober, server, check := NewProber(64), &silentEndpoint{}, every(b, time.Hour, nil)
	defer prober.Close()
	b.ReportAllocs()
	for b.Loop() {
		prober.Start(server.target(), check, func(Result) {}).Stop()
	}
}

// silentEndpoint is healthy and records nothing.
type silentEndpoint struct{}

func (e *silentEndpoint) target() Target {
	return Target{Scheme: "http", Address: netip.MustParseAddrPort("192.0.2.1:80"), Connect: e}
}

// RoundTripper returns the endpoint itself.
func (e *silentEndpoint) RoundTripper(string, netip.AddrPort, string) Client { return e }

// Dial is for checks of TCP.
func (e *silentEndpoint) Dial(context.Context, string, netip.AddrPort, string) (net.Conn, error) {
	return nil, errors.ErrUnsupported
}

// RoundTrip answers.
func (e *silentEndpoint) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// CloseIdleConnections has nothing to close.
func (e *silentEndpoint) CloseIdleConnections() {}
