package resource

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Endpoints is what a published EDS resource says.
type Endpoints struct {
	// Name is its name.
	Name    string
	members []member
}

// ReadAssignment returns what a published EDS resource says. It fails for one that Assignment and Mixed.Assignment do
// not publish.
func ReadAssignment(from *endpointv3.ClusterLoadAssignment) (*Endpoints, error) {
	read := &Endpoints{Name: from.GetClusterName()}
	var servers []server
	for _, group := range from.GetEndpoints() {
		share := unit()
		if text, weighted := strings.CutPrefix(group.GetLocality().GetSubZone(), weightPrefix); weighted {
			if _, ok := share.SetString(text); !ok || share.Sign() < 0 {
				return nil, fmt.Errorf("the locality %s has no weight in its name", group.GetLocality().GetSubZone())
			}
		}
		for _, one := range group.GetLbEndpoints() {
			socket := one.GetEndpoint().GetAddress().GetSocketAddress()
			address, err := netip.ParseAddr(socket.GetAddress())
			if err != nil || socket.GetPortValue() == 0 || socket.GetPortValue() > maxPort {
				return nil, fmt.Errorf("an endpoint has the address %q and the port %d", socket.GetAddress(), socket.GetPortValue())
			}
			read.members = append(read.members, member{
				address: netip.AddrPortFrom(address, uint16(socket.GetPortValue())), //nolint:gosec // within bounds
				zone:    group.GetLocality().GetZone(), share: share,
				serves: one.GetHealthStatus() == corev3.HealthStatus_HEALTHY,
			})
		}
	}
	for _, one := range read.members {
		servers = append(servers, server{endpoints: []dynamic.Endpoint{one.endpoint()}, weight: one.share})
	}
	return read, same(assignment(read.Name, servers), from)
}

// endpoint returns the endpoint of an address.
func (m *member) endpoint() dynamic.Endpoint {
	return dynamic.Endpoint{Address: m.address, Zone: m.zone, Terminating: !m.serves && m.share.Sign() > 0}
}

// Set returns the endpoints of a single endpoint set, sorted by address. It fails if they have weights.
func (e *Endpoints) Set() ([]dynamic.Endpoint, error) {
	set := make([]dynamic.Endpoint, 0, len(e.members))
	for i := range e.members {
		if e.members[i].share.Cmp(unit()) != 0 {
			return nil, errors.New("its endpoints have weights, which those of an endpoint set have not")
		}
		set = append(set, e.members[i].endpoint())
	}
	return set, nil
}

// Servers returns the endpoints as servers with weights; those that are draining have the weight 0.
func (e *Endpoints) Servers(scheme string) []dynamic.Server {
	shares := make([]*big.Rat, 0, len(e.members))
	for i := range e.members {
		share := e.members[i].share
		if !e.members[i].serves {
			share = new(big.Rat)
		}
		shares = append(shares, share)
	}
	servers := make([]dynamic.Server, 0, len(e.members))
	for i, weight := range integers(shares, maxServerWeight) {
		number := int(weight)
		servers = append(servers, dynamic.Server{URL: scheme + "://" + e.members[i].address.String(), Weight: &number})
	}
	return servers
}
