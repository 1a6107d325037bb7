package exposure

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/static"
)

// OwnServices returns the resource of the Services that the installation in a namespace has created, and the scope in
// which they are: the namespaces of Gateways and, where these share a Service, that of the installation.
func OwnServices(namespace string, config static.KubernetesGateway) (client.Resource[*corev1.Service], client.Scope) {
	resource := client.Services()
	resource.LabelSelector = LabelInstallation + "=" + identity(namespace, config.ControllerName)
	resource.Strip = func(service *corev1.Service) {
		service.Status.Conditions, service.Spec.Selector = nil, nil
	}
	scope := client.Scope{Namespaces: slices.Clone(config.Namespaces)}
	if config.Exposure == static.ExposeByService && config.MergeGateways && len(scope.Namespaces) > 0 {
		scope.Namespaces = append(scope.Namespaces, namespace)
	}
	return resource, scope
}

// OwnPods returns the resource of the pods of Sluice, with what leads to them.
func OwnPods(config static.KubernetesGateway) client.Resource[*corev1.Pod] {
	return client.Resource[*corev1.Pod]{
		GroupVersion: corev1.SchemeGroupVersion, Name: "pods", Kind: "Pod", Namespaced: true,
		NewList: func() runtime.Object { return &corev1.PodList{} }, Strip: stripPod,
		LabelSelector: config.Service.Selector,
	}
}

// stripPod keeps the addresses of a pod and of its node, and whether it takes traffic.
func stripPod(pod *corev1.Pod) {
	pod.Labels, pod.Annotations, pod.OwnerReferences, pod.Finalizers = nil, nil, nil, nil
	pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
	pod.Status = corev1.PodStatus{
		Phase: pod.Status.Phase, Conditions: pod.Status.Conditions, HostIP: pod.Status.HostIP, HostIPs: pod.Status.HostIPs,
		PodIP: pod.Status.PodIP, PodIPs: pod.Status.PodIPs,
	}
}

// ShownService returns the resource of the Service that the options name to show its addresses, and the scope in which
// it is; false when they name none.
func ShownService(config static.KubernetesGateway) (client.Resource[*corev1.Service], client.Scope, bool) {
	if config.StatusAddress == nil || config.StatusAddress.Service.Name == "" {
		return client.Resource[*corev1.Service]{}, client.Scope{}, false
	}
	resource := client.Services()
	resource.FieldSelector = "metadata.name=" + config.StatusAddress.Service.Name
	return resource, client.Scope{Namespaces: []string{config.StatusAddress.Service.Namespace}}, true
}
