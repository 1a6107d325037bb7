package gateway

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// plan is what a Gateway means with its ListenerSets, before Secrets and other references are read: which listeners
// there are, which of them conflict, and where they are bound.
type plan struct {
	gateway *gatewayv1.Gateway
	// owners has the listeners of the Gateway, and those of each ListenerSet that is allowed.
	owners map[owner]*ownerPlan
	// refusal is why the Gateway is not accepted; nil when it is.
	refusal *Refusal
	exposed Exposed
	// sets is the number of ListenerSets that are accepted.
	sets int
}

// ownerPlan is the plan for the listeners of one owner.
type ownerPlan struct {
	listeners []*listener
	// refusal is why a ListenerSet is not accepted; nil when it is.
	refusal *Refusal
}

// accepted reports whether one of the owner's listeners is.
func (o *ownerPlan) accepted() bool {
	return slices.ContainsFunc(o.listeners, func(l *listener) bool { return l.refusal == nil })
}

// listener is one listener. It is not changed once the plan is made.
type listener struct {
	key      listenerKey
	spec     gatewayv1.ListenerEntry
	hostname string
	// kinds are the kinds of routes that may attach; wrongKinds says that others are demanded.
	kinds      []gatewayv1.RouteGroupKind
	wrongKinds bool
	namespaces namespaces
	// refusal is why the listener is not accepted; nil when it is. Conflict says that this is a conflict.
	refusal  *Refusal
	conflict bool
	// overlaps says that another listener of the port has a hostname that some host has as well, and that both end TLS.
	overlaps bool
	binding  Binding
}

// port returns the port that the listener needs.
func (l *listener) port() Port {
	if l.spec.Protocol == gatewayv1.UDPProtocolType {
		return Port{l.spec.Port, corev1.ProtocolUDP}
	}
	return Port{l.spec.Port, corev1.ProtocolTCP}
}

// passthrough reports whether TLS does not end at the listener.
func (l *listener) passthrough() bool {
	return l.spec.TLS != nil && l.spec.TLS.Mode != nil && *l.spec.TLS.Mode == gatewayv1.TLSModePassthrough
}

// namespaces selects namespaces.
type namespaces struct {
	from     gatewayv1.FromNamespaces
	selector labels.Selector
}

// namespacesOf reads a selection of namespaces; a selector that is none selects nothing.
func namespacesOf(
	from *gatewayv1.FromNamespaces, selector *metav1.LabelSelector, otherwise gatewayv1.FromNamespaces,
) namespaces {
	selected := namespaces{from: otherwise}
	if from != nil {
		selected.from = *from
	}
	if selected.from == gatewayv1.NamespacesFromSelector {
		selected.selector = labels.Nothing()
		if parsed, err := metav1.LabelSelectorAsSelector(selector); err == nil && selector != nil {
			selected.selector = parsed
		}
	}
	return selected
}

// allows reports whether an object in a namespace may attach to one in the namespace own. The result needs the
// namespace where its labels decide.
func (n namespaces) allows(p *Provider, result *translation.Result, own, namespace string) bool {
	switch n.from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return own == namespace
	case gatewayv1.NamespacesFromSelector:
		result.AddNeed(kindNamespace, "", namespace)
		object, found := p.watches.namespaces.Get("", namespace)
		return found && n.selector.Matches(labels.Set(object.Labels))
	case gatewayv1.NamespacesFromNone:
	}
	return false
}

// makePlan makes the plan of a Gateway of this controller, and notes in the result what it needs.
func (p *Provider) makePlan(result *translation.Result, gateway *gatewayv1.Gateway) *plan {
	name := nameOf(gateway)
	made := &plan{gateway: gateway, owners: map[owner]*ownerPlan{}}
	made.refusal = refuseParameters(gateway)
	own := owner{kindGateway, name}
	mine := &ownerPlan{}
	for i := range gateway.Spec.Listeners {
		given := &gateway.Spec.Listeners[i]
		mine.listeners = append(mine.listeners, newListener(own, &gatewayv1.ListenerEntry{
			Name: given.Name, Hostname: given.Hostname, Port: given.Port, Protocol: given.Protocol, TLS: given.TLS,
			AllowedRoutes: given.AllowedRoutes,
		}))
	}
	made.owners[own] = mine
	taken := newTaken(mine.listeners)
	for _, set := range p.setsOf(result, name) {
		made.owners[owner{kindListenerSet, nameOf(set)}] = p.planSet(result, gateway, set, taken)
	}
	markOverlaps(made.owners)
	made.exposed = p.exposure.Expose(gateway, p.portsOf(result, made))
	result.Needs = append(result.Needs, virtual(kindExposure, name))
	if refused := made.exposed.Refusal; made.refusal == nil && refused != nil && notAccepted(refused.Reason) {
		made.refusal = refused
	}
	for of, one := range made.owners {
		if made.refusal != nil && of.kind == kindListenerSet && one.refusal == nil {
			one.refusal = &Refusal{string(gatewayv1.ListenerSetReasonParentNotAccepted), "the Gateway is not accepted"}
		}
		if of.kind == kindListenerSet && one.refusal == nil {
			made.sets++
		}
		for _, l := range one.listeners {
			l.binding = made.exposed.Bindings[l.port()]
			if refused := l.binding.Refusal; refused != nil && l.refusal == nil &&
				refused.Reason == string(gatewayv1.ListenerReasonPortUnavailable) {
				l.refusal = refused
			}
		}
	}
	return made
}

// notAccepted reports whether a reason means that the Gateway is not accepted.
func notAccepted(reason string) bool {
	return reason == string(gatewayv1.GatewayReasonUnsupportedAddress) ||
		reason == string(gatewayv1.GatewayReasonInvalidParameters)
}

// refuseParameters refuses parameters, of which this controller has no kind.
func refuseParameters(gateway *gatewayv1.Gateway) *Refusal {
	if gateway.Spec.Infrastructure == nil || gateway.Spec.Infrastructure.ParametersRef == nil {
		return nil
	}
	ref := gateway.Spec.Infrastructure.ParametersRef
	return &Refusal{
		string(gatewayv1.GatewayReasonInvalidParameters),
		"spec.infrastructure.parametersRef: there are no parameters of the kind " + string(ref.Kind),
	}
}

// setsOf returns the ListenerSets of a Gateway in the order of their precedence.
func (p *Provider) setsOf(result *translation.Result, gateway types.NamespacedName) []*gatewayv1.ListenerSet {
	result.Needs = append(result.Needs, virtual(kindSetsOf, gateway))
	var sets []*gatewayv1.ListenerSet
	for _, name := range p.sets.list(gateway) {
		if set, found := p.watches.listenerSets.Get(name.Namespace, name.Name); found && parentOf(set) == gateway &&
			isGateway(set.Spec.ParentRef.Group, set.Spec.ParentRef.Kind) {
			sets = append(sets, set)
		}
	}
	slices.SortFunc(sets, func(a, b *gatewayv1.ListenerSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name))
	})
	return sets
}

// planSet makes the plan for a ListenerSet.
func (p *Provider) planSet(
	result *translation.Result, gateway *gatewayv1.Gateway, set *gatewayv1.ListenerSet, taken *taken,
) *ownerPlan {
	planned := &ownerPlan{}
	own := owner{kindListenerSet, nameOf(set)}
	for i := range set.Spec.Listeners {
		planned.listeners = append(planned.listeners, newListener(own, &set.Spec.Listeners[i]))
	}
	var from *gatewayv1.FromNamespaces
	var selector *metav1.LabelSelector
	if allowed := gateway.Spec.AllowedListeners; allowed != nil && allowed.Namespaces != nil {
		from, selector = allowed.Namespaces.From, allowed.Namespaces.Selector
	}
	allowed := namespacesOf(from, selector, gatewayv1.NamespacesFromNone)
	if !allowed.allows(p, result, gateway.Namespace, set.Namespace) {
		planned.refusal = &Refusal{
			string(gatewayv1.ListenerSetReasonNotAllowed), "allowedListeners of the Gateway does not allow ListenerSets of " +
				"the namespace " + set.Namespace,
		}
		for _, l := range planned.listeners {
			l.refusal = planned.refusal
		}
		return planned
	}
	for _, l := range planned.listeners {
		if l.refusal == nil {
			taken.take(l)
		}
	}
	if !planned.accepted() {
		planned.refusal = &Refusal{
			string(gatewayv1.ListenerSetReasonListenersNotValid), "none of the listeners is accepted",
		}
	}
	return planned
}

// portsOf returns the ports of all accepted listeners. Where Gateways compete for ports, those of listeners that cannot
// serve are not claimed.
func (p *Provider) portsOf(result *translation.Result, of *plan) []Port {
	compete := p.options.Exposure == static.ExposeOnNode && !p.options.MergeGateways
	if compete && of.refusal != nil {
		return nil
	}
	all := map[Port]struct{}{}
	for own, one := range of.owners {
		d := &ownerDraft{p: p, result: result, plan: of, own: own, frontend: map[int32]*frontend{}}
		for _, l := range one.listeners {
			if l.refusal == nil && (!compete || d.serves(l)) {
				all[l.port()] = struct{}{}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b Port) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Protocol, b.Protocol))
	})
}

// parentOf returns the Gateway of a ListenerSet.
func parentOf(set *gatewayv1.ListenerSet) types.NamespacedName {
	name := types.NamespacedName{Namespace: set.Namespace, Name: string(set.Spec.ParentRef.Name)}
	if set.Spec.ParentRef.Namespace != nil {
		name.Namespace = string(*set.Spec.ParentRef.Namespace)
	}
	return name
}
