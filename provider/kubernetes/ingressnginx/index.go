package ingressnginx

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// anyHost is the host of the server for requests that no other server is for.
const anyHost = "_"

// serviceKey names the port of a Service, by which locations share an upstream. Port is a name, or a number.
type serviceKey struct{ Namespace, Service, Port string }

// serviceOf returns the key of a backend; false when it is no Service.
func serviceOf(namespace string, backend *networkingv1.IngressBackend) (serviceKey, bool) {
	if backend == nil || backend.Service == nil {
		return serviceKey{}, false
	}
	port := backend.Service.Port.Name
	if port == "" {
		port = strconv.Itoa(int(backend.Service.Port.Number))
	}
	return serviceKey{namespace, backend.Service.Name, port}, true
}

// hostsOf returns the hosts of an Ingress: anyHost for rules without one, and for a default backend without rules.
func hostsOf(ingress *networkingv1.Ingress) []string {
	var hosts []string
	for i := range ingress.Spec.Rules {
		hosts = append(hosts, hostOf(&ingress.Spec.Rules[i]))
	}
	if len(hosts) == 0 && ingress.Spec.DefaultBackend != nil {
		hosts = append(hosts, anyHost)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

func hostOf(rule *networkingv1.IngressRule) string {
	if rule.Host == "" {
		return anyHost
	}
	return rule.Host
}

// servicesOf returns the Services that an Ingress leads to.
func servicesOf(ingress *networkingv1.Ingress) []serviceKey {
	found := map[serviceKey]bool{}
	add := func(backend *networkingv1.IngressBackend) {
		if key, ok := serviceOf(ingress.Namespace, backend); ok {
			found[key] = true
		}
	}
	add(ingress.Spec.DefaultBackend)
	for i := range ingress.Spec.Rules {
		if http := ingress.Spec.Rules[i].HTTP; http != nil {
			for j := range http.Paths {
				add(&http.Paths[j].Backend)
			}
		}
	}
	return slices.Collect(maps.Keys(found))
}

// index finds the Ingresses that say something about a host or a Service. Its methods may be called from any
// goroutine.
type index struct {
	mu       sync.RWMutex
	hosts    map[string]group
	services map[serviceKey]group
}

// group are Ingresses by name.
type group map[types.NamespacedName]*networkingv1.Ingress

func newIndex() *index { return &index{hosts: map[string]group{}, services: map[serviceKey]group{}} }

// replace puts an Ingress in the place of its last version. Either may be nil. It returns the hosts and Services of
// both, about which something may have changed.
func (x *index) replace(before, after *networkingv1.Ingress) (hosts []string, services []serviceKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	touchedHosts, touchedServices := map[string]bool{}, map[serviceKey]bool{}
	if before != nil {
		name := nameOf(before)
		for _, host := range hostsOf(before) {
			remove(x.hosts, host, name)
			touchedHosts[host] = true
		}
		for _, service := range servicesOf(before) {
			remove(x.services, service, name)
			touchedServices[service] = true
		}
	}
	if after != nil {
		for _, host := range hostsOf(after) {
			insert(x.hosts, host, after)
			touchedHosts[host] = true
		}
		for _, service := range servicesOf(after) {
			insert(x.services, service, after)
			touchedServices[service] = true
		}
	}
	return slices.Sorted(maps.Keys(touchedHosts)), slices.Collect(maps.Keys(touchedServices))
}

// ofHost returns the Ingresses of a host, in order.
func (x *index) ofHost(host string) []*networkingv1.Ingress { return ordered(x, x.hosts, host) }

// ofService returns the Ingresses that lead to a Service, in order.
func (x *index) ofService(key serviceKey) []*networkingv1.Ingress { return ordered(x, x.services, key) }

func ordered[K comparable](x *index, groups map[K]group, key K) []*networkingv1.Ingress {
	x.mu.RLock()
	found := slices.Collect(maps.Values(groups[key]))
	x.mu.RUnlock()
	slices.SortFunc(found, Compare)
	return found
}

func insert[K comparable](groups map[K]group, key K, ingress *networkingv1.Ingress) {
	if groups[key] == nil {
		groups[key] = group{}
	}
	groups[key][nameOf(ingress)] = ingress
}

func remove[K comparable](groups map[K]group, key K, name types.NamespacedName) {
	delete(groups[key], name)
	if len(groups[key]) == 0 {
		delete(groups, key)
	}
}

func nameOf(ingress *networkingv1.Ingress) types.NamespacedName {
	return types.NamespacedName{Namespace: ingress.Namespace, Name: ingress.Name}
}
