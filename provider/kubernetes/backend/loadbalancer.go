package backend

import (
	"fmt"
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
	service, port, problem := reference.port(corev1.ProtocolTCP, objects)
	if problem != nil {
		return balancer, problem
	}
	scheme, problem := schemeOf(service, port, reference.Scheme)
	if problem != nil {
		return balancer, problem
	}
	target, problem := reference.target(service, port, options, objects)
	switch {
	case problem != nil:
	case target.EndpointSet != "":
		balancer.Scheme, balancer.EndpointSet = scheme, target.EndpointSet
	default:
		balancer.Servers = servers(scheme, target.Addresses)
	}
	return balancer, problem
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

// servers lists addresses with one scheme.
func servers(scheme string, addresses []string) []dynamic.Server {
	list := make([]dynamic.Server, len(addresses))
	for i, address := range addresses {
		list[i].SetDefaults()
		list[i].URL = scheme + "://" + address
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
