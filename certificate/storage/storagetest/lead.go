package storagetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

// candidate is a replica that takes part in the election.
type candidate struct {
	began, ended chan struct{}
	stop         func()
}

// campaign starts Lead. Leaders are counted while their context lasts.
func campaign(t *testing.T, store storage.Elector, leaders *atomic.Int32) *candidate {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &candidate{began: make(chan struct{}, 100), ended: make(chan struct{}, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := store.Lead(ctx, func(leading context.Context) {
			if n := leaders.Add(1); n != 1 {
				t.Errorf("%d replicas lead", n)
			}
			c.began <- struct{}{}
			<-leading.Done()
			leaders.Add(-1)
			c.ended <- struct{}{}
		}); err != nil {
			t.Errorf("Lead: %v", err)
		}
	}()
	c.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(c.stop)
	return c
}

// await waits for an event.
func await(t *testing.T, what string, event <-chan struct{}, limit time.Duration) {
	t.Helper()
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for left := limit / beat; left >= 0; left-- {
		select {
		case <-event:
			return
		case <-ticker.C:
		}
	}
	t.Fatalf("%s: not within %v", what, limit)
}

// retry calls a function until it works.
func retry(t *testing.T, what string, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// testLead ends one leader after the other.
func testLead(t *testing.T, b Backend) {
	var leaders atomic.Int32
	candidates := map[*candidate]bool{}
	for range 3 {
		candidates[campaign(t, b.Open(t), &leaders)] = true
	}
	for len(candidates) > 0 {
		leader := leading(t, candidates)
		delete(candidates, leader)
		leader.stop()
		await(t, "the end of the leader", leader.ended, patience)
	}
}

// leading waits for a leader.
func leading(t *testing.T, candidates map[*candidate]bool) *candidate {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	found := make(chan *candidate, len(candidates))
	for c := range candidates {
		go func() {
			select {
			case <-c.began:
				found <- c
			case <-ctx.Done():
			}
		}()
	}
	select {
	case c := <-found:
		return c
	case <-ctx.Done():
		t.Fatal("no replica leads")
		return nil
	}
}

// takeover bounds the time without a leader after a crash: 15 s, and a margin for a slow machine.
const takeover = 20 * time.Second

// testCrash has the leader lose its storage, after which another one leads in time, and not at the same time.
func testCrash(t *testing.T, b Backend) {
	var leaders atomic.Int32
	fragile, crash := b.OpenFragile(t)
	leader := campaign(t, fragile, &leaders)
	await(t, "the first leader", leader.began, patience)
	next := campaign(t, b.Open(t), &leaders)
	crash()
	await(t, "the next leader", next.began, takeover)
	await(t, "the end of the first leader", leader.ended, patience)
}
