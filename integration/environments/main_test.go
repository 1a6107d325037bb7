package environments

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// timeout bounds every wait.
const timeout = 2 * time.Minute

// static is what Sluice is started with.
const static = `
entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
api: {}
log: {level: DEBUG}
accessLog: {format: json, filePath: "${FOLDER}/access.log"}
providers: {kubernetesCRD: {}, kubernetesIngress: {}}
xds: {address: "` + publisher + `"}
`

// publisher is the address of the xDS server, and proxy that of the sidecar.
const (
	publisher = "127.0.0.1:18000"
	proxy     = "127.0.0.1:15001"
)

// header is the header of KT-env's acceptance tests.
const header = "ali-env-mark"

// field is a cluster and a Sluice that reads it.
type field struct {
	*cluster.Cluster

	t       *testing.T
	sluice  *harness.Sluice
	web     *harness.Client
	records string
}

// prepare starts a cluster with the rights of deploy/kubernetes, the custom resources of Sluice, and that of KT-env
// unless it is left out; and a Sluice that reads it.
func prepare(t *testing.T, withDefinition bool, manifests ...string) *field {
	t.Helper()
	c := cluster.Start(t)
	files := []string{
		"kubernetes/base/namespace", "kubernetes/base/serviceaccount", "kubernetes/base/role", "kubernetes/rbac",
		"crds/traefik.io/ingressroutes",
	}
	if withDefinition {
		files = append(files, definition)
	}
	for _, name := range files {
		c.Apply(file(t, name))
	}
	c.Apply(manifests...)
	folder := t.TempDir()
	s := harness.Start(t, harness.Setup{
		Static: strings.ReplaceAll(static, "${FOLDER}", folder),
		Env:    []string{"KUBECONFIG=" + c.AccountKubeconfig("sluice/sluice"), "POD_NAMESPACE=sluice"},
	})
	return &field{
		Cluster: c, t: t, sluice: s, records: filepath.Join(folder, "access.log"),
		web: harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil),
	}
}

// definition is the file of the definition of VirtualEnvironments.
const definition = "kubernetes/environments/virtualenvironments"

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (f *field) until(what string, holds func() bool) {
	f.t.Helper()
	harness.Eventually(f.t, timeout, holds, func() string {
		text := f.sluice.Log.String()
		return what + "; the log ends\n" + text[max(0, len(text)-4000):]
	})
}

// get requests host/path with a tag; an empty one sends no header.
func (f *field) get(where, tag string) harness.Response {
	f.t.Helper()
	host, path, _ := strings.Cut(where, "/")
	request := f.web.Request("GET", "/"+path, nil)
	request.Host = host
	if tag != "" {
		request.Header.Set(header, tag)
	}
	return f.web.Send(request)
}

// answers returns the workload that answers a tag at a host, or the status if no pod does.
func (f *field) answers(host, tag string) string {
	f.t.Helper()
	response := f.get(host+"/", tag)
	return cmp.Or(workload(response.Header.Get("X-Pod")), response.Status)
}

// workload returns the name of the Deployment or StatefulSet of a pod, which is namespace/name. The names of the tests'
// workloads end with a dot and a digit, or are those of pods.
func workload(pod string) string {
	_, name, _ := strings.Cut(pod, "/")
	if at := strings.Index(name, "-x"); at >= 0 {
		return name[:at]
	}
	return name
}

// becomes polls a host with a tag until five answers in a row are the wanted one, which a Service that is not divided
// never gives.
func (f *field) becomes(host, tag, want string) {
	f.t.Helper()
	var got string
	same := 0
	harness.Eventually(f.t, timeout, func() bool {
		if got = f.answers(host, tag); got != want {
			same = 0
			return false
		}
		same++
		return same >= 5
	}, func() string {
		text := f.sluice.Log.String()
		return host + " with " + tag + " is answered by " + got + ", want " + want + "; the log ends\n" +
			text[max(0, len(text)-4000):]
	})
}

// expect requests a host with a tag once.
func (f *field) expect(host, tag, want string) {
	f.t.Helper()
	if got := f.answers(host, tag); got != want {
		f.t.Errorf("%s with %q is answered by %s, want %s", host, tag, got, want)
	}
}

// namespace is the manifest of the namespace shop.
const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"

// virtualEnvironment is the manifest of a VirtualEnvironment with a specification in the namespace shop.
func virtualEnvironment(name, spec string) string {
	return "---\napiVersion: env.alibaba.com/v1alpha2\nkind: VirtualEnvironment\nmetadata: {name: " + name +
		", namespace: shop}\nspec: " + spec + "\n"
}

// likeKT is the specification of KT-env's acceptance tests.
const likeKT = `{envHeader: {name: ali-env-mark, autoInject: true}, envLabel: {name: virtual-env, splitter: ".", ` +
	`defaultSubset: dev}}`

// service is the manifest of a Service of the pods with the label app, and of the IngressRoute of its host, which is
// its name.
func service(name string) string {
	return strings.NewReplacer("NAME", name, "TICK", "`").Replace(`
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: shop}
spec:
  clusterIP: None
  selector: {app: NAME}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: NAME, namespace: shop}
spec:
  entryPoints: [web]
  routes: [{match: Host(TICKNAMETICK), kind: Rule, services: [{name: NAME, port: 80}]}]
`)
}

// deployment is the manifest of a Deployment of an application with a tag, which may be empty. Its name is
// APP-TAG with hyphens for dots, followed by -x; pods have that name and something behind it.
func deployment(app, tag string, replicas string) string {
	return workloadOf("Deployment", app, tag, replicas, "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}")
}

// statefulSet is the same with a StatefulSet.
func statefulSet(app, tag string, replicas string) string {
	return workloadOf("StatefulSet", app, tag, replicas, "serviceName: "+app)
}

func workloadOf(kind, app, tag, replicas, spec string) string {
	label := ""
	if tag != "" {
		label = ", virtual-env: " + tag
	}
	return strings.NewReplacer(
		"KIND", kind, "APP", app, "NAME", name(app, tag), "LABEL", label, "REPLICAS", replicas, "SPEC", spec,
	).Replace(`
---
apiVersion: apps/v1
kind: KIND
metadata: {name: NAME-x, namespace: shop}
spec:
  replicas: REPLICAS
  SPEC
  selector: {matchLabels: {workload: NAME}}
  template:
    metadata:
      labels: {app: APP, workload: NAMELABEL}
      annotations: {test.sluice.dev/drain: 5s}
    spec:
      terminationGracePeriodSeconds: 10
      containers: [{name: web, image: web, ports: [{containerPort: 8080}]}]
`)
}

// name is the name of the workload of an application and a tag.
func name(app, tag string) string {
	if tag == "" {
		return app
	}
	return app + "-" + strings.ReplaceAll(strings.ToLower(tag), ".", "-")
}
