package resource

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// maxServerWeight bounds the weights of the servers of a highestRandomWeight service, as pools do for all servers.
const maxServerWeight = 1 << 24

// weigh returns the positive weights of a list of services as shares that sum to 1, by index, and 0 for the others.
func weigh(kind string, services []dynamic.WeightedService) ([]*big.Rat, error) {
	shares, sum := make([]*big.Rat, 0, len(services)), new(big.Rat)
	for i, one := range services {
		weight := 1
		if one.Weight != nil {
			weight = *one.Weight
		}
		if weight < 0 {
			return nil, fmt.Errorf("%s.services[%d]: the weight %d is negative", kind, i, weight)
		}
		shares = append(shares, new(big.Rat).SetInt64(int64(weight)))
		sum.Add(sum, shares[i])
	}
	if sum.Sign() == 0 {
		return nil, errors.New("none of its services has a weight above 0")
	}
	for _, share := range shares {
		share.Quo(share, sum)
	}
	return shares, nil
}

// weighted translates a service that splits requests by weight. Those of nested services are multiplied out.
func (t *translator) weighted(name string, config *dynamic.WeightedRoundRobin) (*target, error) {
	if config.Sticky != nil && config.Sticky.Cookie != nil {
		return nil, errors.New("its cookie keeps a client on a service, and clients choose one for each request")
	}
	shares, err := weigh("weighted", config.Services)
	if err != nil {
		return nil, err
	}
	to := &target{}
	places := map[string]int{}
	for i, share := range shares {
		if share.Sign() == 0 {
			continue
		}
		child, err := t.child(name, config.Services[i].Name)
		if err != nil {
			return nil, err
		}
		if len(child.mirrors) > 0 {
			return nil, fmt.Errorf("%s is mirrored, and only all requests of a route can be",
				refOf(qualify(config.Services[i].Name, providerOf(name))))
		}
		if to.hashing, err = join(to.hashing, child.hashing); err != nil {
			return nil, err
		}
		for _, part := range child.splits {
			place, known := places[part.cluster]
			if !known {
				place = len(to.splits)
				places[part.cluster] = place
				to.splits = append(to.splits, split{part.cluster, new(big.Rat)})
			}
			total := to.splits[place].share
			total.Add(total, new(big.Rat).Mul(share, part.share))
		}
	}
	return to, nil
}

// highestRandomWeight translates a service that keeps each client on one of several services: one hash ring with the
// servers of all of them.
func (t *translator) highestRandomWeight(name string, config *dynamic.HighestRandomWeight) (*target, error) {
	shares, err := weigh("highestRandomWeight", config.Services)
	if err != nil {
		return nil, err
	}
	var all pool
	var weights []*big.Rat
	for i, share := range shares {
		if share.Sign() == 0 {
			continue
		}
		servers, err := t.serversOf(name, config.Services[i].Name)
		if err != nil {
			return nil, err
		}
		weights = append(weights, distribute(share, servers.servers)...)
		if all, err = joinPools(all, servers); err != nil {
			return nil, err
		}
	}
	for i, weight := range integers(weights, maxServerWeight) {
		all.servers[i].Weight = int(weight)
	}
	t.clusters[name] = all.cluster(name, policy{algorithm: ringHash})
	return &target{splits: []split{{name, unit()}}, hashing: byClient()}, nil
}

// serversOf returns the servers of a load balancer that another service refers to.
func (t *translator) serversOf(parent, reference string) (pool, error) {
	name, service, err := t.find(parent, reference)
	if err != nil {
		return pool{}, err
	}
	if err := t.enter(name, service); err != nil {
		return pool{}, of(name, err)
	}
	defer t.leave()
	if service.LoadBalancer == nil {
		return pool{}, of(name, errors.New("it is no loadBalancer, and a hash ring has servers only"))
	}
	servers, err := poolOf(service.LoadBalancer)
	if err != nil {
		return pool{}, of(name, err)
	}
	return servers, nil
}

// distribute divides the share of a service among its servers by their weights.
func distribute(share *big.Rat, servers []loadbalancer.ServerSpec) []*big.Rat {
	weights, sum := make([]*big.Rat, 0, len(servers)), new(big.Rat)
	for i := range servers {
		weights = append(weights, new(big.Rat).SetInt64(int64(servers[i].Weight)))
		sum.Add(sum, weights[i])
	}
	if sum.Sign() == 0 {
		return weights
	}
	for _, weight := range weights {
		weight.Mul(weight.Quo(weight, sum), share)
	}
	return weights
}

// failover translates a service with a fallback: an aggregate cluster, with nested ones in order.
func (t *translator) failover(name string, config *dynamic.Failover) (*target, error) {
	if config.Errors != nil && len(config.Errors.Status) > 0 {
		return nil, errors.New("its fallback answers for status codes (errors), which clients do not support")
	}
	to := &target{splits: []split{{name, unit()}}}
	var members []string
	for _, reference := range []string{config.Service, config.Fallback} {
		child, err := t.single(name, reference)
		if err != nil {
			return nil, err
		}
		if to.hashing, err = join(to.hashing, child.hashing); err != nil {
			return nil, err
		}
		members = append(members, child.splits[0].cluster)
	}
	t.addAggregate(name, members)
	return to, nil
}

// addAggregate adds an aggregate cluster. Those among its members that are aggregate clusters themselves are replaced
// by their members.
func (t *translator) addAggregate(name string, of []string) {
	var members []string
	for _, used := range of {
		if nested := t.clusters[used].members; nested != nil {
			members = append(members, nested...)
		} else {
			members = append(members, used)
		}
	}
	members = unique(members)
	published := &cluster{
		Cluster: aggregateCluster(name, members), policy: t.clusters[members[0]].policy, members: members,
	}
	published.policy.applyAggregate(published.Cluster)
	t.clusters[name] = published
}

// single translates a service that must be one cluster.
func (t *translator) single(parent, reference string) (*target, error) {
	child, err := t.child(parent, reference)
	if err != nil {
		return nil, err
	}
	if len(child.splits) != 1 || len(child.mirrors) > 0 {
		return nil, fmt.Errorf("%s is not a single cluster, as a loadBalancer or a failover is",
			refOf(qualify(reference, providerOf(parent))))
	}
	return child, nil
}

// unique returns a list without repetitions, each at its first place.
func unique(list []string) []string {
	var out []string
	for _, each := range list {
		if !slices.Contains(out, each) {
			out = append(out, each)
		}
	}
	return out
}

// mirroring translates a service whose requests are copied.
func (t *translator) mirroring(name string, config *dynamic.Mirroring) (*target, error) {
	if config.MirrorBody != nil && !*config.MirrorBody {
		return nil, errors.New("it sets mirrorBody to false, and clients mirror requests as a whole")
	}
	main, err := t.child(name, config.Service)
	if err != nil {
		return nil, err
	}
	to := &target{splits: main.splits, hashing: main.hashing, mirrors: slices.Clone(main.mirrors)}
	for i, mirror := range config.Mirrors {
		numerator, denominator, err := mirror.Share()
		if err != nil {
			return nil, fmt.Errorf("mirrors[%d]: %w", i, err)
		}
		if numerator == 0 {
			continue
		}
		child, err := t.single(name, mirror.Name)
		if err != nil {
			return nil, err
		}
		to.mirrors = append(to.mirrors, mirrorPolicy(child.splits[0].cluster, numerator, denominator))
	}
	return to, nil
}

// millionths are the parts of a share that is not a percentage.
const millionths = 1_000_000

// mirrorPolicy copies a share of the requests of a route to a cluster, in percent or, where that is not exact, in
// millionths.
func mirrorPolicy(cluster string, numerator, denominator int) *routev3.RouteAction_RequestMirrorPolicy {
	unit, parts := typev3.FractionalPercent_HUNDRED, 100
	if numerator*parts%denominator != 0 {
		unit, parts = typev3.FractionalPercent_MILLION, millionths
	}
	return &routev3.RouteAction_RequestMirrorPolicy{
		Cluster: cluster,
		RuntimeFraction: &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{
			Numerator:   uint32(numerator * parts / denominator), //nolint:gosec // 0 to a million
			Denominator: unit,
		}},
		DisableShadowHostSuffixAppend: true, // Sluice sends the same Host header to mirrors.
	}
}
