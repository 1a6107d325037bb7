package backend

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// The kinds of the built-in objects that translations need, as in translation.Source.
const (
	KindService   = "Service"
	KindSecret    = "Secret"
	KindConfigMap = "ConfigMap"
	KindNode      = "Node"
)

// AllNodes is the source of all nodes and their addresses. It is touched when a node is added or removed and when its
// internal addresses change, but not for other updates of nodes, which are frequent.
func AllNodes() translation.Source { return translation.Source{Kind: KindNode} }

// Options are a provider's options for references to Services.
type Options struct {
	// Source is the name of the cluster's connection, the first part of endpoint keys.
	Source string
	// AllowExternalNameServices permits Services of type ExternalName.
	AllowExternalNameServices bool
	// NativeLBByDefault is what a reference without NativeLB means.
	NativeLBByDefault bool
	// NoNodes is set if nodes are not read (disableClusterScopeResources), so that NodePortLB cannot work.
	NoNodes bool
}

// Reference is a reference to a port of a Service with its options.
type Reference struct {
	// Namespace and Name are those of the Service.
	Namespace, Name string
	// Port is the number or the name of one of the Service's ports. A Service of type ExternalName need not list a port
	// that is given by number.
	Port intstr.IntOrString
	// Scheme is http, https or h2c; empty means https for port 443 and ports whose name begins with https, else http.
	Scheme string
	// NativeLB sends requests to the Service's own address; nil means the default in Options.
	NativeLB *bool
	// NodePortLB sends requests to the node port of every node, where the Service has the type NodePort. NativeLB comes
	// before it.
	NodePortLB bool
	// Balancer holds the options of the load balancer (sticky, strategy and so on), without servers; nil means the
	// defaults. It is not changed.
	Balancer *dynamic.ServersLoadBalancer
}

// Needs returns what the translation of the reference reads.
func (r Reference) Needs() []translation.Source {
	needs := []translation.Source{{Kind: KindService, Namespace: r.Namespace, Name: r.Name}}
	if r.NodePortLB {
		needs = append(needs, AllNodes())
	}
	return needs
}

// LoadBalancer returns what a reference means. With a Problem, the load balancer has no servers, and everything else
// that was understood; it is never nil. Whether a Service has endpoints plays no part.
func LoadBalancer(reference Reference, options Options, objects Objects) (*dynamic.ServersLoadBalancer, *Problem) {
	balancer := &dynamic.ServersLoadBalancer{}
	if reference.Balancer == nil {
		balancer.SetDefaults()
	} else {
		*balancer = *reference.Balancer
	}
	service := objects.Service(reference.Namespace, reference.Name)
	if service == nil {
		return balancer, missing(dynamic.CodeMissingService, "Service %s/%s does not exist", reference.Namespace,
			reference.Name)
	}
	port, problem := findPort(service, reference.Port)
	if problem != nil {
		return balancer, problem
	}
	scheme, problem := schemeOf(service, port, reference.Scheme)
	if problem != nil {
		return balancer, problem
	}
	switch reference.targets(service, options) {
	case externalName:
		problem = toExternalName(balancer, service, scheme, port, options)
	case clusterIP:
		problem = toClusterIP(balancer, service, scheme, port)
	case nodePorts:
		problem = toNodePorts(balancer, service, scheme, port, options, objects)
	case endpoints:
		balancer.Scheme = scheme
		balancer.EndpointSet = EndpointKey(options.Source, service.Namespace, service.Name, port.Port)
	}
	return balancer, problem
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

// findPort finds a port of a Service by its number or its name.
func findPort(service *corev1.Service, wanted intstr.IntOrString) (*corev1.ServicePort, *Problem) {
	if wanted == (intstr.IntOrString{}) || wanted == intstr.FromString("") {
		return nil, wrong(dynamic.CodeInvalidOption, "no port is given for Service %s%s", nameOf(service), portsOf(service))
	}
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
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
			return findPort(service, intstr.FromInt32(int32(number)))
		}
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName && wanted.Type == intstr.Int && isPort(wanted.IntVal) {
		return &corev1.ServicePort{Port: wanted.IntVal}, nil
	}
	return nil, missing(dynamic.CodeMissingPort, "Service %s has no port %s%s", nameOf(service), wanted.String(),
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

// schemeOf returns the scheme of a port.
func schemeOf(service *corev1.Service, port *corev1.ServicePort, given string) (string, *Problem) {
	switch given {
	case "http", "https", "h2c":
		return given, nil
	case "":
	default:
		return "", wrong(dynamic.CodeInvalidOption, "scheme %q for Service %s is none of http, https and h2c", given,
			nameOf(service))
	}
	if port.Port == 443 || strings.HasPrefix(port.Name, "https") {
		return "https", nil
	}
	return "http", nil
}

// toExternalName balances over the addresses of the Service's external name, which is resolved separately.
func toExternalName(
	balancer *dynamic.ServersLoadBalancer, service *corev1.Service, scheme string, port *corev1.ServicePort,
	options Options,
) *Problem {
	host := strings.TrimSuffix(service.Spec.ExternalName, ".")
	switch {
	case !options.AllowExternalNameServices:
		return wrong(dynamic.CodeReferenceNotPermitted,
			"Service %s has the type ExternalName, which allowExternalNameServices must permit", nameOf(service))
	case host == "":
		return wrong(dynamic.CodeInvalidReference, "Service %s has the type ExternalName and no name", nameOf(service))
	}
	balancer.Servers = servers(scheme, []string{host}, port.Port)
	return nil
}

// toClusterIP balances to the address of the Service itself.
func toClusterIP(
	balancer *dynamic.ServersLoadBalancer, service *corev1.Service, scheme string, port *corev1.ServicePort,
) *Problem {
	if address := service.Spec.ClusterIP; address != "" && address != corev1.ClusterIPNone {
		balancer.Servers = servers(scheme, []string{address}, port.Port)
		return nil
	}
	return wrong(dynamic.CodeInvalidReference, "nativeLB needs an address, and Service %s is headless", nameOf(service))
}

// toNodePorts balances over every node.
func toNodePorts(
	balancer *dynamic.ServersLoadBalancer, service *corev1.Service, scheme string, port *corev1.ServicePort,
	options Options, nodes Nodes,
) *Problem {
	if options.NoNodes {
		return wrong(dynamic.CodeInvalidOption,
			"nodePortLB needs nodes, which are not read because of disableClusterScopeResources")
	}
	if port.NodePort == 0 {
		return wrong(dynamic.CodeInvalidReference, "Service %s has no node port for port %d", nameOf(service), port.Port)
	}
	addresses := InternalIPs(nodes)
	if len(addresses) == 0 {
		return missing(dynamic.CodeMissingReference, "no node has an internal address for the node port of Service %s",
			nameOf(service))
	}
	balancer.Servers = servers(scheme, addresses, port.NodePort)
	return nil
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

// servers lists hosts with one port.
func servers(scheme string, hosts []string, port int32) []dynamic.Server {
	list := make([]dynamic.Server, len(hosts))
	for i, host := range hosts {
		list[i].SetDefaults()
		list[i].URL = scheme + "://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	return list
}

func nameOf(service *corev1.Service) string { return service.Namespace + "/" + service.Name }

func wrong(code dynamic.Code, format string, args ...any) *Problem {
	return &Problem{Code: code, Reason: fmt.Sprintf(format, args...)}
}

func missing(code dynamic.Code, format string, args ...any) *Problem {
	return &Problem{Code: code, Reason: fmt.Sprintf(format, args...), Missing: true}
}
