package loadbalancer

import (
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

func TestEjection(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(4, Policies{Outlier: detection(t)})
	b.fails(pool, "192.0.2.1:80", 2)
	equal(t, "after two failures", len(b.who(pool, 20)), 4)
	b.fails(pool, "192.0.2.1:80", 1)
	equal(t, "after three", b.who(pool, 20), []string{"192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80"})
	b.fails(pool, "192.0.2.2:80", 3)
	equal(t, "half is out", b.who(pool, 20), []string{"192.0.2.3:80", "192.0.2.4:80"})
	b.fails(pool, "192.0.2.3:80", 3)
	equal(t, "more than half is not", b.who(pool, 20), []string{"192.0.2.3:80", "192.0.2.4:80"})
	equal(t, "overLimit", pool.Counters().EjectionsOverflow.Load(), uint64(1))
	equal(t, "up", pool.Up(), true)

	// When there is room, the one that was overLimit and has not answered since is next.
	b.pass(2 * time.Second)
	equal(t, "ejections", pool.Counters().Ejections.Load(), uint64(3))
	equal(t, "after the first came back", b.who(pool, 20), []string{"192.0.2.1:80", "192.0.2.2:80", "192.0.2.4:80"})
	b.pass(2 * time.Second)
	equal(t, "in the end", len(b.who(pool, 20)), 4)
	equal(t, "returns", pool.Counters().Returns.Load(), uint64(3))
	first := b.events[0]
	equal(t, "what was ejected", []any{first.Service, first.Endpoint, first.State, first.Reason},
		[]any{"shop", "192.0.2.1:80", Ejected, "broken"})
	if first.For < 1800*time.Millisecond || first.For > 2*time.Second {
		t.Errorf("the first ejection lasts %v", first.For)
	}
}

func TestTheLastEndpointIsNeverEjected(t *testing.T) {
	b := newRig(t, nil)
	for n := 1; n <= 2; n++ {
		pool := b.shop(n, Policies{Outlier: detection(t)})
		for range 10 {
			for i := range n {
				b.fails(pool, servers(n)[i].Host, 3)
			}
			if b.who(pool, 4)[0] == "nobody" {
				t.Fatalf("none of %d is left", n)
			}
		}
	}
}

// TestEjectionOutlivesAReload has the pool's servers change around one that is out, and drops the result only
// with the option.
func TestEjectionOutlivesAReload(t *testing.T) {
	b := newRig(t, nil)
	spec := PoolSpec{Name: "shop", Dialer: newLine(), Servers: servers(3), Policies: Policies{Outlier: detection(t)}}
	pool := b.pool(spec)
	b.fails(pool, "192.0.2.1:80", 3)
	spec.Servers = servers(4)
	spec.Servers[0].Weight = 7
	spec.DrainTime = time.Second
	b.pool(spec)
	equal(t, "after a reload", b.who(pool, 20), []string{"192.0.2.2:80", "192.0.2.3:80", "192.0.2.4:80"})
	spec.Outlier = Policies{}.Outlier
	b.pool(spec)
	equal(t, "without the option", len(b.who(pool, 200)), 4)
	b.pass(time.Minute)
	equal(t, "no return of one that is back", pool.Counters().Returns.Load(), uint64(1))
}

// TestAnEjectedEndpointLeaves has an endpoint go while it is out, and come back as another pod.
func TestAnEjectedEndpointLeaves(t *testing.T) {
	b := newRig(t, nil)
	b.Apply(endpointSet(1, "192.0.2.1:80#a", "192.0.2.2:80#b", "192.0.2.3:80#c"))
	pool := b.pool(PoolSpec{
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

// TestASparedEndpointGoesWhenThereIsRoom has the only endpoint of a pool fail for good, and others join.
func TestASparedEndpointGoesWhenThereIsRoom(t *testing.T) {
	b := newRig(t, nil)
	b.Apply(endpointSet(1, "192.0.2.1:80#a"))
	spec := PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}, Policies: Policies{Outlier: detection(t)},
	}
	pool := b.pool(spec)
	b.fails(pool, "192.0.2.1:80", 4)
	equal(t, "the last one", b.who(pool, 4), []string{"192.0.2.1:80#a"})
	b.Apply(endpointSet(2, "192.0.2.1:80#a", "192.0.2.2:80#b"))
	b.now = b.now.Add(FlushInterval)
	if next := b.Flush(b.now); next.After(b.now.Add(longestWait)) {
		t.Errorf("the next flush is in %v", next.Sub(b.now))
	}
	b.pass(longestWait)
	equal(t, "one of two", b.who(pool, 4), []string{"192.0.2.2:80#b"})
	equal(t, "overLimit", pool.Counters().EjectionsOverflow.Load(), uint64(1))
}

// TestASuspectOfAnOptionThatWasOff fails while the option is off, and is ejected when it is on.
func TestASuspectOfAnOptionThatWasOff(t *testing.T) {
	b := newRig(t, nil)
	b.now = time.Now()
	spec := PoolSpec{Name: "shop", Dialer: newLine(), Servers: servers(3), Policies: Policies{Outlier: detection(t)}}
	pool := b.pool(spec)
	for range 3 {
		b.ends(pool, "192.0.2.1:80", Result{Outcome: Unreachable})
	}
	without := spec
	without.Policies = Policies{}
	b.pool(without)
	b.pass(FlushInterval)
	equal(t, "without the option", len(b.who(pool, 30)), 3)
	b.pool(spec)
	b.pass(FlushInterval)
	equal(t, "with it", b.who(pool, 30), []string{"192.0.2.2:80", "192.0.2.3:80"})
}

// TestTheLastOfThoseThatLeaveHelpsOut has only an ejected endpoint be left, which is terminating.
func TestTheLastOfThoseThatLeaveHelpsOut(t *testing.T) {
	b := newRig(t, nil)
	b.Apply(endpointSet(1, "192.0.2.1:80", "192.0.2.2:80"))
	pool := b.pool(PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}, Policies: Policies{Outlier: detection(t)},
	})
	b.fails(pool, "192.0.2.1:80", 3)
	equal(t, "ejections", pool.Counters().Ejections.Load(), uint64(1))
	b.Apply(endpointSet(2, "192.0.2.1:80!"))
	b.pass(FlushInterval)
	equal(t, "who serves", b.who(pool, 4), []string{"192.0.2.1:80"})
}

// TestEjectionOfOneThatDrains takes out an endpoint that serves none but its sticky clients, beside a single
// one that serves.
func TestEjectionOfOneThatDrains(t *testing.T) {
	b := newRig(t, nil)
	spec := PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: servers(2), Policies: Policies{
			Outlier: detection(t), Sticks: true,
			Cookie: cookie(t),
		},
	}
	spec.Servers[0].Weight = 0
	pool := b.pool(spec)
	client := "lb=" + sticky.ID("http://192.0.2.1:80")
	home, _ := b.asks(pool, client)
	equal(t, "home", home, "192.0.2.1:80")
	b.fails(pool, "192.0.2.1:80", 3)
	home, _ = b.asks(pool, client)
	equal(t, "afterwards", home, "192.0.2.2:80")
}

// TestWhatCountsAsAFailure takes each way in which a request may end.
func TestWhatCountsAsAFailure(t *testing.T) {
	for _, test := range []struct {
		name  string
		third Result
		out   bool
	}{
		{"no connection", Result{Outcome: Unreachable}, true},
		{"a broken one", Result{Outcome: Broken}, true},
		{"too long", Result{Outcome: TimedOut}, true},
		{"an answer, whatever its status", Result{Outcome: Answered, Status: 500}, false},
		{"a client that left says nothing", Result{Outcome: Abandoned, Status: 200}, false},
	} {
		b := newRig(t, nil)
		pool := b.shop(3, Policies{Outlier: detection(t)})
		b.fails(pool, "192.0.2.1:80", 2)
		b.ends(pool, "192.0.2.1:80", test.third)
		b.pass(FlushInterval)
		equal(t, test.name, len(b.who(pool, 30)) == 2, test.out)
		b.fails(pool, "192.0.2.1:80", 1)
		equal(t, test.name+", and one failure", len(b.who(pool, 30)) == 2, test.out || test.third.Outcome == Abandoned)
	}
}

// TestASecondEjection is longer than the first, and Flush says when each is over.
func TestASecondEjection(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(3, Policies{Outlier: detection(t)})
	for _, least := range []time.Duration{1800, 3600} {
		b.fails(pool, "192.0.2.1:80", 3)
		next := b.Flush(b.now)
		if out := next.Sub(b.now) + FlushInterval; out < least*time.Millisecond || out > least*time.Millisecond*10/9+
			FlushInterval {
			t.Errorf("the next flush is in %v, and the ejection lasts %v at least", out, least*time.Millisecond)
		}
		b.now = next.Add(-time.Millisecond)
		b.Flush(b.now)
		equal(t, "before the end", len(b.who(pool, 30)), 2)
		b.pass(time.Millisecond)
		equal(t, "after it", len(b.who(pool, 30)), 3)
	}
}

// TestASystemicFailure is no fault of an endpoint, whose next ejection is no longer for it.
func TestASystemicFailure(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(4, Policies{Outlier: detection(t)})
	for range 4 {
		before := len(b.events)
		for i := range 4 {
			for range 3 {
				b.ends(pool, servers(4)[i].Host, Result{Outcome: Unreachable})
			}
		}
		b.pass(FlushInterval)
		ejections := 0
		for _, event := range b.events[before:] {
			if ejections += number(event.State == Ejected); event.For > 2*time.Second {
				t.Fatalf("%s is out for %v", event.Endpoint, event.For)
			}
		}
		equal(t, "ejections", ejections, 3) // all but one
		for _, server := range servers(4) { // Those that were overLimit are well.
			b.ends(pool, server.Host, Result{Outcome: Answered, Status: 200})
		}
		b.pass(2 * time.Second)
		equal(t, "when all are back", len(b.who(pool, 40)), 4)
	}
}
