package loadbalancer

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

func cookie(t *testing.T) sticky.Cookie {
	t.Helper()
	made, err := sticky.New("shop", &dynamic.Cookie{Name: "lb"})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// sends returns the pair of a Set-Cookie field as the client sends it.
func sends(setCookie string) string {
	pair, _, _ := strings.Cut(setCookie, ";")
	return pair
}

func TestStickyClients(t *testing.T) {
	b := newRig(t, nil)
	b.Apply(endpointSet(1, "192.0.2.1:80#a", "192.0.2.2:80#b", "192.0.2.3:80#c"))
	spec := PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)},
		Policies: Policies{Sticks: true, Cookie: cookie(t), Outlier: detection(t)},
	}
	pool := b.pool(spec)
	home, set := b.asks(pool, "")
	if set == "" {
		t.Fatal("a new client gets no cookie")
	}
	equal(t, "value", sends(set), "lb="+sticky.ID("http://"+home))
	stays := func(what string) {
		t.Helper()
		for range 10 {
			if got, again := b.asks(pool, sends(set)); got != home || again != "" {
				t.Fatalf("%s: the client is with %s (cookie %q), not with %s", what, got, again, home)
			}
		}
	}
	stays("at first")
	if got, again := b.asks(pool, "lb="+sticky.Aliases("http://" + home)[0]); got != home || again != set {
		t.Errorf("an older cookie leads to %s, and becomes %q", got, again)
	}
	version, all := uint64(1), map[string]string{"192.0.2.1:80": "a", "192.0.2.2:80": "b", "192.0.2.3:80": "c"}
	publish := func(mark string, gone bool) {
		var endpoints []string
		for _, address := range []string{"192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80"} {
			switch {
			case address != home:
				endpoints = append(endpoints, address+"#"+all[address])
			case !gone:
				endpoints = append(endpoints, address+"#"+all[address]+mark)
			}
		}
		version++
		b.Apply(endpointSet(version, endpoints...))
		b.pass(FlushInterval)
	}
	publish("!", false)
	stays("while it drains")
	for range 20 {
		if got, _ := b.asks(pool, ""); got == home {
			t.Fatal("a new client is sent to an endpoint that drains")
		}
	}
	publish("", true)
	next, moved := b.asks(pool, sends(set))
	if next == home || moved == "" {
		t.Fatalf("when its endpoint is gone the client is with %s (cookie %q)", next, moved)
	}
	home, set = next, moved
	stays("after it moved once")
	equal(t, "moved", pool.Counters().Moved.Load(), uint64(1))
	b.fails(pool, home, 3)
	for _, value := range append(sticky.Aliases("http://"+home), sticky.ID("http://"+home)) {
		if got, again := b.asks(pool, "lb="+value); got == home || again == "" {
			t.Errorf("a client with the cookie %s stays with an endpoint that is out: %s", value, got)
		}
	}
}

// TestStickyWeightOfNone keeps the clients of a server whose weight is none by now, and of one that was given
// by its URL.
func TestStickyWeightOfNone(t *testing.T) {
	b := newRig(t, nil)
	spec := PoolSpec{Name: "shop", Dialer: newLine(), Servers: servers(2), Policies: Policies{
		Sticks: true,
		Cookie: cookie(t),
	}}
	for i := range spec.Servers {
		spec.Servers[i].URL = "http://" + spec.Servers[i].Host + "/declared"
	}
	pool := b.pool(spec)
	home, set := b.asks(pool, "")
	equal(t, "value", sends(set), "lb="+sticky.ID("http://"+home+"/declared"))
	next := PoolSpec{
		Name: "shop", Dialer: spec.Dialer, Servers: append([]ServerSpec(nil), spec.Servers...),
		Policies: spec.Policies,
	}
	for i := range next.Servers {
		if next.Servers[i].Host == home {
			next.Servers[i].Weight = 0
		}
	}
	b.pool(next)
	if got, again := b.asks(pool, sends(set)); got != home || again != "" {
		t.Errorf("the client is with %s (cookie %q), not with %s", got, again, home)
	}
	if got, _ := b.asks(pool, ""); got == home {
		t.Error("a new client is sent to a server without weight")
	}
}

// TestStickyTry has the client's endpoint fail: the next try goes elsewhere, and the client with it.
func TestStickyTry(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(2, Policies{Sticks: true, Cookie: cookie(t)})
	home, set := b.asks(pool, "")
	request := &Request{Tried: []*Member{members(pool)[home]}}
	request.HTTP = stickyRequest(t, sends(set))
	member, err := pool.Acquire(request)
	if err != nil || member.Address() == home || sends(request.Cookie) != "lb="+sticky.ID("http://"+member.Address()) {
		t.Fatalf("the second try: %v, cookie %q, error %v", member, request.Cookie, err)
	}
	member.Done(Result{})
}

// TestStickyCookieTwice has the client send another service's cookie of the same name first.
func TestStickyCookieTwice(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(3, Policies{Sticks: true, Cookie: cookie(t)})
	home, set := b.asks(pool, "")
	for range 6 {
		if got, again := b.asks(pool, "lb=0123456789abcdef; "+sends(set)); got != home || again != "" {
			t.Fatalf("the client is with %s (cookie %q), not with %s", got, again, home)
		}
	}
	equal(t, "moved", pool.Counters().Moved.Load(), uint64(0))
}

// TestStickyClientOfAFullPool is refused, and stays.
func TestStickyClientOfAFullPool(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(2, Policies{Sticks: true, Cookie: cookie(t), Limits: Limits{PerPool: 1}})
	home, set := b.asks(pool, "")
	running := b.hold(pool)
	b.asks(pool, sends(set))
	running.done()
	got, _ := b.asks(pool, sends(set))
	equal(t, "home", got, home)
	equal(t, "moved", pool.Counters().Moved.Load(), uint64(0))
}
