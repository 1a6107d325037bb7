// Package backend resolves references to objects of a cluster: a Service and a port become a load balancer, a Secret
// becomes a certificate.
//
// The functions return parts of the dynamic model, or a Problem with the reason in one sentence. A load balancer names
// an endpoint set, which is published separately. The package has no state; callers record what it read.
package backend

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Services finds Services.
type Services interface {
	// Service returns a Service, or nil when it is not there.
	Service(namespace, name string) *corev1.Service
}

// Nodes lists the nodes of the cluster.
type Nodes interface {
	// Nodes returns all nodes, in any order.
	Nodes() []*corev1.Node
}

// Secrets finds Secrets.
type Secrets interface {
	// Secret returns a Secret, or nil when it is not there.
	Secret(namespace, name string) *corev1.Secret
}

// Objects is what a load balancer is made of.
type Objects interface {
	Services
	Nodes
}

// Problem is why a reference could not be resolved.
type Problem struct {
	// Code is the machine-readable form of Reason.
	Code dynamic.Code
	// Reason is one sentence for a verdict. It never holds a secret.
	Reason string
	// Missing is set if the object does not exist, which may be temporary.
	Missing bool
}

// Error returns the reason.
func (p *Problem) Error() string { return p.Reason }

// EndpointKey returns the key of the endpoint set of a Service's port: source/namespace/service:port for TCP, and
// source/namespace/service:port/udp for UDP, since both may have the same number. Source is the name of the cluster's
// connection, port the number of the Service's port (not of the pods').
func EndpointKey(source, namespace, service string, port int32, protocol corev1.Protocol) string {
	key := source + "/" + namespace + "/" + service + ":" + strconv.Itoa(int(port))
	if protocol == corev1.ProtocolUDP {
		return key + "/udp"
	}
	return key
}
