package exposure

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
)

// The largest lengths of prefixes whose first and last address of IPv4, and first address of IPv6, are not usable.
const (
	mostBits4 = 30
	mostBits6 = 126
)

// byPool gives each Gateway an address of the pool: the one that its status shows, the one that it demands, or the one
// that the leader has picked. Merged Gateways have the same.
func (e *Exposures) byPool(requests []*request) map[types.NamespacedName]gateway.Exposed {
	owned, refusals := e.poolAddresses(requests)
	shown, fixed := e.shown()
	answers := make(map[types.NamespacedName]gateway.Exposed, len(requests))
	for _, one := range requests {
		address, ok := owned[one.name]
		if !ok {
			answers[one.name] = gateway.Exposed{Refusal: refusals[one.name]}
			continue
		}
		answer := gateway.Exposed{
			Bindings:  make(map[gateway.Port]gateway.Binding, len(one.ports)),
			Addresses: []gatewayv1.GatewayStatusAddress{statusAddress(gatewayv1.IPAddressType, address.String())},
		}
		if fixed {
			// The address itself is shown too, since it is kept there.
			answer.Addresses = append(answer.Addresses, shown...)
		}
		for _, port := range one.ports {
			answer.Bindings[port] = gateway.Binding{
				Address: net.JoinHostPort(address.String(), strconv.Itoa(int(port.Number))),
			}
		}
		answers[one.name] = answer
	}
	return answers
}

// poolAddresses returns the addresses that the Gateways have, and why the others have none.
func (e *Exposures) poolAddresses(
	requests []*request,
) (owned map[types.NamespacedName]netip.Addr, refusals map[types.NamespacedName]*gateway.Refusal) {
	owned = make(map[types.NamespacedName]netip.Addr, len(requests))
	refusals = map[types.NamespacedName]*gateway.Refusal{}
	if e.options.Config.MergeGateways {
		return e.sharedAddress(requests)
	}
	owners := map[netip.Addr]types.NamespacedName{}
	take := func(one *request, address netip.Addr) bool {
		if owner, taken := owners[address]; taken && owner != one.name {
			return false
		}
		owners[address], owned[one.name] = one.name, address
		return true
	}
	for _, one := range requests { // Who has an address keeps it, unless another one is demanded.
		address, demands, _ := demanded(one.Gateway)
		if recorded := e.recorded(one.Gateway); recorded.IsValid() && (!demands || recorded == address) {
			take(one, recorded)
		}
	}
	for _, one := range requests {
		address, demands, refusal := demanded(one.Gateway)
		if _, has := owned[one.name]; has || !demands {
			continue
		}
		switch {
		case refusal != nil:
		case !e.inPool(address):
			refusal = unusable(fmt.Sprintf("The address %s is not in the pool.", address))
		case !take(one, address):
			refusal = unusable(fmt.Sprintf("The Gateway %s has the address %s.", owners[address], address))
		}
		refusals[one.name] = refusal
	}
	var waiting *gateway.Refusal
	for _, one := range requests {
		if _, has := owned[one.name]; has || refusals[one.name] != nil {
			continue
		}
		if picked, ok := e.picked[one.name]; ok && take(one, picked) {
			continue
		}
		if waiting == nil {
			waiting = unassigned("No address of the pool is assigned yet.")
		}
		refusals[one.name] = waiting
	}
	if waiting != nil {
		if _, ok := e.free(owners); !ok {
			waiting.Message = "All addresses of the pool are in use."
		}
	}
	return owned, refusals
}

// sharedAddress gives all Gateways the address that the oldest of those has that have one.
func (e *Exposures) sharedAddress(
	requests []*request,
) (owned map[types.NamespacedName]netip.Addr, refusals map[types.NamespacedName]*gateway.Refusal) {
	owned = make(map[types.NamespacedName]netip.Addr, len(requests))
	refusals = map[types.NamespacedName]*gateway.Refusal{}
	var shared netip.Addr
	sources := []func(one *request) netip.Addr{
		func(one *request) netip.Addr { return e.recorded(one.Gateway) },
		func(one *request) netip.Addr {
			address, demands, refusal := demanded(one.Gateway)
			if !demands || refusal != nil || !e.inPool(address) {
				return netip.Addr{}
			}
			return address
		},
		func(one *request) netip.Addr { return e.picked[one.name] },
	}
	for _, source := range sources {
		for _, one := range requests {
			if address := source(one); !shared.IsValid() && address.IsValid() {
				shared = address
			}
		}
	}
	for _, one := range requests {
		address, demands, refusal := demanded(one.Gateway)
		switch {
		case refusal != nil:
			refusals[one.name] = refusal
		case demands && (shared.IsValid() || !e.inPool(address)) && address != shared:
			refusals[one.name] = unusable(fmt.Sprintf("The address %s is not the one that all Gateways share.", address))
		case !shared.IsValid():
			refusals[one.name] = unassigned("No address of the pool is assigned yet.")
		default:
			owned[one.name] = shared
		}
	}
	return owned, refusals
}

// recorded returns the address of the pool that the status of a Gateway shows; the zero Addr if there is none.
func (e *Exposures) recorded(one *gatewayv1.Gateway) netip.Addr {
	for _, shown := range one.Status.Addresses {
		if address, err := netip.ParseAddr(shown.Value); err == nil && e.inPool(address.Unmap()) {
			return address.Unmap()
		}
	}
	return netip.Addr{}
}

// inPool reports whether an address is one that Gateways may have.
func (e *Exposures) inPool(address netip.Addr) bool {
	return slices.ContainsFunc(e.pool, func(prefix netip.Prefix) bool {
		return prefix.Contains(address) && !reserved(prefix, address)
	})
}

// reserved reports whether an address has a meaning of its own in its network: the network, or its broadcast.
func reserved(prefix netip.Prefix, address netip.Addr) bool {
	if address.Is4() {
		next := address.Next()
		return prefix.Bits() <= mostBits4 && (address == prefix.Addr() || !next.IsValid() || !prefix.Contains(next))
	}
	return prefix.Bits() <= mostBits6 && address == prefix.Addr()
}

// pick has the leader decide on addresses: the lowest that are free, the oldest Gateway first. It reports whether there
// are any new ones. The caller holds mu.
func (e *Exposures) pick() bool {
	requests := slices.DeleteFunc(e.sorted(), func(one *request) bool { return unsupported(one.Gateway) != nil })
	owned, refusals := e.poolAddresses(requests)
	taken := make(map[netip.Addr]types.NamespacedName, len(owned))
	for name, address := range owned {
		taken[address] = name
	}
	changed := false
	for _, one := range requests {
		refusal := refusals[one.name]
		if refusal == nil || refusal.Reason != string(gatewayv1.GatewayReasonAddressNotAssigned) {
			continue
		}
		address, ok := e.free(taken)
		if !ok {
			break
		}
		taken[address] = one.name
		e.picked[one.name] = address
		changed = true
		if e.options.Config.MergeGateways {
			break
		}
	}
	return changed
}

// free returns the lowest address of the first prefix of the pool that has one.
func (e *Exposures) free(taken map[netip.Addr]types.NamespacedName) (netip.Addr, bool) {
	for _, prefix := range e.pool {
		for address := prefix.Addr(); address.IsValid() && prefix.Contains(address); address = address.Next() {
			if _, used := taken[address]; !used && !reserved(prefix, address) {
				return address, true
			}
		}
	}
	return netip.Addr{}, false
}
