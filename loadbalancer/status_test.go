package loadbalancer

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

// memberState returns how the endpoint stands, with its memberships at the rig's time.
func (b *rig) memberState(address string) (EndpointStatus, []MemberStatus) {
	b.t.Helper()
	for _, one := range b.EndpointStatuses(EndpointQuery{}) {
		if one.Address() == address {
			return one, one.Memberships(b.now)
		}
	}
	b.t.Fatalf("there is no endpoint %s", address)
	return EndpointStatus{}, nil
}

func TestStatusOfEjectedEndpoints(t *testing.T) {
	b := newRig(t, nil)
	pool := b.shop(4, Policies{Outlier: detection(t)})
	equal(t, "when all is well", membership1(t, b, "192.0.2.1:80"), MemberStatus{
		Service: "shop", Share: .25,
		SlowStart: 1,
	})
	b.fails(pool, "192.0.2.1:80", 3)
	ejected := membership1(t, b, "192.0.2.1:80")
	if ejected.Back <= time.Second || ejected.Back > 2*time.Second {
		t.Errorf("it is back in %v, want about 2 s", ejected.Back)
	}
	ejected.Back = 0
	equal(t, "after failures", ejected, MemberStatus{
		Service: "shop", State: Ejected, Reason: "requests to it failed: broken",
		SlowStart: 1,
	})
	equal(t, "its neighbour", membership1(t, b, "192.0.2.2:80").Share, 1.0/3)
	b.pass(3 * time.Second)
	equal(t, "when it is back", membership1(t, b, "192.0.2.1:80"), MemberStatus{Service: "shop", Share: .25, SlowStart: 1})
}

// membership1 returns the only membership of an endpoint.
func membership1(t *testing.T, b *rig, address string) MemberStatus {
	t.Helper()
	_, memberships := b.memberState(address)
	if len(memberships) != 1 {
		t.Fatalf("%s has %d memberships", address, len(memberships))
	}
	return memberships[0]
}

func TestStatusOfCheckedEndpoints(t *testing.T) {
	inWard(t, func(t *testing.T, w *ward) {
		w.clinic.sick("192.0.2.1:80", true)
		w.pool(w.spec("shop", 2, "/health"))
		w.wait(time.Second)
		ill := membership1(t, w.rig, "192.0.2.1:80")
		if ill.State != Unhealthy || !strings.HasPrefix(ill.Reason, "its check failed: ") || !strings.Contains(ill.Reason,
			"connection refused") {
			t.Errorf("the ill one is %+v", ill)
		}
		// Another pool that joins the check has the reason too.
		w.pool(w.spec("other", 2, "/health"))
		w.wait(time.Second)
		for _, membership := range func() []MemberStatus { _, all := w.memberState("192.0.2.1:80"); return all }() {
			equal(t, membership.Service, membership.Reason, ill.Reason)
		}
		w.clinic.sick("192.0.2.2:80", true)
		w.wait(20 * time.Second)
		w.clinic.sick("192.0.2.1:80", false)
		w.wait(20 * time.Second)
		_, well := w.memberState("192.0.2.1:80")
		equal(t, "the one that is well again", well[0], MemberStatus{Service: "other", Share: 1, SlowStart: 1})
	})
}

func TestStatusOfEndpointsThatLeave(t *testing.T) {
	b := newRig(t, nil)
	set := endpointSet(1, "192.0.2.1:80#a", "192.0.2.2:80#b")
	set.Endpoints[0].Terminating = true
	b.Apply(set)
	b.pool(PoolSpec{Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1), inline("192.0.2.9:80", 0)}})
	equal(t, "terminating", membership1(t, b, "192.0.2.1:80"), MemberStatus{
		Service: "shop", State: Draining,
		Reason: "it is terminating", SlowStart: 1,
	})
	equal(t, "without weight", membership1(t, b, "192.0.2.9:80").Reason, "its weight is 0")
	one, _ := b.memberState("192.0.2.1:80")
	equal(t, "key", fmt.Sprint(one.Endpoint().Key()), "{kubernetes 192.0.2.1:80 a}")

	set = endpointSet(2, "192.0.2.1:80#a")
	set.Endpoints[0].Terminating = true
	b.Apply(set)
	b.pass(FlushInterval)
	last := membership1(t, b, "192.0.2.1:80")
	if last.Share != 1 || last.Reason != "it is terminating; it gets requests all the same, since too few others can" {
		t.Errorf("the last one is %+v", last)
	}
}

func TestStatusOfSlowStartLatencyAndCookie(t *testing.T) {
	b := newRig(t, nil)
	b.Apply(endpointSet(1, "192.0.2.1:80"))
	pool := b.pool(PoolSpec{
		Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)},
		Policies: Policies{
			SlowStart: 10 * time.Second, Sticks: true, Cookie: cookie(t),
			Strategy: picker.Strategy{Name: dynamic.StrategyPeakEWMA},
		},
	})
	b.Apply(endpointSet(2, "192.0.2.1:80", "192.0.2.2:80"))
	b.pass(FlushInterval)
	b.ends(pool, "192.0.2.1:80", Result{Latency: 20 * time.Millisecond})
	old, fresh := membership1(t, b, "192.0.2.1:80"), membership1(t, b, "192.0.2.2:80")
	equal(t, "slow start of who was there", old.SlowStart, 1.0)
	equal(t, "slow start at first", fresh.SlowStart, .1)
	equal(t, "cookie", old.Sticky, sticky.ID("http://192.0.2.1:80"))
	equal(t, "unknown latency", fresh.Latency, time.Duration(0))
	if seconds := old.Latency.Seconds(); math.Abs(seconds-.02) > 1e-4 {
		t.Errorf("the latency is %v s", seconds)
	}
	b.pass(5 * time.Second)
	equal(t, "slow start after half of the time", membership1(t, b, "192.0.2.2:80").SlowStart, .5)
}

// idler is a Dialer whose upstreams have connections.
type idler struct{ idle, shared int }

func (i *idler) Connect(key UpstreamKey) Connections {
	return kept{&trips{newLine(), key, false}, i}
}

type kept struct {
	*trips
	*idler
}

func (k kept) IdleConnections() (idle, shared int) { return k.idle, k.shared }

func TestStatusOfUpstreams(t *testing.T) {
	b := newRig(t, nil)
	pool := b.pool(PoolSpec{Name: "a", Dialer: &idler{3, 2}, Servers: servers(1)})
	b.pool(PoolSpec{Name: "b", Dialer: pool.dialer, Servers: servers(1)})
	secure := servers(1)[0]
	secure.Scheme, secure.Host = "https", "shop.example"
	b.pool(PoolSpec{Name: "c", Dialer: newLine(), Servers: []ServerSpec{secure}})
	one, memberships := b.memberState("192.0.2.1:80")
	equal(t, "memberships", len(memberships), 3)
	equal(t, "upstreams", one.Upstreams(), []UpstreamStatus{
		{Scheme: "http", Idle: 5},
		{Scheme: "https", Host: "shop.example"},
	})
	member, _ := pick(pool)
	equal(t, "in flight", one.Endpoint().InFlight(), 1)
	equal(t, "upstreams of a busy one", one.Upstreams()[0].Idle, 3)
	member.Done(Result{Outcome: Unreachable})
	equal(t, "failures", one.Endpoint().ConnectFailures(), 1)
}

func TestStatussAreSelected(t *testing.T) {
	b := newRig(t, nil)
	b.Apply(endpointSet(1, "192.0.2.10:80#uid-a", "192.0.2.11:80#uid-b"))
	b.pool(PoolSpec{Name: "Shop@file", Dialer: newLine(), Servers: []ServerSpec{
		following(web, 1),
		inline("192.0.2.2:80", 0),
	}})
	b.pool(PoolSpec{Name: "blog@file", Dialer: newLine(), Servers: []ServerSpec{inline("192.0.2.2:80", 1)}})
	tests := []struct {
		query EndpointQuery
		want  string
	}{
		{EndpointQuery{}, "192.0.2.2:80 192.0.2.10:80 192.0.2.11:80"},
		{EndpointQuery{Search: "2.1"}, "192.0.2.10:80 192.0.2.11:80"},
		{EndpointQuery{Search: "SHOP"}, "192.0.2.2:80 192.0.2.10:80 192.0.2.11:80"},
		{EndpointQuery{Search: "UID-b"}, "192.0.2.11:80"},
		{EndpointQuery{Search: "kubernetes"}, "192.0.2.10:80 192.0.2.11:80"},
		{EndpointQuery{Service: "blog@file"}, "192.0.2.2:80"},
		{EndpointQuery{Service: "blog"}, ""},
		{EndpointQuery{Status: "draining"}, "192.0.2.2:80"},
		{EndpointQuery{Status: "serving", Service: "Shop@file", Search: "192.0.2.2"}, ""},
		{EndpointQuery{Status: "draining", Service: "Shop@file", Search: "192.0.2.2"}, "192.0.2.2:80"},
		{EndpointQuery{Status: "nonsense"}, ""},
	}
	for _, test := range tests {
		var got []string
		for _, one := range b.EndpointStatuses(test.query) {
			got = append(got, one.Address())
		}
		equal(t, fmt.Sprintf("%+v", test.query), strings.Join(got, " "), test.want)
	}
}

// TestStatusesWhileEverythingChanges is for the race detector.
func TestStatussWhileEverythingChanges(t *testing.T) {
	b := newRig(t, nil)
	policies := Policies{Outlier: detection(t), SlowStart: time.Second}
	pool := b.shop(4, policies)
	end := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				for _, one := range b.EndpointStatuses(EndpointQuery{Search: "192"}) {
					_, _ = one.Memberships(time.Now()), one.Upstreams()
				}
			}
		})
	}
	for i := range 50 {
		policies.Sticks = i%2 == 1
		if policies.Sticks {
			policies.Cookie = cookie(t)
		}
		b.shop(4, policies)
		b.fails(pool, "192.0.2.1:80", 3)
		b.pass(3 * time.Second)
	}
	close(end)
	readers.Wait()
}

func BenchmarkStatuss(b *testing.B) {
	registry := NewRegistry(Options{})
	dialer := newLine()
	for i := range 10000 {
		spec := PoolSpec{Name: fmt.Sprintf("service-%d@file", i), Dialer: dialer}
		for j := range 3 {
			address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), byte(j)}), 80)
			spec.Servers = append(spec.Servers, ServerSpec{Address: address, Scheme: "http", Weight: 1})
		}
		registry.pool(spec)
	}
	for b.Loop() {
		registry.EndpointStatuses(EndpointQuery{Search: "service-77"})
	}
}

// The writer may reset the reason of a check while it is read.
func TestReasonThatIsTakenBack(t *testing.T) {
	var r statusReasons
	text, done := "status 500", make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				r.check.Store(&text)
				r.check.Store(nil)
			}
		}
	})
	for range 1000000 {
		if reason, _ := r.of(Unhealthy, 0); reason != "its check failed" && reason != "its check failed: status 500" {
			t.Fatalf("reason %q", reason)
		}
	}
	close(done)
	writer.Wait()
}
