package picker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

func unbounded() Strategy {
	return Strategy{Name: dynamic.StrategyHash, Hash: Hash{Source: dynamic.HashClientIP}}
}

// hosts returns idle candidates of equal weight.
func hosts(n int) list {
	candidates := make(list, n)
	for i := range candidates {
		candidates[i] = weighted{Weight: 1, ID: fmt.Sprintf("http://10.0.%d.%d:80", i>>8, i&255), InFlight: &atomic.Int64{}}
	}
	return candidates
}

// owners returns the ID of the candidate of each of many clients.
func owners(s Strategy, candidates list) []string {
	picker := New(s, candidates, nil)
	got := make([]string, 10_000)
	for i := range got {
		got[i] = candidates[picker.Pick(&Request{Client: "198.51." + strconv.Itoa(i>>8) + "." + strconv.Itoa(i&255)})].ID
	}
	return got
}

// moved returns the share of the clients that changed hands.
func moved(before, after []string) float64 {
	count := 0
	for i := range before {
		if before[i] != after[i] {
			count++
		}
	}
	return float64(count) / float64(len(before))
}

// TestOnlyWhatMustMoveMoves has one of a hundred leave, or join, or change its weight.
func TestOnlyWhatMustMoveMoves(t *testing.T) {
	for _, strategy := range []Strategy{unbounded(), named(dynamic.StrategyHRW)} {
		all := hosts(100)
		fewer := slices.Delete(slices.Clone(all), 41, 42)
		before, after := owners(strategy, all), owners(strategy, fewer)
		if share := moved(before, after); share > 0.01*1.5 {
			t.Errorf("%s: %.4f of the clients moved when one of 100 left", strategy.Name, share)
		}
		for i := range before {
			if before[i] != after[i] && before[i] != all[41].ID {
				t.Fatalf("%s: a client of %s moved to %s when another left or joined", strategy.Name, before[i], after[i])
			}
		}
		heavier := slices.Clone(all)
		for i := range heavier {
			heavier[i].Weight = 2
		}
		if share := moved(before, owners(strategy, heavier)); share != 0 {
			t.Errorf("%s: %.4f of the clients moved when all weights doubled", strategy.Name, share)
		}
		heavier[7].Weight = 1
		after = owners(strategy, heavier)
		for i := range before {
			if before[i] != after[i] && before[i] != heavier[7].ID {
				t.Fatalf("%s: a client of %s moved to %s when the weight of another fell", strategy.Name, before[i], after[i])
			}
		}
	}
}

// TestLargeRingsMoveLittle is about lists that are too large for all of their points.
func TestLargeRingsMoveLittle(t *testing.T) {
	for _, n := range []int{300, 2000} {
		all := hosts(n)
		share := moved(owners(unbounded(), all), owners(unbounded(), all[1:]))
		if share > 4/float64(n) {
			t.Errorf("%.5f of the clients moved when one of %d left", share, n)
		}
	}
}

// TestProcessesAgree has two processes learn of the same candidates in different orders.
func TestProcessesAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, strategy := range []Strategy{unbounded(), named(dynamic.StrategyHRW)} {
		one := hosts(50)
		for i := range one {
			one[i].Weight = uint64(1 + i%3) //nolint:gosec // not negative
		}
		other := slices.Clone(one)
		random.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		if share := moved(owners(strategy, one), owners(strategy, other)); share != 0 {
			t.Errorf("%s: %.4f of the clients go elsewhere in the other process", strategy.Name, share)
		}
	}
}

// TestRingIsEven measures how far the parts of the ring are from the weights, over many sets of addresses.
func TestRingIsEven(t *testing.T) {
	for _, weights := range [][]uint64{{1, 1, 1, 1}, {1, 2, 4}, {10, 1}} {
		squares := 0.0
		for set := range 20 {
			candidates := make(list, len(weights))
			for i := range candidates {
				candidates[i] = weighted{Weight: weights[i], ID: fmt.Sprintf("http://10.0.%d.%d:80", set, i)}
			}
			relative, _ := relativeWeights(candidates)
			places := newRing(candidates, relative).places
			have := 0
			for _, owner := range places {
				if owner == 0 {
					have++
				}
			}
			off := float64(have)/float64(len(places)) - relative[0]/float64(len(weights))
			squares += off * off
		}
		if deviation := math.Sqrt(squares / 20); deviation > 0.008 {
			t.Errorf("weights %v: the standard deviation from the first one's share is %.4f", weights, deviation)
		}
	}
}

func TestAttemptsGoDownTheLine(t *testing.T) {
	for _, strategy := range []Strategy{unbounded(), named(dynamic.StrategyHash), named(dynamic.StrategyHRW)} {
		all := hosts(10)
		picker := New(strategy, all, nil)
		for client := range 100 {
			request := Request{Client: fmt.Sprint("client ", client)}
			var line []int
			for request.Attempt = range 10 {
				line = append(line, picker.Pick(&request))
			}
			if slices.Sort(line); !slices.Equal(line, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
				t.Fatalf("%s: ten attempts of one client met %v", strategy.Name, line)
			}
			request.Attempt = 0
			first := picker.Pick(&request)
			request.Attempt = 10
			if got := picker.Pick(&request); got != first {
				t.Fatalf("%s: when the line is over it begins with %d, want %d", strategy.Name, got, first)
			}
		}
	}
}

// TestNextInLineTakesOver compares the second attempt with where the client goes when the first one is gone.
func TestNextInLineTakesOver(t *testing.T) {
	for _, strategy := range []Strategy{unbounded(), named(dynamic.StrategyHRW)} {
		all := hosts(10)
		picker := New(strategy, all, nil)
		for client := range 20 {
			request := Request{Client: fmt.Sprint("client ", client)}
			first := picker.Pick(&request)
			request.Attempt = 1
			second := all[picker.Pick(&request)].ID
			left := slices.Delete(slices.Clone(all), first, first+1)
			request.Attempt = 0
			if got := left[New(strategy, left, nil).Pick(&request)].ID; got != second {
				t.Fatalf("%s: %s was next in line, but without the first one it is %s", strategy.Name, second, got)
			}
		}
	}
}

// TestBoundedLoad has every second request be of one client.
func TestBoundedLoad(t *testing.T) {
	for _, percent := range []int{100, 125, 200} {
		for _, weights := range [][]uint64{ones(10), {1, 2, 3, 4}} {
			sim := simulate(Strategy{Name: dynamic.StrategyHash, Hash: Hash{Source: dynamic.HashClientIP, BoundedLoad: percent}},
				8, weights...)
			sim.client = func() string {
				if sim.random.IntN(2) == 0 {
					return "192.0.2.1"
				}
				return fmt.Sprint(sim.random.Uint64())
			}
			overflows := 0
			sim.watch = func(i int) {
				have, bound := sim.members[i].InFlight.Load(), sim.fair(i)*float64(sim.state.InFlight.Load())*float64(percent)/100
				if float64(have) > math.Ceil(bound)+allowance {
					overflows++
				}
			}
			sim.serve = func(int, time.Duration) (time.Duration, bool) { return sim.exponential(10 * time.Millisecond), false }
			sim.loop(400, 20_000)
			if overflows > 0 {
				t.Errorf("%d %%, weights %v: the bound did not hold %d times", percent, weights, overflows)
			}
		}
	}
}

// TestAffinityHolds has many clients with a few requests each, and demands that nearly all of them stay on one
// endpoint.
func TestAffinityHolds(t *testing.T) {
	for _, clients := range []int{1, 6, 50, 500} {
		sim := simulate(named(dynamic.StrategyHash), 9, ones(5)...)
		home := New(unbounded(), sim.members, nil)
		strays, last := 0, ""
		sim.client = func() string {
			last = fmt.Sprint("client ", sim.random.IntN(max(clients/6, 1)))
			if clients == 500 {
				last = fmt.Sprint("client ", sim.random.Uint64())
			}
			return last
		}
		sim.watch = func(i int) {
			if i != home.Pick(&Request{Client: last}) {
				strays++
			}
		}
		sim.loop(clients, 20_000)
		if share := float64(strays) / 20_000; clients <= 6 && strays > 0 || clients == 500 && share > 0.02 {
			t.Errorf("%d requests at once: %.4f of them went elsewhere", clients, share)
		}
	}
}

// TestBusyElsewhere has endpoints that are busy with requests of other lists, beyond every bound of this one.
func TestBusyElsewhere(t *testing.T) {
	all := hosts(4)
	for i := range all {
		all[i].InFlight.Store(1000)
	}
	bounded, home := New(named(dynamic.StrategyHash), all, nil), New(unbounded(), all, nil)
	for client := range 100 {
		request := Request{Client: fmt.Sprint(client)}
		if got, want := bounded.Pick(&request), home.Pick(&request); got != want {
			t.Fatalf("client %d goes to %d, want %d, since all are equally busy", client, got, want)
		}
		again := request
		again.Attempt = 1
		if got, want := bounded.Pick(&again), home.Pick(&again); got != want {
			t.Fatalf("the second attempt of client %d goes to %d, want %d", client, got, want)
		}
	}
	all[2].InFlight.Store(3000)
	for client := range 100 {
		if got := bounded.Pick(&Request{Client: fmt.Sprint(client)}); got == 2 {
			t.Fatal("a client goes to the busiest by far")
		}
	}
}

// TestEqualIDsShare has one address twice, as when two servers differ in their path.
func TestEqualIDsShare(t *testing.T) {
	for _, strategy := range []Strategy{unbounded(), named(dynamic.StrategyHRW)} {
		all := hosts(2)
		all[1].ID = all[0].ID
		picker, first := New(strategy, all, nil), 0
		for client := range 1000 {
			if picker.Pick(&Request{Client: fmt.Sprint(client)}) == 0 {
				first++
			}
		}
		if first < 400 || first > 600 {
			t.Errorf("%s: the first of two equal ones gets %d of 1000", strategy.Name, first)
		}
	}
}

func TestKeys(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://shop.example/a%20b/c?x=1&user=mia&us%65r=later&a+b=3", nil)
	request.Header.Add("X-Tenant", "blue")
	request.Header.Add("X-Tenant", "red")
	request.Header.Add("Cookie", `one=1; session="abc"; session=def`)
	request.Header.Add("Cookie", "other=x=y")
	for _, test := range []struct {
		source, name, want string
	}{
		{dynamic.HashClientIP, "", "192.0.2.7"},
		{dynamic.HashHeader, "X-Tenant", "blue"},
		{dynamic.HashHeader, "Host", "shop.example"},
		{dynamic.HashHeader, "X-Missing", ""},
		{dynamic.HashCookie, "session", "abc"},
		{dynamic.HashCookie, "other", "x=y"},
		{dynamic.HashCookie, "Session", ""},
		{dynamic.HashQuery, "user", "mia"},
		{dynamic.HashQuery, "a b", "3"},
		{dynamic.HashQuery, "use", ""},
		{dynamic.HashQuery, "users", ""},
		{dynamic.HashPath, "", "/a b/c"},
	} {
		hash := Hash{Source: test.source, Name: test.name}
		r := &Request{HTTP: request, Client: "192.0.2.7"}
		if got := hash.of(r); got != test.want {
			t.Errorf("%s %s: got %q, want %q", test.source, test.name, got, test.want)
		}
		if allocated := testing.AllocsPerRun(100, func() { hash.of(r) }); allocated != 0 {
			t.Errorf("%s %s: %v allocations", test.source, test.name, allocated)
		}
	}
}

// TestWithoutKey has requests that lack the header, and clients without an address.
func TestWithoutKey(t *testing.T) {
	all := hosts(10)
	byHeader := New(Strategy{Name: dynamic.StrategyHash, Hash: Hash{Source: dynamic.HashHeader, Name: "X-User"}}, all, nil)
	byClient := New(unbounded(), all, nil)
	seen := map[int]bool{}
	for client := range 200 {
		request := Request{HTTP: &http.Request{}, Client: fmt.Sprint(client)}
		if got, want := byHeader.Pick(&request), byClient.Pick(&request); got != want {
			t.Fatalf("without the header client %d goes to %d, want %d", client, got, want)
		}
		seen[byHeader.Pick(&Request{HTTP: &http.Request{}})] = true
	}
	if len(seen) < 9 {
		t.Errorf("200 requests without a key went to %d of 10", len(seen))
	}
}
