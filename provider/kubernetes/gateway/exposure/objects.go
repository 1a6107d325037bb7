package exposure

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
)

// comparePorts orders ports by number, then by protocol.
func comparePorts(a, b gateway.Port) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Protocol, b.Protocol))
}

// portName returns the name of a port in Services and EndpointSlices.
func portName(port gateway.Port) string {
	return strings.ToLower(string(port.Protocol)) + "-" + strconv.Itoa(int(port.Number))
}

// applied is an object as it is to be applied: the fields that Sluice owns.
type applied struct {
	name   types.NamespacedName
	object map[string]any
	digest string
}

// apply returns an object with the digest of its content among its annotations.
func apply(kind, version string, name types.NamespacedName, labels, annotations map[string]string,
	owners []map[string]any, content map[string]any,
) (applied, error) {
	annotations = maps.Clone(annotations)
	metadata := map[string]any{
		"name": name.Name, "namespace": name.Namespace, "labels": labels, "annotations": annotations,
	}
	if len(owners) > 0 {
		metadata["ownerReferences"] = owners
	}
	object := map[string]any{"apiVersion": version, "kind": kind, "metadata": metadata}
	maps.Copy(object, content)
	text, err := json.Marshal(object)
	if err != nil {
		return applied{}, err
	}
	result := applied{name, object, digest(16, string(text))}
	annotations[annotationApplied] = result.digest
	return result, nil
}

// labels returns the labels of what is created for a group.
func (e *Exposures) labels(g *group, further map[string]string) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, further)
	labels[LabelInstallation], labels[managedBy] = e.identity, manager
	if g.name != merged {
		labels[gatewayv1.GatewayNameLabelKey] = labelValue(g.name.Name)
	}
	return labels
}

// service returns the Service of a group with its private ports; it is headless if ports is nil. The address that the
// group demands is part of it where the API server can still be asked for it.
func (e *Exposures) service(g *group, ports map[gateway.Port]int32, existing *corev1.Service) (applied, error) {
	further, annotations := g.infrastructure()
	var list []map[string]any
	for _, port := range slices.SortedFunc(maps.Keys(ports), comparePorts) {
		list = append(list, map[string]any{
			"name": portName(port), "port": port.Number, "protocol": port.Protocol, "targetPort": ports[port],
		})
	}
	spec := map[string]any{"type": e.options.Config.Service.Type, "ports": list}
	switch address := g.demandedAddress(); {
	case ports == nil:
		spec = map[string]any{"type": corev1.ServiceTypeClusterIP, "clusterIP": corev1.ClusterIPNone}
	case address == "":
	case e.options.Config.Service.Type == string(corev1.ServiceTypeLoadBalancer):
		spec["loadBalancerIP"] = address
	case existing == nil || existing.Spec.ClusterIP == address:
		spec["clusterIP"] = address
	}
	return apply("Service", "v1", g.service, e.labels(g, further), annotations, g.owner(), map[string]any{"spec": spec})
}

// endpointSlices returns the EndpointSlices of a group's Service, one for each family of the addresses of Sluice's
// pods.
func (e *Exposures) endpointSlices(g *group, service *corev1.Service, ports map[gateway.Port]int32) ([]applied, error) {
	var list []map[string]any
	for _, port := range slices.SortedFunc(maps.Keys(ports), comparePorts) {
		list = append(list, map[string]any{"name": portName(port), "port": ports[port], "protocol": port.Protocol})
	}
	families := map[discoveryv1.AddressType][]map[string]any{}
	for _, pod := range slices.SortedFunc(e.options.Pods.All(), func(a, b *corev1.Pod) int {
		return cmp.Compare(a.Name, b.Name)
	}) {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, one := range pod.Status.PodIPs {
			address, err := netip.ParseAddr(one.IP)
			if err != nil {
				continue
			}
			family := discoveryv1.AddressTypeIPv4
			if address.Is6() {
				family = discoveryv1.AddressTypeIPv6
			}
			families[family] = append(families[family], endpoint(pod, address))
		}
	}
	var all []applied
	for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
		if len(families[family]) == 0 {
			continue
		}
		name := g.service
		name.Name += "-" + strings.ToLower(string(family))
		labels := e.labels(g, nil)
		labels[discoveryv1.LabelServiceName] = g.service.Name
		labels[discoveryv1.LabelManagedBy] = manager + ".sluice.dev"
		one, err := apply("EndpointSlice", discoveryv1.SchemeGroupVersion.String(), name, labels, map[string]string{},
			[]map[string]any{{
				"apiVersion": "v1", "kind": "Service", "name": service.Name, "uid": string(service.UID), "controller": true,
			}},
			map[string]any{"addressType": family, "ports": list, "endpoints": families[family]},
		)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// endpoint returns a pod as an endpoint.
func endpoint(pod *corev1.Pod, address netip.Addr) map[string]any {
	serving, terminating := ready(pod), pod.DeletionTimestamp != nil
	one := map[string]any{
		"addresses": []string{address.String()},
		"conditions": map[string]any{
			"ready": serving && !terminating, "serving": serving, "terminating": terminating,
		},
		"targetRef": map[string]any{
			"kind": "Pod", "namespace": pod.Namespace, "name": pod.Name, "uid": string(pod.UID),
		},
	}
	if pod.Spec.NodeName != "" {
		one["nodeName"] = pod.Spec.NodeName
	}
	return one
}
