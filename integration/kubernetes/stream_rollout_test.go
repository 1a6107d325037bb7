package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

const (
	// replicas is how many endpoints there are, replacements how many are replaced.
	replicas, replacements = 3, 4
	// kept is how many connections and sessions are kept, opening how many clients open new ones all the time.
	kept, opening = 12, 3
	// certain is how many new connections in a row show where new ones go: many times around all endpoints.
	certain = 10 * replicas
)

// streamStatic has an entrypoint for TCP and one for UDP.
const streamStatic = `
entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}, tcp: {address: "127.0.0.1:0"},
  udp: {address: "127.0.0.1:0/udp", udp: {timeout: 2m}, transport: {lifeCycle: {graceTimeOut: 100ms}}}}
ping: {}
log: {level: DEBUG}
providers: {kubernetesCRD: {}}
`

// streamRoutes are a Service without selector, and its routes.
const streamRoutes = `
---
apiVersion: v1
kind: Service
metadata: {name: echo, namespace: streams}
spec:
  clusterIP: None
  ports: [{name: tcp, port: 7000, protocol: TCP}, {name: udp, port: 7000, protocol: UDP}]
---
apiVersion: sluice.dev/v1alpha1
kind: IngressRouteTCP
metadata: {name: echo, namespace: streams}
spec: {entryPoints: [tcp], routes: [{match: HostSNI(` + "`*`" + `), services: [{name: echo, port: tcp}]}]}
---
apiVersion: sluice.dev/v1alpha1
kind: IngressRouteUDP
metadata: {name: echo, namespace: streams}
spec: {entryPoints: [udp], routes: [{services: [{name: echo, port: udp}]}]}
`

// TestStreamRollout replaces the endpoints of an IngressRouteTCP and an IngressRouteUDP one by one. Connections break
// only with the endpoint that has them, and no new one fails; sessions stay with their endpoint while it is there, and
// each datagram is answered.
func TestStreamRollout(t *testing.T) {
	c := prepare(t, "sluice.dev")
	c.Apply(namespace("streams"), streamRoutes)
	r := &rollout{t: t, cluster: c}
	for range replicas {
		next := r.next()
		next.listen()
		r.current = append(r.current, next)
	}
	r.announce(nil)
	r.gate = open(t, c, streamStatic)
	for _, network := range []string{"tcp", "udp"} {
		until(t, func() bool { _, err := r.fresh(network); return err == nil }, func() string {
			return network + " is served" + r.gate.tail()
		})
	}
	stop := r.attend()
	for round := range replacements {
		r.replace(round)
	}
	stop()
	t.Logf("%d connections opened, %d kept ones ended with their replica; %d sessions opened, %d moved on, "+
		"%d datagrams sent again", r.opened.Load(), r.ended.Load(), r.begun.Load(), r.moved.Load(), r.again.Load())
	if r.ended.Load() == 0 || r.moved.Load() == 0 {
		t.Error("no replica that has left had a connection and a session")
	}
}

// rollout is a Service whose endpoints are replaced.
type rollout struct {
	t       testing.TB
	cluster *cluster.Cluster
	gate    *gate
	// current are the endpoints, the oldest first, and all those that there ever were, by their address.
	current []*replica
	mu      sync.Mutex
	all     map[string]*replica
	sources sources

	opened, ended, begun, moved, again atomic.Int64
}

// next makes a replica with an address of its own.
func (r *rollout) next() *replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]*replica{}
	}
	one := newReplica(r.t, fmt.Sprintf("198.18.7.%d", len(r.all)+1))
	r.all[one.address] = one
	return one
}

// hasLeft reports whether the replica with an address has left.
func (r *rollout) hasLeft(address string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[address].left.Load()
}

// announce writes the EndpointSlices. One that is on its way out is ready no more, and serves its connections still.
func (r *rollout) announce(leaving *replica) {
	r.t.Helper()
	var endpoints []string
	for _, one := range r.current {
		endpoints = append(endpoints, "{addresses: ["+one.address+"], conditions: {ready: true}}")
	}
	if leaving != nil {
		endpoints = append(endpoints, "{addresses: ["+leaving.address+
			"], conditions: {ready: false, serving: true, terminating: true}}")
	}
	for _, protocol := range []string{"tcp", "udp"} {
		r.cluster.Apply(strings.NewReplacer("NAME", protocol, "PROTOCOL", strings.ToUpper(protocol), "ENDPOINTS",
			strings.Join(endpoints, ", ")).Replace(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: echo-NAME, namespace: streams, labels: {kubernetes.io/service-name: echo}}
addressType: IPv4
ports: [{name: NAME, port: 7000, protocol: PROTOCOL}]
endpoints: [ENDPOINTS]
`))
	}
}

// replace adds a new replica and takes the oldest one away: it is not ready, then gone from the slices, and then it
// leaves. Every other new replica is announced before it listens.
func (r *rollout) replace(round int) {
	r.t.Helper()
	oldest, newest := r.current[0], r.next()
	late := round%2 == 1
	if !late {
		newest.listen()
	}
	r.current = append(r.current, newest)
	r.announce(nil)
	if late {
		for range certain {
			r.mustFresh("tcp")
			r.mustFresh("udp")
		}
		newest.listen()
	}
	for _, network := range []string{"tcp", "udp"} {
		until(r.t, func() bool { return r.mustFresh(network) == newest.address }, func() string {
			return "a new replica gets none of new " + network
		})
	}
	conn, session := r.with(oldest, "tcp"), r.with(oldest, "udp")
	r.current = r.current[1:]
	r.announce(oldest)
	r.avoids(oldest)
	r.announce(nil)
	r.avoids(oldest)
	for what, one := range map[string]*talk{"connection": conn, "session": session} {
		if got, err := one.exchange("after"); err != nil || got != oldest.address {
			r.t.Errorf("a %s of %s is answered by %q, %v, after it was taken away", what, oldest.address, got, err)
		}
	}
	oldest.leave()
	if got, err := conn.exchange("gone"); err == nil {
		r.t.Errorf("a connection of %s is answered by %s after it has left", oldest.address, got)
	}
	// One datagram, which is sent once.
	if got, err := session.exchange("gone"); err != nil || r.hasLeft(got) {
		r.t.Errorf("a datagram to %s is answered by %q, %v, after it has left", oldest.address, got, err)
	}
}

// with returns a connection or a session that a replica has.
func (r *rollout) with(one *replica, network string) *talk {
	r.t.Helper()
	var found *talk
	until(r.t, func() bool {
		fresh, err := r.sources.dial(r.t.Context(), network, r.gate.Addr(network))
		if err != nil {
			r.t.Fatal(err)
		}
		_ = fresh.conn.SetDeadline(time.Now().Add(timeout))
		got, err := fresh.exchange("whose")
		if err == nil && got == one.address {
			found = fresh
			return true
		}
		_ = fresh.conn.Close()
		return false
	}, func() string { return "no " + network + " goes to " + one.address })
	r.t.Cleanup(func() { _ = found.conn.Close() })
	return found
}

// avoids waits until nothing new goes to a replica, and checks that it stays so.
func (r *rollout) avoids(one *replica) {
	r.t.Helper()
	for _, network := range []string{"tcp", "udp"} {
		row := 0
		until(r.t, func() bool {
			if row++; r.mustFresh(network) == one.address {
				row = 0
			}
			return row == certain
		}, func() string { return "new " + network + " goes to " + one.address + " still" })
		for range certain {
			if r.mustFresh(network) == one.address {
				r.t.Errorf("new %s goes to %s again", network, one.address)
			}
		}
	}
}

// fresh makes a connection or a session, and returns the address of its replica.
func (r *rollout) fresh(network string) (string, error) {
	one, err := r.sources.dial(r.t.Context(), network, r.gate.Addr(network))
	if err != nil {
		return "", err
	}
	defer func() { _ = one.conn.Close() }()
	_ = one.conn.SetDeadline(time.Now().Add(timeout))
	return one.exchange("hello")
}

func (r *rollout) mustFresh(network string) string {
	r.t.Helper()
	address, err := r.fresh(network)
	if err != nil {
		r.t.Fatalf("new %s fails: %v%s", network, err, r.gate.tail())
	}
	return address
}

// attend starts clients, and returns what ends them.
func (r *rollout) attend() (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	var busy sync.WaitGroup
	addresses := map[string]string{"tcp": r.gate.Addr("tcp"), "udp": r.gate.Addr("udp")}
	for range kept {
		busy.Go(func() { r.keepConnections(ctx, addresses["tcp"]) })
		busy.Go(func() { r.keepSession(ctx, addresses["udp"]) })
	}
	for range opening {
		busy.Go(func() {
			each(ctx, pause, func() {
				if _, err := r.fresh("tcp"); err != nil {
					r.t.Errorf("a new connection fails: %v", err)
				}
				r.opened.Add(1)
			})
		})
		busy.Go(func() {
			each(ctx, 10*pause, func() {
				if one, err := r.sources.dial(ctx, "udp", addresses["udp"]); err == nil {
					r.datagram(ctx, one, "new")
					_ = one.conn.Close()
				}
				r.begun.Add(1)
			})
		})
	}
	stop = sync.OnceFunc(func() { cancel(); busy.Wait() })
	r.t.Cleanup(stop)
	return stop
}

// each calls a function until the context ends.
func each(ctx context.Context, pause time.Duration, do func()) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// keepConnections uses one connection as long as its replica is there, and then the next.
func (r *rollout) keepConnections(ctx context.Context, address string) {
	for ctx.Err() == nil {
		one, err := r.sources.dial(ctx, "tcp", address)
		if err != nil {
			return
		}
		_ = one.conn.SetDeadline(time.Now().Add(10 * timeout))
		using, broken := context.WithCancel(ctx)
		mine := ""
		each(using, 10*pause, func() {
			got, err := one.exchange("kept")
			switch {
			case err != nil && mine != "" && r.hasLeft(mine):
				r.ended.Add(1)
				broken()
			case err != nil:
				r.t.Errorf("a connection of %q breaks: %v", mine, err)
				broken()
			case mine != "" && got != mine:
				r.t.Errorf("a connection of %s is answered by %s", mine, got)
			default:
				mine = got
			}
		})
		broken()
		_ = one.conn.Close()
	}
}

// keepSession uses one session, which stays with its replica as long as that is there.
func (r *rollout) keepSession(ctx context.Context, address string) {
	one, err := r.sources.dial(ctx, "udp", address)
	if err != nil {
		return
	}
	defer func() { _ = one.conn.Close() }()
	mine, number := "", 0
	each(ctx, 10*pause, func() {
		number++
		got := r.datagram(ctx, one, fmt.Sprint("kept ", number))
		switch {
		case got == "":
			return
		case mine != "" && got != mine && !r.hasLeft(mine):
			r.t.Errorf("a session of %s is answered by %s", mine, got)
		case mine != "" && got != mine:
			r.moved.Add(1)
		}
		mine = got
	})
}

// datagram sends a datagram, again each second until it is answered, and returns the address of its replica: the one
// that leaves may have taken it.
func (r *rollout) datagram(ctx context.Context, one *talk, text string) string {
	for limit := time.Now().Add(timeout); ; r.again.Add(1) {
		_ = one.conn.SetDeadline(time.Now().Add(time.Second))
		got, err := one.exchange(text)
		switch {
		case err == nil:
			return got
		case ctx.Err() != nil:
			return ""
		case !errors.Is(err, os.ErrDeadlineExceeded), time.Now().After(limit):
			r.t.Errorf("a datagram is not answered: %v", err)
			return ""
		}
	}
}
