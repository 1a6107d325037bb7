package gateway

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// condition returns a condition that is true with the reason, or false with the refusal. Texts of reasons are the
// types' own where there is nothing to say.
func condition[T ~string](kind T, generation int64, reason string, refusal *Refusal) metav1.Condition {
	made := metav1.Condition{
		Type: string(kind), Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: generation,
	}
	if refusal != nil {
		made.Status, made.Reason, made.Message = metav1.ConditionFalse, refusal.Reason, refusal.Message
	}
	return made
}

// mostGenerations bounds the generations whose conditions routes share.
const mostGenerations = 64

// routeConditions returns the conditions of a route at a parent, which must not be changed: routes of one generation
// that are accepted, with resolved references, share them.
func (p *Provider) routeConditions(generation int64, refused, refs *Refusal) []metav1.Condition {
	accepted := refused == nil && refs == nil
	if known := p.acceptedConditions[generation]; accepted && known != nil {
		return known
	}
	made := []metav1.Condition{
		condition(gatewayv1.RouteConditionAccepted, generation, string(gatewayv1.RouteReasonAccepted), refused),
		condition(gatewayv1.RouteConditionResolvedRefs, generation, string(gatewayv1.RouteReasonResolvedRefs), refs),
	}
	if accepted {
		if len(p.acceptedConditions) >= mostGenerations {
			clear(p.acceptedConditions)
		}
		p.acceptedConditions[generation] = made
	}
	return made
}

// listenerStatus returns the status of a listener without its number of routes.
func listenerStatus(l *listener, generation int64, accepted, resolved, programmed *Refusal) gatewayv1.ListenerStatus {
	conflicted := metav1.Condition{
		Type: string(gatewayv1.ListenerConditionConflicted), Status: metav1.ConditionFalse,
		Reason: string(gatewayv1.ListenerReasonNoConflicts), ObservedGeneration: generation,
	}
	if l.conflict {
		conflicted.Status, conflicted.Reason, conflicted.Message = metav1.ConditionTrue, l.refusal.Reason, l.refusal.Message
	}
	kinds := l.kinds
	if kinds == nil {
		kinds = []gatewayv1.RouteGroupKind{}
	}
	made := gatewayv1.ListenerStatus{
		Name: l.spec.Name, SupportedKinds: kinds,
		Conditions: []metav1.Condition{
			condition(gatewayv1.ListenerConditionAccepted, generation, string(gatewayv1.ListenerReasonAccepted), accepted),
			conflicted,
			condition(gatewayv1.ListenerConditionResolvedRefs, generation, string(gatewayv1.ListenerReasonResolvedRefs),
				resolved),
			condition(gatewayv1.ListenerConditionProgrammed, generation, string(gatewayv1.ListenerReasonProgrammed),
				programmed),
		},
	}
	if l.overlaps { // The condition must not be there otherwise.
		overlapping := condition(gatewayv1.ListenerConditionOverlappingTLSConfig, generation,
			string(gatewayv1.ListenerReasonOverlappingHostnames), nil)
		overlapping.Message = "another listener of the port has a hostname that overlaps"
		made.Conditions = append(made.Conditions, overlapping)
	}
	return made
}

// gatewayConditions returns the conditions of a Gateway.
func (p *Provider) gatewayConditions(d *ownerDraft) []metav1.Condition {
	generation, listeners := d.generation(), len(d.views)
	accepted := condition(gatewayv1.GatewayConditionAccepted, generation, string(gatewayv1.GatewayReasonAccepted),
		d.plan.refusal)
	if d.plan.refusal == nil && d.valid < listeners {
		accepted.Reason, accepted.Message = string(gatewayv1.GatewayReasonListenersNotValid), "not all listeners are accepted"
		if d.valid == 0 && d.plan.sets == 0 {
			accepted.Status, accepted.Message = metav1.ConditionFalse, "no listener is accepted"
		}
	}
	var programmed *Refusal
	switch refused := d.plan.exposed.Refusal; {
	case accepted.Status == metav1.ConditionFalse:
		programmed = &Refusal{string(gatewayv1.GatewayReasonInvalid), "the Gateway is not accepted"}
	case refused != nil:
		programmed = refused
	case len(d.plan.exposed.Addresses) == 0:
		programmed = &Refusal{string(gatewayv1.GatewayReasonAddressNotAssigned), "the Gateway has no address yet"}
	case d.programmed == 0 && listeners > 0 && d.plan.sets == 0:
		programmed = d.unprogrammed(len(d.plan.gateway.Spec.Addresses) > 0)
	}
	conditions := []metav1.Condition{
		accepted,
		condition(gatewayv1.GatewayConditionProgrammed, generation, string(gatewayv1.GatewayReasonProgrammed), programmed),
	}
	if d.client != nil {
		conditions = append(conditions, condition(gatewayv1.GatewayConditionResolvedRefs, generation,
			string(gatewayv1.GatewayReasonResolvedRefs), d.client.refusal))
	}
	if d.insecure {
		insecure := condition(gatewayv1.GatewayConditionInsecureFrontendValidationMode, generation,
			string(gatewayv1.GatewayReasonConfigurationChanged), nil)
		insecure.Message = "clients without a valid certificate are let in"
		conditions = append(conditions, insecure)
	}
	return conditions
}

// unprogrammed says why no listener of a Gateway is programmed, which may demand addresses of its own.
func (d *ownerDraft) unprogrammed(demanded bool) *Refusal {
	switch {
	case d.pending > 0:
		return &Refusal{string(gatewayv1.GatewayReasonPending), "no listener is programmed yet"}
	case d.unusable != nil && demanded:
		return &Refusal{string(gatewayv1.GatewayReasonAddressNotUsable), d.unusable.Message}
	case d.unusable != nil:
		return &Refusal{string(gatewayv1.GatewayReasonInvalid), d.unusable.Message}
	}
	return &Refusal{string(gatewayv1.GatewayReasonInvalid), "no listener is programmed"}
}

// setConditions returns the conditions of a ListenerSet.
func setConditions(d *ownerDraft, generation int64) []metav1.Condition {
	refused := d.plan.owners[d.own].refusal
	switch {
	case refused != nil:
	case d.valid == 0:
		refused = &Refusal{string(gatewayv1.ListenerSetReasonListenersNotValid), "none of the listeners is accepted"}
	case d.resolved == 0:
		refused = &Refusal{string(gatewayv1.ListenerSetReasonListenersNotValid), "no listener has a valid certificate"}
	}
	accepted := condition(gatewayv1.ListenerSetConditionAccepted, generation, string(gatewayv1.ListenerSetReasonAccepted),
		refused)
	if refused == nil && d.valid < len(d.views) {
		accepted.Reason = string(gatewayv1.ListenerSetReasonListenersNotValid)
		accepted.Message = "not all listeners are accepted"
	}
	if refused == nil && d.programmed == 0 {
		refused = &Refusal{string(gatewayv1.ListenerSetReasonPending), "no listener is programmed"}
		if d.pending == 0 && d.unusable != nil {
			refused = &Refusal{string(gatewayv1.ListenerSetReasonInvalid), d.unusable.Message}
		}
	}
	return []metav1.Condition{
		accepted,
		condition(gatewayv1.ListenerSetConditionProgrammed, generation, string(gatewayv1.ListenerSetReasonProgrammed),
			refused),
	}
}
