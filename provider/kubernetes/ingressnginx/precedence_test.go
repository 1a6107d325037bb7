package ingressnginx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// larger compares two precedences: a missing key counts as 0.
func larger(a, b []int64) bool {
	for i := range max(len(a), len(b)) {
		var x, y int64
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return x > y
		}
	}
	return false
}

// TestPrecedence demands that the precedence of expressions is the order in which nginx tries them, and that of other
// locations nginx's choice: exact ones before prefixes, and longer ones first.
func TestPrecedence(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 500 {
		var paths []string
		for range 1 + random.IntN(12) {
			path := "/"
			for range random.IntN(18) {
				path += string("ab/.é\xff"[random.IntN(len("ab/.é\xff"))])
			}
			paths = append(paths, []string{"E", "P"}[random.IntN(2)]+":"+strings.ReplaceAll(path, ",", ""))
		}
		regex := random.IntN(2) == 0
		plan := planOf("h", nil,
			object{
				name: "x", annotations: map[string]string{"use-regex": fmt.Sprint(regex)},
				rules: []string{"h=" + strings.Join(paths, ",")},
			},
			object{name: "y", age: 1, rules: []string{"h=P:/a,E:/a,P:/ab/"}})
		for i := range plan.Locations {
			for j := range i {
				a, b := &plan.Locations[j], &plan.Locations[i]
				before := larger(plan.precedence(exactName, j), plan.precedence(exactName, i))
				if regex && !before {
					t.Fatalf("round %d: %q is not before %q", round, a.Name, b.Name)
				}
				if !regex && a.Exact == b.Exact && len(a.Name) != len(b.Name) && before != (len(a.Name) > len(b.Name)) {
					t.Fatalf("round %d: %q before %q: %t", round, a.Name, b.Name, before)
				}
				if !regex && a.Exact != b.Exact && before != a.Exact {
					t.Fatalf("round %d: %q before %q: %t", round, a.Name, b.Name, before)
				}
			}
		}
	}
}

// TestKindsOfNames demands the order of nginx: exact names, wildcards, expressions, and the default server.
func TestKindsOfNames(t *testing.T) {
	kinds := []int64{
		hostKind("a.example.com"), aliasKind("*.example.com"), aliasKind("www.example.*"), hostKind("*.example.com"),
		hostKind(anyHost),
	}
	if !slices.IsSortedFunc(
		kinds, func(a, b int64) int { return int(b - a) },
	) || len(slices.Compact(slices.Clone(kinds))) != 5 {
		t.Errorf("%v", kinds)
	}
	if aliasKind("b.example.com") != kinds[0] || aliasKind(`~^a\.`) != kinds[3] {
		t.Error("aliases are names too")
	}
}
