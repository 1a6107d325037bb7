package gateway

import (
	"fmt"
	"slices"
	"testing"
)

// TestEncodedPaths proves that a path which is written with percent-encodings becomes that by which requests for it are
// routed.
func TestEncodedPaths(t *testing.T) {
	for _, row := range [][3]string{
		{"PathPrefix", "/my%20products/", "PathSegmentPrefix(`/my products`)"},
		{"PathPrefix", "/caf%C3%A9", "PathSegmentPrefix(`/café`)"},
		{"Exact", "/%7Euser", "Path(`/~user`)"},
		{"Exact", "/a%3ab", "Path(`/a%3Ab`)"},
		{"Exact", "/%7Bid%7D", "PathRegexp(`^/\\{id\\}$`)"},
		{"PathPrefix", "/%7Bid%7D", "PathRegexp(`^/\\{id\\}(?:/|$)`)"},
		{"RegularExpression", "/%41.*", "PathRegexp(`^(?:/%41.*)$`)"},
	} {
		configuration, _ := translated(t, "main", "{name: one, port: 80, protocol: HTTP}", fmt.Sprintf(`{
			apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop},
			spec: {parentRefs: [{name: main}], rules: [{matches: [{path: {type: %s, value: %q}}],
			backendRefs: [{name: web, port: 80}]}]}}`, row[0], row[1]))
		var rules []string
		for _, router := range configuration.HTTP.Routers.All() {
			rules = append(rules, router.RuleText())
		}
		if !slices.Equal(rules, row[2:]) {
			t.Errorf("%s %s: %q, want %s", row[0], row[1], rules, row[2])
		}
	}
}
