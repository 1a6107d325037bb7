package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/static"
)

// TestSessionsByHeadersAreRefused proves that a rule whose sessions are to be kept by a header is left out with a
// status that says so, in HTTPRoutes and GRPCRoutes, and that other rules serve.
func TestSessionsByHeadersAreRefused(t *testing.T) {
	t.Parallel()
	const header = "{sessionPersistence: {type: Header, sessionName: x-session}, backendRefs: [{name: web, port: 80}]}"
	const cookie = "{sessionPersistence: {type: Cookie, sessionName: session}, backendRefs: [{name: web, port: 80}]}"
	for name, test := range map[string]struct {
		rules, want string
		routers     int
	}{
		"all":  {header, "Accepted=False:UnsupportedValue", 0},
		"some": {cookie + ", " + header, "PartiallyInvalid=True:UnsupportedValue", 1},
		"none": {cookie, "Accepted=True:Accepted", 1},
	} {
		for _, kind := range []string{kindHTTPRoute, kindGRPCRoute} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				c := newCluster()
				crowded(c, t, 1)
				c.apply(t, fmt.Appendf(nil, `{apiVersion: gateway.networking.k8s.io/v1, kind: %s,
	metadata: {name: r, namespace: shop}, spec: {parentRefs: [{name: main}], rules: [%s]}}`, kind, test.rules))
				p := c.provider(static.KubernetesGateway{ExperimentalChannel: true})
				configuration := served(p)
				if got := configuration.HTTP.Routers.Len(); got != test.routers {
					t.Errorf("there are %d routers, want %d", got, test.routers)
				}
				lines := statusLines(p)
				if !slices.ContainsFunc(lines, func(line string) bool {
					return strings.HasPrefix(line, "status "+kind+" shop/r") && strings.Contains(line, test.want)
				}) {
					t.Errorf("no status has %s:\n%s", test.want, strings.Join(lines, "\n"))
				}
			})
		}
	}
}
