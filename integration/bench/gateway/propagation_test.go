package gateway

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// pace is how many routes are created per second under load.
	pace = 50
	// lookouts is how many routes are followed at once under load.
	lookouts = 32
)

// measurePropagation creates routes one after another, each when the one before serves, and then at a steady rate.
func (w *world) measurePropagation(tb testing.TB) {
	tb.Helper()
	address := w.gateway(tb, "propagation")
	of := parent{"Gateway", home, "propagation"}
	p, err := dial(tb.Context(), address)
	if err != nil {
		tb.Fatal(err)
	}
	defer p.close()
	settle(tb, w.sluice.PID())
	var took times
	other := 0
	begun, used := time.Now(), harness.CPU(tb, w.sluice.PID())
	for i := range w.asked.propagated {
		host := fmt.Sprintf("one%05d.example.com", i)
		if got, err := p.ask(host, "/"); err != nil || got.status != http.StatusNotFound {
			tb.Fatalf("%s: %d before its route (%v)", host, got.status, err)
		}
		if err := w.create(tb.Context(), route(home, fmt.Sprintf("one-%05d", i), host, of, blue)); err != nil {
			tb.Fatal(err)
		}
		created := time.Now()
		when, others, err := p.await(tb.Context(), host, "/")
		if err != nil {
			tb.Fatal(err)
		}
		other += others
		took = append(took, when.Sub(created))
	}
	w.results.note("propagation", milliseconds(took.share(50)))
	w.results.note("propagation-p99", milliseconds(took.share(99)))
	w.results.note("propagation-other", float64(other))
	w.results.say("%d routes one after another, from the API server's answer to the first 200: %v; %d answers neither 404 "+
		"nor 200; %v in all, CPU of Sluice %v", len(took), took, other, time.Since(begun).Round(time.Millisecond),
		(harness.CPU(tb, w.sluice.PID()) - used).Round(time.Millisecond))
	w.measurePaced(tb, address, of)
	w.remove(tb, home)
}

// measurePaced creates routes at a steady rate.
func (w *world) measurePaced(tb testing.TB, address string, of parent) {
	tb.Helper()
	free := make(chan *probe, lookouts)
	for range lookouts {
		p, err := dial(tb.Context(), address)
		if err != nil {
			tb.Fatal(err)
		}
		defer p.close()
		free <- p
	}
	var mu sync.Mutex
	var took times
	other := 0
	var failed error
	var running sync.WaitGroup
	ticker := time.NewTicker(time.Second / pace)
	defer ticker.Stop()
	begun, used := time.Now(), harness.CPU(tb, w.sluice.PID())
	for i := range w.asked.paced {
		<-ticker.C
		p := <-free
		running.Go(func() {
			defer func() { free <- p }()
			host := fmt.Sprintf("paced%05d.example.com", i)
			err := w.create(tb.Context(), route(home, fmt.Sprintf("paced-%05d", i), host, of, blue))
			created := time.Now()
			var when time.Time
			var others int
			if err == nil {
				when, others, err = p.await(tb.Context(), host, "/")
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
				return
			}
			other += others
			took = append(took, when.Sub(created))
		})
	}
	running.Wait()
	if failed != nil {
		tb.Fatal(failed)
	}
	rate := float64(len(took)) / time.Since(begun).Seconds()
	w.results.note("paced", milliseconds(took.share(50)))
	w.results.note("paced-other", float64(other))
	w.results.say("%d more routes at %.0f/s, the same: %v; %d answers neither 404 nor 200; CPU of Sluice %v", len(took), rate,
		took, other, (harness.CPU(tb, w.sluice.PID()) - used).Round(time.Millisecond))
}
