// Package cluster gives tests a real Kubernetes control plane: etcd, kube-apiserver and kube-controller-manager of
// integration/cluster/controlplane, with RBAC, and nodes that replace kubelets (package node). A test needs three
// lines:
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }
//
//	c := cluster.Start(t)
//	c.Apply(manifests)
//	c.Rollout("shop/web")
//
// Everything runs in one network namespace that the test binary enters by starting again, in which these addresses are
// local for the test, Sluice and pods:
//
//   - 198.51.100.0/24: the API server (.1), the nodes (.2 to .9) and pods (from .10); 2001:db8::/64: the same for IPv6
//   - 198.18.0.0/16: pods of nodes with thousands of them, and other listeners of tests
//   - 203.0.113.0/24: nodes with a network namespace of their own (AddHost), which is connected with this one
//   - 198.19.0.0/16: ClusterIPs. There is no kube-proxy, so they are unreachable unless the test listens there
//
// Thousands of Services should have clusterIP: None, since the API server counts all ClusterIPs for each allocation,
// and a Deployment of hundreds a maxSurge of more than one pod, since each step of a rollout takes some 100 ms.
//
// The tests of a binary use its control plane one after the other; the objects of a test are removed at its end. The
// namespace needs root; otherwise the tests are skipped. No package of the product is imported.
package cluster

import "errors"

// Addresses in the namespace.
const (
	apiAddress    = "198.51.100.1"
	apiPort       = "6443"
	serviceRange  = "198.19.0.0/16"
	serviceRange6 = "2001:db8:0:0:5::/112"
)

// ranges are the local addresses of the namespace.
func ranges() []string { return []string{"198.51.100.0/24", "198.18.0.0/15", "2001:db8::/64"} }

// errDenied means that a namespace is not permitted.
var errDenied = errors.New("no network namespace can be made (that takes root on Linux)")
