package backend

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Target is where a reference to a port of a Service leads: an endpoint set, or addresses.
type Target struct {
	// EndpointSet is the key of the set of the port's endpoints.
	EndpointSet string
	// Addresses are servers as host:port.
	Addresses []string
	// Instead is the reason why a TCP port is used for UDP; empty when none is.
	Instead string
}

// Resolve returns where a reference leads for TCP or UDP, without what is HTTP's own (Scheme and Balancer). Whether a
// Service has endpoints plays no part. Traefik does not read the protocols of ports, and TCP is the default of a
// Service, so for want of a UDP port the TCP port of that number or name is used.
func Resolve(reference Reference, protocol corev1.Protocol, options Options, objects Objects) (Target, *Problem) {
	service, port, problem := reference.port(protocol, objects)
	instead := ""
	if problem != nil && protocol == corev1.ProtocolUDP && service != nil {
		var wrong *Problem
		if port, wrong = findPort(service, reference.Port, corev1.ProtocolTCP); wrong == nil {
			instead, problem = problem.Reason+"; its TCP port is used instead", nil
		}
	}
	if problem != nil {
		return Target{}, problem
	}
	target, problem := reference.target(service, port, options, objects)
	target.Instead = instead
	return target, problem
}

// port returns the Service and its port of a protocol.
func (r Reference) port(
	protocol corev1.Protocol, services Services,
) (*corev1.Service, *corev1.ServicePort, *Problem) {
	service := services.Service(r.Namespace, r.Name)
	if service == nil {
		return nil, nil, missing(dynamic.CodeMissingService, "Service %s/%s does not exist", r.Namespace, r.Name)
	}
	port, problem := findPort(service, r.Port, protocol)
	return service, port, problem
}

// target returns where a reference leads.
func (r Reference) target(
	service *corev1.Service, port *corev1.ServicePort, options Options, nodes Nodes,
) (Target, *Problem) {
	switch r.targets(service, options) {
	case externalName:
		return toExternalName(service, port, options)
	case clusterIP:
		return toClusterIP(service, port)
	case nodePorts:
		return toNodePorts(service, port, options, nodes)
	case endpoints:
	}
	key := EndpointKey(options.Source, service.Namespace, service.Name, port.Port, port.Protocol)
	return Target{EndpointSet: key}, nil
}

// targets is where the requests of a reference go.
type targets uint8

const (
	endpoints targets = iota
	externalName
	clusterIP
	nodePorts
)

// targets returns where the requests of a reference to a Service go.
func (r Reference) targets(service *corev1.Service, options Options) targets {
	native := options.NativeLBByDefault
	if r.NativeLB != nil {
		native = *r.NativeLB
	}
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return externalName
	case native:
		return clusterIP
	case r.NodePortLB && service.Spec.Type == corev1.ServiceTypeNodePort:
		return nodePorts
	}
	return endpoints
}

// findPort finds a port of a Service by its protocol, and its number or its name.
func findPort(
	service *corev1.Service, wanted intstr.IntOrString, protocol corev1.Protocol,
) (*corev1.ServicePort, *Problem) {
	if wanted == (intstr.IntOrString{}) || wanted == intstr.FromString("") {
		return nil, wrong(dynamic.CodeInvalidOption, "no port is given for Service %s%s", nameOf(service), portsOf(service))
	}
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		if cmp.Or(port.Protocol, corev1.ProtocolTCP) != protocol {
			continue
		}
		if wanted.Type == intstr.Int && port.Port == wanted.IntVal || wanted.Type == intstr.String &&
			port.Name == wanted.StrVal {
			return port, nil
		}
	}
	if wanted.Type == intstr.String {
		// A number in quotes means that port, as long as no port has it for a name.
		if number, err := strconv.ParseInt(wanted.StrVal, 10, 32); err == nil && number > 0 {
			return findPort(service, intstr.FromInt32(int32(number)), protocol)
		}
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName && wanted.Type == intstr.Int && isPort(wanted.IntVal) {
		return &corev1.ServicePort{Port: wanted.IntVal, Protocol: protocol}, nil
	}
	what := "port"
	if protocol == corev1.ProtocolUDP {
		what = "UDP port"
	}
	return nil, missing(dynamic.CodeMissingPort, "Service %s has no %s %s%s", nameOf(service), what, wanted.String(),
		portsOf(service))
}

func isPort(number int32) bool { return number > 0 && number < 1<<16 }

// mostPorts is the maximum number of ports in a message. A Service may have any number of them, and thousands of
// references may have the same message.
const mostPorts = 10

// portsOf lists the ports.
func portsOf(service *corev1.Service) string {
	var ports []string
	for i, port := range service.Spec.Ports {
		if i == mostPorts {
			ports = append(ports, strconv.Itoa(len(service.Spec.Ports)-i)+" more")
			break
		}
		text := strconv.Itoa(int(port.Port))
		if port.Name != "" {
			text += " (" + port.Name + ")"
		}
		if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
			text += "/" + string(port.Protocol)
		}
		ports = append(ports, text)
	}
	if len(ports) == 0 {
		return ""
	}
	return ", which has " + strings.Join(ports, ", ")
}

// toExternalName leads to the Service's external name, which is resolved separately.
func toExternalName(service *corev1.Service, port *corev1.ServicePort, options Options) (Target, *Problem) {
	host := strings.TrimSuffix(service.Spec.ExternalName, ".")
	switch {
	case !options.AllowExternalNameServices:
		return Target{}, wrong(dynamic.CodeReferenceNotPermitted,
			"Service %s has the type ExternalName, which allowExternalNameServices must permit", nameOf(service))
	case host == "":
		return Target{}, wrong(dynamic.CodeInvalidReference, "Service %s has the type ExternalName and no name",
			nameOf(service))
	}
	return addressed([]string{host}, port.Port), nil
}

// toClusterIP leads to the address of the Service itself.
func toClusterIP(service *corev1.Service, port *corev1.ServicePort) (Target, *Problem) {
	if address := service.Spec.ClusterIP; address != "" && address != corev1.ClusterIPNone {
		return addressed([]string{address}, port.Port), nil
	}
	return Target{}, wrong(dynamic.CodeInvalidReference, "nativeLB needs an address, and Service %s is headless",
		nameOf(service))
}

// toNodePorts leads to every node.
func toNodePorts(
	service *corev1.Service, port *corev1.ServicePort, options Options, nodes Nodes,
) (Target, *Problem) {
	if options.NoNodes {
		return Target{}, wrong(dynamic.CodeInvalidOption,
			"nodePortLB needs nodes, which are not read because of disableClusterScopeResources")
	}
	if port.NodePort == 0 {
		return Target{}, wrong(dynamic.CodeInvalidReference, "Service %s has no node port for port %d", nameOf(service),
			port.Port)
	}
	hosts := InternalIPs(nodes)
	if len(hosts) == 0 {
		return Target{}, missing(dynamic.CodeMissingReference,
			"no node has an internal address for the node port of Service %s", nameOf(service))
	}
	return addressed(hosts, port.NodePort), nil
}

// addressed is a target of hosts with one port.
func addressed(hosts []string, port int32) Target {
	addresses := make([]string, len(hosts))
	for i, host := range hosts {
		addresses[i] = net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	return Target{Addresses: addresses}
}

// InternalIPs returns the internal addresses of all nodes, sorted and each once.
func InternalIPs(nodes Nodes) []string {
	var addresses []string
	for _, node := range nodes.Nodes() {
		for _, address := range node.Status.Addresses {
			if address.Type == corev1.NodeInternalIP && address.Address != "" {
				addresses = append(addresses, address.Address)
			}
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}
