package node

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// register creates a Node that is ready and has unlimited capacity.
func register(ctx context.Context, client kubernetes.Interface, name, zone string, address netip.Addr) (*corev1.Node,
	error,
) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
	}}}
	if zone != "" {
		node.Labels[corev1.LabelTopologyZone] = zone
	}
	created, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods: resource.MustParse("10k"),
	}
	created.Status.Capacity, created.Status.Allocatable = room, room
	created.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: address.String()}, {Type: corev1.NodeHostName, Address: name},
	}
	created.Status.DaemonEndpoints.KubeletEndpoint.Port = kubeletPort
	created.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "StandIn", LastTransitionTime: metav1.Now(),
		LastHeartbeatTime: metav1.Now(),
	}}
	if created, err = client.CoreV1().Nodes().UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	created.Spec.Taints = nil // New nodes have the taint not-ready.
	return client.CoreV1().Nodes().Update(ctx, created, metav1.UpdateOptions{})
}
