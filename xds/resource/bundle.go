package resource

import (
	"maps"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Bundle holds the resources of one published service. Each list is sorted by name and has each name once. Clusters and
// Assignments of services that others are composed of are in the bundles of all of them, and are equal there.
type Bundle struct {
	// Listeners are what clients ask for, by the names of their targets.
	Listeners []*listenerv3.Listener
	// Routes has one RouteConfiguration, which all Listeners name.
	Routes []*routev3.RouteConfiguration
	// Clusters are all that the route names, and those that they are aggregated from.
	Clusters []*clusterv3.Cluster
	// Assignments are the EDS resources that Clusters name, without those of a single endpoint set, whose name is the
	// key of the set.
	Assignments []Mixed
}

// OfSet returns the listeners, the route and the cluster of the endpoint set of a Kubernetes Service. The name of its
// EDS resource is the key. The bundle is empty when ListenerNames returns nil.
func OfSet(key string) Bundle {
	names := ListenerNames(key)
	if names == nil {
		return Bundle{}
	}
	name := names[0]
	balancing := policy{}
	published := edsCluster(name, key)
	balancing.apply(published)
	bundle := Bundle{
		Routes:   []*routev3.RouteConfiguration{routeConfiguration(name, &target{splits: []split{{name, unit()}}})},
		Clusters: []*clusterv3.Cluster{published},
	}
	slices.Sort(names)
	for _, each := range names {
		bundle.Listeners = append(bundle.Listeners, listener(each, name))
	}
	return bundle
}

// OfService returns the resources of a service of the configuration, published under its qualified name
// (name@provider). The function lookup returns other services by their qualified names; nil means unknown or disabled.
// OfService returns the sorted qualified names of the services that the result depends on, also with an error. The
// error is one sentence that says why the service is not published; the bundle is then empty.
func OfService(
	name string, service *dynamic.Service, lookup func(string) *dynamic.Service,
) (Bundle, []string, error) {
	t := newTranslator(lookup)
	to, err := t.target(name, service)
	delete(t.names, name) // It is there when it refers to itself.
	names := slices.Sorted(maps.Keys(t.names))
	if err != nil {
		return Bundle{}, names, err
	}
	return t.bundle(name, []string{name}, to), names, nil
}

// OfDividedSet returns what OfSet does for the endpoint set of a Kubernetes Service that is divided into environments,
// whose services are keys of endpoint sets. There is a cluster for each subset, and with the fallback any that of the
// whole Service. The error says why the Service is not published; the bundle is then empty.
func OfDividedSet(key string, by *dynamic.Environment) (Bundle, error) {
	names := ListenerNames(key)
	if names == nil {
		return Bundle{}, nil
	}
	t, name := newTranslator(nil), names[0]
	to, err := t.divided(name, by)
	if err != nil {
		return Bundle{}, err
	}
	slices.Sort(names)
	return t.bundle(name, names, to), nil
}

// bundle returns the resources of a target, whose listeners have these names.
func (t *translator) bundle(name string, names []string, to *target) Bundle {
	bundle := Bundle{Routes: []*routev3.RouteConfiguration{routeConfiguration(name, to)}}
	for _, each := range names {
		bundle.Listeners = append(bundle.Listeners, listener(each, name))
	}
	for _, used := range t.used(to) {
		one := t.clusters[used]
		bundle.Clusters = append(bundle.Clusters, one.Cluster)
		if one.mixed != nil {
			bundle.Assignments = append(bundle.Assignments, *one.mixed)
		}
	}
	return bundle
}
