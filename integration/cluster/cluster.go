package cluster

import (
	"context"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/sluiceproxy/sluice/integration/cluster/node"
)

// Cluster is a control plane with one node, node-1, seen by its administrator.
type Cluster struct {
	// Endpoint is the URL of the API server, CAFile the path of the certificates that it is trusted by, Token the
	// administrator's: what providers.kubernetesCRD takes as endpoint, certAuthFilePath and token.
	Endpoint, CAFile, Token string
	// Kubeconfig is the path of a file that says the same.
	Kubeconfig string
	// Config, Kubernetes and Dynamic are the same for client-go, without any limit of rates.
	Config     *rest.Config
	Kubernetes kubernetes.Interface
	Dynamic    dynamic.Interface
	// Nodes stand in for kubelets and scheduler.
	Nodes *node.Nodes

	t        testing.TB
	control  *controlPlane
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	metadata metadata.Interface
}

// Start starts the control plane, or takes over that of the test before, with a node that is ready. When the test ends,
// everything that was made in the meantime is removed from the cluster. Without a namespace the test is skipped. Tests
// that run in parallel cannot each have the cluster; their parent can.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, transport := connect(t)
	known := c.remember()
	c.Nodes = node.Start(node.Options{
		Client: c.Kubernetes, Complain: t.Errorf,
		Pods: netip.MustParsePrefix("198.51.100.0/24"), Pods6: netip.MustParsePrefix("2001:db8::/64"),
	})
	t.Cleanup(func() {
		c.StartAPI() // The test may have left it stopped.
		c.Nodes.Stop()
		c.clean(known)
		transport.CloseIdleConnections()
	})
	c.AddNode("node-1", "")
	return c
}

// connect returns a cluster without nodes that belongs to this test alone.
func connect(t testing.TB) (*Cluster, *http.Transport) {
	t.Helper()
	if reason := os.Getenv(missingVariable); reason != "" {
		t.Skip(reason)
	}
	folder := os.Getenv(folderVariable)
	if folder == "" {
		t.Fatal("no cluster: TestMain must call cluster.Main")
	}
	c := &Cluster{t: t, control: &controlPlane{folder}, Kubeconfig: filepath.Join(folder, "kubeconfig")}
	if err := os.Mkdir(c.control.file("taken"), 0o700); err != nil {
		t.Fatalf("another test has the cluster: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(c.control.file("taken")) })
	if err := c.control.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	config, transport, err := c.control.config()
	if err != nil {
		t.Fatal(err)
	}
	c.Config, c.Endpoint, c.Token = config, config.Host, config.BearerToken
	c.CAFile = c.control.file("apiserver.crt")
	if c.Kubernetes, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if c.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if c.metadata, err = metadata.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	return c, transport
}

// For returns the same cluster for a subtest, which its failures belong to.
func (c *Cluster) For(t testing.TB) *Cluster {
	own := *c
	own.t = t
	return &own
}

// AddNode adds a node, in a zone unless that is empty. Pods are spread over all nodes.
func (c *Cluster) AddNode(name, zone string) {
	c.t.Helper()
	if err := c.Nodes.Add(c.t.Context(), name, zone); err != nil {
		c.t.Fatal(err)
	}
}

// Kill ends the backend of a pod, given as namespace/name, as a crash does. It comes back at the same address.
func (c *Cluster) Kill(pod string) {
	c.t.Helper()
	namespace, name := split(pod)
	if err := c.Nodes.Kill(namespace, name); err != nil {
		c.t.Fatal(err)
	}
}

// StopAPI takes the whole control plane away, as when its machine dies. Pods and their backends stay.
func (c *Cluster) StopAPI() {
	c.t.Helper()
	if err := c.control.stop(); err != nil {
		c.t.Fatal(err)
	}
}

// StartAPI brings it back with the data that it had, and waits until it is ready. It does nothing while it runs.
func (c *Cluster) StartAPI() {
	c.t.Helper()
	if err := c.control.start(context.WithoutCancel(c.t.Context())); err != nil {
		c.t.Fatal(err)
	}
}

// Log returns what the control plane has written.
func (c *Cluster) Log() string {
	text, _ := os.ReadFile(c.control.file(logFile))
	return string(text)
}

// PID returns the number of the control plane's process, 0 while it is stopped.
func (c *Cluster) PID() int {
	pid, _ := c.control.pid()
	return pid
}

// split takes namespace and name apart; the namespace is default where there is none.
func split(path string) (namespace, name string) {
	namespace, name, found := strings.Cut(path, "/")
	if !found {
		return "default", path
	}
	return namespace, name
}
