package xds

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/xds/client"
	"github.com/sluiceproxy/sluice/xds/resource"
)

// keyPrefix precedes the names of EDS resources in the keys of endpoint sets, which are others than those of a cluster
// that the same process watches.
const keyPrefix = Name + "/"

func setKey(assignment string) string { return keyPrefix + assignment }

// assembly makes the router and the services of one listener whose resources are complete.
type assembly struct {
	tree  *client.Tree
	built built
}

// objectsOf returns what a listener leads to. It is complete if the result is present.
func (l *loop) objectsOf(listener string) (built, result) {
	missing, ok := l.tree.Missing(listener)
	switch {
	case !ok:
		return built{}, result{status: absent}
	case missing != nil && l.tree.Rejected[*missing] != "":
		return built{}, result{rejected, fmt.Sprintf("the %s is rejected: %s", missing, l.tree.Rejected[*missing])}
	case missing != nil:
		return built{}, result{status: pending}
	}
	route := l.tree.Listeners[listener]
	a := assembly{tree: l.tree, built: built{objects: map[dynamic.Ref]any{}}}
	if routing := l.tree.Routes[route]; routing.Environment != nil {
		a.environment(route, routing.Environment)
	} else {
		a.target(route, routing)
	}
	if host, port, ok := hostOf(listener); ok {
		a.put(dynamic.KindRouter, listener, &dynamic.Router{
			EntryPoints: l.provider.config.EntryPoints, Service: objectName(route),
			Rule: ruleOf(host.hosts(l.provider.config.Namespace), port),
		})
	}
	return a.built, result{status: present}
}

// ruleOf returns a rule that matches hosts and a port.
func ruleOf(hosts []string, port string) string {
	matchers := make([]string, 0, len(hosts))
	for _, host := range hosts {
		matchers = append(matchers, "Host(`"+host+"`)")
	}
	return fmt.Sprintf("(%s) && Port(`%s`)", strings.Join(matchers, " || "), port)
}

// objectName returns the name of an object: that of a resource with dots in place of @, which names of objects cannot
// hold. So the service orders@file becomes orders.file.
func objectName(name string) string { return strings.ReplaceAll(name, "@", ".") }

func (a *assembly) put(kind dynamic.Kind, name string, object any) {
	a.built.objects[dynamic.Ref{Kind: kind, Name: objectName(name)}] = object
}

// environment makes an environment service, and the services of its subsets.
func (a *assembly) environment(service string, from *resource.EnvironmentRouting) {
	options := *from.Options
	options.Subsets = make([]dynamic.EnvironmentSubset, 0, len(from.Subsets))
	for i, one := range from.Options.Subsets {
		// A tag may hold characters of names of services, and those that names cannot hold.
		child := service + "/tag/" + url.QueryEscape(one.Tag)
		a.target(child, from.Subsets[i])
		options.Subsets = append(options.Subsets, dynamic.EnvironmentSubset{Tag: one.Tag, Service: objectName(child)})
	}
	if from.Any != nil {
		child := service + "/any"
		a.target(child, from.Any)
		options.Service = objectName(child)
	}
	a.put(dynamic.KindService, service, &dynamic.Service{Environment: &options})
}

// target makes the service of a route.
func (a *assembly) target(service string, routing *resource.Routing) {
	main, splits := service, routing.Splits
	if len(routing.Mirrors) > 0 {
		main = service + "/main"
		mirrors := make([]dynamic.MirrorService, 0, len(routing.Mirrors))
		for _, one := range routing.Mirrors {
			child := service + "/mirror/" + one.Name
			a.cluster(child, one.Name, routing)
			mirrors = append(mirrors, dynamic.MirrorService{Name: objectName(child), Percent: one.Percent})
		}
		mirroring := &dynamic.Mirroring{Service: objectName(main), Mirrors: mirrors}
		mirroring.SetDefaults()
		a.put(dynamic.KindService, service, &dynamic.Service{Mirroring: mirroring})
	}
	if len(splits) == 1 {
		a.cluster(main, splits[0].Cluster, routing)
		return
	}
	weighted := &dynamic.WeightedRoundRobin{}
	for _, one := range splits {
		child, weight := service+"/"+one.Cluster, one.Weight
		a.cluster(child, one.Cluster, routing)
		weighted.Services = append(weighted.Services, dynamic.WeightedService{Name: objectName(child), Weight: &weight})
	}
	a.put(dynamic.KindService, main, &dynamic.Service{Weighted: weighted})
}

// cluster makes the service of a cluster of a route.
func (a *assembly) cluster(service, name string, routing *resource.Routing) {
	if one := a.tree.Clusters[name]; one.Members != nil {
		a.failover(service, one.Members, routing)
	} else {
		a.loadBalancer(service, one, routing)
	}
}

// failover makes the service of the clusters of an aggregate cluster, in order.
func (a *assembly) failover(service string, members []string, routing *resource.Routing) {
	if len(members) == 1 {
		a.cluster(service, members[0], routing)
		return
	}
	first, rest := service+"/"+members[0], service+"/fallback"
	a.cluster(first, members[0], routing)
	a.failover(rest, members[1:], routing)
	a.put(dynamic.KindService, service, &dynamic.Service{
		Failover: &dynamic.Failover{Service: objectName(first), Fallback: objectName(rest)},
	})
}

// loadBalancer makes the service of an EDS cluster: of an endpoint set, or of servers with weights, whose EDS resource
// has the name of the cluster.
func (a *assembly) loadBalancer(service string, one *resource.Cluster, routing *resource.Routing) {
	key, servers := setKey(one.Assignment), []dynamic.Server(nil)
	if one.Assignment == one.Name {
		key, servers = "", a.tree.Endpoints[one.Assignment].Servers(one.Scheme())
	} else if !slices.Contains(a.built.keys, key) {
		a.built.keys = append(a.built.keys, key)
	}
	a.put(dynamic.KindService, service, &dynamic.Service{LoadBalancer: one.Service(routing, key, servers)})
}
