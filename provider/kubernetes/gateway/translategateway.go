package gateway

import (
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// originOf returns the origin of what an object of the Gateway API declares.
func originOf(kind string, object client.Object) dynamic.Origin {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return dynamic.Origin{
		Object: kind + " " + name,
		Resource: &dynamic.Resource{
			APIVersion: gatewayv1.GroupVersion.String(), Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(),
			UID: string(object.GetUID()), Generation: object.GetGeneration(),
		},
	}
}

// ours reports whether a GatewayClass is one of this controller's, and accepted.
func (p *Provider) ours(result *translation.Result, class gatewayv1.ObjectName) bool {
	result.AddNeed(kindOf(kindClass), "", string(class))
	object, found := p.watches.classes.Get("", string(class))
	if !found {
		return p.documents
	}
	return string(object.Spec.ControllerName) == p.options.ControllerName && refuseClass(object) == nil
}

// translateGateway translates a Gateway: its listeners with what belongs to them.
func (p *Provider) translateGateway(source translation.Source) (result translation.Result, ok bool) {
	name := types.NamespacedName{Namespace: source.Namespace, Name: source.Name}
	own := owner{kindGateway, name}
	gateway, found := p.watches.gateways.Get(name.Namespace, name.Name)
	if !found {
		p.dropGateway(name)
		return translation.Result{}, false
	}
	if !p.ours(&result, gateway.Spec.GatewayClassName) {
		p.dropGateway(name)
		return result, true
	}
	result.Origin = originOf(kindGateway, gateway)
	made := p.makePlan(&result, gateway)
	p.keepPlan(name, made)
	d := &ownerDraft{p: p, result: &result, plan: made, own: own, created: gateway.CreationTimestamp.Time}
	d.client = p.clientCertificate(&result, made)
	d.resolve()
	p.see(own, d.view())
	result.Needs = append(result.Needs, translation.Source{Kind: kindActivity})
	conditions := p.gatewayConditions(d)
	d.judgeListeners(conditions)
	attached := int32(made.sets)
	p.statuses.base(own, &ownerBase{
		desired: status.Desired{
			Key: status.Key{Kind: status.Gateway, NamespacedName: name}, UID: gateway.UID, Generation: gateway.Generation,
			Gateway: &gatewayv1.GatewayStatus{
				Addresses: made.exposed.Addresses, Conditions: conditions, AttachedListenerSets: &attached,
			},
		},
		listeners: d.statuses,
	})
	return result, true
}

// dropGateway forgets a Gateway that is gone or not one of this controller's.
func (p *Provider) dropGateway(name types.NamespacedName) {
	own := owner{kindGateway, name}
	if p.plans[name] != nil {
		p.exposure.Withdraw(name)
	}
	p.keepPlan(name, nil)
	p.see(own, nil)
	p.statuses.base(own, nil)
}

// keepPlan keeps the plan of a Gateway, and has its ListenerSets translated again for which it has changed.
func (p *Provider) keepPlan(name types.NamespacedName, next *plan) {
	before := p.plans[name]
	if next == nil {
		delete(p.plans, name)
	} else {
		p.plans[name] = next
	}
	sets := map[owner]struct{}{}
	for _, one := range []*plan{before, next} {
		if one == nil {
			continue
		}
		for of := range one.owners {
			sets[of] = struct{}{}
		}
	}
	for of := range sets {
		if of.kind != kindListenerSet || before == nil && !p.memory.Needed(virtual(kindPlan, of.NamespacedName)) {
			continue
		}
		if before == nil || next == nil || !sameForSets(before, next) ||
			!reflect.DeepEqual(before.owners[of], next.owners[of]) {
			p.retouch(virtual(kindPlan, of.NamespacedName))
		}
	}
}

// sameForSets reports whether two plans of a Gateway are equal in what they say to all ListenerSets.
func sameForSets(before, next *plan) bool {
	return reflect.DeepEqual(before.refusal, next.refusal) &&
		reflect.DeepEqual(before.gateway.Spec.TLS, next.gateway.Spec.TLS)
}

// translateListenerSet translates a ListenerSet: its listeners with what belongs to them.
func (p *Provider) translateListenerSet(source translation.Source) (result translation.Result, ok bool) {
	name := types.NamespacedName{Namespace: source.Namespace, Name: source.Name}
	own := owner{kindListenerSet, name}
	set, found := p.watches.listenerSets.Get(name.Namespace, name.Name)
	if !found {
		p.see(own, nil)
		p.statuses.base(own, nil)
		return translation.Result{}, false
	}
	result.Needs = append(result.Needs, virtual(kindPlan, name), sourceOf(kindGateway, parentOf(set)),
		translation.Source{Kind: kindActivity})
	made := p.planOf(parentOf(set))
	if made == nil || made.owners[own] == nil || !isGateway(set.Spec.ParentRef.Group, set.Spec.ParentRef.Kind) {
		p.see(own, nil)
		p.statuses.base(own, nil)
		return result, true
	}
	result.Origin = originOf(kindListenerSet, set)
	d := &ownerDraft{p: p, result: &result, plan: made, own: own, created: set.CreationTimestamp.Time}
	d.client = p.clientCertificate(&result, made)
	d.resolve()
	p.see(own, d.view())
	conditions := setConditions(d, set.Generation)
	d.judgeListeners(conditions)
	p.statuses.base(own, &ownerBase{
		desired: status.Desired{
			Key: status.Key{Kind: status.ListenerSet, NamespacedName: name}, UID: set.UID, Generation: set.Generation,
			ListenerSet: &gatewayv1.ListenerSetStatus{Conditions: conditions},
		},
		listeners: d.statuses,
	})
	return result, true
}

// isGateway reports whether the group and kind of a reference are those of a Gateway, which are the default.
func isGateway(group *gatewayv1.Group, kind *gatewayv1.Kind) bool {
	return valueOf(group, gatewayv1.GroupName) == gatewayv1.GroupName && valueOf(kind, kindGateway) == kindGateway
}

// clientCertificate returns the certificate of a Gateway for connections to backends, or why there is none. Both are
// nil when none is demanded.
func (p *Provider) clientCertificate(result *translation.Result, of *plan) *resolvedClient {
	tls := of.gateway.Spec.TLS
	if tls == nil || tls.Backend == nil || tls.Backend.ClientCertificateRef == nil {
		return nil
	}
	pair, refused := p.keyPair(result, kindGateway, of.gateway.Namespace, tls.Backend.ClientCertificateRef,
		string(gatewayv1.GatewayReasonInvalidClientCertificateRef))
	if refused != nil {
		return &resolvedClient{refusal: refused}
	}
	return &resolvedClient{certificate: &clientCertificate{nameOf(of.gateway), pair}}
}

// resolvedClient is a certificate for connections to backends, or why there is none.
type resolvedClient struct {
	certificate *clientCertificate
	refusal     *Refusal
}
