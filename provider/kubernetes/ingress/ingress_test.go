package ingress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestNewRefusesWhatIsNoSelector(t *testing.T) {
	cluster, err := client.Connect(client.Options{Endpoint: "http://127.0.0.1:1"}, "kubernetes", telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(cluster, static.KubernetesIngress{LabelSelector: "a in"}, nil, nil, nil); err == nil ||
		!strings.HasPrefix(err.Error(), "labelSelector: ") {
		t.Errorf("got the error %v", err)
	}
	options := static.KubernetesIngress{LabelSelector: "a in (b)", DisableClusterScopeResources: true}
	p, err := New(cluster, options, nil, nil, nil)
	if err != nil || p.watches.nodes != nil || p.watches.classes != nil || p.selector.lookup != nil {
		t.Errorf("got %+v, %v", p, err)
	}
	p, err = New(cluster, static.KubernetesIngress{DisableIngressClassLookup: true}, nil, nil, nil)
	if err != nil || p.watches.nodes == nil || p.watches.classes != nil {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestNormalize(t *testing.T) {
	for text, want := range map[string]string{
		"shop-web-*.example.com/a/b": "shop-web-example-com-a-b",
		"-/-":                        "",
		"é/１":                        "é-１",
	} {
		if got := normalize(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestHashedNames holds names that Traefik gives to routers whose names would be the same, which dashboards and alerts
// know.
func TestHashedNames(t *testing.T) {
	for want, of := range map[string]struct{ host, path string }{
		"testing-bar-bar-41871576e140babe40bd": {"*.bar", "/bar"},
		"testing-bar-bar-605945111a3c9f84dc65": {"bar", "/bar"},
		"testing-foo-bar-930f0e8b221e60bc7ab7": {"", "/foo/bar"},
		"testing-foo-bar-207cc2245cb31ba18e29": {"", "/foo-bar"},
	} {
		rule, err := ruleOf(of.host, &networkingv1.HTTPIngressPath{Path: of.path}, &routerOptions{}, false)
		if got := hashedName(routerName("testing", "", of.host, of.path), rule); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

// TestNodePortsComeBeforeTheServiceAddress proves that a Service with node ports gets them, whatever the
// provider's default is.
func TestNodePortsComeBeforeTheServiceAddress(t *testing.T) {
	cluster := newCluster()
	cluster.apply(t,
		[]byte(`{kind: Node, metadata: {name: a}, status: {addresses: [{type: InternalIP, address: 198.51.100.1}]}}
---
kind: Service
metadata: {namespace: shop, name: web, annotations: {traefik.ingress.kubernetes.io/service.nodeportlb: "true"}}
spec: {type: NodePort, clusterIP: 198.51.100.7, ports: [{port: 80, nodePort: 30080}]}
---
kind: Ingress
metadata: {namespace: shop, name: web}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}`))
	p := cluster.provider(static.KubernetesIngress{NativeLBByDefault: true})
	servers := translated(t, p).HTTP.Services.Get(defaultService).LoadBalancer.Servers
	if len(servers) != 1 || servers[0].URL != "http://198.51.100.1:30080" {
		t.Errorf("the servers are %v", servers)
	}
}

// TestIngressesCostTheirSize proves that what annotations say about every path does not make a small Ingress a large
// configuration.
func TestIngressesCostTheirSize(t *testing.T) {
	for _, test := range []struct{ paths, names, want int }{{1000, 100, 1000}, {1000, 101, 0}} {
		path := networkingv1.HTTPIngressPath{Path: "/", Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
		}}
		rule := networkingv1.IngressRule{}
		rule.HTTP = &networkingv1.HTTPIngressRuleValue{Paths: make([]networkingv1.HTTPIngressPath, test.paths)}
		for i := range rule.HTTP.Paths {
			rule.HTTP.Paths[i] = path
			rule.HTTP.Paths[i].Path += strconv.Itoa(i)
		}
		ingress := &networkingv1.Ingress{Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{rule}}}
		ingress.Namespace, ingress.Name = "shop", "web"
		ingress.Annotations = map[string]string{prefix + "router.entrypoints": strings.Repeat("web,", test.names-1) + "web"}
		cluster := newCluster()
		cluster.ingresses.put(ingress)
		configuration := translated(t, cluster.provider(static.KubernetesIngress{}))
		if got := configuration.HTTP.Routers.Len(); got != test.want || got == 0 && len(configuration.Verdicts) != 1 {
			t.Errorf("%+v: %d routers, with %d verdicts", test, got, len(configuration.Verdicts))
		}
	}
}

func TestNodesCountByTheirAddressesOnly(t *testing.T) {
	cluster := newCluster()
	p := cluster.provider(static.KubernetesIngress{})
	touched := func() bool {
		select {
		case <-p.memory.Touched():
			return true
		default:
			return false
		}
	}
	var got []bool
	for _, manifest := range []string{
		"{kind: Node, metadata: {name: a, labels: {x: '1'}}, status: {addresses: [{type: InternalIP, address: " +
			"198.51.100.1}]}}",
		"{kind: Node, metadata: {name: a, labels: {x: '2'}}, status: {addresses: [{type: InternalIP, address: " +
			"198.51.100.1}]}}",
		"{kind: Node, metadata: {name: a, labels: {x: '2'}}, status: {addresses: [{type: InternalIP, address: " +
			"198.51.100.2}]}}",
	} {
		cluster.apply(t, []byte(manifest))
		got = append(got, touched())
	}
	cluster.nodes.drop("", "a")
	if got = append(got, touched()); !slices.Equal(got, []bool{true, false, true, true}) {
		t.Errorf("got %v", got)
	}
}

// TestTwoServicesOfOneNameAreNotMixedUp proves that no request is answered by another Service because names are joined
// by hyphens.
func TestTwoServicesOfOneNameAreNotMixedUp(t *testing.T) {
	const backend = `{path: /%s, pathType: Prefix, backend: {service: {name: %s, port: {name: %s}}}}`
	cluster := newCluster()
	cluster.apply(t,
		fmt.Appendf(nil, `{kind: Service, metadata: {namespace: shop, name: a}, spec: {ports: [{name: b-c, port: 80}]}}
---
{kind: Service, metadata: {namespace: shop, name: a-b}, spec: {ports: [{name: c, port: 80}]}}
---
{kind: Ingress, metadata: {namespace: shop, name: web}, spec: {rules: [{http: {paths: [`+backend+", "+backend+", "+
			backend+`]}}]}}`,
			"one", "a", "b-c", "again", "a", "b-c", "other", "a-b", "c"))
	verdicts := translated(t, cluster.provider(static.KubernetesIngress{})).Verdicts
	if len(verdicts) != 1 || verdicts[0].Ref.Name != "shop-a-b-c" || verdicts[0].Status != dynamic.Quarantined {
		t.Errorf("the verdicts are %v", verdicts)
	}
}
