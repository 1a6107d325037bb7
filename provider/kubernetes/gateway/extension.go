package gateway

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// Extensions are the custom resources of the cluster that routes may refer to, as another provider translates them.
type Extensions interface {
	// Extension returns the name of what an object declares, with the provider; false when there is no such object.
	Extension(group, kind, namespace, name string) (string, bool)
	// Follow has the function called when an object has appeared, changed or gone. The function may be called by any
	// goroutine, and returns at once.
	Follow(changed func(kind, namespace, name string))
	// Pending reports whether objects may be missing that have not been read yet, and why.
	Pending() (pending bool, reason string)
}

// kindExtension are custom resources, whose sources are named KIND/NAME.
const kindExtension = "Extension"

// internalProvider is the provider of Sluice's own services, such as the API.
const internalProvider = "internal"

// Extend lets routes refer to custom resources. It is called before the cluster runs.
func (p *Provider) Extend(extensions Extensions) {
	p.extensions = extensions
	extensions.Follow(func(kind, namespace, name string) {
		p.memory.Touch(extensionOf(kind, namespace, name))
	})
}

// isExtension reports whether a group and kind are those of a custom resource that routes may refer to.
func isExtension(group, kind, wanted string) bool {
	return kind == wanted && slices.Contains([]string{v1alpha1.GroupSluice, v1alpha1.GroupTraefik}, group)
}

// extension returns the name of what a custom resource declares, or why the route cannot refer to it.
func (d *routeDraft) extension(group, kind, namespace, name string) (string, *Refusal) {
	allowed := d.p.options.CrossProviderNamespaces
	if allowed != nil && !slices.Contains(allowed, d.Namespace) {
		return "", &Refusal{
			string(gatewayv1.RouteReasonRefNotPermitted), fmt.Sprintf("%s %s is of another provider, and "+
				"crossProviderNamespaces does not list the namespace %s", kind, name, d.Namespace),
		}
	}
	if at := strings.LastIndexByte(name, '@'); at >= 0 {
		provider := name[at+1:]
		if provider == internalProvider && allowed == nil {
			return "", &Refusal{ // It would give every namespace the API.
				string(gatewayv1.RouteReasonRefNotPermitted), fmt.Sprintf("%s %s is a service of Sluice itself, which needs "+
					"crossProviderNamespaces to list the namespace %s", kind, name, d.Namespace),
			}
		}
		if kind == v1alpha1.KindTraefikService && !strings.HasPrefix(provider, "kubernetes") {
			return name, nil
		}
		return "", &Refusal{ // It would lead to other namespaces without a ReferenceGrant.
			string(gatewayv1.RouteReasonRefNotPermitted), kind + " " + name + ": such names lead to services of other " +
				"providers only, which are not those of the cluster",
		}
	}
	d.result.Needs = append(d.result.Needs, extensionOf(kind, namespace, name))
	if d.p.extensions == nil {
		return "", &Refusal{
			string(gatewayv1.RouteReasonBackendNotFound), kind + " " + namespace + "/" + name +
				" is not read: providers.kubernetesCRD is off",
		}
	}
	found, ok := d.p.extensions.Extension(group, kind, namespace, name)
	if !ok {
		return "", &Refusal{
			string(gatewayv1.RouteReasonBackendNotFound), kind + " " + namespace + "/" + name + " does not exist",
		}
	}
	return found, nil
}

// middleware returns the name of a filter that is a custom resource, or why it cannot be applied.
func (d *routeDraft) middleware(ref *gatewayv1.LocalObjectReference) (string, *Refusal) {
	if ref == nil || !isExtension(string(ref.Group), string(ref.Kind), v1alpha1.KindMiddleware) {
		return "", &Refusal{
			string(gatewayv1.RouteReasonInvalidKind), "only objects of the kind Middleware can be filters",
		}
	}
	return d.extension(string(ref.Group), string(ref.Kind), d.Namespace, string(ref.Name))
}

// traefikService returns the name of a TraefikService that is a backend, with the filters of the reference; false when
// it cannot be followed, which is noted.
func (r *ruleDraft) traefikService(
	name string, ref *gatewayv1.BackendObjectReference, middlewares []string,
) (string, bool) {
	group, kind := string(valueOf(ref.Group, "")), string(valueOf(ref.Kind, ""))
	to := r.targetOf(ref)
	if !r.p.granted(r.result, reference{string(r.kind), r.Namespace, group, kind, to}) {
		r.unresolved(gatewayv1.RouteReasonRefNotPermitted,
			"no ReferenceGrant permits the reference to "+kind+" "+to.String())
		return "", false
	}
	service, refused := r.extension(group, kind, to.Namespace, to.Name)
	if refused != nil {
		r.unresolved(gatewayv1.RouteConditionReason(refused.Reason), refused.Message)
		return "", false
	}
	if len(middlewares) == 0 {
		return service, true
	}
	weight := 1
	r.result.Put(serviceRef(name), &dynamic.Service{
		Weighted:    &dynamic.WeightedRoundRobin{Services: []dynamic.WeightedService{{Name: service, Weight: &weight}}},
		Middlewares: middlewares,
	})
	return name, true
}
