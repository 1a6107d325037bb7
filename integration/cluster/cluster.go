package cluster

import (
	"context"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
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

// Cluster is a control plane with one node, node-1, and the clients of its administrator.
type Cluster struct {
	// Endpoint is the URL of the API server, CAFile the path of its certificates, Token the administrator's: the values of
	// endpoint, certAuthFilePath and token in providers.kubernetesCRD.
	Endpoint, CAFile, Token string
	// Kubeconfig is the path of an equivalent kubeconfig.
	Kubeconfig string
	// Config, Kubernetes and Dynamic are clients without rate limits.
	Config     *rest.Config
	Kubernetes kubernetes.Interface
	Dynamic    dynamic.Interface
	// Nodes replaces kubelets and scheduler.
	Nodes *node.Nodes

	t        testing.TB
	control  *controlPlane
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	metadata metadata.Interface
}

// Start starts the control plane, or reuses that of the previous test, with a ready node. When the test ends, all new
// objects are removed from the cluster. Without a namespace the test is skipped. Parallel tests must share the cluster
// of their parent.
func Start(t testing.TB) *Cluster {
	t.Helper()
	c, transport := connect(t)
	known := c.remember()
	c.Nodes = node.Start(node.Options{
		Client: c.Kubernetes, Complain: t.Errorf,
		Pods: netip.MustParsePrefix("198.51.100.0/24"), Pods6: netip.MustParsePrefix("2001:db8::/64"),
	})
	t.Cleanup(func() {
		c.StartAPI() // The test may have stopped it.
		c.Nodes.Stop()
		c.clean(known)
		transport.CloseIdleConnections()
	})
	c.AddNode("node-1", "")
	return c
}

// connect returns a cluster without nodes for this test.
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

// For returns the same cluster for a subtest.
func (c *Cluster) For(t testing.TB) *Cluster {
	own := *c
	own.t = t
	return &own
}

// AddNode adds a node with an optional zone. Pods are spread over all nodes.
func (c *Cluster) AddNode(name, zone string) {
	c.t.Helper()
	if err := c.Nodes.Add(c.t.Context(), name, zone); err != nil {
		c.t.Fatal(err)
	}
}

// AddHost adds a node with an optional zone and a network namespace of its own, reachable at the returned address, in
// which pods with hostNetwork run the programs of images, by reference. Without ip and nsenter the test is skipped.
func (c *Cluster) AddHost(name, zone string, images map[string]node.Image) netip.Addr {
	c.t.Helper()
	for _, tool := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			c.t.Skipf("missing tool: %s", tool)
		}
	}
	address, err := c.Nodes.AddHost(c.t.Context(), name, zone, images)
	if err != nil {
		c.t.Fatal(err)
	}
	return address
}

// Kill kills the backend of a pod, given as namespace/name, as a crash does. It restarts at the same address.
func (c *Cluster) Kill(pod string) {
	c.t.Helper()
	namespace, name := split(pod)
	if err := c.Nodes.Kill(namespace, name); err != nil {
		c.t.Fatal(err)
	}
}

// StopAPI stops the whole control plane, as if its machine failed. Pods and their backends stay.
func (c *Cluster) StopAPI() {
	c.t.Helper()
	if err := c.control.stop(); err != nil {
		c.t.Fatal(err)
	}
}

// StartAPI starts it again with its data, and waits until it is ready. It does nothing if it runs.
func (c *Cluster) StartAPI() {
	c.t.Helper()
	if err := c.control.start(context.WithoutCancel(c.t.Context())); err != nil {
		c.t.Fatal(err)
	}
}

// Log returns the control plane's log.
func (c *Cluster) Log() string {
	text, _ := os.ReadFile(c.control.file(logFile))
	return string(text)
}

// PID returns the process id of the control plane, or 0.
func (c *Cluster) PID() int {
	pid, _ := c.control.pid()
	return pid
}

// split splits namespace and name; the default namespace is default.
func split(path string) (namespace, name string) {
	namespace, name, found := strings.Cut(path, "/")
	if !found {
		return "default", path
	}
	return namespace, name
}
