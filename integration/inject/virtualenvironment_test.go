package inject

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// virtualEnvironment is the registration of the webhook of the KT virtual environment, but for its clientConfig, which
// led to a Service.
const virtualEnvironment = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: virtual-environment-webhook}
webhooks:
  - name: webhook-server.kt-virtual-environment.svc
    admissionReviewVersions: [v1, v1beta1]
    sideEffects: None
    failurePolicy: Fail
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    namespaceSelector: {matchLabels: {environment-tag-injection: enabled}}
    clientConfig: {}
`

// tagConfiguration has the template env-tag do what that webhook does with envLabel=virtual-env,version.
const tagConfiguration = `
policy: enabled
istioKeys: false
injectHostNetwork: true
defaultTemplates: [env-tag]
values:
  envTag:
    labels: [virtual-env, version]
    containers: [istio-proxy]
`

// tagVariable is the variable with the tag.
const tagVariable = "VIRTUAL_ENVIRONMENT_TAG"

// tagged is a pod with two containers, of which one is the sidecar of Istio.
func tagged(name string, labels map[string]string, env ...corev1.EnvVar) *corev1.Pod {
	one := pod(name)
	one.Labels = labels
	one.Spec.Containers = append(one.Spec.Containers, corev1.Container{Name: "istio-proxy", Image: "proxy", Env: env})
	return one
}

// native moves the sidecar to the init containers.
func native(one *corev1.Pod) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	sidecar := one.Spec.Containers[1]
	sidecar.RestartPolicy = &always
	one.Spec.InitContainers, one.Spec.Containers = []corev1.Container{sidecar}, one.Spec.Containers[:1]
	return one
}

// tags returns the tags of a pod by container, as the kubelet would set them.
func tags(one *corev1.Pod) map[string]string {
	found := map[string]string{}
	for _, container := range append(one.Spec.InitContainers, one.Spec.Containers...) {
		for _, variable := range container.Env {
			if variable.Name != tagVariable {
				continue
			}
			value := variable.Value
			if variable.ValueFrom != nil {
				path := strings.TrimSuffix(strings.TrimPrefix(variable.ValueFrom.FieldRef.FieldPath, "metadata.labels['"), "']")
				value = one.Labels[path]
			}
			found[container.Name] += value + ";" // A variable that is there twice shows.
		}
	}
	return found
}

// register registers a webhook with the address of a replica and the authority of its certificate.
func (f *field) register(text, address, authority string) {
	f.t.Helper()
	var registration admissionregistrationv1.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict([]byte(text), &registration); err != nil {
		f.t.Fatal(err)
	}
	bundle, err := os.ReadFile(authority)
	if err != nil {
		f.t.Fatal(err)
	}
	url := "https://" + address + "/inject"
	registration.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle}
	webhooks := f.Kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := webhooks.Create(f.t.Context(), &registration, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// labelled is a namespace that the registration of the virtual environment selects.
func labelled(name string) string {
	return namespaceOf(name + ", labels: {environment-tag-injection: enabled}")
}

// TestVirtualEnvironmentWebhook has the registration of the KT virtual environment lead to the injector.
func TestVirtualEnvironmentWebhook(t *testing.T) {
	f := prepare(t, labelled(shop), labelled("kube-public"), namespaceOf("plain"))
	webhooks := f.Kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if err := webhooks.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.write(tagConfiguration)
	authority := harness.NewAuthority(t)
	issued := authority.Issue("127.0.0.1")
	one := f.start("--tls.certFile="+issued.CertFile, "--tls.keyFile="+issued.KeyFile, "--webhookConfiguration=",
		"--onError=deny")
	f.register(virtualEnvironment, one.address, authority.File)
	f.until("pods of the namespace are tagged", func() bool {
		made, err := f.Kubernetes.CoreV1().Pods(shop).Create(t.Context(),
			tagged("dry", map[string]string{"version": "dev"}), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(tags(made)) > 0
	})

	both := map[string]string{"virtual-env": "dev.one", "version": "v2"}
	host := tagged("host", both)
	host.Spec.HostNetwork = true
	refused := tagged("istio-off", both)
	refused.Annotations = map[string]string{"sidecar.istio.io/inject": "false"}
	for _, test := range []struct {
		pod             *corev1.Pod
		namespace, want string
	}{
		{tagged("first-wins", both), shop, "dev.one;"},
		{tagged("second", map[string]string{"version": "v2"}), shop, "v2;"},
		{tagged("none", map[string]string{"app": "web"}), shop, ""},
		{
			tagged("replaced", both, corev1.EnvVar{Name: "A", Value: "a"}, corev1.EnvVar{Name: tagVariable, Value: "old"}),
			shop, "dev.one;",
		},
		{native(tagged("native", both)), shop, "dev.one;"},
		{native(tagged("native-replaced", both, corev1.EnvVar{Name: tagVariable, Value: "old"})), shop, "dev.one;"},
		{pod("without-a-sidecar"), shop, ""},
		{host, shop, "dev.one;"},
		{refused, shop, "dev.one;"},
		{tagged("unselected", both), "plain", ""},
		{tagged("excluded", both), "kube-public", ""},
	} {
		t.Run(test.pod.Name, func(t *testing.T) {
			test.pod.Namespace = test.namespace
			made := f.create(test.pod)
			if got := tags(made)["istio-proxy"]; got != test.want || len(tags(made)["web"]) > 0 {
				t.Errorf("tags %v, want %q in istio-proxy alone", tags(made), test.want)
			}
			for _, variable := range append(made.Spec.InitContainers, made.Spec.Containers...)[0].Env {
				if variable.Name == "A" && variable.Value != "a" {
					t.Errorf("another variable has changed: %v", variable)
				}
			}
		})
	}
}

// TestVirtualEnvironmentRequests posts what the API server does not send.
func TestVirtualEnvironmentRequests(t *testing.T) {
	f := prepare(t)
	f.write(tagConfiguration)
	authority := harness.NewAuthority(t)
	issued := authority.Issue("127.0.0.1")
	one := f.start("--tls.certFile="+issued.CertFile, "--tls.keyFile="+issued.KeyFile)
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",
		"resource":{"version":"v1","resource":"pods"},"operation":"CREATE","namespace":"shop","object":{"metadata":
		{"name":"web","labels":{"version":"v2"}},"spec":{"containers":[{"name":"istio-proxy","image":"proxy"}]}}}}`
	for _, test := range []struct {
		name, method, kind, body string
		status                   int
		want                     string
	}{
		{"a pod", http.MethodPost, "application/json", review, 200, `"patchType":"JSONPatch"`},
		{"with a charset", http.MethodPost, "application/json; charset=utf-8", review, 200, `"patchType":"JSONPatch"`},
		{"another type", http.MethodPost, "text/plain", review, 415, "application/json"},
		{"no type", http.MethodPost, "", review, 415, "application/json"},
		{"another method", http.MethodGet, "application/json", "", 405, "POST"},
		{"no body", http.MethodPost, "application/json", "", 400, "no body"},
		{"no review", http.MethodPost, "application/json", `{"kind":"Pod"}`, 400, "AdmissionReview"},
		{
			"no request", http.MethodPost, "application/json",
			`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, 400, "no request",
		},
		{
			"another resource", http.MethodPost, "application/json",
			strings.ReplaceAll(review, `"pods"`, `"services"`), 200, `"allowed":true`,
		},
		{
			"version v1beta1", http.MethodPost, "application/json", strings.ReplaceAll(review, "k8s.io/v1", "k8s.io/v1beta1"),
			200, `"apiVersion":"admission.k8s.io/v1beta1"`,
		},
		// A client that injects manifests by the webhook sends no identifier, and the kind of the workload's file.
		{
			"no identifier and another kind", http.MethodPost, "application/json", strings.NewReplacer(`"uid":"u"`,
				`"uid":"","kind":{"group":"apps","version":"v1","kind":"Deployment"},"name":""`).Replace(review),
			200, `"uid":"","allowed":true,"patch":`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, text := send(t, authority, one.address, test.method, test.kind, test.body)
			if status != test.status || !strings.Contains(text, test.want) {
				t.Errorf("status %d, want %d with %s: %s", status, test.status, test.want, text)
			}
		})
	}
}

// send sends a request to /inject of a replica, whose certificate an authority has signed.
func send(t *testing.T, authority *harness.Authority, address, method, kind, body string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+"/inject", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: authority.Pool, MinVersion: tls.VersionTLS12},
	}
	response, err := (&http.Client{Transport: transport, Timeout: timeout}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is read to the end
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(all)
}
