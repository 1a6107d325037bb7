package ingressnginx

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
)

func names(ingresses []*networkingv1.Ingress) []string {
	var out []string
	for _, ingress := range ingresses {
		out = append(out, ingress.Name)
	}
	return out
}

// TestIndex follows Ingresses that appear, change and go.
func TestIndex(t *testing.T) {
	x := newIndex()
	old := object{name: "old", rules: []string{"a=P:/", "b=P:/"}}.ingress()
	young := object{name: "young", age: 1, rules: []string{"a=P:/x"}, fallback: true}.ingress()
	catchAll := object{name: "all", fallback: true}.ingress()
	for _, ingress := range []*networkingv1.Ingress{young, old, catchAll} {
		x.replace(nil, ingress)
	}
	if got := names(x.ofHost("a")); !slices.Equal(got, []string{"old", "young"}) {
		t.Errorf("a has %q", got)
	}
	if got := names(x.ofHost(anyHost)); !slices.Equal(got, []string{"all"}) {
		t.Errorf("any host has %q", got)
	}
	if got := names(x.ofService(serviceKey{"shop", "old", "80"})); !slices.Equal(got, []string{"old"}) {
		t.Errorf("the Service has %q", got)
	}
	moved := object{name: "old", age: 2, rules: []string{"a=P:/", "c=P:/"}}.ingress()
	hosts, services := x.replace(old, moved)
	if !slices.Equal(hosts, []string{"a", "b", "c"}) || len(services) != 1 {
		t.Errorf("touched %q, %v", hosts, services)
	}
	if got := names(x.ofHost("a")); !slices.Equal(got, []string{"young", "old"}) || len(x.ofHost("b")) != 0 {
		t.Errorf("a has %q", got)
	}
	for _, ingress := range []*networkingv1.Ingress{young, moved, catchAll} {
		x.replace(ingress, nil)
	}
	if len(x.hosts) != 0 || len(x.services) != 0 {
		t.Errorf("left: %v, %v", x.hosts, x.services)
	}
}

// TestCompare demands that the name with its namespace decides as one text.
func TestCompare(t *testing.T) {
	a, b := object{name: "c"}.ingress(), object{name: "c"}.ingress()
	a.Namespace, b.Namespace = "a", "a-b"
	if Compare(a, b) >= 0 || Compare(b, a) <= 0 || Compare(a, a) != 0 {
		t.Error("a/c comes before a-b/c, since / is greater than -")
	}
}

// TestBackendsThatAreNoService demands that they are no key, and that a port has its name.
func TestBackendsThatAreNoService(t *testing.T) {
	if _, ok := serviceOf("shop", &networkingv1.IngressBackend{}); ok {
		t.Error("a resource is a Service")
	}
	backend := backendOf("x")
	backend.Service.Port = networkingv1.ServiceBackendPort{Name: "http"}
	if key, _ := serviceOf("shop", &backend); key.Port != "http" {
		t.Errorf("%v", key)
	}
}
