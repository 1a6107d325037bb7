package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// sluiceOnNode starts a Sluice on a node.
func sluiceOnNode(t testing.TB, c *cluster.Cluster, node string, args ...string) *gate {
	t.Helper()
	s := harness.Start(t, harness.Setup{
		Static: static, Args: args,
		Env: []string{"KUBECONFIG=" + c.AccountKubeconfig(account), "POD_NAMESPACE=sluice", "NODE_NAME=" + node},
	})
	return &gate{Sluice: s, t: t, web: harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)}
}

// hinted is an endpoint of a zone, with the hint that the zone should use it.
func hinted(address, zone string) string {
	return "{addresses: ['" + address + "'], conditions: {ready: true}, zone: " + zone + ", hints: {forZones: [{name: " +
		zone + "}]}}"
}

// hintsByHand writes EndpointSlices with hints. A Sluice keeps to those for the zone of its node, or the one that the
// option zone names, for as long as there are any.
func hintsByHand(t *testing.T, c *cluster.Cluster) {
	c.Apply(namespace("shop"), plain("zoned", "{ports: [{port: 80}]}"), route("traefik.io", "shop/zoned", "zoned.test",
		"[{name: zoned, port: 80}]"))
	for i := range 4 {
		listen(t, fmt.Sprintf("198.18.1.%d:8080", i+1), fmt.Sprint(i+1), nil)
	}
	west := []string{hinted("198.18.1.1", "west"), hinted("198.18.1.2", "west")}
	east := []string{hinted("198.18.1.3", "east"), hinted("198.18.1.4", "east")}
	c.Apply(slice("zoned", "a", "IPv4", slices.Concat(west, east)...))
	gates := map[string]*gate{
		"west": sluiceOnNode(t, c, "west-1"), "east": sluiceOnNode(t, c, "west-1", "--zone=east"),
		"": sluiceOnNode(t, c, "node-1"),
	}
	near, far := map[string]int{"200 1": 4, "200 2": 4}, map[string]int{"200 3": 4, "200 4": 4}
	all := map[string]int{"200 1": 4, "200 2": 4, "200 3": 4, "200 4": 4}
	see := func(west, east, nowhere map[string]int) {
		t.Helper()
		gates["west"].on(t).shares("zoned.test/", west)
		gates["east"].on(t).shares("zoned.test/", east)
		gates[""].on(t).shares("zoned.test/", nowhere)
	}
	see(near, far, all)
	c.Apply(slice("zoned", "a", "IPv4", east...))
	see(far, far, far)
	c.Apply(slice("zoned", "a", "IPv4", slices.Concat(west, east)...))
	see(near, far, all)
	// Those of the zone leave: they get nothing while others serve.
	leaving := strings.ReplaceAll(strings.Join(west, ", "), "ready: true",
		"ready: false, serving: true, terminating: true")
	c.Apply(slice("zoned", "a", "IPv4", append([]string{leaving}, east...)...))
	see(far, far, far)
	// One without a hint, and hints do not count.
	c.Apply(slice("zoned", "a", "IPv4", slices.Concat(west, east[:1],
		[]string{endpoint("198.18.1.4", "ready: true", "")})...))
	see(all, all, all)
}

// zonal is the manifest of a Deployment whose pods run on nodes of one zone, and belong to the Service near.
func zonal(zone string) string {
	return strings.NewReplacer("ZONE", zone).Replace(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ZONE, namespace: zones}
spec:
  replicas: 2
  selector: {matchLabels: {zone: ZONE}}
  template:
    metadata: {labels: {app: near, zone: ZONE}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {topology.kubernetes.io/zone: ZONE}
      containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]
`)
}

// hintsOfTheControlPlane uses the hints of the control plane. Requests stay in the zone while it has pods.
func hintsOfTheControlPlane(t *testing.T, c *cluster.Cluster) {
	c.Apply(namespace("zones"), zonal("west"), zonal("east"), `
---
apiVersion: v1
kind: Service
metadata: {name: near, namespace: zones}
spec: {selector: {app: near}, trafficDistribution: PreferSameZone, ports: [{port: 80, targetPort: 8080}]}
`, route("traefik.io", "zones/near", "near.test", "[{name: near, port: 80}]"))
	g := sluiceOnNode(t, c, "west-1")
	await := func(zones string) {
		t.Helper()
		c.UntilAll("EndpointSlice.discovery.k8s.io", "zones", "hints for "+zones,
			func(objects []*unstructured.Unstructured) bool {
				return zonesOf(endpoints(objects)) == zones
			})
	}
	from := func(zones ...string) {
		t.Helper()
		var got map[string]int
		until(t, func() bool {
			got = map[string]int{}
			for range 20 {
				pod, _, _ := strings.Cut(strings.TrimPrefix(g.ask("near.test/"), "200 zones/"), "-")
				got[pod]++
			}
			return len(got) == len(zones) && !slices.ContainsFunc(zones, func(zone string) bool { return got[zone] == 0 })
		}, func() string { return fmt.Sprintf("answers from %v, want %v", got, zones) })
	}
	await("east east west west")
	from("west")
	c.Scale("zones/west", 0)
	await("east east")
	from("east")
	c.Scale("zones/west", 2)
	await("east east west west")
	from("west")
}

// zonesOf returns the zones of the hints of endpoints that are ready, one for each of them, in order.
func zonesOf(all []discoveryv1.Endpoint) string {
	var zones []string
	for _, one := range all {
		if !yes(one.Conditions.Ready) {
			continue
		}
		zone := "-"
		if one.Hints != nil && len(one.Hints.ForZones) == 1 {
			zone = one.Hints.ForZones[0].Name
		}
		zones = append(zones, zone)
	}
	slices.Sort(zones)
	return strings.Join(zones, " ")
}
