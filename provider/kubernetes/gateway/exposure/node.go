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

// onNode lets each Gateway listen on its ports; a port is that of one Gateway (portOwners), unless Gateways are merged.
func (e *Exposures) onNode(requests []*request) map[types.NamespacedName]gateway.Exposed {
	reached, fixed := e.shown()
	if !fixed {
		reached = e.nodeAddresses()
	}
	answers := make(map[types.NamespacedName]gateway.Exposed, len(requests))
	usable := make([]*request, 0, len(requests))
	for _, one := range requests {
		addresses, refusal := among(one.Gateway, reached, "The addresses of the nodes are not known;"+
			" providers.kubernetesGateway.statusAddress or service.selector says which they are.")
		answers[one.name] = gateway.Exposed{Addresses: addresses, Refusal: refusal}
		if refusal == nil || refusal.Reason != string(gatewayv1.GatewayReasonAddressNotUsable) {
			usable = append(usable, one)
		}
	}
	owners := e.portOwners(usable)
	for _, one := range usable {
		answer := answers[one.name]
		answer.Bindings = make(map[gateway.Port]gateway.Binding, len(one.ports))
		lost := 0
		for _, port := range one.ports {
			if owner := owners[port]; owner != one.name && !e.options.Config.MergeGateways {
				lost++
				answer.Bindings[port] = gateway.Binding{Refusal: &gateway.Refusal{
					Reason:  string(gatewayv1.ListenerReasonPortUnavailable),
					Message: fmt.Sprintf("The Gateway %s has the port %d of the node.", owner, port.Number),
				}}
				continue
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

// portOwners returns the Gateways that the ports of the node belong to: the one that has the port already, by the
// answers of this instance or, at a start, by its status; else the oldest.
func (e *Exposures) portOwners(requests []*request) map[gateway.Port]types.NamespacedName {
	owners := map[gateway.Port]types.NamespacedName{}
	for _, has := range []func(one *request, port gateway.Port) bool{
		func(one *request, port gateway.Port) bool { return e.holds(one.name, private(port)) },
		(*request).records,
		func(*request, gateway.Port) bool { return true },
	} {
		for _, one := range requests {
			for _, port := range one.ports {
				if _, taken := owners[port]; !taken && has(one, port) {
					owners[port] = one.name
				}
			}
		}
	}
	return owners
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
