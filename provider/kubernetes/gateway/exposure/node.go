package exposure

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
)

// onNode lets each Gateway listen on its ports; a port is that of the oldest Gateway that needs it, unless Gateways are
// merged.
func (e *Exposures) onNode(requests []*request) map[types.NamespacedName]gateway.Exposed {
	reached, fixed := e.shown()
	if !fixed {
		reached = e.nodeAddresses()
	}
	owners := map[gateway.Port]types.NamespacedName{}
	answers := make(map[types.NamespacedName]gateway.Exposed, len(requests))
	for _, one := range requests {
		addresses, refusal := among(one.Gateway, reached, "The addresses of the nodes are not known;"+
			" providers.kubernetesGateway.statusAddress or service.selector says which they are.")
		if refusal != nil && refusal.Reason == string(gatewayv1.GatewayReasonAddressNotUsable) {
			answers[one.name] = gateway.Exposed{Refusal: refusal}
			continue
		}
		answer := gateway.Exposed{
			Bindings: make(map[gateway.Port]gateway.Binding, len(one.ports)), Addresses: addresses, Refusal: refusal,
		}
		lost := 0
		for _, port := range one.ports {
			owner, taken := owners[port]
			if taken && !e.options.Config.MergeGateways {
				lost++
				answer.Bindings[port] = gateway.Binding{Refusal: &gateway.Refusal{
					Reason:  string(gatewayv1.ListenerReasonPortUnavailable),
					Message: fmt.Sprintf("The Gateway %s has the port %d of the node.", owner, port.Number),
				}}
				continue
			}
			if !taken {
				owners[port] = one.name
			}
			answer.Bindings[port] = gateway.Binding{Address: ":" + strconv.Itoa(int(port.Number))}
		}
		if lost > 0 && lost == len(one.ports) {
			answer.Addresses = nil
			answer.Refusal = unusable("Other Gateways have all ports of this one on the node.")
		}
		answers[one.name] = answer
	}
	return answers
}

// nodeAddresses returns the addresses of the nodes that pods of Sluice run on, in order.
func (e *Exposures) nodeAddresses() []gatewayv1.GatewayStatusAddress {
	if e.options.Pods == nil {
		return nil
	}
	known := map[netip.Addr]bool{}
	for pod := range e.options.Pods.All() {
		if pod.DeletionTimestamp != nil || !ready(pod) {
			continue
		}
		for _, host := range hostIPs(pod) {
			if address, err := netip.ParseAddr(host); err == nil {
				known[address.Unmap()] = true
			}
		}
	}
	var addresses []gatewayv1.GatewayStatusAddress
	for _, address := range slices.SortedFunc(maps.Keys(known), netip.Addr.Compare) {
		addresses = append(addresses, statusAddress(gatewayv1.IPAddressType, address.String()))
	}
	return addresses[:min(len(addresses), mostAddresses)]
}

// hostIPs returns the addresses of the node that a pod runs on.
func hostIPs(pod *corev1.Pod) []string {
	if len(pod.Status.HostIPs) == 0 {
		return []string{pod.Status.HostIP}
	}
	hosts := make([]string, 0, len(pod.Status.HostIPs))
	for _, host := range pod.Status.HostIPs {
		hosts = append(hosts, host.IP)
	}
	return hosts
}

// ready reports whether a pod takes traffic.
func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}
