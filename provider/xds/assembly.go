package xds

import (
	"fmt"
	"strings"

	typeurl "github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/xds/client"
	"github.com/sluiceproxy/sluice/xds/resource"
)

// keyPrefix precedes the names of EDS resources in the keys of endpoint sets, which are others than those of a cluster
// that the same process watches.
const keyPrefix = Name + "/"

func setKey(assignment string) string { return keyPrefix + assignment }

// assembly makes the router and the services of one listener.
type assembly struct {
	from    *loop
	routing *resource.Routing
	built   built
	// lacks is the first resource that is missing or was rejected.
	lacks *result
}

// objectsOf returns what a listener leads to. It is complete if the result is present.
func (l *loop) objectsOf(listener string) (built, result) {
	a := assembly{from: l, built: built{objects: map[dynamic.Ref]any{}}}
	route, known := l.tree.Listeners[listener]
	switch {
	case !known:
		a.missing(typeurl.ListenerType, listener)
		return built{}, *a.lacks
	case route == "":
		return built{}, result{status: absent}
	}
	if a.routing = l.tree.Routes[route]; a.routing == nil {
		a.missing(typeurl.RouteType, route)
		return built{}, *a.lacks
	}
	a.target(route)
	if host, port, ok := hostOf(listener); ok {
		a.put(dynamic.KindRouter, listener, &dynamic.Router{
			EntryPoints: l.provider.config.EntryPoints, Service: objectName(route),
			Rule: fmt.Sprintf("Host(`%s`) && Port(`%s`)", host, port),
		})
	}
	if a.lacks != nil {
		return built{}, *a.lacks
	}
	return a.built, result{status: present}
}

// objectName returns the name of an object: that of a resource with dots in place of @, which names of objects cannot
// hold. So the service orders@file becomes orders.file.
func objectName(name string) string { return strings.ReplaceAll(name, "@", ".") }

func (a *assembly) put(kind dynamic.Kind, name string, object any) {
	a.built.objects[dynamic.Ref{Kind: kind, Name: objectName(name)}] = object
}

// missing notes that a resource is missing.
func (a *assembly) missing(typeURL, name string) {
	if a.lacks != nil {
		return
	}
	a.lacks = &result{status: pending}
	key := client.Key{TypeURL: typeURL, Name: name}
	if reason := a.from.tree.Rejected[key]; reason != "" {
		a.lacks = &result{rejected, fmt.Sprintf("the %s is rejected: %s", key, reason)}
	}
}

// target makes the service of the route.
func (a *assembly) target(service string) {
	main, splits := service, a.routing.Splits
	if len(a.routing.Mirrors) > 0 {
		main = service + "/main"
		mirrors := make([]dynamic.MirrorService, 0, len(a.routing.Mirrors))
		for _, one := range a.routing.Mirrors {
			child := service + "/mirror/" + one.Name
			a.cluster(child, one.Name)
			mirrors = append(mirrors, dynamic.MirrorService{Name: objectName(child), Percent: one.Percent})
		}
		mirroring := &dynamic.Mirroring{Service: objectName(main), Mirrors: mirrors}
		mirroring.SetDefaults()
		a.put(dynamic.KindService, service, &dynamic.Service{Mirroring: mirroring})
	}
	if len(splits) == 1 {
		a.cluster(main, splits[0].Cluster)
		return
	}
	weighted := &dynamic.WeightedRoundRobin{}
	for _, one := range splits {
		child, weight := service+"/"+one.Cluster, one.Weight
		a.cluster(child, one.Cluster)
		weighted.Services = append(weighted.Services, dynamic.WeightedService{Name: objectName(child), Weight: &weight})
	}
	a.put(dynamic.KindService, main, &dynamic.Service{Weighted: weighted})
}

// cluster makes the service of a cluster.
func (a *assembly) cluster(service, name string) {
	one := a.from.tree.Clusters[name]
	switch {
	case one == nil:
		a.missing(typeurl.ClusterType, name)
	case one.Members != nil:
		a.failover(service, one.Members)
	default:
		a.loadBalancer(service, one)
	}
}

// failover makes the service of the clusters of an aggregate cluster, in order.
func (a *assembly) failover(service string, members []string) {
	if len(members) == 1 {
		a.cluster(service, members[0])
		return
	}
	first, rest := service+"/"+members[0], service+"/fallback"
	a.cluster(first, members[0])
	a.failover(rest, members[1:])
	a.put(dynamic.KindService, service, &dynamic.Service{
		Failover: &dynamic.Failover{Service: objectName(first), Fallback: objectName(rest)},
	})
}

// loadBalancer makes the service of an EDS cluster: of an endpoint set, or of servers with weights, whose EDS resource
// has the name of the cluster.
func (a *assembly) loadBalancer(service string, one *resource.Cluster) {
	endpoints := a.from.tree.Endpoints[one.Assignment]
	if endpoints == nil {
		a.missing(typeurl.EndpointType, one.Assignment)
		return
	}
	key, servers := setKey(one.Assignment), []dynamic.Server(nil)
	if one.Assignment == one.Name {
		key, servers = "", endpoints.Servers(one.Scheme())
	} else {
		a.built.keys = append(a.built.keys, key)
	}
	a.put(dynamic.KindService, service, &dynamic.Service{LoadBalancer: one.Service(a.routing, key, servers)})
}
