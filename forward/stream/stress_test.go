package stream_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// TestChangesUnderLoad has clients come and go while servers join, leave and are drained: each is connected to a server
// that lists, and all are counted out.
func TestChangesUnderLoad(t *testing.T) {
	const clients, rounds = 8, 50
	sets := [][]string{
		{listen(t, echo), listen(t, echo)},
		{listen(t, echo), refusing(t)},
	}
	policies := loadbalancer.Policies{DrainTime: time.Nanosecond, Limits: loadbalancer.Limits{PerEndpoint: clients}}
	g := newRig(t, setup{
		servers: servers(sets[0]...), policies: policies, quiet: true, transport: forEver(),
		options: stream.Options{Attempts: 2},
	})
	stop := make(chan struct{})
	var working sync.WaitGroup
	for range clients {
		working.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", g.address)
				if err != nil {
					continue // It was reset at once.
				}
				if _, err := io.WriteString(conn, "x"); err == nil {
					_, _ = io.ReadFull(conn, make([]byte, 1)) // It may have been cut.
				}
				_ = conn.Close()
			}
		})
	}
	var endpoints []*loadbalancer.Endpoint
	for round := range rounds {
		for member := range g.pool.Snapshot().Members() {
			endpoints = append(endpoints, member.Endpoint())
		}
		g.configure(t, setup{servers: servers(sets[round%2]...), policies: policies})
		g.registry.Flush(time.Now().Add(time.Hour))
	}
	close(stop)
	working.Wait()
	deadline := time.NewTimer(eventTimeout)
	defer deadline.Stop()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for _, endpoint := range endpoints {
		for endpoint.InFlight() != 0 {
			select {
			case <-deadline.C:
				t.Fatalf("%d connections to %v", endpoint.InFlight(), endpoint.Key().Address)
			case <-again.C:
			}
		}
	}
}
