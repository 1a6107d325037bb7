package xds

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http/httpproxy"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// injectorConfiguration is the shipped one with another address of the publisher, which has no Service here.
const injectorConfiguration = `
builtinTemplates: [env-tag, grpc-bootstrap, sidecar]
values:
  grpcBootstrap: {server: "` + serverAddress + `"}
  sidecar:
    args:
      - sidecar
      - --providers.xds.address=` + serverAddress + `
      - --providers.xds.allowInsecure=true
      - --providers.xds.namespace=$(POD_NAMESPACE)
      - --providers.xds.node=$(POD_NAMESPACE)/$(POD_NAME)
`

// statusKey is the annotation of injected pods.
const statusKey = "inject.sluice.dev/status"

// webhook starts the injector and registers it as deploy/kubernetes does, but for its address.
func webhook(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte(injectorConfiguration), 0o600); err != nil {
		t.Fatal(err)
	}
	authority := harness.NewAuthority(t)
	issued := authority.Issue("127.0.0.1")
	injector := harness.Start(t, harness.Setup{NotReady: true, Args: []string{
		"injector", "--config=" + config, "--address=127.0.0.1:0", "--drainTimeout=1s", "--events=false",
		"--webhookConfiguration=", "--tls.certFile=" + issued.CertFile, "--tls.keyFile=" + issued.KeyFile,
	}})
	_, port, _ := strings.Cut(injector.WaitLog("listening", "admission"), "127.0.0.1:")
	place := "https://127.0.0.1:" + regexp.MustCompile(`^\d+`).FindString(port) + "/inject"
	bundle, err := os.ReadFile(authority.File)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../deploy/kubernetes/injector/webhook.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var registration admissionregistrationv1.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(text, &registration); err != nil {
		t.Fatal(err)
	}
	registration.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &place, CABundle: bundle}
	webhooks := c.Kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := webhooks.Create(t.Context(), &registration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// admit creates a pod of an application that no node takes, and returns it as the webhook has changed it.
func admit(t *testing.T, c *cluster.Cluster, annotations map[string]string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "application", Namespace: "shop", Annotations: annotations,
			Labels: map[string]string{"inject.sluice.dev/inject": "true", "virtual-env": "dev.one"},
		},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"nowhere": "true"},
			Containers:   []corev1.Container{{Name: "application", Image: "application"}},
		},
	}
	pods := c.Kubernetes.CoreV1().Pods("shop")
	var last error
	until(t, func() bool {
		var made *corev1.Pod
		made, last = pods.Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return last == nil && made.Annotations[statusKey] != ""
	}, func() string { return fmt.Sprintf("pods are not injected: %v", last) })
	made, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil || made.Annotations[statusKey] == "" {
		t.Fatalf("the pod is not injected: %v", err)
	}
	return made
}

// container returns a container or init container of a pod.
func container(t *testing.T, pod *corev1.Pod, name string) corev1.Container {
	t.Helper()
	all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	at := slices.IndexFunc(all, func(one corev1.Container) bool { return one.Name == name })
	if at < 0 {
		t.Fatalf("the pod has no container %s", name)
	}
	return all[at]
}

// variables returns those of a container, as a kubelet sets them.
func variables(t *testing.T, pod *corev1.Pod, one corev1.Container) map[string]string {
	t.Helper()
	fields := map[string]string{"metadata.name": pod.Name, "metadata.namespace": pod.Namespace}
	for name, value := range pod.Labels {
		fields["metadata.labels['"+name+"']"] = value
	}
	all := map[string]string{}
	for _, variable := range one.Env {
		if variable.ValueFrom == nil {
			all[variable.Name] = expand(variable.Value, all)
			continue
		}
		value, known := fields[variable.ValueFrom.FieldRef.FieldPath]
		if !known {
			t.Fatalf("the pod has no %s", variable.ValueFrom.FieldRef.FieldPath)
		}
		all[variable.Name] = value
	}
	return all
}

// expand replaces references to variables; a kubelet leaves others, and these texts have none that are escaped.
func expand(text string, variables map[string]string) string {
	for name, value := range variables {
		text = strings.ReplaceAll(text, "$("+name+")", value)
	}
	return text
}

// sidecar runs the sidecar of a pod, with its arguments and variables.
func sidecar(t *testing.T, pod *corev1.Pod) *harness.Sluice {
	t.Helper()
	spec := container(t, pod, "sluice-sidecar")
	environment := variables(t, pod, spec)
	var args, env []string
	for _, arg := range spec.Args {
		args = append(args, expand(arg, environment))
	}
	for name, value := range environment {
		env = append(env, name+"="+value)
	}
	started := harness.Start(t, harness.Setup{Args: args, Env: env, NotReady: true})
	probe := spec.StartupProbe.HTTPGet
	ping := harness.NewClient(t, harness.H1, fmt.Sprintf("127.0.0.1:%d", probe.Port.IntValue()), "localhost", nil)
	until(t, func() bool {
		answer, err := ping.Try(ping.Request(http.MethodGet, probe.Path, nil))
		return err == nil && answer.StatusCode == http.StatusOK
	}, func() string { return "the startup probe fails" })
	return started
}

// application is a client of HTTP that does what the variables of its container say.
type application struct{ http *http.Client }

func newApplication(t *testing.T, pod *corev1.Pod) *application {
	t.Helper()
	environment := variables(t, pod, container(t, pod, "application"))
	proxy := (&httpproxy.Config{HTTPProxy: environment["HTTP_PROXY"], NoProxy: environment["NO_PROXY"]}).ProxyFunc()
	transport := &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }}
	t.Cleanup(transport.CloseIdleConnections)
	return &application{http: &http.Client{Transport: transport}}
}

// get sends a GET with headers to a Service by its short name, and returns the pod that has answered.
func (a *application) get(ctx context.Context, service string, header http.Header) (pod string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+service+"/", nil)
	if err != nil {
		return "", err
	}
	request.Header = header.Clone()
	response, err := a.http.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // nothing is read
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", response.StatusCode)
	}
	return response.Header.Get("X-Pod"), nil
}

// recorderService has one endpoint, at which the test itself answers.
const recorderService = `
---
apiVersion: v1
kind: Service
metadata: {name: recorder, namespace: shop}
spec: {clusterIP: None, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: recorder-1, namespace: shop, labels: {kubernetes.io/service-name: recorder}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [198.18.0.97], conditions: {ready: true}}]
`

// recordRequests answers for the Service recorder, and returns the headers of the last request.
func recordRequests(t *testing.T) (last func() http.Header) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "198.18.0.97:8080")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var header http.Header
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Protocols: protocols, ReadHeaderTimeout: patience,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			header = r.Header.Clone()
		}),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { _ = server.Close(); serving.Wait() })
	return func() http.Header {
		mu.Lock()
		defer mu.Unlock()
		return header
	}
}

// anonymous returns the anonymous resident memory of a process, RssAnon, in KiB.
func anonymous(t *testing.T, s *harness.Sluice) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "RssAnon:")
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line)
}

// TestInjectedSidecar runs the sidecar of a pod that the webhook has injected, and the application beside it calls
// Services by their short names while these are rolled.
func TestInjectedSidecar(t *testing.T) {
	c := prepare(t)
	http1 := strings.ReplaceAll(deployment("shop/other", "polite", fmt.Sprint(crew)), "name: grpc", "name: http")
	c.Apply(namespace("shop"), http1, recorderService)
	c.Deployed("shop/other")
	f := &field{t: t, c: c, publisher: publish(t, c, files())}
	webhook(t, c)
	pod := admit(t, c, nil)
	beside := sidecar(t, pod)
	own := newApplication(t, pod)
	f.clients = []client{newLocal(t, "application xds", func(service string) map[string]call {
		get := func(ctx context.Context) (string, error) { return own.get(ctx, service, http.Header{}) }
		return map[string]call{unary: get}
	})}
	f.start("other")
	f.spread(f.clients[0], "other", crew)
	f.during(func() {
		for range rollouts {
			c.Rollout("shop/other")
			c.Endpoints("shop/other", crew)
			f.spread(f.clients[0], "other", crew)
		}
		c.Deployed("shop/other")
	})

	last := recordRequests(t)
	const tag = "X-Virtual-Env"
	for _, test := range []struct {
		sent http.Header
		want string
	}{{http.Header{}, "dev.one"}, {http.Header{tag: {"dev.two"}}, "dev.two"}} {
		if _, err := own.get(t.Context(), "recorder", test.sent); err != nil {
			t.Fatal(err)
		}
		if got := last().Values(tag); !slices.Equal(got, []string{test.want}) {
			t.Errorf("with the header %q sent, %q arrives, want %s once", test.sent[tag], got, test.want)
		}
	}
	t.Logf("RssAnon of the sidecar: %s", anonymous(t, beside))
}

// TestInjectedBootstrap has grpc-go call a Service with the bootstrap of a pod that the webhook has injected, while the
// Service is rolled.
func TestInjectedBootstrap(t *testing.T) {
	c := prepare(t)
	c.Apply(namespace("shop"), deployment("shop/other", "polite", fmt.Sprint(crew)))
	c.Deployed("shop/other")
	f := &field{t: t, c: c, publisher: publish(t, c, files())}
	webhook(t, c)
	pod := admit(t, c, map[string]string{"inject.sluice.dev/templates": "grpc-bootstrap"})
	text := variables(t, pod, container(t, pod, "application"))["GRPC_XDS_BOOTSTRAP_CONFIG"]
	if want := `"id":"shop/application"`; !strings.Contains(text, want) {
		t.Errorf("the bootstrap lacks %s: %s", want, text)
	}
	f.clients = []client{newLocal(t, "application xds", func(service string) map[string]call {
		return calls(dialBootstrap(t, text, service+":80"))
	})}
	f.start("other.shop")
	f.spread(f.clients[0], "other.shop", crew)
	f.during(func() {
		c.Rollout("shop/other")
		c.Endpoints("shop/other", crew)
		f.spread(f.clients[0], "other.shop", crew)
		c.Deployed("shop/other")
	})
}
