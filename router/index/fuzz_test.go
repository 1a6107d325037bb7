package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluiceproxy/sluice/router/rule"
)

// FuzzIndexEqualsLinear builds an index from generated routes, changes it a few times, and queries it and the linear
// matcher for every request, after each change and in the end once more for every index that was left behind.
func FuzzIndexEqualsLinear(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(checkHistory)
}

// TestIndexEqualsLinear runs the fuzz target on random bytes, always the same.
func TestIndexEqualsLinear(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	rounds := 150
	if raceDetector {
		rounds = 15
	}
	for range rounds {
		data := make([]byte, 1500)
		_, _ = random.Read(data)
		checkHistory(t, data)
	}
}

// version is an index with what it has to agree with.
type version struct {
	index  *Index[int]
	linear *linear[int]
}

func checkHistory(t *testing.T, data []byte) {
	t.Helper()
	s := &source{data: data}
	const mostRoutes, mostUpdates, mostChanges = 60, 4, 6
	routes := s.routes(t, mostRoutes)
	if s.below(4) == 3 {
		routes = append(routes, s.ladder(t)...)
	}
	now := version{index: New(routes), linear: newLinear(routes)}
	history := []version{now}
	for range s.below(mostUpdates + 1) {
		removed := make([]string, s.below(mostChanges))
		for i := range removed {
			removed[i] = s.name()
		}
		now = now.changed(removed, s.routes(t, mostChanges), s.below(4) == 0)
		history = append(history, now)
	}
	requests := s.requests()
	for _, v := range history {
		v.check(t, requests)
	}
}

// changed returns the version after an update, which a whole new index must equal.
func (v version) changed(removed []string, added []*Route[int], whole bool) version {
	routes := slices.DeleteFunc(slices.Clone(v.linear.order), func(r *Route[int]) bool {
		return slices.Contains(removed, r.Name)
	})
	routes = append(routes, added...)
	next := version{linear: newLinear(routes)}
	if whole {
		next.index = v.index.Update(removed, added)
		return next
	}
	// Few routes change here only relative to few others, for which Update would build a new index.
	order := sorted(added)
	next.index = v.index.changed(v.index.gone(removed, order), order)
	return next
}

func (v version) check(t *testing.T, requests []rule.Request) {
	t.Helper()
	if !slices.Equal(v.index.All(), v.linear.order) {
		t.Fatalf("the index holds %v, want %v", describe(v.index.All()), describe(v.linear.order))
	}
	for _, route := range v.linear.order {
		if v.index.Route(route.Name) != route {
			t.Fatalf("the index does not find %s by its name", route.Name)
		}
	}
	for i := range requests {
		v.checkRequest(t, &requests[i])
	}
	if fresh := New(v.linear.order); fresh.LinearCount() != v.index.LinearCount() {
		t.Fatalf("the index counts %d linear routes, a new one %d", v.index.LinearCount(), fresh.LinearCount())
	}
}

func (v version) checkRequest(t *testing.T, req *rule.Request) {
	t.Helper()
	var want []*Route[int]
	for _, route := range v.linear.order {
		if route.Rule.Match(req) {
			want = append(want, route)
		}
	}
	var got, visited []*Route[int]
	v.index.Walk(req, func(route *Route[int], matched bool) bool {
		visited = append(visited, route)
		if matched {
			got = append(got, route)
		}
		return true
	})
	if !slices.Equal(got, want) {
		t.Fatalf("%+v: the index matches %v, want %v, of %v", *req, describe(got), describe(want), describe(v.linear.order))
	}
	if !slices.IsSortedFunc(visited, (*Route[int]).Compare) || len(slices.Compact(slices.Clone(visited))) != len(visited) {
		t.Fatalf("%+v: visited out of order or twice: %v", *req, describe(visited))
	}
	if first := v.index.Match(req); first != v.linear.Match(req) || len(want) > 0 && first != want[0] {
		t.Fatalf("%+v: Match gives %v, want %v", *req, first, want)
	}
}

func describe(routes []*Route[int]) []string {
	texts := make([]string, len(routes))
	for i, route := range routes {
		texts[i] = route.Name + "=" + route.Rule.String()
	}
	return texts
}
