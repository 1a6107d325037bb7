package stream_test

import (
	"context"
	"net"
	"testing"

	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/telemetry"
)

// child is a service that counts.
type child struct {
	served int
	down   bool
}

// Serve counts.
func (c *child) Serve(_ context.Context, _ *stream.Client, _ *stream.Result, done func()) {
	c.served++
	done()
}

// Up reports what the test says.
func (c *child) Up() bool { return !c.down }

// weigh returns a weighted service and its children.
func weigh(state *stream.State, healthCheck bool, weights ...int) (*stream.Weighted, []*child) {
	var children []*child
	options := stream.WeightedOptions{Name: "split@file", HealthCheck: healthCheck, State: state}
	for _, weight := range weights {
		one := new(child)
		children = append(children, one)
		options.Children = append(options.Children, stream.Child{Weight: weight, Service: one})
	}
	return stream.NewWeighted(options), children
}

func counts(children []*child) (all []int) {
	for _, one := range children {
		all = append(all, one.served)
		one.served = 0
	}
	return all
}

func TestWeighted(t *testing.T) {
	w, children := weigh(stream.NewState(), true, 5, 3, 2, 0)
	serve := func(n int) {
		for range n {
			w.Serve(t.Context(), &stream.Client{}, new(stream.Result), func() {})
		}
	}
	same := func(what string, want ...int) {
		t.Helper()
		for i, got := range counts(children) {
			if got != want[i] {
				t.Errorf("%s: child %d has %d connections, want %d", what, i, got, want[i])
			}
		}
	}
	serve(1000)
	same("by weight", 500, 300, 200, 0)
	equal(t, "up", w.Up(), true)

	children[0].down, children[2].down = true, true
	serve(100)
	same("one is up", 0, 100, 0, 0)
	children[2].down = false
	serve(1000)
	if got := counts(children); got[0] != 0 || got[1] < 580 || got[1] > 620 {
		t.Errorf("two are up: %v", got)
	}
}

// TestWeightedKeepsItsTurn rebuilds the service between connections.
func TestWeightedKeepsItsTurn(t *testing.T) {
	state, total := stream.NewState(), make([]int, 3)
	for range 6 {
		w, children := weigh(state, false, 1, 1, 1)
		w.Serve(t.Context(), &stream.Client{}, new(stream.Result), func() {})
		for i, n := range counts(children) {
			total[i] += n
		}
	}
	for i, n := range total {
		if n != 2 {
			t.Errorf("child %d has %d of six connections", i, n)
		}
	}
}

func TestWeightedWithoutChildren(t *testing.T) {
	for want, weighted := range map[string]func() *stream.Weighted{
		"all services of the weighted service have weight 0": func() *stream.Weighted {
			w, _ := weigh(stream.NewState(), true, 0, 0)
			return w
		},
		"no service of the weighted service is up": func() *stream.Weighted {
			w, children := weigh(stream.NewState(), true, 1, 0)
			children[0].down = true
			return w
		},
	} {
		w := weighted()
		equal(t, "up", w.Up(), false)
		g := newRig(t, setup{around: func(stream.Service) stream.Service { return w }})
		result := g.refused(t)
		equal(t, "reason", result.Reason, want)
		equal(t, "code", result.Code, telemetry.CodeNoEndpoint)
		equal(t, "service", result.Service, "split@file")
	}
}

// TestWeightedWithoutHealthCheck keeps the share of a child that is down.
func TestWeightedWithoutHealthCheck(t *testing.T) {
	w, children := weigh(stream.NewState(), false, 1, 1)
	children[0].down = true
	for range 10 {
		w.Serve(t.Context(), &stream.Client{Conn: (*net.TCPConn)(nil)}, new(stream.Result), func() {})
	}
	if got := counts(children); got[0] != 5 || got[1] != 5 {
		t.Errorf("%v", got)
	}
	equal(t, "up", w.Up(), true)
}
