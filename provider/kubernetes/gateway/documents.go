package gateway

import (
	"net/netip"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// Documents is the exposure of Gateways in manifests, which no cluster has: each of them gets an address of its own for
// documentation (RFC 3849). The provider then says by verdicts what it would say by statuses, and takes a GatewayClass
// that is not among the manifests for one of this controller.
type Documents struct {
	known map[types.NamespacedName]netip.Addr
	last  netip.Addr
}

// Expose implements Exposure.
func (d *Documents) Expose(gateway *gatewayv1.Gateway, ports []Port) Exposed {
	if d.known == nil {
		d.known, d.last = map[types.NamespacedName]netip.Addr{}, netip.MustParseAddr("2001:db8::")
	}
	address, found := d.known[nameOf(gateway)]
	if !found {
		d.last = d.last.Next()
		address = d.last
		d.known[nameOf(gateway)] = address
	}
	kind := gatewayv1.IPAddressType
	exposed := Exposed{
		Bindings:  map[Port]Binding{},
		Addresses: []gatewayv1.GatewayStatusAddress{{Type: &kind, Value: address.String()}},
	}
	for _, port := range ports {
		exposed.Bindings[port] = Binding{Address: "[" + address.String() + "]:" + strconv.Itoa(int(port.Number))}
	}
	return exposed
}

// Withdraw implements Exposure.
func (*Documents) Withdraw(types.NamespacedName) {}

// Notify implements Exposure: nothing changes.
func (*Documents) Notify(func(types.NamespacedName)) {}

// judge makes verdicts of conditions that say what is wrong with a source; where is put before the messages. It does
// so for manifests alone, since objects of a cluster have statuses.
func (p *Provider) judge(
	result *translation.Result, source translation.Source, where string, conditions []metav1.Condition,
) {
	if !p.documents {
		return
	}
	for i := range conditions {
		one := &conditions[i]
		code := codeOf(one)
		switch one.Type {
		case string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs):
			if one.Status == metav1.ConditionFalse {
				result.Quarantine(source.Ref(), code, where+one.Message, strings.HasPrefix(string(code), "Missing"))
			}
		case string(gatewayv1.RouteConditionPartiallyInvalid):
			result.Quarantine(source.Ref(), code, where+one.Message, false)
		}
	}
}

// codeOf returns the code of a verdict for a condition.
func codeOf(condition *metav1.Condition) dynamic.Code {
	switch condition.Reason {
	case string(gatewayv1.RouteReasonRefNotPermitted):
		return dynamic.CodeReferenceNotPermitted
	case string(gatewayv1.RouteReasonBackendNotFound):
		switch {
		case strings.HasSuffix(condition.Message, "does not exist") && strings.Contains(condition.Message, "Middleware "):
			return dynamic.CodeMissingMiddleware
		case strings.HasSuffix(condition.Message, "does not exist"):
			return dynamic.CodeMissingService
		}
		return dynamic.CodeMissingPort
	case string(gatewayv1.RouteReasonInvalidKind), string(gatewayv1.ListenerReasonInvalidRouteKinds),
		string(gatewayv1.ListenerReasonUnsupportedProtocol):
		return dynamic.CodeUnsupportedKind
	case string(gatewayv1.ListenerReasonHostnameConflict), string(gatewayv1.ListenerReasonProtocolConflict):
		return dynamic.CodeConflictingListener
	case string(gatewayv1.ListenerReasonInvalidCertificateRef):
		return dynamic.CodeInvalidCertificate
	case string(gatewayv1.RouteReasonNoMatchingParent), string(gatewayv1.RouteReasonNoMatchingListenerHostname),
		string(gatewayv1.RouteReasonNotAllowedByListeners):
		return dynamic.CodeInvalidReference
	}
	return dynamic.CodeInvalidOption
}

// judgeParents makes verdicts of what is wrong with a route, each once.
func (d *routeDraft) judgeParents(entries []gatewayv1.RouteParentStatus) {
	source := sourceOf(string(d.kind), d.NamespacedName)
	said := map[string]struct{}{}
	for i := range entries {
		for _, one := range entries[i].Conditions {
			where := ""
			if one.Type == string(gatewayv1.RouteConditionAccepted) && d.parents[i].refusal != nil {
				where = "parent " + string(entries[i].ParentRef.Name) + ": "
			}
			if _, again := said[one.Type+where+one.Message]; !again {
				said[one.Type+where+one.Message] = struct{}{}
				d.p.judge(d.result, source, where, []metav1.Condition{one})
			}
		}
	}
}

// judgeListeners makes verdicts of what is wrong with an owner of listeners, and with them.
func (d *ownerDraft) judgeListeners(conditions []metav1.Condition) {
	source := sourceOf(d.own.kind, d.own.NamespacedName)
	if len(d.statuses) == 0 || d.valid == len(d.statuses) || d.plan.refusal != nil {
		d.p.judge(d.result, source, "", conditions)
	}
	for i := range d.statuses {
		d.p.judge(d.result, source, "listener "+string(d.statuses[i].Name)+": ", d.statuses[i].Conditions)
	}
}
