package gateway

import (
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// refuseClass refuses a GatewayClass with parameters, of which this controller has no kind.
func refuseClass(class *gatewayv1.GatewayClass) *Refusal {
	if class.Spec.ParametersRef == nil {
		return nil
	}
	return &Refusal{
		string(gatewayv1.GatewayClassReasonInvalidParameters),
		"spec.parametersRef: there are no parameters of the kind " + string(class.Spec.ParametersRef.Kind),
	}
}

// translateClass works out the status of a GatewayClass. It declares nothing.
func (p *Provider) translateClass(source translation.Source) (result translation.Result, ok bool) {
	key := status.Key{Kind: status.GatewayClass, NamespacedName: types.NamespacedName{Name: source.Name}}
	class, found := p.watches.classes.Get("", source.Name)
	if !found || string(class.Spec.ControllerName) != p.options.ControllerName {
		p.statuses.remove(key)
		return translation.Result{}, found
	}
	result.Origin = originOf(kindClass, class)
	result.Needs = append(result.Needs, virtual(kindGatewaysOf, key.NamespacedName))
	inUse := false
	for gateway := range p.watches.gateways.All() {
		inUse = inUse || string(gateway.Spec.GatewayClassName) == source.Name
	}
	made := &gatewayv1.GatewayClassStatus{SupportedFeatures: supportedFeatures(p.options.ExperimentalChannel)}
	made.Conditions = append(made.Conditions, condition(gatewayv1.GatewayClassConditionStatusAccepted, class.Generation,
		string(gatewayv1.GatewayClassReasonAccepted), refuseClass(class)))
	p.judge(&result, source, "", made.Conditions)
	p.statuses.put(&status.Desired{Key: key, UID: class.UID, Generation: class.Generation, Class: made, InUse: inUse})
	return result, true
}
