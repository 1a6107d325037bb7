package resource

import (
	"errors"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/sluiceproxy/sluice/dynamic"
)

// EnvironmentRouting is what a published RouteConfiguration says of an environment service.
type EnvironmentRouting struct {
	// Options are the options without services, and only those that have an effect.
	Options *dynamic.Environment
	// Subsets are where the requests to the subsets go, in the order of the options.
	Subsets []*Routing
	// Any is where requests go that no subset answers; nil without the fallback any.
	Any *Routing

	// standard is the route of requests without a tag; nil if nothing answers them.
	standard *Routing
	// used are the clusters of all routes, and chains are what aggregate clusters among them are made of.
	used   []string
	chains map[string][]string
}

// Outdated returns an aggregate cluster that is not made of the clusters of its subset, of the ancestors, and of what
// answers when none of these is ready; "" if there is none. It belongs to another version of the route, since resources
// arrive one after another. The clusters are all that Clusters names.
func (r *Routing) Outdated(clusters map[string]*Cluster) string {
	if r.Environment == nil {
		return ""
	}
	for name, chain := range r.Environment.chains {
		var members []string
		for _, used := range chain {
			if nested := clusters[used].Members; nested != nil {
				members = append(members, nested...)
			} else {
				members = append(members, used)
			}
		}
		if !slices.Equal(unique(members), clusters[name].Members) {
			return name
		}
	}
	return ""
}

// clusters returns the names of all clusters.
func (e *EnvironmentRouting) clusters() []string {
	names := slices.Clone(e.used)
	for _, one := range e.Subsets {
		names = append(names, one.Clusters()...)
	}
	if e.Any != nil {
		names = append(names, e.Any.Clusters()...)
	}
	return names
}

// environmentReader reads the RouteConfiguration of an environment service: the options from its metadata, and from the
// routes where the requests to a subset go. What would be published for these must be equal.
type environmentReader struct {
	*choice
	name   string
	routes []*routev3.Route
	read   *EnvironmentRouting
	// actions and targets are what was read of routes, by the target of the rule for which they are published.
	actions map[*target]*Routing
	targets map[*target]*target
}

func readEnvironment(from *routev3.RouteConfiguration, options *dynamic.Environment) (*Routing, error) {
	if err := checkRead(options); err != nil {
		return nil, err
	}
	r := &environmentReader{
		choice: newChoice(from.GetName(), options, nil), name: from.GetName(), routes: from.GetVirtualHosts()[0].GetRoutes(),
		read:    &EnvironmentRouting{Options: publishedOptions(options), chains: map[string][]string{}},
		actions: map[*target]*Routing{}, targets: map[*target]*target{},
	}
	if err := r.readActions(); err != nil {
		return nil, err
	}
	if err := r.restore(); err != nil {
		return nil, err
	}
	return &Routing{Environment: r.read}, same(routeConfiguration(r.name, &target{choice: r.choice}), from)
}

// checkRead refuses options that are not published.
func checkRead(options *dynamic.Environment) error {
	if err := checkEnvironment(options); err != nil {
		return err
	}
	for i := range options.Subsets {
		if (options.Subsets[i].Service != "") != (options.Exists == dynamic.ExistsReady) {
			return errors.New("its metadata names the cluster of a subset, or does not, although exists is " + options.Exists)
		}
	}
	if options.Service != "" && options.Fallback != dynamic.FallbackAny {
		return errors.New("its metadata names a cluster of all environments without the fallback any")
	}
	if len(options.Tags) > 0 && !options.Strict {
		return errors.New("its metadata has tags without strict")
	}
	return nil
}

// readActions reads the first route of each subset, and that of requests without a tag. Which these are follows from
// the options.
func (r *environmentReader) readActions() error {
	r.standard = &target{}
	for range r.options.Subsets {
		r.subsets = append(r.subsets, &target{})
	}
	rules := r.rules()
	if len(rules) != len(r.routes) {
		return errors.New("it has other routes than its metadata leads to")
	}
	for i, one := range rules {
		if r.actions[one.to] != nil || r.routes[i].GetRoute() == nil {
			continue
		}
		routing, to, err := readAction(r.routes[i].GetRoute())
		if err != nil {
			return err
		}
		r.actions[one.to], r.targets[one.to] = routing, to
		r.read.used = append(r.read.used, routing.Clusters()...)
	}
	return nil
}

// restore makes the choice that was published from the options and the actions.
func (r *environmentReader) restore() error {
	places, ready := r.places(), r.options.Exists == dynamic.ExistsReady
	hashing, standard := []*routev3.RouteAction_HashPolicy(nil), r.actions[r.standard]
	if standard != nil {
		hashing = r.targets[r.standard].hashing
	}
	for i, published := range r.subsets {
		routing, to := r.actions[published], r.targets[published]
		if routing == nil {
			return errors.New("a subset has no route to clusters")
		}
		if ready {
			to, routing = r.aggregated(i, places, to.hashing), routing.at(r.options.Subsets[i].Service)
		}
		r.subsets[i], r.read.Subsets = to, append(r.read.Subsets, routing)
	}
	var all *target
	if r.options.Fallback == dynamic.FallbackAny {
		if standard == nil {
			return errors.New("requests without a tag have no route to clusters")
		}
		r.read.Any = standard.at(r.options.Service)
		all = &target{splits: []split{{r.options.Service, unit()}}, hashing: hashing}
	}
	var err error
	if ready {
		r.standard = r.aggregated(noSubset, places, hashing)
	} else {
		r.standard, err = r.standardOf(all)
	}
	if r.standard != r.none {
		r.read.standard = standard
	}
	return err
}

// aggregated returns the target for the chain of a subset, with the hash policies of its route.
func (r *environmentReader) aggregated(
	subset int, places map[string]int, hashing []*routev3.RouteAction_HashPolicy,
) *target {
	cluster, members := r.chained(r.name, subset, places)
	if cluster == "" {
		return r.none
	}
	if len(members) > 1 {
		r.read.chains[cluster] = members
	}
	return &target{splits: []split{{cluster, unit()}}, hashing: hashing}
}

// at returns the routing to another cluster, with the same hash policies.
func (r *Routing) at(cluster string) *Routing {
	return &Routing{Splits: []Split{{cluster, 1}}, strategy: r.strategy, hash: r.hash, sticky: r.sticky}
}
