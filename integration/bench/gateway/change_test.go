package gateway

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// changeEvery is the time between two changes of a route.
	changeEvery = 200 * time.Millisecond
	// clients is how many connections send requests, requestEvery the time between two requests of each.
	clients, requestEvery = 4, 2 * time.Millisecond
)

// tally counts answers. Its methods may be called by several goroutines.
type tally struct {
	mu                 sync.Mutex
	all, failed, mixed int
	of                 [2]int // answers of each colour
	firstWrong         string
}

// add counts an answer.
func (t *tally) add(got answer, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all++
	switch {
	case err != nil:
		t.failed++
		t.note(err.Error())
	case got.status != http.StatusOK:
		t.failed++
		t.note(http.StatusText(got.status))
	case got.filter != got.body:
		t.mixed++
		t.note(got.body + " with " + got.filter)
	case got.body == green.String():
		t.of[green]++
	default:
		t.of[blue]++
	}
}

// note keeps the first wrong answer; the caller holds mu.
func (t *tally) note(text string) {
	if t.firstWrong == "" {
		t.firstWrong = text
	}
}

// traffic sends requests to a host until stop is called, which returns once all have been answered.
func traffic(tb testing.TB, address, host string, t *tally) (stop func()) {
	tb.Helper()
	done := make(chan struct{})
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			ticker := time.NewTicker(requestEvery)
			defer ticker.Stop()
			var p *probe
			for {
				select {
				case <-done:
					if p != nil {
						p.close()
					}
					return
				case <-ticker.C:
				}
				var err error
				if p == nil {
					if p, err = dial(tb.Context(), address); err != nil {
						p = nil
						t.add(answer{}, err)
						continue
					}
				}
				got, err := p.ask(host, "/")
				t.add(got, err)
				if err != nil {
					p.close()
					p = nil
				}
			}
		})
	}
	return func() { close(done); running.Wait() }
}

// measureChange changes the backend and the filter of a route under traffic.
func (w *world) measureChange(tb testing.TB) {
	tb.Helper()
	address := w.gateway(tb, "change")
	const host = "change.example.com"
	if err := w.create(tb.Context(), route(home, "change", host, parent{"Gateway", home, "change"}, blue)); err != nil {
		tb.Fatal(err)
	}
	p, err := dial(tb.Context(), address)
	if err != nil {
		tb.Fatal(err)
	}
	if _, _, err := p.await(tb.Context(), host, "/"); err != nil {
		tb.Fatal(err)
	}
	p.close()
	t := &tally{}
	stop := traffic(tb, address, host, t)
	changes := 0
	ticker := time.NewTicker(changeEvery)
	for begun := time.Now(); time.Since(begun) < w.asked.changing; changes++ {
		<-ticker.C
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"rules": rules(colour((changes + 1) % 2))}})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.routes(home).Patch(tb.Context(), "change", types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			tb.Fatal(err)
		}
	}
	ticker.Stop()
	stop()
	w.results.note("change-failed", float64(t.failed))
	w.results.note("change-mixed", float64(t.mixed))
	w.results.say("%d changes of backend and filter in %v, %d requests meanwhile (%d blue, %d green): "+
		"%d failed, %d mixed %s", changes, w.asked.changing, t.all, t.of[blue], t.of[green], t.failed, t.mixed, t.firstWrong)
	w.remove(tb, home)
}
