package resource

import (
	"cmp"
	"maps"
	"math/big"
	"net/netip"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// maxLocalityWeight bounds the sum of the weights of localities. It makes shares accurate to a millionth, as in pools,
// and keeps sums of products in clients from overflow.
const maxLocalityWeight = 1 << 20

const (
	// weightPrefix precedes the share of an endpoint in the sub-zone of its locality.
	weightPrefix = "weight-"
	// maxPort is the largest number of a port.
	maxPort = 1<<16 - 1
)

// Mixed is an EDS resource that is composed of several servers: addresses and whole endpoint sets, with weights.
type Mixed struct {
	// Name is the name of the resource, the qualified name of the service.
	Name string
	// Servers are those of the service. Only SetKey, Address and Weight count.
	Servers []loadbalancer.ServerSpec
}

// Keys returns the keys of the endpoint sets that the resource is composed of, sorted and each once.
func (m Mixed) Keys() []string {
	keys := map[string]struct{}{}
	for i := range m.Servers {
		if key := m.Servers[i].SetKey; key != "" {
			keys[key] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// Assignment returns the EDS resource. The function set returns the endpoint set of a key, not ok if there is none yet.
// As in a pool, the weight of a server is divided among the endpoints of its set that serve, a server of weight 0 gets
// no new requests, and servers that differ only in their weight are one server with the sum.
func (m Mixed) Assignment(set func(key string) (dynamic.EndpointSet, bool)) *endpointv3.ClusterLoadAssignment {
	servers := make([]server, 0, len(m.Servers))
	for i := range m.Servers {
		spec := &m.Servers[i]
		var endpoints []dynamic.Endpoint
		if spec.SetKey == "" {
			endpoints = []dynamic.Endpoint{{Address: spec.Address}}
		} else if known, ok := set(spec.SetKey); ok && !known.Deleted {
			endpoints = known.Endpoints
		}
		weight := new(big.Rat).SetInt64(int64(min(max(spec.Weight, 0), maxServerWeight)))
		servers = append(servers, server{endpoints: distinct(endpoints), weight: weight, divided: true})
	}
	return assignment(m.Name, servers)
}

// Assignment returns the EDS resource of one endpoint set. Localities are the zones, weighted by the number of their
// endpoints. Terminating endpoints are DRAINING while others serve, otherwise HEALTHY. Of endpoints with the same
// address the first one counts.
func Assignment(name string, endpoints []dynamic.Endpoint) *endpointv3.ClusterLoadAssignment {
	return assignment(name, []server{{endpoints: distinct(endpoints), weight: unit()}})
}

// server is one part of an assignment.
type server struct {
	endpoints []dynamic.Endpoint
	// weight is that of the server if divided is set, otherwise that of each endpoint.
	weight  *big.Rat
	divided bool
}

// distinct returns the endpoints with an address and a port, each address once.
func distinct(endpoints []dynamic.Endpoint) []dynamic.Endpoint {
	known := make(map[netip.AddrPort]bool, len(endpoints))
	out := make([]dynamic.Endpoint, 0, len(endpoints))
	for i := range endpoints {
		if address := endpoints[i].Address; address.IsValid() && address.Port() > 0 && !known[address] {
			known[address] = true
			out = append(out, endpoints[i])
		}
	}
	return out
}

// share returns the share of each endpoint of the server. If none of them serves, it is the share that each would have.
func (s *server) share(leaving bool) *big.Rat {
	if !s.divided || len(s.endpoints) == 0 {
		return s.weight
	}
	serving := int64(0)
	for i := range s.endpoints {
		if leaving || !s.endpoints[i].Terminating {
			serving++
		}
	}
	if serving == 0 {
		serving = int64(len(s.endpoints))
	}
	return new(big.Rat).Quo(s.weight, new(big.Rat).SetInt64(serving))
}

// member is an endpoint in an assignment.
type member struct {
	address netip.AddrPort
	zone    string
	// share is the part of the requests relative to others; it is that of its locality alone when it does not serve.
	share  *big.Rat
	serves bool
}

// locality identifies a group of endpoints that have a zone and a share in common. Clients weigh endpoints by their
// locality alone: round robin in gRPC ignores the weights of endpoints. The locality of an endpoint depends on its own
// share and not on those of others, since clients connect anew when it changes.
type locality struct{ zone, share string }

// assignment returns the EDS resource of servers.
func assignment(name string, servers []server) *endpointv3.ClusterLoadAssignment {
	groups := map[locality][]member{}
	for _, one := range members(servers) {
		id := locality{one.zone, one.share.RatString()}
		groups[id] = append(groups[id], one)
	}
	ids := slices.SortedFunc(maps.Keys(groups), func(a, b locality) int {
		return cmp.Or(cmp.Compare(a.zone, b.zone), groups[a][0].share.Cmp(groups[b][0].share))
	})
	sums := make([]*big.Rat, 0, len(ids))
	for _, id := range ids {
		sum := new(big.Rat)
		for _, one := range groups[id] {
			if one.serves {
				sum.Add(sum, one.share)
			}
		}
		sums = append(sums, sum)
	}
	out := &endpointv3.ClusterLoadAssignment{ClusterName: name}
	for i, weight := range integers(sums, maxLocalityWeight) {
		out.Endpoints = append(out.Endpoints, localityEndpoints(ids[i], groups[ids[i]], weight))
	}
	return out
}

// localityEndpoints returns a locality. Its weight is absent, which is no share, if none of its endpoints serves.
func localityEndpoints(id locality, group []member, weight uint32) *endpointv3.LocalityLbEndpoints {
	out := &endpointv3.LocalityLbEndpoints{Locality: &corev3.Locality{Zone: id.zone}}
	if id.share != "1" {
		out.Locality.SubZone = weightPrefix + id.share
	}
	if weight > 0 {
		out.LoadBalancingWeight = wrapperspb.UInt32(weight)
	}
	slices.SortFunc(group, func(a, b member) int { return a.address.Compare(b.address) })
	for _, one := range group {
		status := corev3.HealthStatus_HEALTHY
		if !one.serves {
			status = corev3.HealthStatus_DRAINING
		}
		socket := &corev3.SocketAddress{
			Address:       one.address.Addr().String(),
			PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(one.address.Port())},
		}
		out.LbEndpoints = append(out.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
				Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: socket}},
			}},
			HealthStatus: status,
		})
	}
	return out
}

// members returns the endpoints of servers, each address once with the sum of its shares. Terminating endpoints serve
// if no others with a weight do.
func members(servers []server) []member {
	stays := func(endpoint dynamic.Endpoint) bool { return !endpoint.Terminating }
	leaving := !slices.ContainsFunc(servers, func(s server) bool {
		return s.weight.Sign() > 0 && slices.ContainsFunc(s.endpoints, stays)
	})
	var all []member
	places := map[netip.AddrPort]int{}
	for i := range servers {
		from := &servers[i]
		share := from.share(leaving)
		for _, endpoint := range from.endpoints {
			next := member{endpoint.Address, endpoint.Zone, share, share.Sign() > 0 && (leaving || !endpoint.Terminating)}
			place, known := places[endpoint.Address]
			if !known {
				places[endpoint.Address] = len(all)
				all = append(all, next)
				continue
			}
			all[place] = merge(all[place], next)
		}
	}
	return all
}

// merge returns one endpoint that two servers have.
func merge(a, b member) member {
	a.zone = cmp.Or(a.zone, b.zone)
	switch {
	case a.serves && b.serves:
		a.share = new(big.Rat).Add(a.share, b.share)
	case b.serves:
		a.share, a.serves = b.share, true
	}
	return a
}
