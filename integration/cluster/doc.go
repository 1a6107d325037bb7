// Package cluster gives tests a real Kubernetes control plane: etcd, kube-apiserver and kube-controller-manager of
// integration/cluster/controlplane, with RBAC, and nodes that stand in for kubelets (package node). A test needs three
// lines:
//
//	func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }
//
//	c := cluster.Start(t)
//	c.Apply(manifests)
//	c.Rollout("shop/web")
//
// In flow manifests; out flow a kubeconfig, clients and addresses that the test, Sluice and pods reach alike.
// Everything runs in one network namespace that the test binary enters by starting again, so the addresses below are
// all local there and ports never collide:
//
//   - 198.51.100.0/24: the API server (.1), the nodes (.2 to .9) and pods (from .10); 2001:db8::/64: the same for IPv6
//   - 198.18.0.0/16: pods of nodes with thousands of them, and whatever else a test wants to listen on
//   - 198.19.0.0/16: ClusterIPs. There is no kube-proxy: nobody answers there unless the test listens
//
// Thousands of Services had better have clusterIP: None, since the API server counts all ClusterIPs whenever it gives
// one away, and a Deployment of hundreds a maxSurge of more than one pod, since each step of a rollout takes some 100
// ms.
//
// One test binary has one control plane, which its tests use one after the other; what a test leaves is removed at its
// end. Needs root, for the namespace; elsewhere the tests are skipped, and say so.
//
// It never imports the product, and nothing in it is faked but the kubelet.
package cluster

import "errors"

// The fixed places of the namespace.
const (
	apiAddress    = "198.51.100.1"
	apiPort       = "6443"
	serviceRange  = "198.19.0.0/16"
	serviceRange6 = "2001:db8:0:0:5::/112"
)

// ranges are what is local in the namespace.
func ranges() []string { return []string{"198.51.100.0/24", "198.18.0.0/15", "2001:db8::/64"} }

// errDenied says that there can be no namespace.
var errDenied = errors.New("no network namespace can be made (that takes root on Linux)")
