package deploy

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// others are declared beside the example: an Ingress, a route of our own group, one to Sluice itself, and one that
// leads nowhere.
const others = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: whoami, namespace: shop}
spec:
  ingressClassName: sluice
  rules:
    - host: ingress.example.com
      http:
        paths: [{path: /, pathType: Prefix, backend: {service: {name: whoami, port: {name: http}}}}]
---
apiVersion: sluice.dev/v1alpha1
kind: IngressRoute
metadata: {name: ours, namespace: shop}
spec:
  routes: [{match: Host(` + "`ours.example.com`" + `), services: [{name: whoami, port: 80}]}]
---
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: ready, namespace: shop}
spec:
  routes:
    - match: Host(` + "`ready.example.com`" + `)
      kind: Rule
      services: [{name: ping@internal, kind: TraefikService}]
---
apiVersion: traefik.containo.us/v1alpha1
kind: IngressRoute
metadata: {name: nowhere, namespace: shop}
spec:
  routes: [{match: Host(` + "`nowhere.example.com`" + `), kind: Rule, services: [{name: nobody, port: 80}]}]
`

// TestTheClusterTakesTheChart applies what the chart renders to a real API server, which must accept every object, the
// pods of the DaemonSet too. The chart's ServiceAccount then has exactly the rights that are needed, and Sluice needs
// no other.
func TestTheClusterTakesTheChart(t *testing.T) {
	definitions, err := helm(t, "show", "crds", chart)
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.Start(t)
	c.Apply(string(read(t, manifests+"/base/namespace.yaml")), definitions,
		string(read(t, manifests+"/environments/virtualenvironments.yaml")), all(t, examples), others)
	c.Deployed("shop/whoami")
	leader := []string{
		"create leases.coordination.k8s.io", "get leases.coordination.k8s.io sluice",
		"update leases.coordination.k8s.io sluice",
	}
	outside := []string{
		"list ingressclasses.networking.k8s.io", "list nodes", "watch ingressclasses.networking.k8s.io", "watch nodes",
	}
	inside := inNamespace(needed(true))
	tests := map[string]struct {
		values []string
		rights map[string][]string
	}{
		"all namespaces": {nil, map[string][]string{
			"": outside, "shop": inside, "default": inside, "sluice": sorted(inside, leader),
		}},
		"one namespace": {[]string{`namespaces=["shop"]`}, map[string][]string{
			"": nil, "shop": inside, "default": nil, "sluice": leader,
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := c.For(t)
			rendered, err := try(t, test.values...)
			if err != nil {
				t.Fatal(err)
			}
			c.Apply(rendered)
			defer c.Delete(rendered)
			c.Until("DaemonSet.apps", "sluice/sluice", "on its node", func(set *unstructured.Unstructured) bool {
				return set != nil && fmt.Sprint(object(set.Object).at("status", "numberReady")) == "1"
			})
			expectRights(t, c, test.rights)
			expectService(t, c, parse(t, "the chart", []byte(rendered)))
		})
	}
}

// expectService starts Sluice with the configuration of a release and the token of its ServiceAccount: it is ready,
// serves the example of the documentation, reports errors, and has all permissions.
func expectService(t *testing.T, c *cluster.Cluster, release objects) {
	t.Helper()
	s := start(t, c, release)
	defer s.Stop()
	for host, want := range map[string]int{
		"whoami.example.com": http.StatusOK, "ingress.example.com": http.StatusOK, "ours.example.com": http.StatusOK,
		"ready.example.com": http.StatusOK, "nowhere.example.com": http.StatusServiceUnavailable,
		"unknown.example.com": http.StatusNotFound,
	} {
		answer := harness.NewClient(t, harness.H1, s.Addr("web"), host, nil).Get("/ready")
		if answer.StatusCode != want {
			t.Errorf("%s: status %d, want %d", host, answer.StatusCode, want)
		}
		if got := answer.Header.Get("X-Route"); host == "whoami.example.com" && got != "whoami" {
			t.Errorf("the example's middleware says %q", got)
		}
	}
	waitForLeader(t, c)
	if ready := s.Readiness(); slices.ContainsFunc(ready.Providers, func(p provider) bool { return p.Reason != "" }) {
		t.Errorf("a provider complains: %+v", ready.Providers)
	}
	if log := s.Log.String(); strings.Contains(log, "refuses") || strings.Contains(log, "writing to Kubernetes fails") {
		t.Errorf("the log:\n%s", log)
	}
}

type provider = struct{ Name, State, Reason string }

// waitForLeader waits for what the leader writes: the Lease, an Event on an error, and a condition of a valid object.
func waitForLeader(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	c.UntilAll("Event", "shop", "the route without a service is reported", func(events []*unstructured.Unstructured) bool {
		return slices.ContainsFunc(events, func(event *unstructured.Unstructured) bool {
			about := object(event.Object)
			return about.text("involvedObject", "kind") == "IngressRoute" && about.text("involvedObject", "name") == "nowhere" &&
				strings.Contains(about.text("message"), "shop/nobody")
		})
	})
	c.Until("IngressRoute.sluice.dev", "shop/ours", "accepted", func(route *unstructured.Unstructured) bool {
		return cluster.Condition(route, "Accepted") == "True" && cluster.Condition(route, "ResolvedRefs") == "True"
	})
	if c.Get("Lease.coordination.k8s.io", "sluice/sluice") == nil {
		t.Error("there is no Lease in the namespace of Sluice")
	}
}

// start starts Sluice as the DaemonSet does, but for the ports.
func start(t *testing.T, c *cluster.Cluster, release objects) *harness.Sluice {
	t.Helper()
	arguments := pod(t, release).list("containers")[0].words("args")
	if diff := cmp.Diff([]string{"--configFile=/etc/sluice/sluice.yaml"}, arguments); diff != "" {
		t.Errorf("arguments (-want +got)\n%s", diff)
	}
	return harness.Start(t, harness.Setup{
		Static: release.the(t, "ConfigMap").text("data", "sluice.yaml"),
		Args: []string{
			"--entryPoints.web.address=127.0.0.1:0", "--entryPoints.websecure.address=127.0.0.1:0",
			"--entryPoints.traefik.address=127.0.0.1:0",
			"--entryPoints.web.transport.lifeCycle.requestAcceptGraceTimeout=0",
			"--entryPoints.websecure.transport.lifeCycle.requestAcceptGraceTimeout=0",
			"--entryPoints.traefik.transport.lifeCycle.requestAcceptGraceTimeout=0",
		},
		Env: []string{"KUBECONFIG=" + c.AccountKubeconfig("sluice/sluice"), "POD_NAMESPACE=sluice"},
	})
}

// all returns every manifest that a folder's kustomization names, in its order.
func all(t *testing.T, folder string) string {
	t.Helper()
	var text strings.Builder
	for _, name := range readYAML(t, filepath.Join(folder, "kustomization.yaml")).words("resources") {
		text.WriteString("---\n")
		text.Write(read(t, filepath.Join(folder, name)))
	}
	return text.String()
}
