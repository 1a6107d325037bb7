package client

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
)

// AddGatewayToScheme registers the types of the Gateway API, for Connect.
func AddGatewayToScheme(scheme *runtime.Scheme) error {
	if err := gatewayv1.Install(scheme); err != nil {
		return err
	}
	return gatewayv1beta1.Install(scheme)
}

// gatewayKind returns a resource of the Gateway API, with spec and status, and without labels and annotations.
func gatewayKind[T Object](name, kind string, namespaced bool, newList func() runtime.Object) Resource[T] {
	return Resource[T]{
		GroupVersion: schema.GroupVersion(gatewayv1.GroupVersion), Name: name, Kind: kind, Namespaced: namespaced,
		NewList: newList, Strip: stripGatewayKind[T],
	}
}

// stripGatewayKind keeps spec and status. Finalizers are kept, since those of this controller are written.
func stripGatewayKind[T Object](object T) {
	object.SetLabels(nil)
	object.SetAnnotations(nil)
	object.SetOwnerReferences(nil)
}

// GatewayClasses returns the resource of GatewayClasses.
func GatewayClasses() Resource[*gatewayv1.GatewayClass] {
	return gatewayKind[*gatewayv1.GatewayClass]("gatewayclasses", "GatewayClass", false,
		func() runtime.Object { return &gatewayv1.GatewayClassList{} })
}

// Gateways returns the resource of Gateways.
func Gateways() Resource[*gatewayv1.Gateway] {
	return gatewayKind[*gatewayv1.Gateway]("gateways", "Gateway", true,
		func() runtime.Object { return &gatewayv1.GatewayList{} })
}

// ListenerSets returns the resource of ListenerSets.
func ListenerSets() Resource[*gatewayv1.ListenerSet] {
	return gatewayKind[*gatewayv1.ListenerSet]("listenersets", "ListenerSet", true,
		func() runtime.Object { return &gatewayv1.ListenerSetList{} })
}

// HTTPRoutes returns the resource of HTTPRoutes.
func HTTPRoutes() Resource[*gatewayv1.HTTPRoute] {
	return gatewayKind[*gatewayv1.HTTPRoute]("httproutes", "HTTPRoute", true,
		func() runtime.Object { return &gatewayv1.HTTPRouteList{} })
}

// GRPCRoutes returns the resource of GRPCRoutes.
func GRPCRoutes() Resource[*gatewayv1.GRPCRoute] {
	return gatewayKind[*gatewayv1.GRPCRoute]("grpcroutes", "GRPCRoute", true,
		func() runtime.Object { return &gatewayv1.GRPCRouteList{} })
}

// TLSRoutes returns the resource of TLSRoutes.
func TLSRoutes() Resource[*gatewayv1.TLSRoute] {
	return gatewayKind[*gatewayv1.TLSRoute]("tlsroutes", "TLSRoute", true,
		func() runtime.Object { return &gatewayv1.TLSRouteList{} })
}

// TCPRoutes returns the resource of TCPRoutes.
func TCPRoutes() Resource[*gatewayv1.TCPRoute] {
	return gatewayKind[*gatewayv1.TCPRoute]("tcproutes", "TCPRoute", true,
		func() runtime.Object { return &gatewayv1.TCPRouteList{} })
}

// UDPRoutes returns the resource of UDPRoutes.
func UDPRoutes() Resource[*gatewayv1.UDPRoute] {
	return gatewayKind[*gatewayv1.UDPRoute]("udproutes", "UDPRoute", true,
		func() runtime.Object { return &gatewayv1.UDPRouteList{} })
}

// BackendTLSPolicies returns the resource of BackendTLSPolicies.
func BackendTLSPolicies() Resource[*gatewayv1.BackendTLSPolicy] {
	return gatewayKind[*gatewayv1.BackendTLSPolicy]("backendtlspolicies", "BackendTLSPolicy", true,
		func() runtime.Object { return &gatewayv1.BackendTLSPolicyList{} })
}

// ReferenceGrants returns the resource of ReferenceGrants, in the version that is stored.
func ReferenceGrants() Resource[*gatewayv1beta1.ReferenceGrant] {
	return Resource[*gatewayv1beta1.ReferenceGrant]{
		GroupVersion: schema.GroupVersion(gatewayv1beta1.GroupVersion), Name: "referencegrants", Kind: "ReferenceGrant",
		Namespaced: true, NewList: func() runtime.Object { return &gatewayv1beta1.ReferenceGrantList{} },
		Strip: stripGatewayKind[*gatewayv1beta1.ReferenceGrant],
	}
}

// Namespaces returns the resource of Namespaces, of which name and labels are kept.
func Namespaces() Resource[*corev1.Namespace] {
	return Resource[*corev1.Namespace]{
		GroupVersion: corev1.SchemeGroupVersion, Name: "namespaces", Kind: "Namespace",
		NewList: func() runtime.Object { return &corev1.NamespaceList{} },
		Strip: func(namespace *corev1.Namespace) {
			labels := namespace.Labels
			stripMeta(&namespace.ObjectMeta)
			namespace.Labels = labels
			namespace.Spec, namespace.Status = corev1.NamespaceSpec{}, corev1.NamespaceStatus{}
		},
	}
}
