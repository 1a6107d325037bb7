package conformance

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/gateway-api/conformance"
	grpcecho "sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"
	"sigs.k8s.io/gateway-api/conformance/utils/config"
	"sigs.k8s.io/gateway-api/conformance/utils/grpc"
	"sigs.k8s.io/gateway-api/conformance/utils/http"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"
	"sigs.k8s.io/gateway-api/conformance/utils/tcp"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// Namespaces of the base manifests.
const (
	infra = "gateway-conformance-infra"
	app   = "gateway-conformance-app-backend"
	web   = "gateway-conformance-web-backend"
)

// base is the cluster with the base manifests, and their backends without a Gateway.
type base struct {
	*cluster.Cluster
	t         *testing.T
	authority []byte // certificate of the issuer of the backends' certificates, PEM
}

// TestBase applies the base manifests without Sluice, and lets the clients of the conformance tests talk to the
// backends themselves.
func TestBase(t *testing.T) {
	c := cluster.Start(t)
	c.Apply(definitions(t)...)
	c.Apply(classManifest)
	b := &base{Cluster: c, t: t}
	b.deploy()
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"HTTP", b.http},
		{"HTTP2", b.http2},
		{"HTTPS", b.https},
		{"Retry", b.retry},
		{"WebSocket", b.webSocket},
		{"GRPC", b.grpc},
		{"TCP", b.tcp},
		{"UDP", b.udp},
		{"Logs", b.logs},
		{"EndpointSlices", b.endpointSlices},
	} {
		t.Run(test.name, test.run)
	}
}

// deploy applies the base manifests, and then the objects that their pods mount, as the suite does.
func (b *base) deploy() {
	text, err := conformance.Manifests.ReadFile("base/manifests.yaml")
	if err != nil {
		b.t.Fatal(err)
	}
	b.Apply(strings.ReplaceAll(string(text), "{GATEWAY_CLASS_NAME}", class))
	b.UntilAll("Pod", infra, "all pods that mount no Secret are ready, and no others",
		func(pods []*unstructured.Unstructured) bool {
			return slices.ContainsFunc(pods, mountsSecret) &&
				!slices.ContainsFunc(pods, func(pod *unstructured.Unstructured) bool { return ready(pod) == mountsSecret(pod) })
		})
	config, authority, key := kubernetes.MustCreateCACertConfigMap(b.t, infra, "authority")
	hosts := []string{"abc.example.com"}
	api, err := client.New(b.Config, client.Options{Scheme: kinds(b.t)})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, one := range []struct{ namespace, name string }{
		{infra, "tls-checks-certificate"},
		{infra, "tls-passthrough-checks-certificate"},
		{app, "tls-passthrough-checks-certificate"},
	} {
		secret := kubernetes.MustCreateCASignedCertSecret(b.t, one.namespace, one.name, hosts, authority, key)
		if err := api.Create(b.t.Context(), secret); err != nil {
			b.t.Fatal(err)
		}
	}
	b.authority = []byte(config.Data["ca.crt"])
	for _, namespace := range []string{infra, app, web} {
		b.UntilAll("Pod", namespace, "all pods are ready", func(pods []*unstructured.Unstructured) bool {
			return len(pods) > 0 && !slices.ContainsFunc(pods, func(pod *unstructured.Unstructured) bool { return !ready(pod) })
		})
	}
}

func ready(pod *unstructured.Unstructured) bool { return cluster.Condition(pod, "Ready") == "True" }

// mountsSecret reports whether a pod has a volume of a Secret.
func mountsSecret(pod *unstructured.Unstructured) bool {
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	return slices.ContainsFunc(volumes, func(volume any) bool {
		_, ok := volume.(map[string]any)["secret"]
		return ok
	})
}

// pods returns the pods of a Deployment of the infrastructure's namespace, by the label app.
func (b *base) pods(t *testing.T, name string) []corev1.Pod {
	t.Helper()
	list, err := b.Kubernetes.CoreV1().Pods(infra).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("%d pods of %s, %v", len(list.Items), name, err)
	}
	return list.Items
}

// address returns the address of a port of the first pod of a Deployment.
func (b *base) address(t *testing.T, name, port string) string {
	t.Helper()
	return net.JoinHostPort(b.pods(t, name)[0].Status.PodIP, port)
}

// expect makes a request until the response is the expected one.
func (b *base) expect(t *testing.T, address string, expected http.ExpectedResponse) {
	t.Helper()
	timeouts := config.DefaultTimeoutConfig()
	http.MakeRequestAndExpectEventuallyConsistentResponse(t, &roundtripper.DefaultRoundTripper{TimeoutConfig: timeouts},
		timeouts, address, expected)
}

func (b *base) http(t *testing.T) {
	address := b.address(t, "infra-backend-v1", "3000")
	b.expect(t, address, http.ExpectedResponse{
		Request: http.Request{
			Host: "echo.test", Path: "/a//b?c=d", Method: "POST",
			Headers: map[string]string{"X-One": "1"},
		},
		BackendSetResponseHeaders: map[string]string{"X-Two": "2"},
		Response:                  http.Response{StatusCodes: []int{200}, Headers: map[string]string{"X-Two": "2"}},
		Backend:                   "infra-backend-v1", Namespace: infra,
	})
	b.expect(t, address, http.ExpectedResponse{
		Request: http.Request{Path: "/status/418"}, Response: http.Response{StatusCodes: []int{418}},
	})
}

func (b *base) http2(t *testing.T) {
	address := b.address(t, "infra-backend-v1", "3001")
	b.expect(t, address, http.ExpectedResponse{
		Request: http.Request{Path: "/", Protocol: "H2C_PRIOR_KNOWLEDGE"},
		Backend: "infra-backend-v1", Namespace: infra,
	})
	b.expect(t, address, http.ExpectedResponse{
		Request: http.Request{Path: "/"}, Response: http.Response{StatusCodes: []int{400}},
	})
}

func (b *base) https(t *testing.T) {
	address := b.address(t, "tls-backend", "8443")
	tripper := &roundtripper.DefaultRoundTripper{TimeoutConfig: config.DefaultTimeoutConfig()}
	captured, response, err := tripper.CaptureRoundTrip(roundtripper.Request{
		T: t, URL: url.URL{Scheme: "https", Host: address, Path: "/"}, Host: "abc.example.com", Method: "GET",
		Protocol: roundtripper.HTTPSProtocol, ServerCertificate: b.authority, ServerName: "abc.example.com",
	})
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 200 || captured.TLS.ServerName != "abc.example.com" ||
		captured.TLS.Version != "TLSv1.3" {
		t.Errorf("%+v %+v", response, captured.TLS)
	}
}

func (b *base) retry(t *testing.T) {
	address := b.address(t, "infra-backend-v3", "3000")
	tripper := &roundtripper.DefaultRoundTripper{TimeoutConfig: config.DefaultTimeoutConfig()}
	for _, test := range []struct {
		query string
		want  []int // 0 is a reset
	}{
		{"uuid=a&succeedAfter=2&responseCode=503", []int{503, 503, 200, 200}},
		{"uuid=b&succeedAfter=1", []int{0, 200}},
		{"uuid=c", []int{400}},
	} {
		for i, want := range test.want {
			_, response, err := tripper.CaptureRoundTrip(roundtripper.Request{
				T: t, URL: url.URL{Scheme: "http", Host: address, Path: "/retry/", RawQuery: test.query}, Method: "GET",
			})
			if got := status(response, err); got != want {
				t.Errorf("%s, request %d: %d, want %d (%v)", test.query, i, got, want, err)
			}
		}
	}
}

// status returns the status code of a response, or 0 for an error without one.
func status(response *roundtripper.CapturedResponse, err error) int {
	if response != nil {
		return response.StatusCode
	}
	if err == nil {
		return -1
	}
	return 0
}

func (b *base) webSocket(t *testing.T) {
	address := b.address(t, "infra-backend-v1", "3000")
	connection, err := websocket.Dial("ws://"+address+"/ws", "", "http://"+address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close() //nolint:errcheck // nothing is lost
	if _, err := connection.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 16)
	if n, err := connection.Read(buffer); err != nil || string(buffer[:n]) != "text" {
		t.Errorf("%q, %v", buffer[:n], err)
	}
}

func (b *base) grpc(t *testing.T) {
	address := b.address(t, "grpc-infra-backend-v1", "3000")
	caller := &grpc.DefaultClient{}
	defer caller.Close()
	for _, expected := range []grpc.ExpectedResponse{
		{EchoRequest: &grpcecho.EchoRequest{}, Backend: "grpc-infra-backend-v1", Namespace: infra},
		{EchoTwoRequest: &grpcecho.EchoRequest{}, Backend: "grpc-infra-backend-v1", Namespace: infra},
		{EchoThreeRequest: &grpcecho.EchoRequest{}, Response: grpc.Response{Code: 12}},
	} {
		expected.RequestMetadata = &grpc.RequestMetadata{
			Authority: "echo.test", Metadata: map[string]string{"x-one": "1"},
		}
		grpc.MakeRequestAndExpectEventuallyConsistentResponse(t, caller, config.DefaultTimeoutConfig(), address, expected)
	}
}

func (b *base) tcp(t *testing.T) {
	expected := tcp.ExpectedResponse{Namespace: infra, Backend: "tcp-backend"}
	timeouts := config.DefaultTimeoutConfig()
	tcp.MakeTCPRequestAndExpectEventuallyValidResponse(t, timeouts, b.address(t, "tcp-backend", "3000"), nil, "", false,
		expected)
	expected.BackendIsTLS, expected.Hostname = true, "abc.example.com"
	tcp.MakeTCPRequestAndExpectEventuallyValidResponse(t, timeouts, b.address(t, "tcp-backend", "8443"), b.authority,
		"abc.example.com", true, expected)
}

func (b *base) udp(t *testing.T) {
	address := b.address(t, "udp", "53")
	answer, err := dns.ExchangeContext(t.Context(), new(dns.Msg).SetQuestion("foo.bar.com.", dns.TypeA), address)
	if err != nil || answer.Rcode != dns.RcodeSuccess || len(answer.Extra) != 1 {
		t.Errorf("%v, %v", answer, err)
	}
}

// logs reads pods' logs through the API server, as the tests of mirrors do.
func (b *base) logs(t *testing.T) {
	api, err := client.New(b.Config, client.Options{Scheme: kinds(t)})
	if err != nil {
		t.Fatal(err)
	}
	const name = "infra-backend-v2"
	line := "Echoing back request made to /logged?a=b to client"
	find := func(since time.Time) bool {
		lines, err := kubernetes.DumpEchoLogs(t.Context(), infra, name, api, b.Kubernetes, since)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(lines, func(one string) bool { return strings.Contains(one, line) })
	}
	if find(time.Now().Add(-time.Minute)) {
		t.Error("the line is there before the request")
	}
	b.expect(t, b.address(t, name, "3000"), http.ExpectedResponse{
		Request: http.Request{Path: "/logged?a=b"}, Backend: name, Namespace: infra,
	})
	if !find(time.Now().Add(-time.Minute)) {
		t.Error("the line is not there after the request")
	}
	if find(time.Now().Add(time.Minute)) {
		t.Error("sinceTime does not exclude the line")
	}
	text, err := b.Kubernetes.CoreV1().Pods(infra).GetLogs(b.pods(t, name)[0].Name, &corev1.PodLogOptions{
		Container: name, Timestamps: true, TailLines: new(int64(1)),
	}).DoRaw(t.Context())
	if err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), "Z "+line) &&
		!strings.Contains(string(text), " "+line) {
		t.Errorf("the last line is %q, %v", text, err)
	}
}

// endpointSlices adds endpoints to EndpointSlices of Services without a selector, with and without a ClusterIP. No
// controller removes them.
func (b *base) endpointSlices(t *testing.T) {
	text, err := conformance.Manifests.ReadFile("tests/httproute-service-types.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := b.For(t)
	c.Apply(string(text))
	pods := b.pods(t, "infra-backend-v1")
	for _, service := range []string{"manual-endpointslices", "headless-manual-endpointslices"} {
		patch := fmt.Sprintf(`{"endpoints": [{"addresses": [%q], "conditions": {"ready": true}, "nodeName": %q}]}`,
			pods[0].Status.PodIP, pods[0].Spec.NodeName)
		if _, err := c.Kubernetes.DiscoveryV1().EndpointSlices(infra).Patch(t.Context(), service+"-ip4",
			types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.Endpoints(infra+"/headless", len(pods)) // The controller has seen the Services.
	for _, service := range []string{"manual-endpointslices", "headless-manual-endpointslices"} {
		if found := c.Endpoints(infra+"/"+service, 1); found[0] != pods[0].Status.PodIP {
			t.Errorf("the endpoints of %s are %v", service, found)
		}
	}
}
