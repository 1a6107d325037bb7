// Package backend turns references to objects of a cluster into what answers and what protects: a Service and a port
// into a load balancer, a Secret into a certificate.
//
// In flow references as manifests hold them and the objects of the cluster that they name; out flow parts of the
// dynamic model, or a Problem that says in one sentence what is wrong. The addresses behind a Service never pass
// through here: a load balancer names an endpoint set, which is published apart.
//
// The package never watches a cluster and remembers nothing. Who calls it notes what it read.
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

// Problem says why a reference could not be followed.
type Problem struct {
	// Code is the machine-readable form of Reason.
	Code dynamic.Code
	// Reason is one sentence for a verdict. It never holds a secret.
	Reason string
	// Missing says that what is referred to does not exist, which may only be late.
	Missing bool
}

// Error returns the reason.
func (p *Problem) Error() string { return p.Reason }

// EndpointKey returns the key of the endpoint set of a Service's port: source/namespace/service:port. Source is the
// name of the cluster's connection, port the number of the Service's port (not of the pods').
func EndpointKey(source, namespace, service string, port int32) string {
	return source + "/" + namespace + "/" + service + ":" + strconv.Itoa(int(port))
}
