package endpoint

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/sluiceproxy/sluice/dynamic"
)

// serves reports whether a Service has endpoints in the cluster. One of type ExternalName is only a name of something
// elsewhere.
func serves(service *corev1.Service) bool {
	return service != nil && service.Spec.Type != corev1.ServiceTypeExternalName
}

// build returns the endpoints of each TCP and UDP port of the Service, and those of each of its environments, which
// only TCP ports have.
func (c *sliceCache) build(e *entry) []sent {
	if !serves(e.service) {
		return nil
	}
	tags := c.pods.tagsOf(e)
	sets := make([]sent, 0, len(e.service.Spec.Ports)*(1+len(tags)))
	for i := range e.service.Spec.Ports {
		port := &e.service.Spec.Ports[i]
		switch protocolOf(port.Protocol) {
		case corev1.ProtocolTCP:
		case corev1.ProtocolUDP:
			all := e.endpoints(e.nameOf(port), corev1.ProtocolUDP)
			sets = append(sets, sent{port: port.Port, udp: true, endpoints: all})
			continue
		default: // SCTP, which has no routers.
			continue
		}
		all := e.endpoints(e.nameOf(port), corev1.ProtocolTCP)
		if len(tags) == 0 {
			sets = append(sets, sent{port: port.Port, endpoints: all})
			continue
		}
		sets = append(sets, sent{port: port.Port, endpoints: all, division: c.divide(e, port.Port, tags)})
		for i, endpoints := range c.pods.byTag(e, tags, all) {
			sets = append(sets, sent{port: port.Port, tag: tags[i], endpoints: endpoints})
		}
	}
	return sets
}

// protocolOf returns the protocol of a port, which is TCP where it is not given.
func protocolOf(given corev1.Protocol) corev1.Protocol { return cmp.Or(given, corev1.ProtocolTCP) }

// endpoints returns the endpoints of the port of that name and protocol, sorted by address and free of duplicates.
func (e *entry) endpoints(port string, protocol corev1.Protocol) []dynamic.Endpoint {
	var all []dynamic.Endpoint
	if len(e.slices) == 0 {
		all = fromLegacy(e.legacy, port, protocol)
	}
	count := 0
	for _, slice := range e.slices {
		count += len(slice.Endpoints)
	}
	if count > 0 {
		all = make([]dynamic.Endpoint, 0, count)
	}
	for _, slice := range e.slices {
		all = appendSlice(all, slice, port, protocol)
	}
	// One address may be in two slices while it moves from one to the other, and a pod's address may be there with that
	// of its successor. Who takes new clients goes first.
	slices.SortStableFunc(all, func(a, b dynamic.Endpoint) int {
		if order := a.Address.Compare(b.Address); order != 0 {
			return order
		}
		return cmp.Compare(number(a.Terminating), number(b.Terminating))
	})
	return slices.CompactFunc(all, func(a, b dynamic.Endpoint) bool { return a.Address == b.Address })
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// appendSlice appends the endpoints of one slice. Slices of names instead of addresses have none.
func appendSlice(
	all []dynamic.Endpoint, slice *discoveryv1.EndpointSlice, name string, protocol corev1.Protocol,
) []dynamic.Endpoint {
	port, ok := portOf(slice, name, protocol)
	if !ok || slice.AddressType == discoveryv1.AddressTypeFQDN {
		return all
	}
	for i := range slice.Endpoints {
		one := &slice.Endpoints[i]
		if !takes(one.Conditions) {
			continue
		}
		made := dynamic.Endpoint{
			UID: podUID(one.TargetRef), Terminating: is(one.Conditions.Terminating),
			ZoneHints: hints(one.Hints),
		}
		if one.Zone != nil {
			made.Zone = *one.Zone
		}
		for _, text := range one.Addresses {
			address, err := netip.ParseAddr(text)
			if err != nil {
				continue
			}
			made.Address = netip.AddrPortFrom(address, port)
			all = append(all, made)
		}
	}
	return all
}

// portOf returns the number of the slice's port of that name and protocol; a port without a name is the one without a
// name. A slice without a number for it serves no port in particular, and so not this one.
func portOf(slice *discoveryv1.EndpointSlice, name string, protocol corev1.Protocol) (uint16, bool) {
	for i := range slice.Ports {
		port := &slice.Ports[i]
		given := corev1.ProtocolTCP
		if port.Protocol != nil {
			given = protocolOf(*port.Protocol)
		}
		if given != protocol {
			continue
		}
		if (port.Name == nil && name == "") || (port.Name != nil && *port.Name == name) {
			if port.Port == nil || *port.Port < 1 || *port.Port > 65535 {
				return 0, false
			}
			return uint16(*port.Port), true
		}
	}
	return 0, false
}

// takes reports whether an endpoint answers requests: it is serving, or, where that is not said, ready. One that does
// not serve but is called ready is published although it is not ready, at the Service's request
// (publishNotReadyAddresses).
func takes(conditions discoveryv1.EndpointConditions) bool {
	if conditions.Serving == nil {
		return conditions.Ready == nil || *conditions.Ready
	}
	return *conditions.Serving || is(conditions.Ready)
}

func is(condition *bool) bool { return condition != nil && *condition }

// podUID distinguishes successive pods at the same address; empty when it is not a pod.
func podUID(target *corev1.ObjectReference) string {
	if target == nil || target.Kind != "Pod" {
		return ""
	}
	return string(target.UID)
}

func hints(from *discoveryv1.EndpointHints) []string {
	if from == nil || len(from.ForZones) == 0 {
		return nil
	}
	zones := make([]string, len(from.ForZones))
	for i, zone := range from.ForZones {
		zones[i] = zone.Name
	}
	return zones
}

// same reports whether two sets say the same.
func same(a, b []dynamic.Endpoint) bool {
	return slices.EqualFunc(a, b, func(a, b dynamic.Endpoint) bool {
		return a.Address == b.Address && a.UID == b.UID && a.Zone == b.Zone && a.Terminating == b.Terminating &&
			slices.Equal(a.ZoneHints, b.ZoneHints)
	})
}
