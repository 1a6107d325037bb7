package resource

import (
	"cmp"
	"maps"
	"math/big"
	"net/netip"
	"slices"
	"strconv"

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
	// weightPrefix precedes the weight of addresses in the sub-zone of their locality, serverPrefix the indexes of the
	// servers whose sets have the endpoints.
	weightPrefix, serverPrefix = "weight-", "server"
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
		servers = append(servers, server{endpoints: distinct(endpoints), weight: weight, divided: spec.SetKey != ""})
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
	// weight is that of the server if divided is set, as for the part of a set, otherwise that of each endpoint.
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
	locality
	// share is the part of the requests relative to others, if it serves.
	share  *big.Rat
	serves bool
}

// locality identifies a group of endpoints. Clients weigh endpoints by their locality alone: round robin in gRPC
// ignores the weights of endpoints. All of a group have the same share, nearly always: where an address is in several
// sets and terminates in one of them, it gets the share of the others. The locality of an endpoint does not change with
// the number of endpoints, since clients connect anew when it does.
type locality struct {
	zone string
	// sets are the indexes of the servers whose sets have the endpoints.
	sets string
	// weight is that of the endpoints as servers, and as those of one whole set; empty where they are in sets alone.
	weight string
}

// subZone returns the name of the locality in its zone.
func (l locality) subZone() string {
	switch {
	case l.sets == "" && l.weight == "1":
		return ""
	case l.sets == "":
		return weightPrefix + l.weight
	case l.weight == "":
		return serverPrefix + l.sets
	}
	return serverPrefix + l.sets + "-" + weightPrefix + l.weight
}

// assignment returns the EDS resource of servers.
func assignment(name string, servers []server) *endpointv3.ClusterLoadAssignment {
	groups := map[locality][]member{}
	for _, one := range members(servers) {
		groups[one.locality] = append(groups[one.locality], one)
	}
	ids := slices.SortedFunc(maps.Keys(groups), func(a, b locality) int {
		return cmp.Or(cmp.Compare(a.zone, b.zone), natural(a.sets, b.sets), natural(a.weight, b.weight))
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
		out.Endpoints = append(out.Endpoints, localityEndpoints(ids[i].zone, ids[i].subZone(), groups[ids[i]], weight))
	}
	return out
}

// natural compares texts of which the shorter one comes first, as with numbers.
func natural(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// localityEndpoints returns a locality. Its weight is absent, which is no share, if none of its endpoints serves.
func localityEndpoints(zone, subZone string, group []member, weight uint32) *endpointv3.LocalityLbEndpoints {
	out := &endpointv3.LocalityLbEndpoints{Locality: &corev3.Locality{Zone: zone, SubZone: subZone}}
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
	weights := map[netip.AddrPort]*big.Rat{} // those of addresses, and of the endpoints of one whole set
	for i := range servers {
		from := &servers[i]
		share := from.share(leaving)
		for _, endpoint := range from.endpoints {
			place, known := places[endpoint.Address]
			if !known {
				place = len(all)
				places[endpoint.Address] = place
				all = append(all, member{address: endpoint.Address, share: new(big.Rat)})
			}
			one := &all[place]
			one.zone = cmp.Or(one.zone, endpoint.Zone)
			if from.divided {
				one.sets += "-" + strconv.Itoa(i)
			} else {
				sum := new(big.Rat).Add(share, cmp.Or(weights[endpoint.Address], new(big.Rat)))
				weights[endpoint.Address], one.weight = sum, sum.RatString()
			}
			if share.Sign() > 0 && (leaving || !endpoint.Terminating) {
				one.share, one.serves = new(big.Rat).Add(one.share, share), true
			}
		}
	}
	return all
}
