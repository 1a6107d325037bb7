package resource

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Endpoints is what a published EDS resource says.
type Endpoints struct {
	// Name is its name.
	Name    string
	members []member
	// weighted is set if the endpoints are not those of one whole set.
	weighted bool
}

// ReadAssignment returns what a published EDS resource says. It fails for one with options that Assignment and
// Mixed.Assignment do not publish.
func ReadAssignment(from *endpointv3.ClusterLoadAssignment) (*Endpoints, error) {
	read := &Endpoints{Name: from.GetClusterName()}
	rest := proto.CloneOf(from)
	rest.Endpoints = nil
	if err := same(&endpointv3.ClusterLoadAssignment{ClusterName: read.Name}, rest); err != nil {
		return nil, err
	}
	known := map[netip.AddrPort]bool{}
	for _, group := range from.GetEndpoints() {
		members, err := readLocality(group)
		if err != nil {
			return nil, err
		}
		zone, subZone := group.GetLocality().GetZone(), group.GetLocality().GetSubZone()
		again := localityEndpoints(zone, subZone, members, group.GetLoadBalancingWeight().GetValue()) // Sorts the members.
		if err := same(again, group); err != nil {
			return nil, fmt.Errorf("endpoints: %w", err)
		}
		for i := range members {
			if known[members[i].address] {
				return nil, fmt.Errorf("it has the address %s twice", members[i].address)
			}
			known[members[i].address] = true
			read.weighted = read.weighted || subZone != "" || members[i].serves && members[i].share.Cmp(unit()) != 0
		}
		read.members = append(read.members, members...)
	}
	return read, nil
}

// readLocality returns the endpoints of a locality, which share its weight.
func readLocality(group *endpointv3.LocalityLbEndpoints) ([]member, error) {
	var members []member
	serving := int64(0)
	for _, one := range group.GetLbEndpoints() {
		socket := one.GetEndpoint().GetAddress().GetSocketAddress()
		address, err := netip.ParseAddr(socket.GetAddress())
		if err != nil || socket.GetPortValue() == 0 || socket.GetPortValue() > maxPort {
			return nil, fmt.Errorf("an endpoint has the address %q and the port %d", socket.GetAddress(), socket.GetPortValue())
		}
		serves := one.GetHealthStatus() == corev3.HealthStatus_HEALTHY
		if serves {
			serving++
		}
		members = append(members, member{
			address:  netip.AddrPortFrom(address, uint16(socket.GetPortValue())), //nolint:gosec // within bounds
			locality: locality{zone: group.GetLocality().GetZone()}, serves: serves,
		})
	}
	for i := range members {
		if members[i].share = new(big.Rat); members[i].serves {
			members[i].share.SetFrac64(int64(group.GetLoadBalancingWeight().GetValue()), serving)
		}
	}
	return members, nil
}

// Set returns the endpoints of a single endpoint set, sorted by address. It fails if they have weights.
func (e *Endpoints) Set() ([]dynamic.Endpoint, error) {
	if e.weighted {
		return nil, errors.New("its endpoints have weights, which those of an endpoint set have not")
	}
	set := make([]dynamic.Endpoint, 0, len(e.members))
	for i := range e.members {
		one := &e.members[i]
		set = append(set, dynamic.Endpoint{Address: one.address, Zone: one.zone, Terminating: !one.serves})
	}
	slices.SortFunc(set, func(a, b dynamic.Endpoint) int { return a.Address.Compare(b.Address) })
	return set, nil
}

// Servers returns the endpoints as servers with weights; those that are draining have the weight 0.
func (e *Endpoints) Servers(scheme string) []dynamic.Server {
	shares := make([]*big.Rat, 0, len(e.members))
	for i := range e.members {
		shares = append(shares, e.members[i].share)
	}
	servers := make([]dynamic.Server, 0, len(e.members))
	for i, weight := range integers(shares, maxServerWeight) {
		number := int(weight)
		servers = append(servers, dynamic.Server{URL: scheme + "://" + e.members[i].address.String(), Weight: &number})
	}
	return servers
}
