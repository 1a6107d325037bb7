package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/static"
)

// crowded puts a Gateway with so many listeners into the cluster, a port each.
func crowded(c *fakeCluster, t *testing.T, listeners int) {
	t.Helper()
	c.apply(t, common(t))
	gateway := clienttest.Parse[gatewayv1.Gateway](t, []byte(`{metadata: {name: main, namespace: shop},
		spec: {gatewayClassName: sluice}}`))
	for i := range listeners {
		gateway.Spec.Listeners = append(gateway.Spec.Listeners, gatewayv1.Listener{
			Name: gatewayv1.SectionName(fmt.Sprintf("l%d", i)), Port: gatewayv1.PortNumber(1 + i),
			Protocol: gatewayv1.HTTPProtocolType,
		})
	}
	c.gateways.put(gateway)
}

// TestRoutersOfOneRouteAreBounded proves that a route whose matches, hostnames and listeners multiply to more than
// 100,000 is not accepted, with a status that says so, and that others are.
func TestRoutersOfOneRouteAreBounded(t *testing.T) {
	t.Parallel()
	c := newCluster()
	crowded(c, t, 65)
	put := func(name string, matches, hostnames int) {
		route := clienttest.Parse[gatewayv1.HTTPRoute](t, []byte(`{metadata: {namespace: shop}, spec: {
			parentRefs: [{name: main}], rules: [{backendRefs: [{name: web, port: 80}]}]}}`))
		route.Name = name
		for i := range hostnames {
			route.Spec.Hostnames = append(route.Spec.Hostnames, gatewayv1.Hostname(fmt.Sprintf("*%s.test",
				strings.Repeat(".a", i+1))))
		}
		grpc := &gatewayv1.GRPCRoute{ObjectMeta: route.ObjectMeta, Spec: gatewayv1.GRPCRouteSpec{
			CommonRouteSpec: route.Spec.CommonRouteSpec, Hostnames: route.Spec.Hostnames,
			Rules: []gatewayv1.GRPCRouteRule{{}},
		}}
		for i := range matches {
			path, service := fmt.Sprintf("/%d", i), fmt.Sprintf("s%d", i)
			route.Spec.Rules[0].Matches = append(route.Spec.Rules[0].Matches, gatewayv1.HTTPRouteMatch{
				Path: &gatewayv1.HTTPPathMatch{Value: &path},
			})
			grpc.Spec.Rules[0].Matches = append(grpc.Spec.Rules[0].Matches, gatewayv1.GRPCRouteMatch{
				Method: &gatewayv1.GRPCMethodMatch{Service: &service},
			})
		}
		c.httpRoutes.put(route)
		c.grpcRoutes.put(grpc)
	}
	put("large", 128, 16)
	put("small", 2, 3)
	p := c.provider(static.KubernetesGateway{})
	configuration := served(p)
	large, small := 0, 0
	for name := range configuration.HTTP.Routers.All() {
		switch {
		case strings.Contains(name, "large"):
			large++
		case strings.Contains(name, "small"):
			small++
		}
	}
	if want := 2 * 2 * 3 * 65; large != 0 || small != want {
		t.Errorf("there are %d routers of the large routes and %d of the small ones, want 0 and %d", large, small, want)
	}
	lines := statusLines(p)
	for _, kind := range []string{kindHTTPRoute, kindGRPCRoute} {
		for name, want := range map[string]string{
			"large": "Accepted=False:UnsupportedValue", "small": "Accepted=True:Accepted",
		} {
			if !slices.ContainsFunc(lines, func(line string) bool {
				return strings.HasPrefix(line, "status "+kind+" shop/"+name) && strings.Contains(line, want)
			}) {
				t.Errorf("%s %s is not %s:\n%s", kind, name, want, strings.Join(lines[len(lines)-4:], "\n"))
			}
		}
	}
}
