package ingress

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx"
	"github.com/sluiceproxy/sluice/static"
)

// classNamed returns an IngressClass.
func classNamed(name, controller string, isDefault bool) *networkingv1.IngressClass {
	class := &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: controller},
	}
	if isDefault {
		class.Annotations = map[string]string{defaultAnnotation: "true"}
	}
	return class
}

// excluding makes a provider beside one for ingress-nginx.
func (c *fakeCluster) excluding(config static.KubernetesIngress, selector *ingressnginx.Selector) *Provider {
	all := watches{ingresses: c.ingresses, services: c.services, secrets: c.secrets, excluding: c.classes}
	if selector.ByNamespace() {
		all.namespaces = c.namespaces
	}
	if !config.DisableIngressClassLookup {
		all.classes = c.classes
	}
	p := assemble("kubernetes", config, all, nil)
	p.selector.excludes = selector.Excludes
	return p
}

// namespaceWith returns a Namespace with a label.
func namespaceWith(name, team string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
}

func (c *fakeCluster) namespace(name string) *corev1.Namespace {
	found, _ := c.namespaces.Get("", name)
	return found
}

// TestNoIngressIsReadByTwoProviders demands, of random classes, namespaces and options of both providers, that each
// Ingress is read by the provider for ingress-nginx, or else by this one if it would be alone: never by both.
func TestNoIngressIsReadByTwoProviders(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	names := []string{"nginx", "traefik", "sluice", "edge"}
	controllers := append(ownControllers(), "k8s.io/ingress-nginx", "example.com/other")
	seen := map[string]int{}
	for round := range 2000 {
		cluster := newCluster()
		for _, name := range names {
			if random.IntN(4) > 0 {
				cluster.classes.put(classNamed(name, one(controllers...), random.IntN(3) == 0))
			}
		}
		config := static.KubernetesIngress{
			IngressClass: one(append(names, "", "", "")...), DisableIngressClassLookup: random.IntN(3) == 0,
		}
		selector := &ingressnginx.Selector{
			Class: one(append(names, "nginx")...), ByName: random.IntN(2) == 0, Controller: one(controllers...),
			WithoutClass: random.IntN(2) == 0, DisableCatchAll: random.IntN(3) == 0,
			Lookup: cluster.provider(static.KubernetesIngress{}).class,
		}
		namespaces := []string{"shop", "bank", "none"}
		for _, name := range namespaces[:2] {
			cluster.namespaces.put(namespaceWith(name, one("a", "b")))
		}
		switch random.IntN(3) {
		case 0:
			selector.Labels, selector.Namespace = labels.SelectorFromSet(labels.Set{"team": "a"}), cluster.namespace
		case 1:
			selector.Namespaces = []string{one(namespaces...), one(namespaces...)}
		}
		for i := range 6 {
			ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: one(namespaces...), Name: fmt.Sprint(i)}}
			if random.IntN(2) == 0 {
				name := one(names...)
				ingress.Spec.IngressClassName = &name
			}
			if random.IntN(2) == 0 {
				ingress.Annotations = map[string]string{classAnnotation: one(append(names, "")...)}
			}
			if random.IntN(4) == 0 {
				ingress.Spec.DefaultBackend = &networkingv1.IngressBackend{}
			}
			cluster.ingresses.put(ingress)
		}
		alone, beside := claimed(cluster.provider(config)), claimed(cluster.excluding(config, selector))
		for ingress := range cluster.ingresses.All() {
			nginx := selector.Excludes(ingress)
			before, after := slices.Contains(alone, ingress.Name), slices.Contains(beside, ingress.Name)
			if after != (before && !nginx) {
				t.Fatalf("round %d: %+v: ingress-nginx %t, alone %t, beside %t", round, ingress, nginx, before, after)
			}
			seen[fmt.Sprint(nginx, before)]++
		}
	}
	for _, pair := range []string{"true true", "true false", "false true", "false false"} {
		if seen[pair] < 100 {
			t.Errorf("%s: %d times", pair, seen[pair])
		}
	}
}

// TestExclusionFollowsTheClass demands that an Ingress changes hands when the controller of its class does, also
// where this provider reads no IngressClasses of its own.
func TestExclusionFollowsTheClass(t *testing.T) {
	for _, blind := range []bool{false, true} {
		cluster := newCluster()
		selector := &ingressnginx.Selector{
			Class: "nginx", Controller: "k8s.io/ingress-nginx", Lookup: cluster.provider(static.KubernetesIngress{}).class,
		}
		config := static.KubernetesIngress{DisableIngressClassLookup: blind, IngressClass: "edge"}
		p := cluster.excluding(config, selector)
		changes := 0
		p.OnClaimed(func() { changes++ })
		cluster.apply(t, []byte(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: one}
spec: {
	ingressClassName: edge,
	rules: [{host: one, http: {paths: [{path: /, backend: {service: {name: a, port: {number: 80}}}}]}}],
}
`))
		for _, step := range []struct {
			controller string
			ours       bool
		}{
			{"sluice.dev/ingress-controller", true}, {"k8s.io/ingress-nginx", false}, {"sluice.dev/ingress-controller", true},
		} {
			before := changes
			cluster.classes.put(classNamed("edge", step.controller, false))
			configuration, _ := p.update()
			if got := configuration.HTTP.Routers.Len() == 1; got != step.ours || len(claimed(p)) == 1 != step.ours ||
				changes == before {
				t.Errorf("blind %t, class of %s: translated %t, claimed %q", blind, step.controller, got, claimed(p))
			}
		}
	}
}

// TestExclusionFollowsTheNamespace demands that an Ingress changes hands when the labels of its namespace do.
func TestExclusionFollowsTheNamespace(t *testing.T) {
	cluster := newCluster()
	selector := &ingressnginx.Selector{
		Class: "edge", Labels: labels.SelectorFromSet(labels.Set{"team": "a"}), Namespace: cluster.namespace,
	}
	p := cluster.excluding(static.KubernetesIngress{DisableIngressClassLookup: true, IngressClass: "edge"}, selector)
	changes := 0
	p.OnClaimed(func() { changes++ })
	cluster.apply(t, []byte(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: one, annotations: {kubernetes.io/ingress.class: edge}}
spec: {rules: [{host: one, http: {paths: [{path: /, backend: {service: {name: a, port: {number: 80}}}}]}}]}
`))
	for _, step := range []struct {
		team string
		ours bool
	}{{"b", true}, {"a", false}, {"b", true}} {
		before := changes
		cluster.namespaces.put(namespaceWith("shop", step.team))
		configuration, _ := p.update()
		if got := configuration.HTTP.Routers.Len() == 1; got != step.ours || len(claimed(p)) == 1 != step.ours ||
			changes == before {
			t.Errorf("team %s: translated %t, claimed %q", step.team, got, claimed(p))
		}
	}
	cluster.namespaces.put(namespaceWith("shop", "a"))
	cluster.namespaces.drop("", "shop")
	if configuration, _ := p.update(); configuration.HTTP.Routers.Len() != 1 {
		t.Error("an Ingress of a namespace that is not there is read by no provider")
	}
}
