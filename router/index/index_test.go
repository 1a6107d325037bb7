package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/router/rule"
)

func newRoute(tb testing.TB, name, text string, priority int) *Route[int] {
	tb.Helper()
	parsed, err := rule.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	if priority == 0 {
		priority = parsed.Length()
	}
	return &Route[int]{Name: name, Rule: parsed, Priority: priority}
}

func names(routes []*Route[int]) string {
	var b strings.Builder
	for _, route := range routes {
		b.WriteString(" " + route.Name)
	}
	return strings.TrimSpace(b.String())
}

// walked returns the names of the visited routes, those that match in upper case.
func walked(x *Index[int], host, path string) string {
	var visited []string
	req := request(host, path)
	x.Walk(&req, func(route *Route[int], matched bool) bool {
		name := route.Name
		if matched {
			name = strings.ToUpper(name)
		}
		visited = append(visited, name)
		return true
	})
	return strings.Join(visited, " ")
}

func TestOrderIsPriorityThenProviderThenName(t *testing.T) {
	a, b := newRoute(t, "a", "Path(`/`)", 5), newRoute(t, "b", "Host(`x`)", 5)
	c, d := newRoute(t, "c", "Host(`*`)", 5), newRoute(t, "d", "PathPrefix(`/`)", 6)
	b.Provider, a.Provider, d.Provider = 0, 1, 9
	x := New([]*Route[int]{a, c, b, d})
	if got := names(x.All()); got != "d b c a" {
		t.Errorf("got order %q, want d b c a", got)
	}
	if got := walked(x, "x", "/"); got != "D B C A" {
		t.Errorf("walked %q, want D B C A", got)
	}
	if x.Len() != 4 || x.LinearCount() != 1 {
		t.Errorf("got %d routes, %d of them linear, want 4 and 1", x.Len(), x.LinearCount())
	}
}

func TestExactWildcardAndAnyHostAreOneUnion(t *testing.T) {
	x := New([]*Route[int]{
		newRoute(t, "exact", "Host(`a.x`)", 1),
		newRoute(t, "wildcard", "Host(`*.x`)", 2),
		newRoute(t, "any", "PathPrefix(`/`)", 3),
		newRoute(t, "regexp", "HostRegexp(`^a`)", 4),
		newRoute(t, "other", "Host(`b.x`)", 9),
	})
	for host, want := range map[string]string{
		"a.x": "REGEXP ANY WILDCARD EXACT",
		"b.x": "OTHER regexp ANY WILDCARD",
		"x":   "regexp ANY",
		"":    "regexp ANY",
	} {
		if got := walked(x, host, "/"); got != want {
			t.Errorf("host %q: walked %q, want %q", host, got, want)
		}
	}
}

func TestPrefixesAreBytes(t *testing.T) {
	x := New([]*Route[int]{
		newRoute(t, "root", "PathPrefix(`/`)", 0), newRoute(t, "a", "PathPrefix(`/a`)", 0),
		newRoute(t, "ab", "PathPrefix(`/ab`)", 0), newRoute(t, "exact", "Path(`/ab`)", 99),
		newRoute(t, "upper", "PathPrefix(`/A`)", 0),
	})
	for path, want := range map[string]string{
		"/": "ROOT", "/x": "ROOT", "/a": "A ROOT", "/a/b": "A ROOT", "/ab": "EXACT AB A ROOT", "/abc": "AB A ROOT",
		"/A": "UPPER ROOT", "": "", "*": "",
	} {
		if got := walked(x, "", path); got != want {
			t.Errorf("path %q: walked %q, want %q", path, got, want)
		}
	}
}

func TestWalkStopsOnRequest(t *testing.T) {
	x := New([]*Route[int]{
		newRoute(t, "a", "Host(`x`)", 3), newRoute(t, "b", "Path(`/`)", 2),
		newRoute(t, "c", "Path(`/`)", 1),
	})
	var visited int
	req := request("x", "/")
	x.Walk(&req, func(*Route[int], bool) bool { visited++; return visited < 2 })
	if visited != 2 {
		t.Errorf("visited %d routes, want 2", visited)
	}
}

func TestTheLastRouteOfANameStays(t *testing.T) {
	first, last := newRoute(t, "a", "Path(`/`)", 0), newRoute(t, "a", "Path(`/x`)", 0)
	x := New([]*Route[int]{first, last})
	if x.Len() != 1 || x.Route("a") != last || x.Route("b") != nil {
		t.Errorf("got %v, want only the last", describe(x.All()))
	}
	x = x.Update([]string{"a", "b"}, []*Route[int]{last, first})
	if x.Len() != 1 || x.Route("a") != first {
		t.Errorf("got %v after the update, want only the last added", describe(x.All()))
	}
}

func TestAllBelongsToTheIndex(t *testing.T) {
	x := New([]*Route[int]{newRoute(t, "a", "Path(`/`)", 1), newRoute(t, "b", "Path(`/`)", 2)})
	_ = append(x.All(), newRoute(t, "c", "Path(`/`)", 3))
	if got := names(x.Update(nil, nil).All()); got != "b a" {
		t.Errorf("got %q, want b a", got)
	}
}

// TestUpdateSharesWhatItDoesNotTouch looks at the trees of hosts: all but the changed ones have to be the same.
func TestUpdateSharesWhatItDoesNotTouch(t *testing.T) {
	s := shapes()[0]
	routes := routesOf(t, s, 500)
	old := New(routes)
	changed := newRoute(t, routes[7].Name, "Host(`new.example.com`)", 0)
	next := old.Update([]string{routes[3].Name}, []*Route[int]{changed})
	for i := range routes {
		host := fmt.Sprintf("app-%d.example.com", i)
		was, is := old.exact.Get(host), next.exact.Get(host)
		switch gone := i == 3 || i == 7; {
		case was == nil:
			t.Fatalf("%s: the old index has lost its tree", host)
		case gone && is != nil:
			t.Errorf("%s: the new index still has a tree", host)
		case !gone && is != was:
			t.Errorf("%s: the tree is not shared", host)
		}
	}
	if next.exact.Get("new.example.com") == nil || old.exact.Get("new.example.com") != nil {
		t.Error("the added route is not in the new index alone")
	}
	if old.Len() != 500 || next.Len() != 499 || slices.Contains(next.All(), routes[3]) || !slices.Contains(next.All(),
		changed) {
		t.Errorf("got %d routes before and %d after", old.Len(), next.Len())
	}
}

// TestMatchAllocatesNothing nests prefixes from none to more than a walk has room for. All routes match by path, and
// only the last by method, so that every list is merged to its end.
func TestMatchAllocatesNothing(t *testing.T) {
	for _, depth := range []int{0, 1, walkRoom - 1, walkRoom, walkRoom + 1, 400} {
		routes := []*Route[int]{newRoute(t, "last", "Host(`*.x`)", -1)}
		for n := range depth {
			routes = append(routes, newRoute(t, fmt.Sprint(n), "PathPrefix(`"+deep(n)+"`) && Method(`POST`)", n%7+1))
		}
		x := New(routes)
		req := request("a.x", deep(500))
		if route := x.Match(&req); route != routes[0] {
			t.Fatalf("%d prefixes: got %v, want the last", depth, route)
		}
		if raceDetector && depth > walkRoom-1 {
			continue
		}
		if n := testing.AllocsPerRun(200, func() { x.Match(&req) }); n != 0 {
			t.Errorf("%d prefixes: got %v allocations, want none", depth, n)
		}
	}
}
