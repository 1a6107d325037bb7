package loadbalancer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

func cookieOf(t *testing.T, config dynamic.Cookie) sticky.Cookie {
	t.Helper()
	config.Name = "lb"
	made, err := sticky.New("shop", &config)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestBalancedClients are spread over the servers and stay, until a server joins, which takes its part of them.
func TestBalancedClients(t *testing.T) {
	b := newRig(t, nil)
	policies := Policies{Sticks: true, Cookie: cookieOf(t, dynamic.Cookie{Mode: "balanced"})}
	spec := PoolSpec{Name: "shop", Dialer: newLine(), Servers: servers(4), Policies: policies}
	pool := b.pool(spec)
	const clients = 2000
	homes, counts := map[string]string{}, map[string]int{}
	for len(homes) < clients {
		home, set := b.asks(pool, "")
		if !strings.HasPrefix(set, "lb=") || len(sends(set)) != len("lb=")+16 {
			t.Fatalf("the cookie is %q", set)
		}
		homes[sends(set)] = home
		counts[home]++
	}
	for home, count := range counts {
		if len(counts) != 4 || count < clients/4*8/10 || count > clients/4*12/10 {
			t.Errorf("%s has %d of %d clients of 4 servers", home, count, clients)
		}
	}
	stay := func() (moved map[string]int) {
		moved = map[string]int{}
		for cookie, home := range homes {
			got, again := b.asks(pool, cookie)
			if again != "" {
				t.Fatalf("a client of %s gets the cookie %q", home, again)
			}
			if got != home {
				moved[got]++
			}
		}
		return moved
	}
	if moved := stay(); len(moved) > 0 {
		t.Errorf("clients have moved: %v", moved)
	}
	spec.Servers = servers(5)
	pool = b.pool(spec)
	moved := stay()
	if got := moved["192.0.2.5:80"]; len(moved) != 1 || got < clients/5*7/10 || got > clients/5*13/10 {
		t.Errorf("when a fifth server joins, clients move to %v", moved)
	}
	if got, again := b.asks(pool, "lb=any-value|of-another-proxy"); got == "" || again != "" {
		t.Errorf("a client with a value of its own is with %s, cookie %q", got, again)
	}
	// A server that fails gives its clients to others, and gets them back.
	spec.Servers, spec.Outlier = servers(4), detection(t)
	pool = b.pool(spec)
	b.fails(pool, "192.0.2.1:80", 3)
	for cookie, home := range homes {
		if got, again := b.asks(pool, cookie); (got == home) == (home == "192.0.2.1:80") || again != "" {
			t.Fatalf("a client of %s is with %s, cookie %q", home, got, again)
		}
	}
}

// TestBalancedTry has the client's server fail: the next try goes elsewhere, with another cookie, or to the same
// server.
func TestBalancedTry(t *testing.T) {
	for _, mode := range []string{"balanced", "persistent"} {
		for _, keep := range []bool{false, true} {
			b := newRig(t, nil)
			change := !keep
			pool := b.shop(3, Policies{
				Sticks: true, Cookie: cookieOf(t, dynamic.Cookie{Mode: mode, ChangeOnFailure: &change}),
			})
			home, set := b.asks(pool, "")
			request := &Request{Tried: []*Member{members(pool)[home]}}
			request.HTTP = stickyRequest(t, sends(set))
			member, err := pool.Acquire(request)
			if err != nil {
				t.Fatal(err)
			}
			member.Done(Result{})
			if keep != (member.Address() == home) || keep != (request.Cookie == "") {
				t.Errorf("%s, kept %t: a client of %s is with %s, cookie %q", mode, keep, home, member.Address(), request.Cookie)
			}
			// A client without a cookie moves in any case.
			request = &Request{Tried: []*Member{members(pool)[home]}}
			request.HTTP = stickyRequest(t, "other=1")
			if member, err = pool.Acquire(request); err != nil || member.Address() == home || request.Cookie == "" {
				t.Errorf("%s, kept %t: a new client is with %v, cookie %q, %v", mode, keep, member, request.Cookie, err)
			}
			member.Done(Result{})
		}
	}
}

// TestBalancedLimits has new clients go to servers with room, and a full pool refuse them.
func TestBalancedLimits(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(3, Policies{
		Sticks: true, Cookie: cookieOf(t, dynamic.Cookie{Mode: "balanced"}), Limits: Limits{PerEndpoint: 1},
	})
	seen := map[string]bool{}
	for i := range 4 {
		request := &Request{}
		request.HTTP = stickyRequest(t, fmt.Sprintf("client=%d", i))
		member, err := pool.Acquire(request)
		if i == 3 {
			if !refusal(t, err).Saturated {
				t.Error(err)
			}
			break
		}
		if err != nil || seen[member.Address()] {
			t.Fatalf("request %d: %v, %v", i, member, err)
		}
		seen[member.Address()] = true
	}
}

// TestBalancedWithoutServers refuses.
func TestBalancedWithoutServers(t *testing.T) {
	b := newRig(t, nil)
	policies := Policies{Sticks: true, Cookie: cookieOf(t, dynamic.Cookie{Mode: "balanced"})}
	pool := b.pool(PoolSpec{Name: "shop", Dialer: newLine(), Policies: policies})
	for _, cookie := range []string{"", "lb=0123456789abcdef"} {
		if got, set := b.asks(pool, cookie); !strings.Contains(got, "no endpoint may answer") || set != "" {
			t.Errorf("%q, cookie %q", got, set)
		}
	}
}

func TestBalancedCookiesAllocateNothing(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(5, Policies{Sticks: true, Cookie: cookieOf(t, dynamic.Cookie{Mode: "balanced"})})
	request := &Request{}
	request.HTTP = stickyRequest(t, "a=b; lb=0123456789abcdef")
	if n := testing.AllocsPerRun(100, func() {
		member, err := pool.Acquire(request)
		if err != nil {
			t.Fatal(err)
		}
		member.Done(Result{})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
