package gateway

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// routeDraft is the translation of a route while it is made.
type routeDraft struct {
	p      *Provider
	result *translation.Result
	kind   gatewayv1.Kind
	types.NamespacedName
	object    client.Object
	created   time.Time
	hostnames []string
	parents   []parent
	// absent are the owners that were not there when the route looked for them first.
	absent map[owner]struct{}
	// refs is what is wrong with the first reference that is; nil when none is.
	refs *Refusal
	// dropped is what is wrong with rules that are left out, of which there are so many; rules is the number of all.
	dropped        *Refusal
	invalid, rules int
	// uses are the Services to which the route leads.
	uses map[types.NamespacedName]struct{}
}

// parent is a reference of a route to what it attaches to.
type parent struct {
	ref gatewayv1.ParentReference
	// refusal is why the route does not attach; nil when it does.
	refusal  *Refusal
	attached []attachment
}

// attachment is a listener that a route attaches to, with those of its hostnames that intersect the listener's one.
type attachment struct {
	listener  *listenerView
	view      *view
	hostnames []string
}

// newRoute begins the translation of a route, and finds what it attaches to.
func (p *Provider) newRoute(
	result *translation.Result, kind gatewayv1.Kind, object client.Object, refs []gatewayv1.ParentReference,
	hostnames []gatewayv1.Hostname,
) *routeDraft {
	result.Origin = originOf(string(kind), object)
	d := &routeDraft{
		p: p, result: result, kind: kind, NamespacedName: nameOf(object), object: object,
		created: object.GetCreationTimestamp().Time, uses: map[types.NamespacedName]struct{}{},
	}
	for _, hostname := range hostnames {
		d.hostnames = append(d.hostnames, strings.ToLower(string(hostname)))
	}
	for _, ref := range refs {
		d.attach(ref)
	}
	return d
}

// ownerOf returns the owner of listeners that a parentRef names; false when it names something else.
func ownerOf(ref *gatewayv1.ParentReference, namespace string) (owner, bool) {
	kind := string(valueOf(ref.Kind, kindGateway))
	if valueOf(ref.Group, gatewayv1.GroupName) != gatewayv1.GroupName || kind != kindGateway && kind != kindListenerSet {
		return owner{}, false
	}
	return owner{kind, types.NamespacedName{
		Namespace: string(valueOf(ref.Namespace, gatewayv1.Namespace(namespace))), Name: string(ref.Name),
	}}, true
}

// viewOf returns what the route sees of an owner. One that appears during the translation is not seen: it has the route
// translated again, once the route's needs are known.
func (d *routeDraft) viewOf(of owner) *view {
	if _, absent := d.absent[of]; absent {
		return nil
	}
	seen := d.p.viewOf(of)
	if seen == nil {
		if d.absent == nil {
			d.absent = map[owner]struct{}{}
		}
		d.absent[of] = struct{}{}
	}
	return seen
}

// attach follows a parentRef. One that is not to an owner of this controller leaves nothing.
func (d *routeDraft) attach(ref gatewayv1.ParentReference) {
	of, ok := ownerOf(&ref, d.Namespace)
	if !ok {
		return
	}
	d.result.Needs = append(d.result.Needs, of.listeners())
	seen := d.viewOf(of)
	if seen == nil {
		if _, known := d.p.watches.gateways.Get(of.Namespace, of.Name); d.p.documents && !known && of.kind == kindGateway {
			d.result.Degrade(sourceOf(string(d.kind), d.NamespacedName).Ref(), dynamic.CodeMissingReference,
				"Gateway "+of.String()+" is not in the given manifests", true)
		}
		return
	}
	found := parent{ref: ref}
	named, allowed := false, false
	for i := range seen.listeners {
		l := &seen.listeners[i]
		if ref.SectionName != nil && string(*ref.SectionName) != l.key.section || ref.Port != nil && *ref.Port != l.port {
			continue
		}
		named = true
		if !l.accepted || !slices.ContainsFunc(l.kinds, func(k gatewayv1.RouteGroupKind) bool { return k.Kind == d.kind }) ||
			!l.namespaces.allows(d.p, d.result, of.Namespace, d.Namespace) {
			continue
		}
		allowed = true
		if hostnames, intersects := intersect(d.hostnames, l.hostname); intersects {
			found.attached = append(found.attached, attachment{l, seen, hostnames})
		}
	}
	switch {
	case len(found.attached) > 0:
	case !named:
		found.refusal = &Refusal{string(gatewayv1.RouteReasonNoMatchingParent), "the parent has no such listener"}
	case !allowed:
		found.refusal = &Refusal{
			string(gatewayv1.RouteReasonNotAllowedByListeners), "no listener allows routes of this kind and namespace",
		}
	default:
		found.refusal = &Refusal{
			string(gatewayv1.RouteReasonNoMatchingListenerHostname), "no hostname intersects that of a listener",
		}
	}
	d.parents = append(d.parents, found)
}

// intersect returns those of a route's hostnames that intersect a listener's one. A route without hostnames intersects
// every listener, and has none in the result.
func intersect(hostnames []string, listener string) (common []string, ok bool) {
	if listener == "" || len(hostnames) == 0 {
		return hostnames, true
	}
	for _, hostname := range hostnames {
		if overlap(hostname, listener) {
			common = append(common, hostname)
		}
	}
	return common, len(common) > 0
}

// overlap reports whether some host has both hostnames, each of which may begin with a wildcard.
func overlap(a, b string) bool {
	if a == b {
		return true
	}
	suffixA, wildA := strings.CutPrefix(a, "*")
	suffixB, wildB := strings.CutPrefix(b, "*")
	switch {
	case wildA && wildB:
		return strings.HasSuffix(suffixA, suffixB) || strings.HasSuffix(suffixB, suffixA)
	case wildA:
		return strings.HasSuffix(b, suffixA)
	case wildB:
		return strings.HasSuffix(a, suffixB)
	}
	return false
}

// attachments returns the declared listeners that a route attaches to, each once.
func (d *routeDraft) attachments() []attachment {
	var all []attachment
	seen := map[listenerKey]struct{}{}
	for _, one := range d.parents {
		for _, to := range one.attached {
			if _, again := seen[to.listener.key]; !again && to.listener.declared {
				seen[to.listener.key] = struct{}{}
				all = append(all, to)
			}
		}
	}
	return all
}

// excess returns an error where that many matches, with the hostnames of the route at all its listeners, make more
// routers than one object may have.
func (d *routeDraft) excess(matches int) error {
	hostnames := 0
	for _, to := range d.attachments() {
		hostnames += max(1, len(to.hostnames))
	}
	if backend.Excess(matches, hostnames) == nil {
		return nil
	}
	return fmt.Errorf("its %d matches and %d hostnames at its listeners make too many routers", matches, hostnames)
}

// drop notes that a rule cannot be applied.
func (d *routeDraft) drop(reason gatewayv1.RouteConditionReason, message string) {
	d.invalid++
	if d.dropped == nil {
		d.dropped = &Refusal{string(reason), message}
	}
}

// unresolved notes that a reference cannot be followed.
func (d *routeDraft) unresolved(reason gatewayv1.RouteConditionReason, message string) {
	if d.refs == nil {
		d.refs = &Refusal{string(reason), message}
	}
}

// finish works out the status of the route, and counts it at its listeners.
func (d *routeDraft) finish() {
	key := status.Key{Kind: status.Kind(d.kind), NamespacedName: d.NamespacedName}
	generation := d.object.GetGeneration()
	desired := &status.Desired{Key: key, UID: d.object.GetUID(), Generation: generation}
	listeners, gateways := map[listenerKey]struct{}{}, map[types.NamespacedName]struct{}{}
	for i := range d.parents {
		one := &d.parents[i]
		refused := one.refusal
		if refused == nil && d.rules > 0 && d.invalid == d.rules {
			refused = d.dropped
		}
		conditions := d.p.routeConditions(generation, refused, d.refs)
		if d.invalid > 0 && d.invalid < d.rules {
			partial := condition(gatewayv1.RouteConditionPartiallyInvalid, generation, d.dropped.Reason, nil)
			partial.Message = "Dropped Rule: " + d.dropped.Message
			conditions = append(slices.Clip(conditions), partial)
		}
		desired.Parents = append(desired.Parents, gatewayv1.RouteParentStatus{
			ParentRef: one.ref, ControllerName: gatewayv1.GatewayController(d.p.options.ControllerName),
			Conditions: conditions,
		})
		if refused != nil {
			continue
		}
		for _, to := range one.attached {
			listeners[to.listener.key] = struct{}{}
			gateways[to.view.gateway] = struct{}{}
		}
	}
	d.judgeParents(desired.Parents)
	d.p.counts.set(d.p, d.result.Origin.Resource.Kind, d.NamespacedName, listeners, gateways, d.uses)
	if len(desired.Parents) > 0 || d.p.statuses.has(key) || d.p.reported(statusOf(d.object)) {
		d.p.statuses.put(desired)
	}
}

// reported reports whether a status has an entry of this controller.
func (p *Provider) reported(parents []gatewayv1.RouteParentStatus) bool {
	return slices.ContainsFunc(parents, func(one gatewayv1.RouteParentStatus) bool {
		return string(one.ControllerName) == p.options.ControllerName
	})
}

// statusOf returns the entries in the status of a route.
func statusOf(object client.Object) []gatewayv1.RouteParentStatus {
	switch route := object.(type) {
	case *gatewayv1.HTTPRoute:
		return route.Status.Parents
	case *gatewayv1.GRPCRoute:
		return route.Status.Parents
	case *gatewayv1.TLSRoute:
		return route.Status.Parents
	case *gatewayv1.TCPRoute:
		return route.Status.Parents
	case *gatewayv1.UDPRoute:
		return route.Status.Parents
	}
	return nil
}

// dropRoute forgets a route that is gone.
func (p *Provider) dropRoute(kind gatewayv1.Kind, name types.NamespacedName) {
	p.counts.set(p, string(kind), name, nil, nil, nil)
	p.statuses.remove(status.Key{Kind: status.Kind(kind), NamespacedName: name})
}

// cutProvider returns the name of an object of this provider without the provider.
func cutProvider(name string) (string, bool) { return strings.CutSuffix(name, "@"+Name) }

// routerRef returns the reference of a router.
func routerRef(name string) dynamic.Ref { return dynamic.Ref{Kind: dynamic.KindRouter, Name: name} }
