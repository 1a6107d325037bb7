package conformance

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	grpcecho "sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"
	"sigs.k8s.io/gateway-api/conformance/utils/config"
	"sigs.k8s.io/gateway-api/conformance/utils/grpc"
	"sigs.k8s.io/gateway-api/conformance/utils/http"
	"sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// later runs what version 1.7 of the suite demands beyond this one.
type later struct {
	*base
	api client.Client
}

// TestLater proves the behaviour that later.md lists, on one cluster with the backends of the base manifests.
func TestLater(t *testing.T) {
	c := cluster.Start(t)
	c.Apply(definitions(t)...)
	c.Apply(classManifest)
	l := &later{base: &base{Cluster: c, t: t}}
	var err error
	if l.api, err = client.New(c.Config, client.Options{Scheme: kinds(t)}); err != nil {
		t.Fatal(err)
	}
	start(t, c)
	l.deploy()
	type part struct {
		name string
		run  func(*testing.T)
	}
	parts := []part{
		{"RuleOrder", l.ruleOrder},
		{"HostnameIntersection", l.hostnameIntersection},
		{"BackendURLRewrite", l.backendURLRewrite},
		{"GatewayNameMaximumLength", l.longName},
		{"SecretWithoutGrant", l.secretWithoutGrant},
		{"ForeignStatus", l.foreignStatus},
		{"GRPCMultipleGateways", l.grpcGateways},
		{"GRPCRequestHeaderModifier", l.grpcHeaders},
	}
	if *channel == "experimental" { // HTTPRoutes of the standard channel have no retry.
		parts = append(parts, part{"RetryWithTimeouts", l.retryWithTimeouts})
	}
	for _, one := range parts {
		t.Run(one.name, one.run)
	}
}

// gateway returns a Gateway with one HTTP listener.
func gateway(name, options string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: ` + name + `, namespace: ` + infra + `}
spec:
  gatewayClassName: ` + class + `
  listeners: [{name: http, port: 80, protocol: HTTP` + options + `}]
`
}

// route returns a route of a kind at a Gateway of the same namespace.
func route(kind, name, gateway, spec string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: ` + kind + `
metadata: {name: ` + name + `, namespace: ` + infra + `}
spec: {parentRefs: [{name: ` + gateway + `}], ` + spec + `}
`
}

// rules returns the rules of an HTTPRoute, each with all requests and one backend.
func rules(backends ...string) string {
	var all []string
	for _, backend := range backends {
		all = append(all, "{backendRefs: [{name: "+backend+", port: 8080}]}")
	}
	return "rules: [" + strings.Join(all, ", ") + "]"
}

// accepted waits until a Gateway and its routes are accepted, and returns the Gateway's address.
func (l *later) accepted(t *testing.T, name string, kind any, routes ...string) string {
	t.Helper()
	var names []types.NamespacedName
	for _, route := range routes {
		names = append(names, types.NamespacedName{Namespace: infra, Name: route})
	}
	return kubernetes.GatewayAndRoutesMustBeAccepted(t, l.api, config.DefaultTimeoutConfig(), controller,
		kubernetes.NewGatewayRef(types.NamespacedName{Namespace: infra, Name: name}), kind, true, names...)
}

// answers makes requests until a backend answers them consistently, or a status other than 200 comes where that is
// wanted.
func (l *later) answers(t *testing.T, address, host, backend string, status int) {
	t.Helper()
	expected := http.ExpectedResponse{
		Request: http.Request{Host: host, Path: "/"}, Response: http.Response{StatusCodes: []int{status}},
	}
	if status == 200 {
		expected.Backend, expected.Namespace = backend, infra
	}
	l.expect(t, address, expected)
}

// ruleOrder has rules that match alike: the first one decides, also when its backend does not exist.
func (l *later) ruleOrder(t *testing.T) {
	c := l.For(t)
	c.Apply(gateway("order", ""),
		route("HTTPRoute", "order", "order", rules("infra-backend-v2", "infra-backend-v1")+`, hostnames: [order.test]`),
		route("HTTPRoute", "order-invalid", "order", rules("none", "infra-backend-v1")+`, hostnames: [invalid.test]`))
	address := l.accepted(t, "order", &gatewayv1.HTTPRoute{}, "order")
	l.answers(t, address, "order.test", "infra-backend-v2", 200)
	l.answers(t, address, "invalid.test", "", 500)
}

// hostnameIntersection has routes whose hostnames meet the listener's in the same name: their own hostnames decide.
func (l *later) hostnameIntersection(t *testing.T) {
	c := l.For(t)
	wide := route("HTTPRoute", "wide", "meeting", rules("infra-backend-v1")+`, hostnames: ["*.meeting.test"]`)
	exact := route("HTTPRoute", "exact", "meeting", rules("infra-backend-v2")+`, hostnames: [a.meeting.test]`)
	c.Apply(gateway("meeting", ", hostname: a.meeting.test"), wide, exact,
		route("HTTPRoute", "any", "meeting", rules("infra-backend-v3")))
	address := l.accepted(t, "meeting", &gatewayv1.HTTPRoute{}, "wide", "exact", "any")
	l.answers(t, address, "a.meeting.test", "infra-backend-v2", 200)
	c.Delete(exact)
	l.answers(t, address, "a.meeting.test", "infra-backend-v1", 200)
	c.Delete(wide)
	l.answers(t, address, "a.meeting.test", "infra-backend-v3", 200)
}

// backendURLRewrite rewrites the path and the host for one of two backends.
func (l *later) backendURLRewrite(t *testing.T) {
	l.For(t).Apply(gateway("rewriting", ""), route("HTTPRoute", "rewriting", "rewriting", `rules: [{
  matches: [{path: {value: /one}}],
  backendRefs: [{name: infra-backend-v1, port: 8080, filters: [{
    type: URLRewrite, urlRewrite: {hostname: other.test, path: {type: ReplacePrefixMatch, replacePrefixMatch: /two}},
  }]}],
}, {
  matches: [{path: {value: /kept}}], backendRefs: [{name: infra-backend-v1, port: 8080}],
}]`))
	address := l.accepted(t, "rewriting", &gatewayv1.HTTPRoute{}, "rewriting")
	l.expect(t, address, http.ExpectedResponse{
		Request:         http.Request{Host: "first.test", Path: "/one/three"},
		ExpectedRequest: &http.ExpectedRequest{Request: http.Request{Host: "other.test", Path: "/two/three"}},
		Backend:         "infra-backend-v1", Namespace: infra,
	})
	l.expect(t, address, http.ExpectedResponse{
		Request: http.Request{Host: "first.test", Path: "/kept"}, Backend: "infra-backend-v1", Namespace: infra,
	})
}

// longName has a Gateway with the longest name that the API takes.
func (l *later) longName(t *testing.T) {
	name := strings.Repeat("long", 63) + "r"
	l.For(t).Apply(gateway(name, ""), route("HTTPRoute", "long", name, rules("infra-backend-v1")))
	l.answers(t, l.accepted(t, name, &gatewayv1.HTTPRoute{}, "long"), "long.test", "infra-backend-v1", 200)
}

// secretWithoutGrant refers to a Secret of another namespace that does not exist: that must not be told from one that
// does.
func (l *later) secretWithoutGrant(t *testing.T) {
	l.For(t).Apply(strings.Replace(gateway("foreign", ", tls: {certificateRefs: [{name: none, namespace: "+app+"}]}"),
		"port: 80, protocol: HTTP", "port: 443, protocol: HTTPS", 1))
	kubernetes.GatewayListenersMustHaveConditions(t, l.api, config.DefaultTimeoutConfig(),
		types.NamespacedName{Namespace: infra, Name: "foreign"}, []metav1.Condition{{
			Type: string(gatewayv1.ListenerConditionResolvedRefs), Status: metav1.ConditionFalse,
			Reason: string(gatewayv1.ListenerReasonRefNotPermitted),
		}})
}

// foreignStatus has conditions and parents of another controller in statuses that change afterwards.
func (l *later) foreignStatus(t *testing.T) {
	c := l.For(t)
	c.Apply(gateway("shared", ""), route("HTTPRoute", "shared", "shared", rules("infra-backend-v1")))
	l.accepted(t, "shared", &gatewayv1.HTTPRoute{}, "shared")
	const condition = `{"type": "example.test/Seen", "status": "True", "reason": "Seen",
		"message": "by another controller", "observedGeneration": 1, "lastTransitionTime": "2026-01-02T03:04:05Z"}`
	foreign := map[string]string{
		"HTTPRoute": `{"parentRef": {"name": "other", "group": "gateway.networking.k8s.io", "kind": "Gateway"},
			"controllerName": "example.test/controller", "conditions": [` + condition + `]}`,
		"Gateway": condition,
	}
	for kind, at := range map[string]string{"HTTPRoute": "parents", "Gateway": "conditions"} {
		object := c.Get(kind+".gateway.networking.k8s.io", infra+"/shared")
		list, _, _ := unstructured.NestedSlice(object.Object, "status", at)
		var one any
		if err := json.Unmarshal([]byte(foreign[kind]), &one); err != nil {
			t.Fatal(err)
		}
		patched, err := json.Marshal(map[string]any{"status": map[string]any{at: append(list, one)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.api.Status().Patch(t.Context(), object, client.RawPatch(types.MergePatchType, patched)); err != nil {
			t.Fatal(err)
		}
	}
	// Both statuses are written again: the route loses its backend, and the Gateway's generation grows.
	c.Apply(gateway("shared", ", allowedRoutes: {kinds: [{kind: HTTPRoute}]}"),
		route("HTTPRoute", "shared", "shared", rules("none")))
	for kind, at := range map[string]string{"HTTPRoute": "parents", "Gateway": "conditions"} {
		var want any
		if err := json.Unmarshal([]byte(foreign[kind]), &want); err != nil {
			t.Fatal(err)
		}
		c.Until(kind+".gateway.networking.k8s.io", infra+"/shared", "of the latest generation, with the foreign part",
			func(object *unstructured.Unstructured) bool {
				list, _, _ := unstructured.NestedSlice(object.Object, "status", at)
				return slices.ContainsFunc(list, func(one any) bool { return same(one, want) }) && current(object, list)
			})
	}
}

// same compares two values as JSON.
func same(a, b any) bool {
	first, _ := json.Marshal(a)
	second, _ := json.Marshal(b)
	return string(first) == string(second)
}

// current reports whether conditions, or those of a parent, are of the latest generation of their object.
func current(object *unstructured.Unstructured, list []any) bool {
	return slices.ContainsFunc(list, func(one any) bool {
		entry, _ := one.(map[string]any)
		generation, found, _ := unstructured.NestedInt64(entry, "observedGeneration")
		if found {
			return generation == object.GetGeneration() && generation > 1
		}
		conditions, _, _ := unstructured.NestedSlice(entry, "conditions")
		return len(conditions) > 0 && current(object, conditions)
	})
}

// retryWithTimeouts has backends that fail, or answer too late, again and again.
func (l *later) retryWithTimeouts(t *testing.T) {
	rule := func(path, timeouts, retry string) string {
		return `{matches: [{path: {value: ` + path + `}}], timeouts: {` + timeouts + `}, retry: {` + retry + `},
  backendRefs: [{name: infra-backend-v3, port: 8080}]}`
	}
	l.For(t).Apply(gateway("retrying", ""), route("HTTPRoute", "retrying", "retrying", `rules: [`+
		rule("/retry/whole", "request: 1s", `codes: [503], attempts: 100, backoff: 100ms`)+`, `+
		rule("/each", "request: 20s, backendRequest: 300ms", `codes: [504], attempts: 2, backoff: 1ms`)+`]`))
	address := l.accepted(t, "retrying", &gatewayv1.HTTPRoute{}, "retrying")
	for _, test := range []struct {
		path, query string
		least       time.Duration
	}{
		{"/retry/whole", "uuid=whole&responseCode=503&succeedAfter=1000", time.Second},
		{"/each", "delay=10s", 900 * time.Millisecond},
	} {
		l.expect(t, address, http.ExpectedResponse{ // The route is there.
			Request: http.Request{Path: test.path + "?uuid=first&succeedAfter=0&responseCode=503"}, Backend: "infra-backend-v3",
			Namespace: infra,
		})
		tripper := &roundtripper.DefaultRoundTripper{TimeoutConfig: config.DefaultTimeoutConfig()}
		began := time.Now()
		_, response, err := tripper.CaptureRoundTrip(roundtripper.Request{
			T: t, URL: url.URL{Scheme: "http", Host: address, Path: test.path, RawQuery: test.query}, Method: "GET",
		})
		if took := time.Since(began); status(response, err) != 504 || took < test.least {
			t.Errorf("%s: %d after %v, want 504 after %v at the earliest", test.path, status(response, err), took, test.least)
		}
	}
}

// calls makes calls of a method until a backend answers them consistently, and returns the metadata that it got.
func (l *later) calls(t *testing.T, address, authority, backend string) *grpcecho.EchoResponse {
	t.Helper()
	caller := &grpc.DefaultClient{}
	defer caller.Close()
	expected := grpc.ExpectedResponse{
		EchoRequest: &grpcecho.EchoRequest{}, Backend: backend, Namespace: infra,
		RequestMetadata: &grpc.RequestMetadata{
			Authority: authority, Metadata: map[string]string{"x-set": "1", "x-add": "1", "x-remove": "1"},
		},
	}
	timeouts := config.DefaultTimeoutConfig()
	grpc.MakeRequestAndExpectEventuallyConsistentResponse(t, caller, timeouts, address, expected)
	response, err := caller.SendRPC(t, address, expected, timeouts.RequestTimeout)
	if err != nil {
		t.Fatal(err)
	}
	return response.Response
}

// grpcGateways has two Gateways with the same port and hostname, and a route at each for the same method.
func (l *later) grpcGateways(t *testing.T) {
	c := l.For(t)
	backends := map[string]string{"one": "grpc-infra-backend-v1", "two": "grpc-infra-backend-v2"}
	for name, backend := range backends {
		name = "grpc-" + name
		c.Apply(gateway(name, ", hostname: calls.test"), route("GRPCRoute", name, name, rules(backend)))
	}
	for name, backend := range backends {
		address := l.accepted(t, "grpc-"+name, &gatewayv1.GRPCRoute{}, "grpc-"+name)
		l.calls(t, address, "calls.test", backend)
	}
}

// grpcHeaders changes the metadata of calls.
func (l *later) grpcHeaders(t *testing.T) {
	l.For(t).Apply(gateway("grpc-headers", ""), route("GRPCRoute", "grpc-headers", "grpc-headers", `rules: [{
  filters: [{type: RequestHeaderModifier, requestHeaderModifier: {
    set: [{name: X-Set, value: "2"}], add: [{name: X-Add, value: "2"}], remove: [X-Remove],
  }}],
  backendRefs: [{name: grpc-infra-backend-v1, port: 8080}],
}]`))
	address := l.accepted(t, "grpc-headers", &gatewayv1.GRPCRoute{}, "grpc-headers")
	got := map[string][]string{}
	for _, header := range l.calls(t, address, "headers.test", "grpc-infra-backend-v1").GetAssertions().GetHeaders() {
		if name := strings.ToLower(header.GetKey()); strings.HasPrefix(name, "x-") {
			got[name] = append(got[name], strings.Split(header.GetValue(), ",")...)
		}
	}
	if !slices.Equal(got["x-set"], []string{"2"}) || !slices.Equal(got["x-add"], []string{"1", "2"}) ||
		len(got["x-remove"]) > 0 {
		t.Errorf("the metadata is %v", got)
	}
}
