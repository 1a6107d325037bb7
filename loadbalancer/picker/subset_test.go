package picker

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

func expressed(text string, subset int) Strategy {
	return Strategy{
		Name: dynamic.StrategyHash,
		Hash: Hash{Source: dynamic.HashExpression, Expression: text, SubsetSize: subset},
	}
}

func asked(t testing.TB, target, client string) *Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	return &Request{HTTP: r, Client: client}
}

// TestExpression sends requests with equal and other values of an expression.
func TestExpression(t *testing.T) {
	candidates := hosts(50)
	picker := New(expressed("$arg_user|$http_host|$remote_addr", 0), candidates, nil)
	home := picker.Pick(asked(t, "http://a.test/x?user=1", "192.0.2.1"))
	if got := picker.Pick(asked(t, "http://a.test/y?z=2&user=1", "192.0.2.1")); got != home {
		t.Errorf("a request with an equal value goes to %d, not to %d", got, home)
	}
	seen := map[int]bool{}
	for i := range 200 {
		seen[picker.Pick(asked(t, fmt.Sprintf("http://a.test/?user=%d", i), "192.0.2.1"))] = true
		seen[picker.Pick(asked(t, "http://a.test/?user=1", fmt.Sprintf("192.0.2.%d", i)))] = true
	}
	if len(seen) < 40 {
		t.Errorf("requests with many values go to %d of 50 candidates", len(seen))
	}
	// An empty value is one like others, whatever the client.
	picker = New(expressed("$arg_user", 0), candidates, nil)
	home = picker.Pick(asked(t, "http://a.test/", "192.0.2.1"))
	for i := range 100 {
		if got := picker.Pick(asked(t, "http://a.test/", fmt.Sprintf("192.0.2.%d", i))); got != home {
			t.Fatalf("a request without the value goes to %d, not to %d", got, home)
		}
	}
}

// TestSubsets keeps each key on a subset, of which all members get requests.
func TestSubsets(t *testing.T) {
	for count, sizes := range map[int][]int{2: {1, 2, 3}, 7: {1, 3, 7, 20}, 12: {3, 4}} {
		for _, size := range sizes {
			picker := New(expressed("$arg_user", size), hosts(count), nil)
			all := map[int]int{}
			for user := range 60 {
				request := asked(t, fmt.Sprintf("http://a.test/?user=%d", user), "")
				members := map[int]bool{}
				for range 60 * min(size, count) {
					got := picker.Pick(request)
					members[got] = true
					all[got]++
				}
				if want := min(size, count); len(members) != want {
					t.Fatalf("%d candidates in subsets of %d: a key is on %d", count, size, len(members))
				}
			}
			if len(all) != count {
				t.Errorf("%d candidates in subsets of %d: %d get requests", count, size, len(all))
			}
		}
	}
}

// TestSubsetAttempts goes through the subset of the key first, and then through all others.
func TestSubsetAttempts(t *testing.T) {
	const count, size = 10, 3
	picker := New(expressed("$arg_user", size), hosts(count), nil)
	for user := range 30 {
		request := asked(t, fmt.Sprintf("http://a.test/?user=%d", user), "")
		var own []int
		for range 100 {
			if got := picker.Pick(request); !slices.Contains(own, got) {
				own = append(own, got)
			}
		}
		for request.Attempt = size; request.Attempt < count; request.Attempt++ {
			if got := picker.Pick(request); slices.Contains(own, got) {
				t.Fatalf("attempt %d of a key on %d goes to %d", request.Attempt, own, got)
			}
		}
		for request.Attempt = range size {
			if got := picker.Pick(request); !slices.Contains(own, got) {
				t.Fatalf("attempt %d of a key on %d goes to %d", request.Attempt, own, got)
			}
		}
	}
}

// TestSubsetsAreBounded skips members with too many requests in flight.
func TestSubsetsAreBounded(t *testing.T) {
	strategy := expressed("$arg_user", 2)
	strategy.Hash.BoundedLoad = 100
	candidates, state := hosts(4), NewState()
	picker := New(strategy, candidates, state)
	request := asked(t, "http://a.test/?user=1", "")
	busy := picker.Pick(request)
	candidates[busy].InFlight.Store(1000)
	state.InFlight.Store(1000)
	for range 50 {
		if got := picker.Pick(request); got == busy {
			t.Fatal("the busy member of the subset gets a request")
		}
	}
}

func TestExpressionsAllocateNothing(t *testing.T) {
	for _, subset := range []int{0, 3} {
		picker := New(expressed("$scheme://$host$request_uri $cookie_s $http_x $remote_addr", subset), hosts(10), nil)
		request := asked(t, "http://a.test/x?user=1", "192.0.2.1")
		request.HTTP.Header.Set("Cookie", "a=b; s=1")
		request.HTTP.Header.Set("X", "y")
		request.HTTP.RequestURI = "/x?user=1"
		if n := testing.AllocsPerRun(100, func() { picker.Pick(request) }); n != 0 {
			t.Errorf("subsets of %d: %v allocations", subset, n)
		}
	}
}
