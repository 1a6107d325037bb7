package client

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typeurl "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"

	"github.com/sluiceproxy/sluice/xds/resource"
)

// Wildcard is the name that stands for all resources of a type.
const Wildcard = "*"

// Key identifies a resource.
type Key struct{ TypeURL, Name string }

// String returns the kind and the name, such as cluster web.shop:80.
func (k Key) String() string { return kindOf(k.TypeURL) + " " + k.Name }

// Subscriber sets the names of the resources of a type that are wanted; Client does.
type Subscriber interface {
	Subscribe(typeURL string, names []string)
}

// Tree holds what listeners lead to: routes, clusters and endpoints. A resource that is rejected, or that the server
// removes while something still leads to it, leaves the one before. A Tree belongs to one goroutine.
type Tree struct {
	// Listeners are the names of their routes; "" is for a listener that does not exist.
	Listeners map[string]string
	// Routes, Clusters and Endpoints are by the names of the resources.
	Routes    map[string]*resource.Routing
	Clusters  map[string]*resource.Cluster
	Endpoints map[string]*resource.Endpoints
	// Rejected are the reasons for which resources could not be read.
	Rejected map[Key]string

	subscriber Subscriber
}

// NewTree returns an empty Tree.
func NewTree(subscriber Subscriber) *Tree {
	return &Tree{
		Listeners: map[string]string{}, Routes: map[string]*resource.Routing{}, Clusters: map[string]*resource.Cluster{},
		Endpoints: map[string]*resource.Endpoints{}, Rejected: map[Key]string{}, subscriber: subscriber,
	}
}

// Receive takes a response. What can be read of it is used; the error names the rest.
func (t *Tree) Receive(response Response) error {
	var problems []error
	for _, one := range response.Resources {
		key := Key{response.TypeURL, one.Name}
		if err := t.read(one, response.TypeURL); err != nil {
			t.Reject(key, err)
			problems = append(problems, fmt.Errorf("%s: %w", one.Name, err))
			continue
		}
		delete(t.Rejected, key)
	}
	for _, name := range response.Removed {
		delete(t.Rejected, Key{response.TypeURL, name})
		if response.TypeURL == typeurl.ListenerType {
			t.Listeners[name] = ""
		}
	}
	return errors.Join(problems...)
}

// Reject notes why a resource cannot be used.
func (t *Tree) Reject(key Key, reason error) { t.Rejected[key] = reason.Error() }

// read reads one resource.
func (t *Tree) read(one Resource, typeURL string) error {
	switch typeURL {
	case typeurl.ListenerType:
		return store(t.Listeners, one, resource.ReadListener, new(listenerv3.Listener))
	case typeurl.RouteType:
		return store(t.Routes, one, resource.ReadRoute, new(routev3.RouteConfiguration))
	case typeurl.ClusterType:
		return store(t.Clusters, one, resource.ReadCluster, new(clusterv3.Cluster))
	case typeurl.EndpointType:
		return store(t.Endpoints, one, resource.ReadAssignment, new(endpointv3.ClusterLoadAssignment))
	}
	return fmt.Errorf("resources of the type %s are not read", typeURL)
}

// store reads a resource and keeps the result; an error leaves the one before.
func store[M proto.Message, V any](to map[string]V, from Resource, read func(M) (V, error), message M) error {
	if err := from.Content.UnmarshalTo(message); err != nil {
		return err
	}
	value, err := read(message)
	if err == nil {
		to[from.Name] = value
	}
	return err
}

// Follow subscribes to listeners and to what they lead to, and forgets everything else. The name * is all listeners.
func (t *Tree) Follow(listeners []string) {
	wanted, routes := setOf(listeners), map[string]bool{}
	if !wanted[Wildcard] {
		keep(t.Listeners, wanted)
	}
	for _, route := range t.Listeners {
		if route != "" {
			routes[route] = true
		}
	}
	keep(t.Routes, routes)
	clusters, assignments := map[string]bool{}, map[string]bool{}
	for _, one := range t.Routes {
		t.follow(one.Clusters(), clusters, assignments)
	}
	keep(t.Clusters, clusters)
	keep(t.Endpoints, assignments)
	for typeURL, names := range map[string]map[string]bool{
		typeurl.ListenerType: wanted, typeurl.RouteType: routes, typeurl.ClusterType: clusters,
		typeurl.EndpointType: assignments,
	} {
		t.subscriber.Subscribe(typeURL, slices.Collect(maps.Keys(names)))
		maps.DeleteFunc(t.Rejected, func(key Key, _ string) bool {
			return key.TypeURL == typeURL && !names[key.Name] && !names[Wildcard]
		})
	}
}

// follow adds clusters, with those that they are aggregated of, and their EDS resources.
func (t *Tree) follow(names []string, clusters, assignments map[string]bool) {
	for _, name := range names {
		if clusters[name] {
			continue
		}
		clusters[name] = true
		if one := t.Clusters[name]; one != nil {
			t.follow(one.Members, clusters, assignments)
			if one.Assignment != "" {
				assignments[one.Assignment] = true
			}
		}
	}
}

// Missing returns the first resource that a listener leads to and that is not there, or not in the version that belongs
// to the others; nil when it is complete. It is not ok for a listener that does not exist.
func (t *Tree) Missing(listener string) (missing *Key, ok bool) {
	route, known := t.Listeners[listener]
	switch {
	case !known:
		return &Key{typeurl.ListenerType, listener}, true
	case route == "":
		return nil, false
	case t.Routes[route] == nil:
		return &Key{typeurl.RouteType, route}, true
	}
	for _, name := range t.Routes[route].Clusters() {
		if missing := t.missingOf(name); missing != nil {
			return missing, true
		}
	}
	if name := t.Routes[route].Outdated(t.Clusters); name != "" {
		return &Key{typeurl.ClusterType, name}, true
	}
	return nil, true
}

// missingOf is Missing for a cluster. Aggregate clusters of aggregate clusters, which could be endless, are rejected.
func (t *Tree) missingOf(name string) *Key {
	one := t.Clusters[name]
	switch {
	case one == nil:
		return &Key{typeurl.ClusterType, name}
	case one.Members == nil && t.Endpoints[one.Assignment] == nil:
		return &Key{typeurl.EndpointType, one.Assignment}
	}
	for _, member := range one.Members {
		if nested := t.Clusters[member]; nested != nil && nested.Members != nil {
			key := Key{typeurl.ClusterType, name}
			t.Reject(key, fmt.Errorf("it is aggregated of %s, which is an aggregate cluster itself", member))
			return &key
		}
		if missing := t.missingOf(member); missing != nil {
			return missing
		}
	}
	return nil
}

func setOf(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// keep deletes what is not in a set.
func keep[V any](from map[string]V, names map[string]bool) {
	maps.DeleteFunc(from, func(name string, _ V) bool { return !names[name] })
}

func kindOf(typeURL string) string {
	switch typeURL {
	case typeurl.ListenerType:
		return "listener"
	case typeurl.RouteType:
		return "route"
	case typeurl.ClusterType:
		return "cluster"
	case typeurl.EndpointType:
		return "endpoints"
	}
	return typeURL
}
