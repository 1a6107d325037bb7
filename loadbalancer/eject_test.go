package loadbalancer

import (
	"testing"
	"time"
)

func TestEjection(t *testing.T) {
	b := newBook(t, nil)
	pool := b.shop(4, Policies{Outlier: detection(t)})
	b.fails(pool, "192.0.2.1:80", 2)
	equal(t, "after two failures", len(b.who(pool, 20)), 4)
	b.fails(pool, "192.0.2.1:80", 1)
	equal(t, "after three", b.who(pool, 20), []string{"192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80"})
	b.fails(pool, "192.0.2.2:80", 3)
	equal(t, "half is out", b.who(pool, 20), []string{"192.0.2.3:80", "192.0.2.4:80"})
	b.fails(pool, "192.0.2.3:80", 3)
	equal(t, "more than half is not", b.who(pool, 20), []string{"192.0.2.3:80", "192.0.2.4:80"})
	equal(t, "spared", pool.Counters().Spared.Load(), uint64(1))
	equal(t, "up", pool.Up(), true)

	// When there is room, the one that was spared and has not answered since is next.
	b.pass(2 * time.Second)
	equal(t, "ejections", pool.Counters().Ejections.Load(), uint64(3))
	equal(t, "after the first came back", b.who(pool, 20), []string{"192.0.2.1:80", "192.0.2.2:80", "192.0.2.4:80"})
	b.pass(2 * time.Second)
	equal(t, "in the end", len(b.who(pool, 20)), 4)
	equal(t, "returns", pool.Counters().Returns.Load(), uint64(3))
	first := b.events[0]
	equal(t, "what was ejected", []any{first.Service, first.Endpoint, first.State, first.Reason}, []any{"shop", "192.0.2.1:80", Ejected, "unreachable"})
	if first.For < 1800*time.Millisecond || first.For > 2*time.Second {
		t.Errorf("the first ejection lasts %v", first.For)
	}
}

func TestTheLastEndpointIsNeverEjected(t *testing.T) {
	b := newBook(t, nil)
	for n := 1; n <= 2; n++ {
		pool := b.shop(n, Policies{Outlier: detection(t)})
		for range 10 {
			for i := range n {
				b.fails(pool, servers(n)[i].Host, 3)
			}
			if b.who(pool, 4)[0] == "nobody" {
				t.Fatalf("nobody of %d is left", n)
			}
		}
	}
}

// TestEjectionOutlivesAReload has the pool's servers change around one that is out, and forgets the verdict only with the option.
func TestEjectionOutlivesAReload(t *testing.T) {
	b := newBook(t, nil)
	spec := PoolSpec{Name: "shop", Dialer: newLine(), Servers: servers(3), Policies: Policies{Outlier: detection(t)}}
	pool := b.Pool(spec)
	b.fails(pool, "192.0.2.1:80", 3)
	spec.Servers = servers(4)
	spec.Servers[0].Weight = 7
	spec.DrainTime = time.Second
	b.Pool(spec)
	equal(t, "after a reload", b.who(pool, 20), []string{"192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80"})
	spec.Outlier = Policies{}.Outlier
	b.Pool(spec)
	equal(t, "without the option", len(b.who(pool, 200)), 4)
	b.pass(time.Minute)
	equal(t, "no return of one that is back", pool.Counters().Returns.Load(), uint64(1))
}

// TestAnEjectedEndpointLeaves has an endpoint go while it is out, and come back as another pod.
func TestAnEjectedEndpointLeaves(t *testing.T) {
	b := newBook(t, nil)
	b.Apply(endpointSet(1, "192.0.2.1:80#a", "192.0.2.2:80#b", "192.0.2.3:80#c"))
	pool := b.Pool(PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}, Policies: Policies{Outlier: detection(t)},
	})
	late := members(pool)["192.0.2.1:80"]
	b.fails(pool, "192.0.2.1:80", 3)
	b.Apply(endpointSet(2, "192.0.2.1:80#z", "192.0.2.2:80#b", "192.0.2.3:80#c"))
	b.pass(FlushInterval)
	equal(t, "a new pod at the old address", len(b.who(pool, 20)), 3)
	for range 3 { // The old pod's last requests end.
		late.upstream.begin()
		late.Done(Result{Outcome: Broken, Began: b.instant(), Now: b.instant()})
	}
	b.pass(FlushInterval)
	equal(t, "in spite of what its predecessor does", len(b.who(pool, 20)), 3)
	equal(t, "members that are out", len(b.ejected), 0)
}
