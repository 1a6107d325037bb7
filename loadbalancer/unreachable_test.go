package loadbalancer

import (
	"testing"
	"time"
)

// lost lets three requests to each of the servers find no connection.
func (b *rig) lost(pool *Pool, addresses ...string) {
	b.t.Helper()
	for _, address := range addresses {
		for range 3 {
			b.ends(pool, address, Result{Outcome: Unreachable})
		}
	}
	b.pass(FlushInterval)
}

// TestUnreachableEndpointsLeaveRoom has some endpoints be gone and others answer badly: those that are gone
// take nothing of the share that may be out for their answers.
func TestUnreachableEndpointsLeaveRoom(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(5, Policies{Outlier: detection(t)})
	b.lost(pool, "192.0.2.1:80")
	b.fails(pool, "192.0.2.2:80", 3)
	b.fails(pool, "192.0.2.3:80", 3)
	equal(t, "two of five answer badly, and one not at all", b.who(pool, 40), []string{"192.0.2.4:80", "192.0.2.5:80"})
	b.fails(pool, "192.0.2.4:80", 3)
	equal(t, "a third of five", b.who(pool, 40), []string{"192.0.2.4:80", "192.0.2.5:80"})
	b.lost(pool, "192.0.2.5:80")
	equal(t, "all but one", b.who(pool, 40), []string{"192.0.2.4:80"})
	b.pass(2 * time.Second)
	equal(t, "when their time is over", len(b.who(pool, 40)) >= 4, true)
}

// TestAnOutageOfAll has no endpoint be reachable for a minute: none is out for longer than the first time, so
// that all are back soon after the outage.
func TestAnOutageOfAll(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(4, Policies{Outlier: detection(t)})
	all := []string{"192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80"}
	for range 600 {
		for _, address := range b.who(pool, 8) {
			b.lost(pool, address)
		}
		b.pass(100 * time.Millisecond)
		if b.who(pool, 1)[0] == "nobody" {
			t.Fatal("no member is left")
		}
	}
	for range 40 { // All are well again.
		for _, address := range b.who(pool, 8) {
			b.ends(pool, address, Result{Outcome: Answered, Status: 200})
		}
		b.pass(100 * time.Millisecond)
	}
	equal(t, "who serves after the outage", b.who(pool, 40), all)
	ejected := map[string]int{}
	for _, event := range b.events {
		if event.State == Ejected {
			if ejected[event.Endpoint]++; ejected[event.Endpoint] > 1 && event.For > 2*time.Second {
				t.Fatalf("%s is out for %v, for the time %d", event.Endpoint, event.For, ejected[event.Endpoint])
			}
		}
	}
	if len(ejected) < 3 {
		t.Errorf("ejected: %v", ejected)
	}
}
