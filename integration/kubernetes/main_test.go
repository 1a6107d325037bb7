package kubernetes

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// static is what most tests start Sluice with.
const static = `
entryPoints: {web: {address: "127.0.0.1:0"}, websecure: {address: "127.0.0.1:0", http: {tls: {}}},
  traefik: {address: "127.0.0.1:0"}}
ping: {}
api: {}
metrics: {prometheus: {}}
log: {level: DEBUG}
providers: {kubernetesCRD: {}, kubernetesIngress: {}}
`

// account is the ServiceAccount of deploy/kubernetes.
const account = "sluice/sluice"

// timeout bounds every wait, pause is the polling interval.
const (
	timeout = 2 * time.Minute
	pause   = 3 * time.Millisecond
)

// groups are those of the custom resources.
func groups() []string { return []string{"sluice.dev", "traefik.io", "traefik.containo.us"} }

// prepare starts a cluster with the custom resources of some groups, all if none is given, and the rights of
// deploy/kubernetes.
func prepare(t testing.TB, some ...string) *cluster.Cluster {
	t.Helper()
	c := cluster.Start(t)
	c.Apply(rights(t)...)
	if len(some) == 0 {
		some = groups()
	}
	for _, group := range some {
		c.Apply(crds(t, group)...)
	}
	return c
}

// rights are Sluice's namespace, its ServiceAccount and what that may do.
func rights(t testing.TB) []string {
	t.Helper()
	var texts []string
	for _, name := range []string{"base/namespace", "base/serviceaccount", "base/role", "rbac"} {
		text, err := os.ReadFile(filepath.Join("../../deploy/kubernetes", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// gate is a Sluice that reads a cluster, seen by its clients.
type gate struct {
	*harness.Sluice

	t   testing.TB
	web *harness.Client
	// failed is the file of an access log of requests that failed, where there is one.
	failed string
}

// open starts Sluice as the ServiceAccount of deploy/kubernetes and waits until it is ready. The arguments are added to
// the static configuration.
func open(t testing.TB, c *cluster.Cluster, static string, args ...string) *gate {
	t.Helper()
	s := harness.Start(t, harness.Setup{
		Static: static, Args: args,
		Env: []string{"KUBECONFIG=" + c.AccountKubeconfig(account), "POD_NAMESPACE=sluice"},
	})
	return &gate{Sluice: s, t: t, web: harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)}
}

// openLogging is open with an access log of the requests that Sluice answers with 499 and more.
func openLogging(t testing.TB, c *cluster.Cluster) *gate {
	t.Helper()
	failed := filepath.Join(t.TempDir(), "failed.log")
	g := open(t, c, static, "--accessLog.format=json", "--accessLog.filePath="+failed,
		"--accessLog.filters.statusCodes=499-599")
	g.failed = failed
	return g
}

// on returns the same gate for a subtest, which its failures belong to.
func (g *gate) on(t testing.TB) *gate {
	own := *g
	own.t, own.web = t, g.web.For(t)
	return &own
}

// get requests host/path on the entrypoint web.
func (g *gate) get(where string) harness.Response {
	g.t.Helper()
	host, path, _ := strings.Cut(where, "/")
	request := g.web.Request("GET", "/"+path, nil)
	request.Host = host
	return g.web.Send(request)
}

// ask returns the status for host/path on the entrypoint web, and the pod: "200 shop/web".
func (g *gate) ask(where string) string {
	g.t.Helper()
	return summary(g.get(where))
}

// summary is the status of an answer and the pod that it comes from.
func summary(answer harness.Response) string {
	return strings.TrimSpace(strconv.Itoa(answer.StatusCode) + " " + answer.Header.Get("X-Pod"))
}

// expect requests host/path once.
func (g *gate) expect(where, want string) {
	g.t.Helper()
	if got := g.ask(where); got != want {
		g.t.Errorf("%s is answered by %q, want %q", where, got, want)
	}
}

// becomes polls host/path for a result.
func (g *gate) becomes(where, want string) {
	g.t.Helper()
	var got string
	until(g.t, func() bool { got = g.ask(where); return got == want }, func() string {
		return where + " is answered by " + strconv.Quote(got) + ", want " + strconv.Quote(want) + g.tail()
	})
}

// tail is the end of the log, for a failure.
func (g *gate) tail() string {
	text := g.Log.String()
	return "; the log ends\n" + text[max(0, len(text)-4000):]
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

// app is the manifest of one pod with its Service, both with the name given as namespace/name. The Service's port is 80
// and named http; the pod listens on 8080, and answers namespace/name.
func app(path string) string {
	namespace, name, _ := strings.Cut(path, "/")
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name).Replace(`
---
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: NAMESPACE, labels: {app: NAME}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: web, image: web, ports: [{containerPort: 8080, name: main}]}]
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  selector: {app: NAME}
  ports: [{name: http, port: 80, targetPort: main}]
`)
}

// route is the manifest of an IngressRoute of a group, at namespace/name, from a host to services as in a manifest.
func route(group, path, host, services string) string {
	namespace, name, _ := strings.Cut(path, "/")
	return strings.NewReplacer("GROUP", group, "NAMESPACE", namespace, "NAME", name, "HOST", host, "SERVICES",
		services).Replace(`
---
apiVersion: GROUP/v1alpha1
kind: IngressRoute
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  entryPoints: [web]
  routes: [{match: Host(` + "`HOST`" + `), kind: Rule, services: SERVICES}]
`)
}
