package client

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Endpoints is the legacy resource that EndpointSlices have replaced.
//
//nolint:staticcheck // Deprecated for writers; existing objects must be read.
type Endpoints = corev1.Endpoints

// LegacyEndpoints returns the resource of Endpoints, without those that the control plane derives from Services with a
// selector: for these it keeps EndpointSlices, too.
func LegacyEndpoints() Resource[*Endpoints] {
	return Resource[*Endpoints]{
		GroupVersion: corev1.SchemeGroupVersion, Name: "endpoints", Kind: "Endpoints", Namespaced: true,
		NewList: func() runtime.Object { return &corev1.EndpointsList{} }, Strip: stripEndpoints,
		LabelSelector: "endpoints.kubernetes.io/managed-by!=endpoint-controller",
	}
}

func stripEndpoints(endpoints *Endpoints) {
	stripMeta(&endpoints.ObjectMeta)
	for i := range endpoints.Subsets {
		addresses := endpoints.Subsets[i].Addresses
		for j := range addresses {
			addresses[j].Hostname, addresses[j].NodeName = "", nil
			if pod := addresses[j].TargetRef; pod != nil {
				addresses[j].TargetRef = &corev1.ObjectReference{Kind: pod.Kind, UID: pod.UID}
			}
		}
		endpoints.Subsets[i].NotReadyAddresses = nil
	}
}

// stripMeta keeps what identifies an object and its version.
func stripMeta(meta *metav1.ObjectMeta) {
	*meta = metav1.ObjectMeta{
		Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID,
		ResourceVersion: meta.ResourceVersion, Generation: meta.Generation, CreationTimestamp: meta.CreationTimestamp,
	}
}
