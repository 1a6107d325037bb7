package resource

import (
	"errors"
	"math/big"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/picker"
)

// Routing is what a published RouteConfiguration says.
type Routing struct {
	// Environment is how the requests to an environment service are divided; nil for others. The other fields are then
	// empty.
	Environment *EnvironmentRouting
	// Splits are the clusters that get the requests, with their weights.
	Splits []Split
	// Mirrors get copies of a percentage of the requests.
	Mirrors []dynamic.MirrorService
	// strategy, hash and sticky are how clusters with a hash ring hash a request.
	strategy string
	hash     *dynamic.HashStrategy
	sticky   *dynamic.Sticky
}

// Split is a cluster with a share of the requests.
type Split struct {
	// Cluster is its name.
	Cluster string
	// Weight is relative to the other splits; at least 1.
	Weight int
}

// Clusters returns the names of all clusters, those of mirrors too.
func (r *Routing) Clusters() []string {
	var names []string
	for _, one := range r.Splits {
		names = append(names, one.Cluster)
	}
	for _, one := range r.Mirrors {
		names = append(names, one.Name)
	}
	if r.Environment != nil {
		names = append(names, r.Environment.clusters()...)
	}
	return unique(names)
}

// ReadRoute returns what a published RouteConfiguration says. It fails for one that OfSet, OfDividedSet and OfService
// do not publish.
func ReadRoute(from *routev3.RouteConfiguration) (*Routing, error) {
	hosts := from.GetVirtualHosts()
	if len(hosts) != 1 {
		return nil, errRoutes
	}
	options, err := optionsOf(hosts[0].GetMetadata())
	if err != nil {
		return nil, err
	}
	if options != nil {
		return readEnvironment(from, options)
	}
	if len(hosts[0].GetRoutes()) != 1 || hosts[0].GetRoutes()[0].GetRoute() == nil {
		return nil, errRoutes
	}
	routing, to, err := readAction(hosts[0].GetRoutes()[0].GetRoute())
	if err != nil {
		return nil, err
	}
	return routing, same(routeConfiguration(from.GetName(), to), from)
}

// errRoutes is for a RouteConfiguration of another form.
var errRoutes = errors.New("it has not a single virtual host with a single route to clusters")

// readAction reads the action of a route, and returns the target that would be published for it too.
func readAction(action *routev3.RouteAction) (*Routing, *target, error) {
	routing, to := &Routing{}, &target{}
	if name := action.GetCluster(); name != "" {
		routing.Splits = []Split{{Cluster: name, Weight: 1}}
	}
	for _, one := range action.GetWeightedClusters().GetClusters() {
		routing.Splits = append(routing.Splits, Split{one.GetName(), int(one.GetWeight().GetValue())})
	}
	for _, one := range routing.Splits {
		if one.Cluster == "" || one.Weight < 1 {
			return nil, nil, errors.New("a cluster has no name or no weight")
		}
		to.splits = append(to.splits, split{one.Cluster, big.NewRat(int64(one.Weight), 1)})
	}
	if len(to.splits) == 0 {
		return nil, nil, errors.New("it names no cluster")
	}
	for _, one := range action.GetRequestMirrorPolicies() {
		mirror := dynamic.MirrorService{Name: one.GetCluster()}
		share := one.GetRuntimeFraction().GetDefaultValue()
		if share.GetDenominator() == typev3.FractionalPercent_MILLION {
			mirror.Fraction = &dynamic.Fraction{Numerator: int(share.GetNumerator()), Denominator: millionths}
		} else {
			mirror.Percent = int(share.GetNumerator())
		}
		numerator, denominator, err := mirror.Share()
		if err != nil {
			return nil, nil, err
		}
		routing.Mirrors = append(routing.Mirrors, mirror)
		to.mirrors = append(to.mirrors, mirrorPolicy(mirror.Name, numerator, denominator))
	}
	var err error
	to.hashing, err = routing.readHashing(action.GetHashPolicy())
	return routing, to, err
}

// readHashing reads the hash policies of a route, and returns those that would be published for them.
func (r *Routing) readHashing(list hashPolicies) (hashPolicies, error) {
	rest := list
	if len(rest) > 0 && rest[0].GetTerminal() {
		r.sticky = &dynamic.Sticky{Cookie: readCookie(rest[0].GetCookie())}
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0:
	case len(rest) == 1 && rest[0].GetHeader() != nil:
		r.strategy = dynamic.StrategyHash
		r.hash = &dynamic.HashStrategy{Source: dynamic.HashHeader, Name: rest[0].GetHeader().GetHeaderName()}
	case len(rest) == 1 && rest[0].GetCookie() != nil:
		r.strategy = dynamic.StrategyHash
		r.hash = &dynamic.HashStrategy{Source: dynamic.HashCookie, Name: rest[0].GetCookie().GetName()}
	case len(rest) == 2:
		r.strategy = dynamic.StrategyHRW
	}
	config := &dynamic.ServersLoadBalancer{Strategy: r.strategy, Hash: r.hash, Sticky: r.sticky}
	strategy, err := picker.NewStrategy(config.Strategy, config.Hash)
	if err != nil {
		return nil, err
	}
	return hashingOf("", strategy, config)
}

// readCookie returns the options of a sticky cookie.
func readCookie(from *routev3.RouteAction_HashPolicy_Cookie) *dynamic.Cookie {
	path := from.GetPath()
	cookie := &dynamic.Cookie{Name: from.GetName(), Path: &path, MaxAge: -1}
	if from.GetTtl() != nil {
		cookie.MaxAge = int(from.GetTtl().GetSeconds())
	}
	for _, one := range from.GetAttributes() {
		switch one.GetName() {
		case "Domain":
			cookie.Domain = one.GetValue()
		case "HttpOnly":
			cookie.HTTPOnly = true
		case "SameSite":
			cookie.SameSite = one.GetValue()
		case "Secure":
			cookie.Secure = true
		case "Partitioned":
			cookie.Partitioned = true
		}
	}
	return cookie
}
