package client

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Services returns the resource of Services, with the fields for reaching them, Sluice's own annotations and
// AnnotationRule.
func Services() Resource[*corev1.Service] {
	return Resource[*corev1.Service]{
		GroupVersion: corev1.SchemeGroupVersion, Name: "services", Kind: "Service", Namespaced: true,
		NewList: func() runtime.Object { return &corev1.ServiceList{} }, Strip: stripService,
	}
}

// EndpointSlices returns the resource of EndpointSlices, with what balancing reads.
func EndpointSlices() Resource[*discoveryv1.EndpointSlice] {
	return Resource[*discoveryv1.EndpointSlice]{
		GroupVersion: discoveryv1.SchemeGroupVersion, Name: "endpointslices", Kind: "EndpointSlice", Namespaced: true,
		NewList: func() runtime.Object { return &discoveryv1.EndpointSliceList{} }, Strip: stripSlice,
	}
}

// Secrets returns the resource of Secrets with the used keys, except for the types of Helm, registries and bootstrap
// tokens. Those of service accounts are included without their tokens, since they hold the cluster's authority, which
// servers may be verified with.
func Secrets() Resource[*corev1.Secret] {
	return Resource[*corev1.Secret]{
		GroupVersion: corev1.SchemeGroupVersion, Name: "secrets", Kind: "Secret", Namespaced: true,
		NewList: func() runtime.Object { return &corev1.SecretList{} }, Strip: stripSecret,
		FieldSelector: "type!=helm.sh/release.v1,type!=" + string(corev1.SecretTypeDockercfg) + ",type!=" +
			string(corev1.SecretTypeDockerConfigJson) +
			",type!=" + string(corev1.SecretTypeBootstrapToken),
	}
}

// ConfigMaps returns the resource of ConfigMaps, with the keys that hold certificates of authorities (ca.crt and
// tls.ca) and without all others.
func ConfigMaps() Resource[*corev1.ConfigMap] {
	return Resource[*corev1.ConfigMap]{
		GroupVersion: corev1.SchemeGroupVersion, Name: "configmaps", Kind: "ConfigMap", Namespaced: true,
		NewList: func() runtime.Object { return &corev1.ConfigMapList{} }, Strip: stripConfigMap,
	}
}

// WholeSecrets is as Secrets, with the values of all keys.
func WholeSecrets() Resource[*corev1.Secret] {
	resource := Secrets()
	resource.Whole, resource.Strip = true, func(secret *corev1.Secret) { stripMeta(&secret.ObjectMeta) }
	return resource
}

// WholeConfigMaps is as ConfigMaps, with all keys.
func WholeConfigMaps() Resource[*corev1.ConfigMap] {
	resource := ConfigMaps()
	resource.Whole, resource.Strip = true, func(config *corev1.ConfigMap) {
		stripMeta(&config.ObjectMeta)
		config.BinaryData = nil
	}
	return resource
}

// Nodes returns the resource of Nodes, with their addresses.
func Nodes() Resource[*corev1.Node] {
	return Resource[*corev1.Node]{
		GroupVersion: corev1.SchemeGroupVersion, Name: "nodes", Kind: "Node",
		NewList: func() runtime.Object { return &corev1.NodeList{} }, Strip: stripNode,
	}
}

// Ingresses returns the resource of Ingresses, with annotations and load-balancer status.
func Ingresses() Resource[*networkingv1.Ingress] {
	return Resource[*networkingv1.Ingress]{
		GroupVersion: networkingv1.SchemeGroupVersion, Name: "ingresses", Kind: "Ingress", Namespaced: true,
		NewList: func() runtime.Object { return &networkingv1.IngressList{} }, Strip: stripIngress,
	}
}

// IngressClasses returns the resource of IngressClasses.
func IngressClasses() Resource[*networkingv1.IngressClass] {
	return Resource[*networkingv1.IngressClass]{
		GroupVersion: networkingv1.SchemeGroupVersion, Name: "ingressclasses", Kind: "IngressClass",
		NewList: func() runtime.Object { return &networkingv1.IngressClassList{} }, Strip: stripIngressClass,
	}
}
