package ingress

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/static"
)

// lines prints the verdicts of the next configuration.
func lines(p *Provider) []string {
	configuration, _ := p.update()
	var out []string
	for _, verdict := range configuration.Verdicts {
		out = append(out, verdict.Status.String()+" "+verdict.String())
	}
	return out
}

func TestAnIngressFollowsWhatItReads(t *testing.T) {
	cluster := newCluster()
	p := cluster.provider(static.KubernetesIngress{})
	cluster.apply(t, []byte(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: web}
spec:
  tls: [{secretName: pair}]
  rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
`))
	if diff := cmp.Diff([]string{
		"degraded Ingress shop/web: source Ingress shop/web: spec.tls[0]: Secret shop/pair does not exist",
		"quarantined Ingress shop/web: service shop-web-80: Service shop/web does not exist",
	}, lines(p)); diff != "" {
		t.Fatal(diff)
	}
	cluster.apply(t, []byte(`
apiVersion: v1
kind: Secret
metadata: {namespace: shop, name: pair}
stringData: {generate: "true"}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web, annotations: {traefik.ingress.kubernetes.io/service.nodeportlb: "true"}}
spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}
`))
	if diff := cmp.Diff([]string{
		"quarantined Ingress shop/web: service shop-web-80: no node has an internal address for the node port of Service " +
			"shop/web",
	}, lines(p)); diff != "" {
		t.Fatal(diff)
	}
	cluster.apply(t, []byte(`
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {addresses: [{type: InternalIP, address: 198.51.100.1}]}
`))
	configuration, changed := p.update()
	if servers := configuration.HTTP.Services.Get("shop-web-80").LoadBalancer.Servers; !changed || len(servers) != 1 {
		t.Errorf("the servers are %v", servers)
	}
	if len(configuration.Verdicts) > 0 || len(configuration.TLS.Certificates) != 1 {
		t.Errorf("verdicts %v, certificates %v", configuration.Verdicts, configuration.TLS.Certificates)
	}
	cluster.nodes.drop("", "n1")
	cluster.secrets.drop("shop", "pair")
	if got := lines(p); len(got) != 2 {
		t.Errorf("after the node and the Secret are gone: %v", got)
	}
}

// claimed returns the names of the Ingresses that a provider claims.
func claimed(p *Provider) []string {
	var names []string
	for ingress := range p.Claimed() {
		names = append(names, ingress.Name)
	}
	slices.Sort(names)
	return names
}

func TestClaimedFollowsTheClass(t *testing.T) {
	cluster := newCluster()
	p := cluster.provider(static.KubernetesIngress{})
	told := 0
	p.OnClaimed(func() { told++ })
	cluster.apply(t, []byte(strings.Replace(twoIngresses, "spec: {rules: [{host: one",
		"spec: {ingressClassName: edge, rules: [{host: one", 1)))
	routers := func() int {
		configuration, _ := p.update()
		return configuration.HTTP.Routers.Len()
	}
	if got := claimed(p); !slices.Equal(got, []string{"two"}) || told != 2 || routers() != 1 {
		t.Errorf("without the class: claimed %v, reported %d times, %d routers", got, told, routers())
	}
	cluster.apply(t, []byte(`
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: edge}
spec: {controller: sluice.dev/ingress-controller}
`))
	if got := claimed(p); !slices.Equal(got, []string{"one", "two"}) || told != 3 || routers() != 2 {
		t.Errorf("with the class: claimed %v, reported %d times, %d routers", got, told, routers())
	}
	cluster.classes.put(&networkingv1.IngressClass{
		ObjectMeta: clienttest.Parse[networkingv1.IngressClass](t, []byte("metadata: {name: edge}")).ObjectMeta,
		Spec:       networkingv1.IngressClassSpec{Controller: "example.com/other"},
	})
	if got := claimed(p); !slices.Equal(got, []string{"two"}) || routers() != 1 {
		t.Errorf("with a foreign class: claimed %v, %d routers", got, routers())
	}
	for range p.Claimed() {
		break // A reader may stop.
	}
}

func TestTheDefaultBackendKeepsItsOwner(t *testing.T) {
	manifest := func(namespace, options string) string {
		return `
apiVersion: v1
kind: Service
metadata: {namespace: ` + namespace + `, name: rest}
spec: {ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: ` + namespace + `, name: rest` + options + `}
spec: {defaultBackend: {service: {name: rest, port: {number: 80}}}}
`
	}
	cluster := newCluster()
	p := cluster.provider(static.KubernetesIngress{})
	cluster.apply(t, []byte(manifest("alpha", "")))
	p.update()
	cluster.apply(t, []byte(manifest("beta", ", annotations: {traefik.ingress.kubernetes.io/router.priority: high}")))
	configuration, _ := p.update()
	for _, verdict := range configuration.Verdicts {
		if verdict.Ref.Kind != dynamic.KindSource || verdict.Origin.Object != "Ingress beta/rest" {
			t.Errorf("the second default backend leads to %v", verdict)
		}
	}
	if set := configuration.HTTP.Services.Get(defaultService).LoadBalancer.EndpointSet; set != "kubernetes/alpha/rest:80" {
		t.Errorf("the default backend is %s", set)
	}
	cluster.apply(t, []byte(manifest("alpha", ", annotations: {kubernetes.io/ingress.class: nginx}")))
	configuration, _ = p.update()
	if set := configuration.HTTP.Services.Get(defaultService).LoadBalancer.EndpointSet; set != "kubernetes/beta/rest:80" {
		t.Errorf("after the first one is not ours the default backend is %s", set)
	}
	want := dynamic.Ref{Kind: dynamic.KindRouter, Name: defaultRouter}
	if len(configuration.Verdicts) != 1 || configuration.Verdicts[0].Ref != want {
		t.Errorf("after the first one is not ours the verdicts are %v", configuration.Verdicts)
	}
	cluster.ingresses.drop("beta", "rest")
	configuration, _ = p.update()
	if http := configuration.HTTP; http.Routers.Len()+http.Services.Len()+len(configuration.Verdicts) != 0 {
		t.Errorf("after both are gone there is %+v", configuration.HTTP)
	}
}

func TestDefaultRouterHasItsOwnName(t *testing.T) {
	cluster := newCluster()
	p := cluster.provider(static.KubernetesIngress{})
	cluster.apply(t, []byte(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: default, name: router}
spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: rest}
spec: {defaultBackend: {service: {name: rest, port: {number: 80}}}}
`))
	configuration, _ := p.update()
	routers := configuration.HTTP.Routers
	if router := routers.Get(defaultRouter); routers.Len() != 2 || router.Service != defaultService {
		t.Errorf("the routers are %v", configuration.HTTP.Routers)
	}
}
