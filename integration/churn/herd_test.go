package churn

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

const (
	// checkPath is the path of health checks.
	checkPath = "/health"
	// notice is how long after its removal an endpoint may get a request or a check, on a busy machine; grace is how long
	// it keeps serving, so that none of those fails.
	notice = 3 * time.Second
	grace  = 5 * time.Second
	// fewest and most bound how many endpoints take requests, and how many the set has.
	fewest = 60
	most   = 300
)

// pod is an endpoint with a server of its own.
type pod struct {
	dynamic.Endpoint

	herd   *herd
	name   string
	server *http.Server
	ended  chan struct{}
	open   atomic.Int64 // connections
	// dismissed and removed are when it was called to take no more requests, and when it left the set, as nanoseconds
	// since the epoch of Unix; 0 while it has not.
	dismissed, removed atomic.Int64
}

// herd is all endpoints. One goroutine changes it.
type herd struct {
	t       testing.TB
	random  *rand.Rand
	send    func(dynamic.EndpointSet)
	version uint64
	born    int
	in      []*pod // the set
	out     []*pod // removed ones that still serve, oldest first
	changes map[string]int

	open             atomic.Int64 // connections to all
	checks           atomic.Int64
	late, lateChecks atomic.Int64
}

func newHerd(t testing.TB, s *stack) *herd {
	h := &herd{t: t, random: rand.New(rand.NewPCG(1, 2)), changes: map[string]int{}} //nolint:gosec // The same changes each time.
	h.send = func(set dynamic.EndpointSet) { s.source <- dynamic.Message{Endpoints: []dynamic.EndpointSet{set}} }
	t.Cleanup(func() {
		for _, one := range slices.Concat(h.in, h.out) {
			one.end()
		}
	})
	return h
}

// ServeHTTP answers, with a delay in the query.
func (p *pod) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now().UnixNano()
	if r.URL.Path == checkPath {
		p.herd.checks.Add(1)
		if late(&p.removed, now) {
			p.herd.lateChecks.Add(1)
		}
		return
	}
	if late(&p.dismissed, now) {
		p.herd.late.Add(1)
	}
	w.Header().Set("X-Pod", p.name)
	if r.URL.Query().Has("wait") {
		timer := time.NewTimer(20 * time.Millisecond)
		defer timer.Stop()
		<-timer.C
	}
}

func late(since *atomic.Int64, now int64) bool {
	at := since.Load()
	return at != 0 && now-at > int64(notice)
}

// join adds a new endpoint to the set.
func (h *herd) join() {
	listener, err := new(net.ListenConfig).Listen(h.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	p := &pod{herd: h, ended: make(chan struct{})}
	p.Address, p.UID = netip.MustParseAddrPort(listener.Addr().String()), h.uid()
	p.name = p.UID
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, state http.ConnState) {
		change := int64(0)
		switch state {
		case http.StateNew:
			change = 1
		case http.StateClosed:
			change = -1
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
		p.open.Add(change)
		h.open.Add(change)
	}}
	go func() { defer close(p.ended); _ = p.server.Serve(listener) }()
	h.in = append(h.in, p)
}

func (h *herd) uid() string {
	h.born++
	return fmt.Sprint("pod-", h.born)
}

// end closes the endpoint with all that is open.
func (p *pod) end() {
	_ = p.server.Close()
	<-p.ended
}

// leave removes an endpoint, which serves for its grace.
func (h *herd) leave(at int) {
	p := h.in[at]
	h.in = slices.Delete(h.in, at, at+1)
	now := time.Now().UnixNano()
	p.dismissed.CompareAndSwap(0, now)
	p.removed.Store(now)
	h.out = append(h.out, p)
}

// change changes one endpoint of the set: a new one joins, one that serves begins to end, one leaves (first those that
// end), or one is followed by another at the same address.
func (h *herd) change() {
	serving, ending := h.sort()
	kind := []string{"joins", "ends", "leaves", "is replaced"}[h.random.IntN(4)]
	switch {
	case len(serving) <= fewest && kind != "is replaced":
		kind = "joins"
	case len(h.in) >= most:
		kind = "leaves"
	}
	h.changes[kind]++
	switch kind {
	case "joins":
		h.join()
	case "ends":
		p := h.in[serving[h.random.IntN(len(serving))]]
		p.Terminating = true
		p.dismissed.Store(time.Now().UnixNano())
	case "leaves":
		if len(ending) == 0 {
			ending = serving
		}
		h.leave(ending[h.random.IntN(len(ending))])
	case "is replaced":
		h.in[serving[h.random.IntN(len(serving))]].UID = h.uid()
	}
	h.publish()
}

// sort returns where in the set those are that serve, and those that end.
func (h *herd) sort() (serving, ending []int) {
	for i, p := range h.in {
		if p.Terminating {
			ending = append(ending, i)
		} else {
			serving = append(serving, i)
		}
	}
	return serving, ending
}

// publish sends the whole set.
func (h *herd) publish() {
	h.version++
	set := dynamic.EndpointSet{Key: key, Version: h.version, Noticed: time.Now()}
	for _, p := range h.in {
		set.Endpoints = append(set.Endpoints, p.Endpoint)
	}
	slices.SortFunc(set.Endpoints, func(a, b dynamic.Endpoint) int { return a.Address.Compare(b.Address) })
	h.send(set)
}

// replace replaces all endpoints by new ones in one change.
func (h *herd) replace(count int) {
	for len(h.in) > 0 {
		h.leave(0)
	}
	for range count {
		h.join()
	}
	h.publish()
}

// bury closes those whose grace is over. By then they must have no connection.
func (h *herd) bury(now time.Time) {
	for len(h.out) > 0 && now.UnixNano()-h.out[0].removed.Load() > int64(grace) {
		p := h.out[0]
		if open := p.open.Load(); open > 0 {
			h.t.Errorf("%d connections to %s (%s) are open %v after it has left", open, p.Address, p.UID, grace)
		}
		p.end()
		h.out[0] = nil
		h.out = h.out[1:]
	}
}
