package gateway

import (
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// reference is a reference from an object of the Gateway API to another object.
type reference struct {
	fromKind, fromNamespace string
	group, kind             string
	types.NamespacedName
}

// granted reports whether a reference is within its namespace, or permitted by a ReferenceGrant in that of its target.
func (p *Provider) granted(result *translation.Result, ref reference) bool {
	if ref.fromNamespace == ref.Namespace {
		return true
	}
	in := types.NamespacedName{Namespace: ref.Namespace}
	result.Needs = append(result.Needs, virtual(kindGrantsIn, in))
	for _, name := range p.grants.list(in) {
		grant, found := p.watches.grants.Get(name.Namespace, name.Name)
		if found && grants(&grant.Spec, ref) {
			return true
		}
	}
	return false
}

// grants reports whether a ReferenceGrant permits a reference.
func grants(spec *gatewayv1.ReferenceGrantSpec, ref reference) bool {
	for _, from := range spec.From {
		if string(from.Group) != gatewayv1.GroupName || string(from.Kind) != ref.fromKind ||
			string(from.Namespace) != ref.fromNamespace {
			continue
		}
		for _, to := range spec.To {
			if string(to.Group) == ref.group && string(to.Kind) == ref.kind &&
				(to.Name == nil || *to.Name == "" || string(*to.Name) == ref.Name) {
				return true
			}
		}
	}
	return false
}

// valueOf returns what a pointer points to, or another value where it is nil.
func valueOf[T any](pointer *T, otherwise T) T {
	if pointer == nil {
		return otherwise
	}
	return *pointer
}
