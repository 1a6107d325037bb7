package inject

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// BenchmarkReviews sends reviews of new pods over TLS and HTTP/1.1, 50 a second on few connections, as an API server
// does, to an injector with the configuration that ships, and reports the latency and the CPU time of the process for a
// pod. The pods are of one workload and differ in the name of the volume with their token, or each is of its own
// workload. Run it with -benchtime=500x for 10 s.
func BenchmarkReviews(b *testing.B) {
	b.Run("workload", func(b *testing.B) { benchmarkReviews(b, "abcde") })
	b.Run("workloads", func(b *testing.B) { benchmarkReviews(b, "6d4cf") })
}

// benchmarkReviews sends reviews that differ in five characters.
func benchmarkReviews(b *testing.B, differs string) {
	b.Helper()
	config := filepath.Join(b.TempDir(), "config")
	if err := os.WriteFile(config, []byte("policy: enabled\ndefaultTemplates: [sidecar]\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	authority := harness.NewAuthority(b)
	issued := authority.Issue("127.0.0.1")
	injector := harness.Start(b, harness.Setup{NotReady: true, Args: []string{
		"injector", "--config=" + config, "--address=127.0.0.1:0", "--drainTimeout=1s", "--events=false",
		"--webhookConfiguration=", "--tls.certFile=" + issued.CertFile, "--tls.keyFile=" + issued.KeyFile,
	}})
	address := addressIn(injector.WaitLog("listening", "admission"))
	harness.Eventually(b, timeout, func() bool { return status(b, address, "/ready") == http.StatusOK },
		func() string { return "the injector is not ready" })
	place := "https://" + address + "/inject"
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: authority.Pool, MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: 25,
	}
	b.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: timeout}
	text, number := string(reviewOf(b, largePod())), 0
	body := func() []byte {
		number++
		return []byte(strings.ReplaceAll(text, differs, fmt.Sprintf("%05d", number)))
	}
	for range 50 { // The first ones open the connection, and load what is needed once.
		if err := review(b, client, place, body()); err != nil {
			b.Fatal(err)
		}
	}

	var mu sync.Mutex
	var took []time.Duration
	var pending sync.WaitGroup
	ticker := time.NewTicker(time.Second / 50)
	defer ticker.Stop()
	before := processorTime(b, injector.PID())
	for b.Loop() {
		<-ticker.C
		began, one := time.Now(), body()
		pending.Go(func() {
			err := review(b, client, place, one)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(began))
			if err != nil {
				b.Error(err)
			}
		})
	}
	pending.Wait()
	used := processorTime(b, injector.PID()) - before
	slices.Sort(took)
	milliseconds := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(milliseconds(took[len(took)/2]), "p50-ms")
	b.ReportMetric(milliseconds(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(milliseconds(used)/float64(len(took)), "CPU-ms/pod")
}

// review sends a review and checks that the answer has a patch.
func review(b *testing.B, client *http.Client, place string, body []byte) error {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, place, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it is read to the end
	text, err := io.ReadAll(response.Body)
	if err == nil && !bytes.Contains(text, []byte(`"patchType":"JSONPatch"`)) {
		err = fmt.Errorf("status %d without a patch: %.500s", response.StatusCode, text)
	}
	return err
}

// processorTime returns the CPU time of a process so far, in steps of 10 ms.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ")
	var ticks time.Duration
	for _, field := range strings.Fields(after)[11:13] { // utime and stime
		count, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += time.Duration(count)
	}
	return ticks * time.Second / 100
}

// reviewOf returns the review of a new pod.
func reviewOf(b *testing.B, pod *corev1.Pod) []byte {
	b.Helper()
	object, err := json.Marshal(pod)
	if err != nil {
		b.Fatal(err)
	}
	one := &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "0c0c7a3e-6f0e-4f0e-9d0c-3f0e6f0e4f0e", Namespace: shop, Operation: admissionv1.Create,
			Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Name: pod.Name,
			Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		},
	}
	one.Request.Object.Raw = object
	body, err := json.Marshal(one)
	if err != nil {
		b.Fatal(err)
	}
	return body
}

// largePod is a pod of a Deployment as it reaches webhooks: with the volume of its account, probes and defaults.
func largePod() *corev1.Pod {
	one := pod("web-6d4cf56db6-x2x7p")
	one.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	one.Labels = map[string]string{"app": "web", "pod-template-hash": "6d4cf56db6", "virtual-env": "dev.one"}
	one.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-6d4cf56db6", UID: "u", Controller: new(true)},
	}
	expiry := int64(3607)
	one.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access-abcde", VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &expiry}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
		}},
	}}}
	probe := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}},
		PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
	container := &one.Spec.Containers[0]
	container.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}
	container.ReadinessProbe, container.LivenessProbe = probe, probe
	container.VolumeMounts = []corev1.VolumeMount{
		{Name: "kube-api-access-abcde", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
	}
	for number := range 12 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprint("SETTING_", number), Value: "value"})
	}
	one.Spec.Tolerations = []corev1.Toleration{
		{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute"},
		{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute"},
	}
	return one
}
