package gateway

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
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

// newestMinor is the newest minor version 1.x of the Gateway API whose CRDs are known.
const newestMinor = 6

// refuseVersion refuses a version of the CRDs of the Gateway API that is not known. Classes are served all the same.
func (p *Provider) refuseVersion(result *translation.Result) *Refusal {
	result.AddNeed(kindDefinition, "", client.GatewayDefinition)
	refuse := func(what string) *Refusal {
		return &Refusal{
			string(gatewayv1.GatewayClassReasonUnsupportedVersion),
			fmt.Sprintf("%s; supported are v1.0 to v1.%d, and others as far as they agree with these", what, newestMinor),
		}
	}
	definition, found := p.watches.definitions.Get("", client.GatewayDefinition)
	if !found {
		return refuse("the version of the CRDs is not known, since Sluice cannot read the CRD " + client.GatewayDefinition)
	}
	version, found := definition.Annotations[consts.BundleVersionAnnotation]
	if !found {
		return refuse("the CRD " + client.GatewayDefinition + " has no annotation " + consts.BundleVersionAnnotation)
	}
	rest, known := strings.CutPrefix(version, "v1.")
	minor, _, _ := strings.Cut(rest, ".")
	if number, err := strconv.ParseUint(minor, 10, 16); !known || err != nil || number > newestMinor {
		return refuse("the version of the CRDs is " + strconv.Quote(version))
	}
	return nil
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
	made.Conditions = append(made.Conditions, condition(gatewayv1.GatewayClassConditionStatusSupportedVersion,
		class.Generation, string(gatewayv1.GatewayClassReasonSupportedVersion), p.refuseVersion(&result)))
	p.statuses.put(&status.Desired{Key: key, UID: class.UID, Generation: class.Generation, Class: made, InUse: inUse})
	return result, true
}
