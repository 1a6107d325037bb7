package loadbalancer

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/client"
)

// line is a Dialer that counts what it made and what was closed.
type line struct {
	made   []UpstreamKey
	closed map[string]int
	cut    []string
	calls  int
}

func newLine() *line { return &line{closed: map[string]int{}} }

func (l *line) Connect(key UpstreamKey) Connections {
	l.made = append(l.made, key)
	return &trips{line: l, key: key}
}

type trips struct {
	line *line
	key  UpstreamKey
	once bool
}

func (t *trips) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrNotSupported }

// CloseIdleConnections may be called again and again while requests go on; an upstream is closed once.
func (t *trips) CloseIdleConnections() {
	t.line.calls++
	if !t.once {
		t.once = true
		t.line.closed[label(t.key.Endpoint)]++
	}
}

func (*trips) Send(*client.RoundTrip, *http.Request, SharedSender) (*http.Response, error) {
	return nil, http.ErrNotSupported
}
func (*trips) Shares() bool                        { return false }
func (*trips) IdleConnections() (idle, shared int) { return 0, 0 }

func (t *trips) Close() { t.line.cut = append(t.line.cut, label(t.key.Endpoint)) }

func label(key EndpointKey) string {
	text := key.Address.String()
	if key.UID != "" {
		text += "#" + key.UID
	}
	return text
}

const web = "kubernetes/shop/web:80"

// set writes down endpoints as address[#uid][!], where ! means terminating.
func endpointSet(version uint64, endpoints ...string) dynamic.EndpointSet {
	set := dynamic.EndpointSet{Key: web, Version: version}
	for _, text := range endpoints {
		set.Endpoints = append(set.Endpoints, endpoint(text))
	}
	return set
}

func endpoint(text string) dynamic.Endpoint {
	var e dynamic.Endpoint
	if last := len(text) - 1; text[last] == '!' {
		e.Terminating, text = true, text[:last]
	}
	for i := range text {
		if text[i] == '#' {
			e.UID, text = text[i+1:], text[:i]
			break
		}
	}
	e.Address = netip.MustParseAddrPort(text)
	return e
}

func inline(address string, weight int) ServerSpec {
	return ServerSpec{Address: netip.MustParseAddrPort(address), Scheme: "http", Host: address, Weight: weight}
}

func following(key string, weight int) ServerSpec {
	return ServerSpec{SetKey: key, Scheme: "http", Weight: weight}
}

// shares returns the share of each member by its label.
func shares(pool *Pool) map[string]uint64 {
	got := map[string]uint64{}
	for member, share := range pool.Snapshot().Members() {
		got[label(member.Endpoint().Key())] += share
	}
	return got
}

// picks counts the endpoints that answer n requests.
func picks(pool *Pool, n int) map[string]int {
	got := map[string]int{}
	for range n {
		member, ok := pick(pool)
		if !ok {
			got["nobody"]++
			continue
		}
		member.Done(Result{})
		got[label(member.Endpoint().Key())]++
	}
	return got
}

// pick begins a request.
func pick(pool *Pool) (*Member, bool) {
	member, err := pool.Acquire(&Request{})
	return member, err == nil
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestPoolOfListedServers(t *testing.T) {
	registry, dialer := NewRegistry(Options{}), newLine()
	pool := registry.pool(PoolSpec{Name: "shop@file", Dialer: dialer, Servers: []ServerSpec{
		inline("192.0.2.1:80", 2), inline("192.0.2.2:80", 1), inline("192.0.2.3:80", 0), inline("192.0.2.1:80", 1),
	}})
	equal(t, "picks", picks(pool, 8), map[string]int{"192.0.2.1:80": 6, "192.0.2.2:80": 2})
	equal(t, "shares", shares(pool), map[string]uint64{"192.0.2.1:80": 3, "192.0.2.2:80": 1, "192.0.2.3:80": 0})
	equal(t, "upstreams", len(dialer.made), 3)
}

func TestPoolWithoutServers(t *testing.T) {
	registry := NewRegistry(Options{})
	for name, servers := range map[string][]ServerSpec{
		"none":         nil,
		"weight 0":     {inline("192.0.2.1:80", 0)},
		"set to come":  {following(web, 1)},
		"negative one": {inline("192.0.2.1:80", -1)},
	} {
		pool := registry.pool(PoolSpec{Name: name, Dialer: newLine(), Servers: servers})
		equal(t, name, picks(pool, 2), map[string]int{"nobody": 2})
	}
}

func TestPoolFollowsItsSet(t *testing.T) {
	registry, dialer, now := NewRegistry(Options{}), newLine(), time.Unix(1000, 0)
	pool := registry.pool(PoolSpec{Name: "shop@kubernetes", Dialer: dialer, Servers: []ServerSpec{following(web, 1)}})
	for _, step := range []struct {
		what   string
		set    dynamic.EndpointSet
		want   map[string]int
		closed map[string]int
	}{
		{
			"arrives", endpointSet(1, "192.0.2.1:80#a", "192.0.2.2:80#b"),
			map[string]int{"192.0.2.1:80#a": 3, "192.0.2.2:80#b": 3},
			map[string]int{},
		},
		{
			"is late", endpointSet(1, "192.0.2.9:80"),
			map[string]int{"192.0.2.1:80#a": 3, "192.0.2.2:80#b": 3},
			map[string]int{},
		},
		{
			"grows", endpointSet(3, "192.0.2.1:80#a", "192.0.2.2:80#b", "192.0.2.3:80#c"),
			map[string]int{"192.0.2.1:80#a": 2, "192.0.2.2:80#b": 2, "192.0.2.3:80#c": 2},
			map[string]int{},
		},
		{
			"is stale", endpointSet(2, "192.0.2.9:80"),
			map[string]int{"192.0.2.1:80#a": 2, "192.0.2.2:80#b": 2, "192.0.2.3:80#c": 2},
			map[string]int{},
		},
		{
			"has a new pod at an old address", endpointSet(4, "192.0.2.1:80#a", "192.0.2.2:80#z", "192.0.2.3:80#c"),
			map[string]int{"192.0.2.1:80#a": 2, "192.0.2.2:80#z": 2, "192.0.2.3:80#c": 2},
			map[string]int{"192.0.2.2:80#b": 1},
		},
		{
			"has one that terminates", endpointSet(5, "192.0.2.1:80#a!", "192.0.2.2:80#z", "192.0.2.3:80#c"),
			map[string]int{"192.0.2.2:80#z": 3, "192.0.2.3:80#c": 3},
			map[string]int{"192.0.2.2:80#b": 1, "192.0.2.1:80#a": 1},
		},
		{
			"is out of order, and twice", endpointSet(6, "192.0.2.3:80#c", "192.0.2.2:80#z", "192.0.2.2:80#z"),
			map[string]int{"192.0.2.2:80#z": 3, "192.0.2.3:80#c": 3},
			map[string]int{"192.0.2.2:80#b": 1, "192.0.2.1:80#a": 1},
		},
		{
			"terminates", endpointSet(7, "192.0.2.2:80#z!", "192.0.2.3:80#c!"),
			map[string]int{"192.0.2.2:80#z": 3, "192.0.2.3:80#c": 3},
			map[string]int{"192.0.2.2:80#b": 1, "192.0.2.1:80#a": 1, "192.0.2.2:80#z": 1, "192.0.2.3:80#c": 1},
		},
		{
			"is sent again", endpointSet(8, "192.0.2.2:80#z!", "192.0.2.3:80#c!"),
			map[string]int{"192.0.2.2:80#z": 3, "192.0.2.3:80#c": 3},
			map[string]int{"192.0.2.2:80#b": 1, "192.0.2.1:80#a": 1, "192.0.2.2:80#z": 1, "192.0.2.3:80#c": 1},
		},
		{
			"is empty", endpointSet(9),
			map[string]int{"nobody": 6},
			map[string]int{"192.0.2.2:80#b": 1, "192.0.2.1:80#a": 1, "192.0.2.2:80#z": 1, "192.0.2.3:80#c": 1},
		},
	} {
		registry.Apply(step.set)
		now = now.Add(time.Second)
		registry.Flush(now)
		equal(t, "a set that "+step.what, picks(pool, 6), step.want)
		equal(t, "closed when a set "+step.what, dialer.closed, step.closed)
	}
}

func TestKnown(t *testing.T) {
	registry := NewRegistry(Options{})
	registry.pool(PoolSpec{Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}})
	equal(t, "known before it came", registry.Known(web), false)
	registry.Apply(endpointSet(1))
	equal(t, "known when empty", registry.Known(web), true)
	registry.Apply(dynamic.EndpointSet{Key: web, Version: 2, Deleted: true, Endpoints: endpointSet(0,
		"192.0.2.1:80").Endpoints})
	equal(t, "known when deleted", registry.Known(web), true)
	pool := registry.pool(PoolSpec{Name: "other", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}})
	equal(t, "members of a deleted set", picks(pool, 1), map[string]int{"nobody": 1})
	registry.Release("shop")
	registry.Release("other")
	equal(t, "known when deleted and not followed", registry.Known(web), false)
	registry.Apply(endpointSet(1, "192.0.2.1:80"))
	equal(t, "known before anybody follows", registry.Known(web), true)
}

func TestSharesOfServersDoNotGrowWithTheirAddresses(t *testing.T) {
	registry := NewRegistry(Options{})
	registry.Apply(dynamic.EndpointSet{Key: "dns/a:80", Endpoints: endpointSet(0, "192.0.2.1:80", "192.0.2.2:80",
		"192.0.2.3:80").Endpoints})
	registry.Apply(dynamic.EndpointSet{Key: "dns/b:80", Endpoints: endpointSet(0, "192.0.2.11:80",
		"192.0.2.12:80").Endpoints})
	pool := registry.pool(PoolSpec{Name: "shop", Dialer: newLine(), Servers: []ServerSpec{
		following("dns/a:80", 2), following("dns/b:80", 1), inline("192.0.2.20:80", 1),
	}})
	equal(t, "picks", picks(pool, 240), map[string]int{
		"192.0.2.1:80": 40, "192.0.2.2:80": 40, "192.0.2.3:80": 40, "192.0.2.11:80": 30, "192.0.2.12:80": 30,
		"192.0.2.20:80": 60,
	})
}

// The clock stands still, so that a snapshot takes no time and the pool need not wait for longer than FlushInterval.
func TestFlushLimitsTheRate(t *testing.T) { synctest.Test(t, flushLimitsTheRate) }

func flushLimitsTheRate(t *testing.T) {
	registry, start := NewRegistry(Options{}), time.Unix(1000, 0)
	pool := registry.pool(PoolSpec{Name: "shop", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}})
	if next := registry.Flush(start); !next.IsZero() {
		t.Errorf("with nothing to do, next is %v", next)
	}
	published := map[*Snapshot]bool{pool.Snapshot(): true}
	var next time.Time
	version := uint64(0)
	for ms := range 100 { // a storm: two changes each millisecond
		now := start.Add(time.Duration(ms) * time.Millisecond)
		for range 2 {
			version++
			registry.Apply(endpointSet(version, fmt.Sprintf("192.0.2.%d:80", version)))
		}
		next = registry.Flush(now)
		if ms == 0 && len(shares(pool)) != 1 {
			t.Fatal("the first change was not published at once")
		}
		published[pool.Snapshot()] = true
	}
	equal(t, "snapshots of a storm of 100 ms, with the one before", len(published), 11)
	equal(t, "next", next, start.Add(100*time.Millisecond))
	if next = registry.Flush(next); !next.IsZero() {
		t.Errorf("after the storm, next is %v", next)
	}
	equal(t, "the end of the storm", picks(pool, 1), map[string]int{"192.0.2.200:80": 1})
}

func TestPaceOfAPool(t *testing.T) {
	for _, test := range []struct{ last, before, want time.Duration }{
		{0, 0, FlushInterval},
		{5 * time.Millisecond, 6 * time.Millisecond, 50 * time.Millisecond},
		{time.Second, time.Millisecond, FlushInterval},     // It waited for the processor once.
		{time.Second, time.Second, 200 * time.Millisecond}, // The machine has no time for anything.
	} {
		pool := &Pool{cost: test.last, costBefore: test.before}
		equal(t, fmt.Sprintf("the wait after %v and %v", test.before, test.last), pool.pace(), test.want)
	}
}

func TestWhatOutlivesAChange(t *testing.T) {
	registry, dialer := NewRegistry(Options{}), newLine()
	registry.Apply(endpointSet(1, "192.0.2.1:80", "192.0.2.2:80"))
	spec := PoolSpec{Name: "shop", Dialer: dialer, Servers: []ServerSpec{following(web, 1), inline("192.0.2.7:80", 1)}}
	pool := registry.pool(spec)
	before := pool.Snapshot()
	again := PoolSpec{Name: "shop", Dialer: dialer, Servers: slices.Clone(spec.Servers)}
	if registry.pool(again) != pool || pool.Snapshot() != before {
		t.Error("an equal specification made another snapshot")
	}
	kept := members(pool)["192.0.2.1:80"]
	kept.upstream.begin()

	changed := PoolSpec{Name: "shop", Dialer: dialer, Servers: []ServerSpec{inline("192.0.2.8:80", 4), following(web, 3)}}
	if registry.pool(changed) != pool {
		t.Error("a changed specification made another pool")
	}
	if members(pool)["192.0.2.1:80"] != kept || kept.Endpoint().InFlight() != 1 {
		t.Error("a member did not outlive a change of its server's weight")
	}
	equal(t, "closed", dialer.closed, map[string]int{"192.0.2.7:80": 1})

	other := registry.pool(PoolSpec{Name: "other", Dialer: newLine(), Servers: []ServerSpec{following(web, 1)}})
	sharing := members(other)["192.0.2.1:80"]
	if sharing.Endpoint() != kept.Endpoint() {
		t.Error("two pools do not share an endpoint")
	}
	if sharing.Upstream() == kept.Upstream() {
		t.Error("two transports share an upstream")
	}
	preserving := following(web, 1)
	preserving.Path = "/base"
	third := registry.pool(PoolSpec{Name: "third", Dialer: dialer, Servers: []ServerSpec{preserving}})
	if members(third)["192.0.2.1:80"].Upstream() != kept.Upstream() {
		t.Error("two pools of one transport do not share an upstream")
	}
	equal(t, "path", members(third)["192.0.2.1:80"].Path(), "/base")
	kept.Done(Result{Outcome: Answered})
}

func members(pool *Pool) map[string]*Member {
	got := map[string]*Member{}
	for member := range pool.Snapshot().Members() {
		got[member.Address()] = member
	}
	return got
}

func TestPositionOutlivesAChange(t *testing.T) {
	registry, dialer := NewRegistry(Options{}), newLine()
	servers := []ServerSpec{inline("192.0.2.1:80", 1), inline("192.0.2.2:80", 1), inline("192.0.2.3:80", 1)}
	pool := registry.pool(PoolSpec{Name: "shop", Dialer: dialer, Servers: servers})
	for range 20 {
		first, _ := pick(pool)
		registry.pool(PoolSpec{Name: "shop", Dialer: dialer, Servers: slices.Clone(servers)})
		second, _ := pick(pool)
		if first == second {
			t.Fatal("the same member twice in a row: the position was lost")
		}
	}
	firsts := map[string]bool{}
	for range 60 {
		servers[2].Weight = 3 - servers[2].Weight
		registry.pool(PoolSpec{Name: "shop", Dialer: dialer, Servers: slices.Clone(servers)})
		member, _ := pick(pool)
		firsts[member.Address()] = true
	}
	if len(firsts) < 2 {
		t.Errorf("after each change %v is picked first: the position begins anew", slices.Collect(maps.Keys(firsts)))
	}
}

func TestReleaseClosesAfterTheLastRequest(t *testing.T) {
	registry, dialer := NewRegistry(Options{}), newLine()
	pool := registry.pool(PoolSpec{Name: "shop", Dialer: dialer, Servers: []ServerSpec{inline("192.0.2.1:80", 1)}})
	running, _ := pick(pool)
	registry.Release("shop")
	registry.Release("shop")
	before := dialer.calls
	late, ok := pick(pool)
	if !ok {
		t.Fatal("a request of the old table finds no endpoint")
	}
	running.Done(Result{Outcome: Answered})
	equal(t, "closed with a late request on its way", dialer.calls-before, 0)
	late.Done(Result{Outcome: Broken})
	equal(t, "closed after the last request", dialer.calls-before, 1)
	equal(t, "endpoints in use", len(slices.Collect(registry.Endpoints())), 0)
}

func TestOutcomes(t *testing.T) {
	registry := NewRegistry(Options{})
	pool := registry.pool(PoolSpec{Name: "shop", Dialer: newLine(), Servers: []ServerSpec{inline("192.0.2.1:80", 1)}})
	for _, step := range []struct {
		outcome  Outcome
		failures int
		text     string
	}{
		{Unreachable, 1, "unreachable"},
		{Unreachable, 2, "unreachable"},
		{Abandoned, 2, "abandoned"},
		{Broken, 2, "broken"},
		{TimedOut, 2, "timed out"},
		{Answered, 0, "answered"},
	} {
		member, _ := pick(pool)
		equal(t, "in flight", member.Endpoint().InFlight(), 1)
		member.Done(Result{Outcome: step.outcome})
		equal(t, "in flight", member.Endpoint().InFlight(), 0)
		equal(t, "connect failures after "+step.outcome.String(), member.Endpoint().ConnectFailures(), step.failures)
		equal(t, "text", step.outcome.String(), step.text)
	}
}

func TestUpstreamKeys(t *testing.T) {
	registry, dialer := NewRegistry(Options{}), newLine()
	address := netip.MustParseAddrPort("192.0.2.1:443")
	pool := registry.pool(PoolSpec{Name: "shop", Dialer: dialer, Servers: []ServerSpec{
		{Address: address, Scheme: "https", Host: "a.example", Weight: 1},
		{Address: address, Scheme: "https", Host: "b.example", Weight: 1},
		{Address: address, Scheme: "http", Host: "a.example", Weight: 1},
		{Address: address, Scheme: "http", Host: "b.example", Weight: 1},
		{Address: address, Scheme: "h2c", Weight: 1},
	}})
	var got []string
	for _, key := range dialer.made {
		got = append(got, key.Scheme+" "+key.Host)
	}
	slices.Sort(got)
	equal(t, "upstreams", got, []string{"h2c ", "http ", "https a.example", "https b.example"})
	var hosts []string
	for member := range pool.Snapshot().Members() {
		hosts = append(hosts, member.Host())
	}
	slices.Sort(hosts)
	equal(t, "hosts", hosts, []string{"192.0.2.1:443", "a.example", "a.example", "b.example", "b.example"})
}

// TestAPoolOfNoWeight is not up, and has a budget although it grows by no request.
func TestAPoolOfNoWeight(t *testing.T) {
	registry := NewRegistry(Options{})
	pool := registry.pool(PoolSpec{Name: "shop", Dialer: newLine(), Servers: []ServerSpec{inline("192.0.2.1:80", 0)}})
	equal(t, "up", pool.Up(), false)
	if pool.Budget() == nil {
		t.Error("there is no budget")
	}
}
