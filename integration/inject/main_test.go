package inject

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

const (
	// system is the namespace of the injector, shop one whose pods are injected.
	system, shop = "sluice", "shop"
	// name is the name of everything of the injector.
	name = "sluice-injector"
	// timeout bounds every wait.
	timeout = 3 * time.Minute
	// variable is what the templates of the tests add to every container.
	variable = "INJECTED_BY"
)

// configuration injects every pod but those with a label that forbids it. VALUE is the value of the variable.
const configuration = `policy: enabled
defaultTemplates: [variable]
templates:
  variable: |
    spec:
      containers:
      {{- range .Spec.Containers }}
      - name: {{ .Name }}
        env: [{name: INJECTED_BY, value: VALUE}]
      {{- end }}
`

// field is a cluster with the injector's objects, and the replicas behind its Service.
type field struct {
	*cluster.Cluster
	t          *testing.T
	kubeconfig string
	folder     string // of the configuration
	service    *service
}

// prepare applies deploy/kubernetes/injector, and has its Service led to the replicas that the test starts.
func prepare(t *testing.T, further ...string) *field {
	t.Helper()
	f := &field{Cluster: cluster.Start(t), t: t, folder: t.TempDir()}
	f.Apply(namespaceOf(system), namespaceOf(shop))
	for _, file := range []string{"serviceaccount", "rbac", "service", "webhook"} {
		text, err := os.ReadFile(filepath.Join("../../deploy/kubernetes/injector", file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		f.Apply(string(text))
	}
	f.Apply(further...)
	f.kubeconfig = f.AccountKubeconfig(system + "/" + name)
	f.configure("first")
	service, err := f.Kubernetes.CoreV1().Services(system).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.service = lead(t, service.Spec.ClusterIP+":443")
	return f
}

func namespaceOf(name string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + "}\n"
}

// configure writes the configuration of all replicas.
func (f *field) configure(value string) {
	f.t.Helper()
	f.write(strings.ReplaceAll(configuration, "VALUE", value))
}

func (f *field) write(text string) {
	f.t.Helper()
	temporary := filepath.Join(f.folder, ".config")
	if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(f.folder, "config")); err != nil {
		f.t.Fatal(err)
	}
}

// replica is one process of the injector.
type replica struct {
	*harness.Sluice
	f       *field
	address string
}

// start starts a replica on a port of 127.0.0.1 and waits until the Service leads to it.
func (f *field) start(args ...string) *replica {
	f.t.Helper()
	one := &replica{f: f}
	one.Sluice = harness.Start(f.t, harness.Setup{
		Args: append([]string{
			"injector", "--config", f.folder, "--address=127.0.0.1:0", "--drainTimeout=4s", "--log.level=DEBUG",
		}, args...),
		Env:      []string{"KUBECONFIG=" + f.kubeconfig, "POD_NAMESPACE=" + system},
		NotReady: true,
	})
	one.address = addressIn(one.WaitLog("listening", "admission"))
	one.ready()
	f.service.add(one.address)
	return one
}

// addressIn returns the address of 127.0.0.1 in a line of a log.
func addressIn(line string) string {
	_, port, _ := strings.Cut(line, "127.0.0.1:")
	port, _, _ = strings.Cut(port, " ")
	return "127.0.0.1:" + strings.Trim(port, `"`)
}

// ready waits until the replica is ready.
func (r *replica) ready() {
	r.f.t.Helper()
	harness.Eventually(r.f.t, timeout, func() bool { return status(r.f.t, r.address, "/ready") == http.StatusOK },
		func() string { return fmt.Sprintf("%s is not ready\n%s", r.address, r.Log) })
}

// status returns the status of a page of a replica, or 0.
func status(t testing.TB, address, page string) int {
	t.Helper()
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // As the kubelet does.
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+page, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport, Timeout: timeout}).Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// kill ends a replica as a crash does.
func (r *replica) kill() {
	r.f.t.Helper()
	r.Signal(syscall.SIGKILL)
	r.Wait()
}

// pod returns a pod that no node takes.
func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: shop, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"nowhere": "true"},
			Containers:   []corev1.Container{{Name: "web", Image: "web"}},
		},
	}
}

// create creates a pod and returns it as it was admitted.
func (f *field) create(one *corev1.Pod) *corev1.Pod {
	f.t.Helper()
	made, err := f.Kubernetes.CoreV1().Pods(one.Namespace).Create(f.t.Context(), one, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatalf("pod %s: %v", one.Name, err)
	}
	return made
}

// dryRun creates a pod as a dry run.
func (f *field) dryRun() (*corev1.Pod, error) {
	return f.Kubernetes.CoreV1().Pods(shop).Create(f.t.Context(), pod("dry"),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

// injected returns the value that the injector has added to a pod; empty when it has not.
func injected(pod *corev1.Pod) string {
	for _, one := range pod.Spec.Containers[0].Env {
		if one.Name == variable {
			return one.Value
		}
	}
	return ""
}

// until waits until something holds.
func (f *field) until(what string, holds func() bool) {
	f.t.Helper()
	harness.Eventually(f.t, timeout, holds, func() string { return what })
}

// untilInjected waits until dry runs come back with a value.
func (f *field) untilInjected(value string) {
	f.t.Helper()
	last := ""
	f.until("pods with "+value, func() bool {
		made, err := f.dryRun()
		if err != nil {
			last = err.Error()
			return false
		}
		last = injected(made)
		return last == value
	})
}
