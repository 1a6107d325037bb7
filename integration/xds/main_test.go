package xds

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/resolver/dns"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) {
	dns.SetMinResolutionInterval(timeToLive) // By default clients of DNS would ask every 30 s at most, and lose more.
	// grpc-go reads it when it is loaded: in the test binary that starts again in a namespace.
	if err := errors.Join(os.Setenv(callCredentialsVariable, "true"), findModules()); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// grpc-go never stops to watch the certificates of a bootstrap that is given as text.
	os.Exit(cluster.Main(m, goleak.IgnoreAnyFunction(
		"google.golang.org/grpc/credentials/tls/certprovider/pemfile.(*watcher).run")))
}

const (
	// serverAddress is where the publisher serves xDS, also after a restart.
	serverAddress = "127.0.0.1:18000"
	// callCredentialsVariable has grpc-go read the tokens that its bootstrap names (docs/xds.md).
	callCredentialsVariable = "GRPC_EXPERIMENTAL_XDS_BOOTSTRAP_CALL_CREDS"
	// account is the ServiceAccount of deploy/kubernetes.
	account = "sluice/sluice"
	// timeout bounds every wait, also for a client of gRPC that waits longer and longer before it connects again.
	timeout = 3 * time.Minute
)

// all reports whether everything is measured at full size.
func all() bool { return os.Getenv("TEST_XDS") == "all" }

// staticPublisher publishes a cluster and files.
const staticPublisher = `
entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
api: {insecure: true}
providers: {kubernetesIngress: {}, file: {directory: "${DYNAMIC}"}}
xds: {address: "` + serverAddress + `"}
`

// staticReader discovers what its clients request.
const staticReader = `
entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
providers: {xds: {address: "` + serverAddress + `"}}
`

// staticPlain is the same without the provider.
const staticPlain = `
entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
`

// prepare starts a cluster with the rights of deploy/kubernetes.
func prepare(t testing.TB) *cluster.Cluster {
	t.Helper()
	c := cluster.Start(t)
	for _, name := range []string{"base/namespace", "base/serviceaccount", "base/role", "rbac", "xds/rbac"} {
		text, err := os.ReadFile(filepath.Join("../../deploy/kubernetes", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		c.Apply(string(text))
	}
	return c
}

// publish starts the Sluice that publishes the cluster.
func publish(t testing.TB, c *cluster.Cluster, dynamic map[string]string) *harness.Sluice {
	t.Helper()
	return harness.Start(t, harness.Setup{
		Static: staticPublisher, Dynamic: dynamic,
		Env: []string{"KUBECONFIG=" + c.AccountKubeconfig(account), "POD_NAMESPACE=sluice"},
	})
}

// until waits until something holds, and fails the test with the words of what when it does not.
func until(t testing.TB, holds func() bool, what func() string) {
	t.Helper()
	harness.Eventually(t, timeout, holds, what)
}

// namespace is the manifest of a namespace.
func namespace(name string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + "}\n"
}

// deployment is the manifest of a Deployment and its Service at namespace/name. How its pods stop is polite or exit;
// polite ones serve for 3 s more.
func deployment(path, stop string, replicas string) string {
	namespace, name, _ := strings.Cut(path, "/")
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name, "STOP", stop, "REPLICAS", replicas).Replace(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: NAME}}
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    metadata:
      labels: {app: NAME}
      annotations: {test.sluice.dev/on-stop: STOP, test.sluice.dev/drain: 3s, test.sluice.dev/ready-after: 100ms}
    spec:
      terminationGracePeriodSeconds: 10
      containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  clusterIP: None
  selector: {app: NAME}
  ports: [{name: grpc, port: 80, targetPort: 8080}]
`)
}
