package gateway

import (
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// newListener reads a listener, without its conflicts with others.
func newListener(of owner, spec *gatewayv1.ListenerEntry) *listener {
	l := &listener{key: listenerKey{of, string(spec.Name)}, spec: *spec}
	if spec.Hostname != nil {
		l.hostname = strings.ToLower(string(*spec.Hostname))
	}
	var from *gatewayv1.RouteNamespaces
	if spec.AllowedRoutes != nil {
		from = spec.AllowedRoutes.Namespaces
	}
	if from == nil {
		from = &gatewayv1.RouteNamespaces{}
	}
	l.namespaces = namespacesOf(from.From, from.Selector, gatewayv1.NamespacesFromSame)
	supported := kindsOf(spec.Protocol)
	if supported == nil {
		l.refusal = &Refusal{
			string(gatewayv1.ListenerReasonUnsupportedProtocol), "the protocol " + string(spec.Protocol) + " is not supported",
		}
		return l
	}
	if spec.Protocol == gatewayv1.HTTPSProtocolType && l.passthrough() {
		l.refusal = &Refusal{
			string(gatewayv1.ListenerReasonUnsupportedValue), "TLS of the protocol HTTPS is always terminated",
		}
	}
	l.selectKinds(supported)
	return l
}

// selectKinds keeps of the kinds that the protocol supports those that are demanded.
func (l *listener) selectKinds(supported []gatewayv1.Kind) {
	var demanded []gatewayv1.RouteGroupKind
	if l.spec.AllowedRoutes != nil {
		demanded = l.spec.AllowedRoutes.Kinds
	}
	group := gatewayv1.Group(gatewayv1.GroupName)
	if len(demanded) == 0 {
		for _, kind := range supported {
			l.kinds = append(l.kinds, gatewayv1.RouteGroupKind{Group: &group, Kind: kind})
		}
		return
	}
	for _, one := range demanded {
		if one.Group != nil && *one.Group != group || !slices.Contains(supported, one.Kind) {
			l.wrongKinds = true
			continue
		}
		if !l.takes(one.Kind) {
			l.kinds = append(l.kinds, gatewayv1.RouteGroupKind{Group: &group, Kind: one.Kind})
		}
	}
}

// takes reports whether routes of a kind may attach.
func (l *listener) takes(kind gatewayv1.Kind) bool {
	return slices.ContainsFunc(l.kinds, func(k gatewayv1.RouteGroupKind) bool { return k.Kind == kind })
}

// kindsOf returns the kinds of routes for a protocol; nil for a protocol that is not supported.
func kindsOf(protocol gatewayv1.ProtocolType) []gatewayv1.Kind {
	switch protocol {
	case gatewayv1.HTTPProtocolType, gatewayv1.HTTPSProtocolType:
		return []gatewayv1.Kind{kindHTTPRoute, kindGRPCRoute}
	case gatewayv1.TLSProtocolType:
		return []gatewayv1.Kind{kindTLSRoute}
	case gatewayv1.TCPProtocolType:
		return []gatewayv1.Kind{kindTCPRoute}
	case gatewayv1.UDPProtocolType:
		return []gatewayv1.Kind{kindUDPRoute}
	}
	return nil
}

// class is what listeners of one port must have in common.
type class string

// classOf returns the class of a protocol. HTTPS and TLS share ports, since the server name selects the listener.
func classOf(protocol gatewayv1.ProtocolType) class {
	if protocol == gatewayv1.HTTPSProtocolType {
		return class(gatewayv1.TLSProtocolType)
	}
	return class(protocol)
}

// place is what only one listener can have.
type place struct {
	port     Port
	hostname string
}

// placeOf returns the place of a listener; hostnames mean nothing for TCP and UDP.
func placeOf(l *listener) place {
	switch l.spec.Protocol {
	case gatewayv1.TCPProtocolType, gatewayv1.UDPProtocolType:
		return place{l.port(), ""}
	}
	return place{l.port(), l.hostname}
}

// taken is what listeners have.
type taken struct {
	classes map[Port]class
	places  map[place]struct{}
}

// newTaken returns what the listeners of a Gateway have, and refuses those that conflict with one another.
func newTaken(listeners []*listener) *taken {
	t := &taken{classes: map[Port]class{}, places: map[place]struct{}{}}
	mixed, count := map[Port]bool{}, map[place]int{}
	for _, l := range listeners {
		if l.refusal != nil {
			continue
		}
		own := classOf(l.spec.Protocol)
		if known, found := t.classes[l.port()]; found && known != own {
			mixed[l.port()] = true
		}
		t.classes[l.port()] = own
		t.places[placeOf(l)] = struct{}{}
		count[placeOf(l)]++
	}
	for _, l := range listeners {
		switch {
		case l.refusal != nil:
		case mixed[l.port()]:
			l.conflicts(gatewayv1.ListenerReasonProtocolConflict, "another listener of the port has another protocol")
		case count[placeOf(l)] > 1:
			l.conflicts(gatewayv1.ListenerReasonHostnameConflict, "another listener has the same port and hostname")
		}
	}
	return t
}

// take gives a listener of a ListenerSet its place, or refuses it.
func (t *taken) take(l *listener) {
	own, at := classOf(l.spec.Protocol), placeOf(l)
	if known, found := t.classes[l.port()]; found && known != own {
		l.conflicts(gatewayv1.ListenerReasonProtocolConflict,
			"a listener of the port that comes before has another protocol")
		return
	}
	if _, found := t.places[at]; found {
		l.conflicts(gatewayv1.ListenerReasonHostnameConflict,
			"a listener that comes before has the same port and hostname")
		return
	}
	t.classes[l.port()], t.places[at] = own, struct{}{}
}

// conflicts refuses a listener because of another one.
func (l *listener) conflicts(reason gatewayv1.ListenerConditionReason, message string) {
	l.refusal, l.conflict = &Refusal{string(reason), message}, true
}
