package exposure

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
)

// merged is the Gateway that stands for all of them where they share one Service.
var merged = types.NamespacedName{Name: "gateways"}

// private is a port that Sluice listens on, whatever the Gateway calls it.
type private gateway.Port

// group is the Gateways that share one Service, with the ports that they need.
type group struct {
	// name is that of the Gateway, or merged.
	name    types.NamespacedName
	service types.NamespacedName
	members []*request
	ports   []gateway.Port
}

// groups returns the groups of requests, in their order.
func (e *Exposures) groups(requests []*request) []*group {
	if !e.options.Config.MergeGateways {
		all := make([]*group, 0, len(requests))
		for _, one := range requests {
			all = append(all, &group{
				name: one.name, service: serviceName(e.identity, one.name), members: []*request{one}, ports: one.ports,
			})
		}
		return all
	}
	if len(requests) == 0 {
		return nil
	}
	shared := &group{name: merged, service: serviceName(e.identity, merged), members: requests}
	shared.service.Namespace = e.options.Namespace
	for _, one := range requests {
		shared.ports = append(shared.ports, one.ports...)
	}
	slices.SortFunc(shared.ports, comparePorts)
	shared.ports = slices.Compact(shared.ports)
	return []*group{shared}
}

// carriers returns the groups of the Gateways that demand labels or annotations, where Gateways have no Service to be
// reached by: one without an address carries them.
func (e *Exposures) carriers(requests []*request) []*group {
	var all []*group
	for _, one := range requests {
		carrier := &group{name: one.name, service: serviceName(e.identity, one.name), members: []*request{one}}
		if labels, annotations := carrier.infrastructure(); len(labels)+len(annotations) > 0 {
			all = append(all, carrier)
		}
	}
	return all
}

// byService exposes each Gateway by the Service that the cluster has for it.
func (e *Exposures) byService(requests []*request) map[types.NamespacedName]gateway.Exposed {
	groups, services := e.groups(requests), e.services()
	ports := e.recordedPorts(groups, services)
	answers := make(map[types.NamespacedName]gateway.Exposed, len(requests))
	for _, group := range groups {
		service := group.owned(services)
		reached, fixed := e.shown()
		missing := "The Service " + group.service.String() + " has no address yet."
		switch {
		case fixed:
		case service != nil:
			reached = serviceAddresses(service)
		default:
			missing = "The Service " + group.service.String() + " does not exist yet."
		}
		rejected := e.rejected[group.name] != ""
		if rejected {
			missing = "The Service " + group.service.String() + " is refused: " + e.rejected[group.name]
			if service == nil { // One that is there stays as it is, and is reached as before.
				reached = nil
			}
		}
		for _, one := range group.members {
			answer := gateway.Exposed{Bindings: map[gateway.Port]gateway.Binding{}}
			answer.Addresses, answer.Refusal = among(one.Gateway, reached, missing)
			if _, demands, _ := demanded(one.Gateway); demands && rejected && answer.Refusal != nil && group.name != merged {
				answer.Refusal = unusable(missing)
			}
			for _, port := range one.ports {
				if number, ok := ports[group.name][port]; ok {
					answer.Bindings[port] = gateway.Binding{Address: ":" + strconv.Itoa(int(number))}
				} else if rejected {
					answer.Bindings[port] = gateway.Binding{
						Refusal: &gateway.Refusal{Reason: string(gatewayv1.ListenerReasonPending), Message: missing},
					}
				}
			}
			answers[one.name] = answer
		}
	}
	return answers
}

// services returns the Services of this installation by name.
func (e *Exposures) services() map[types.NamespacedName]*corev1.Service {
	services := map[types.NamespacedName]*corev1.Service{}
	if e.options.Services != nil {
		for service := range e.options.Services.All() {
			services[types.NamespacedName{Namespace: service.Namespace, Name: service.Name}] = service
		}
	}
	return services
}

// owned returns the Service of a group; nil when there is none, or only one of an earlier Gateway of the name.
func (g *group) owned(services map[types.NamespacedName]*corev1.Service) *corev1.Service {
	service := services[g.service]
	if service == nil || service.DeletionTimestamp != nil {
		return nil
	}
	if g.name == merged {
		return service
	}
	for _, owner := range service.OwnerReferences {
		if owner.UID == g.members[0].UID {
			return service
		}
	}
	return nil
}

// recordedPorts returns the private ports that Services record for the ports of the groups. One that two record is that
// of the group that holds it, else that of the older Gateway. The caller holds mu.
func (e *Exposures) recordedPorts(
	groups []*group, services map[types.NamespacedName]*corev1.Service,
) map[types.NamespacedName]map[gateway.Port]int32 {
	ports := make(map[types.NamespacedName]map[gateway.Port]int32, len(groups))
	used := map[private]bool{}
	for _, group := range groups {
		ports[group.name] = map[gateway.Port]int32{}
	}
	for _, held := range []bool{true, false} {
		for _, group := range groups {
			service := group.owned(services)
			if service == nil {
				continue
			}
			for _, port := range group.ports {
				number, ok := e.target(service, port)
				key := private{number, port.Protocol}
				if ok && !used[key] && held == e.holds(group.name, key) {
					used[key] = true
					ports[group.name][port] = number
				}
			}
		}
	}
	return ports
}

// target returns the private port that a Service records for a port.
func (e *Exposures) target(service *corev1.Service, port gateway.Port) (int32, bool) {
	for _, one := range service.Spec.Ports {
		protocol := one.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		if one.Port == port.Number && protocol == port.Protocol {
			return one.TargetPort.IntVal, one.TargetPort.Type == intstr.Int && e.inRange(one.TargetPort.IntVal)
		}
	}
	return 0, false
}

func (e *Exposures) inRange(number int32) bool {
	return int(number) >= e.options.Config.Service.FirstPort && int(number) <= e.options.Config.Service.LastPort
}

// plan has the leader decide on private ports: those that are recorded, those that it has decided on before, and the
// lowest that are free for the rest. Groups whose ports do not fit are returned. The caller holds mu.
func (e *Exposures) plan(
	groups []*group, services map[types.NamespacedName]*corev1.Service,
) (planned map[types.NamespacedName]map[gateway.Port]int32, full []*group) {
	planned = e.recordedPorts(groups, services)
	used := map[private]bool{}
	for _, ports := range planned {
		for port, number := range ports {
			used[private{number, port.Protocol}] = true
		}
	}
	e.reserve(groups, services, used)
	for _, group := range groups {
		for _, port := range group.ports {
			number, decided := e.planned[group.name][port]
			_, recorded := planned[group.name][port]
			if key := (private{number, port.Protocol}); decided && !recorded && !used[key] {
				used[key] = true
				planned[group.name][port] = number
			}
		}
	}
	next := map[corev1.Protocol]int32{}
	for _, group := range groups {
		for _, port := range group.ports {
			if _, has := planned[group.name][port]; has {
				continue
			}
			number := max(next[port.Protocol], int32(e.options.Config.Service.FirstPort))
			for used[private{number, port.Protocol}] {
				number++
			}
			next[port.Protocol] = number
			if !e.inRange(number) {
				if !slices.Contains(full, group) {
					full = append(full, group)
				}
				continue
			}
			used[private{number, port.Protocol}] = true
			planned[group.name][port] = number
		}
	}
	e.planned = planned
	return planned, full
}

// reserve notes the private ports of Services whose Gateways are not known, or not yet.
func (e *Exposures) reserve(
	groups []*group, services map[types.NamespacedName]*corev1.Service, used map[private]bool,
) {
	known := make(map[types.NamespacedName]bool, len(groups))
	for _, group := range groups {
		known[group.service] = true
	}
	for name, service := range services {
		if known[name] {
			continue
		}
		for _, port := range service.Spec.Ports {
			used[private{port.TargetPort.IntVal, port.Protocol}] = true
		}
	}
}

// demandedAddress returns the address that the Gateway of a group demands; empty when it demands none. Merged ones get
// none by that: the address of their Service is not one Gateway's to choose.
func (g *group) demandedAddress() string {
	address, demands, refusal := demanded(g.members[0].Gateway)
	if g.name == merged || !demands || refusal != nil {
		return ""
	}
	return address.String()
}

// infrastructure returns the labels and annotations that a Gateway demands of what is created for it.
func (g *group) infrastructure() (labels, annotations map[string]string) {
	labels, annotations = map[string]string{}, map[string]string{}
	demands := g.members[0].Spec.Infrastructure
	if g.name == merged || demands == nil {
		return labels, annotations
	}
	for name, value := range demands.Labels {
		labels[string(name)] = string(value)
	}
	for name, value := range demands.Annotations {
		annotations[string(name)] = string(value)
	}
	return labels, annotations
}

// owner returns the reference by which the cluster deletes what was created for a Gateway with it; nil for merged ones.
func (g *group) owner() []map[string]any {
	if g.name == merged {
		return nil
	}
	return []map[string]any{{
		"apiVersion": gatewayv1.GroupVersion.String(), "kind": "Gateway", "name": g.name.Name,
		"uid": string(g.members[0].UID), "controller": true,
	}}
}
