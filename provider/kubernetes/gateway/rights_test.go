package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// run runs something until the test ends.
func run(t *testing.T, what func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- what(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
}

// await returns the first message that is as wanted, and calls seen for those before.
func await(
	t *testing.T, messages <-chan dynamic.Message, seen func(dynamic.Message), wanted func(dynamic.Message) bool,
) dynamic.Message {
	t.Helper()
	timeout := time.NewTimer(2 * time.Minute)
	defer timeout.Stop()
	var last dynamic.Message
	for {
		select {
		case last = <-messages:
			if wanted(last) {
				return last
			}
			seen(last)
		case <-timeout.C:
			t.Fatalf("not within 2 min; the last message is %+v", last)
		}
	}
}

// secureShop has the server serve a Gateway with a route to a Service that a BackendTLSPolicy is for.
func secureShop(server *clienttest.Server) {
	version := schema.GroupVersion(gatewayv1.GroupVersion)
	for resource, kind := range map[string]string{
		"gatewayclasses": "GatewayClass", "gateways": "Gateway", "httproutes": "HTTPRoute",
		"backendtlspolicies": "BackendTLSPolicy",
	} {
		server.Serve(version.WithResource(resource), kind)
	}
	server.Serve(corev1.SchemeGroupVersion.WithResource("namespaces"), "Namespace")
	named := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	server.Put(version.WithResource("gatewayclasses"), &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: "sluice"},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: static.DefaultGatewayController},
	})
	server.Put(version.WithResource("gateways"), &gatewayv1.Gateway{
		ObjectMeta: named, Spec: gatewayv1.GatewaySpec{GatewayClassName: "sluice", Listeners: []gatewayv1.Listener{
			{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType},
		}},
	})
	port := gatewayv1.PortNumber(80)
	server.Put(version.WithResource("httproutes"), &gatewayv1.HTTPRoute{
		ObjectMeta: named, Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "web"}}},
			Rules: []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
				BackendObjectReference: gatewayv1.BackendObjectReference{Name: "web", Port: &port},
			}}}}},
		},
	})
	system := gatewayv1.WellKnownCACertificatesSystem
	server.Put(version.WithResource("backendtlspolicies"), &gatewayv1.BackendTLSPolicy{
		ObjectMeta: named, Spec: gatewayv1.BackendTLSPolicySpec{
			TargetRefs: []gatewayv1.LocalPolicyTargetReferenceWithSectionName{{
				LocalPolicyTargetReference: gatewayv1.LocalPolicyTargetReference{Kind: "Service", Name: "web"},
			}},
			Validation: gatewayv1.BackendTLSPolicyValidation{Hostname: "web.test", WellKnownCACertificates: &system},
		},
	})
	server.Put(corev1.SchemeGroupVersion.WithResource("services"), &corev1.Service{
		ObjectMeta: named, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Port: 80}}},
	})
}

// schemes returns in which schemes a configuration speaks to endpoints.
func schemes(message dynamic.Message) string {
	if message.Configuration == nil {
		return ""
	}
	var all []string
	for _, service := range message.Configuration.HTTP.Services.All() {
		if service.LoadBalancer != nil {
			all = append(all, service.LoadBalancer.Scheme)
		}
	}
	return strings.Join(all, " ")
}

// TestWithoutRightToPoliciesNothingIsPlain proves that routes do not lead to backends without TLS while
// BackendTLSPolicies are served and may not be read: nothing is declared until they may.
func TestWithoutRightToPoliciesNothingIsPlain(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	secureShop(server)
	server.Refuse("list", "backendtlspolicies")
	server.Refuse("watch", "backendtlspolicies")
	cluster, err := client.Connect(client.Options{Endpoint: server.URL()}, "kubernetes", telemetry.Discard{},
		client.AddGatewayToScheme)
	if err != nil {
		t.Fatal(err)
	}
	p, err := gateway.New(cluster, static.KubernetesGateway{ControllerName: static.DefaultGatewayController},
		&gateway.Documents{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	messages := make(chan dynamic.Message)
	run(t, cluster.Run)
	run(t, func(ctx context.Context) error { return p.Provide(ctx, messages) })
	noPlain := func(message dynamic.Message) {
		if strings.Contains(schemes(message), "http ") || strings.HasSuffix(schemes(message), "http") {
			t.Errorf("the configuration has the schemes %q", schemes(message))
		}
	}
	refused := await(t, messages, noPlain, func(m dynamic.Message) bool { return m.State != dynamic.StateUnchanged })
	noPlain(refused)
	if refused.State != dynamic.StateForbidden || !strings.Contains(refused.Reason, "backendtlspolicies") {
		t.Errorf("the state is %s with %q, want forbidden, naming the policies", refused.State, refused.Reason)
	}
	server.Grant("list", "backendtlspolicies")
	server.Grant("watch", "backendtlspolicies")
	synced := await(t, messages, noPlain, func(m dynamic.Message) bool { return m.State == dynamic.StateSynced })
	if schemes(synced) != "https" {
		t.Errorf("with the right, the configuration has the schemes %q, want https", schemes(synced))
	}
}
