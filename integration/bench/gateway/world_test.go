package gateway

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// pool has the addresses of Gateways.
	pool = "198.18.240.0/24"
	// home is the namespace of Gateways, Services and most routes.
	home = "bench"
	// hands is how many objects are written at a time.
	hands = 24
)

const static = `
entryPoints: {traefik: {address: "127.0.0.1:0"}}
ping: {}
metrics: {prometheus: {entryPoint: traefik}}
providers:
  kubernetesGateway:
    endpoint: ${ENDPOINT}
    token: ${TOKEN}
    certAuthFilePath: ${CA}
    exposure: pool
    addressPool: [` + pool + `]
`

// world is a cluster with the Gateway API, two Services and a running Sluice.
type world struct {
	*cluster.Cluster

	asked   *settings
	results *results
	sluice  *harness.Sluice
}

func newWorld(tb testing.TB, asked *settings, r *results) *world {
	tb.Helper()
	w := &world{Cluster: cluster.Start(tb), asked: asked, results: r}
	w.Apply(definitions(tb)...)
	w.Apply(`{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: sluice},
		spec: {controllerName: sluice.dev/gateway-controller}}`)
	w.Apply(namespaceManifest(home))
	for _, c := range []colour{blue, green} {
		w.Apply(serviceManifest(home, c.String()))
		w.writeSlice(tb, home, c.String(), place(c, 0), place(c, 1))
	}
	serve(tb)
	w.start(tb)
	return w
}

// definitions returns the CRDs of the Gateway API out of the module cache.
func definitions(tb testing.TB) []string {
	tb.Helper()
	output, err := exec.CommandContext(tb.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"sigs.k8s.io/gateway-api").Output()
	if err != nil {
		tb.Fatalf("go list: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(output)), "config", "crd", "standard",
		"gateway.networking*.yaml"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no definitions of custom resources (%v)", err)
	}
	texts := make([]string, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		texts[i] = string(text)
	}
	return texts
}

// start starts Sluice.
func (w *world) start(tb testing.TB) {
	tb.Helper()
	w.sluice = harness.Start(tb, harness.Setup{Static: static, NotReady: true, Vars: map[string]string{
		"ENDPOINT": w.Endpoint, "CA": w.CAFile, "TOKEN": w.Token,
	}})
}

func namespaceManifest(name string) string {
	return "{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}"
}

func serviceManifest(namespace, name string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {namespace: %s, name: %s},
		spec: {clusterIP: None, ports: [{name: http, port: 80}]}}`, namespace, name)
}

// writeSlice writes the EndpointSlice of a Service, whose endpoints are ready.
func (w *world) writeSlice(tb testing.TB, namespace, service string, addresses ...string) {
	tb.Helper()
	var endpoints []string
	for _, address := range addresses {
		endpoints = append(endpoints, fmt.Sprintf("{addresses: [%q], conditions: {ready: true, serving: true}}", address))
	}
	w.Apply(fmt.Sprintf(`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4,
		metadata: {namespace: %s, name: %s-x7k2p, labels: {%s: %s, %s: bench.sluice.dev}},
		ports: [{name: http, port: %d, protocol: TCP}], endpoints: [%s]}`, namespace, service,
		discoveryv1.LabelServiceName, service, discoveryv1.LabelManagedBy, endpointPort, strings.Join(endpoints, ", ")))
}

// gateway creates a Gateway that all namespaces may use, and returns the address of its listener.
func (w *world) gateway(tb testing.TB, name string) string {
	tb.Helper()
	w.Apply(fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway,
		metadata: {namespace: %s, name: %s}, spec: {gatewayClassName: sluice,
		allowedListeners: {namespaces: {from: All}},
		listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}}`, home, name))
	ready := w.Until("Gateway.gateway.networking.k8s.io", home+"/"+name, "programmed",
		func(object *unstructured.Unstructured) bool { return cluster.Condition(object, "Programmed") == "True" })
	return net.JoinHostPort(addressOf(tb, ready), "80")
}

// addressOf returns the address in the status of a Gateway.
func addressOf(tb testing.TB, gateway *unstructured.Unstructured) string {
	tb.Helper()
	addresses, _, _ := unstructured.NestedSlice(gateway.Object, "status", "addresses")
	if len(addresses) > 0 {
		if first, is := addresses[0].(map[string]any); is {
			return fmt.Sprint(first["value"])
		}
	}
	tb.Fatalf("%s has no address", gateway.GetName())
	return ""
}

func resource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: name}
}

// routes returns the client of the HTTPRoutes of a namespace.
func (w *world) routes(namespace string) dynamic.ResourceInterface {
	return w.Dynamic.Resource(resource("httproutes")).Namespace(namespace)
}

// parent is a parentRef.
type parent struct{ kind, namespace, name string }

// route returns an HTTPRoute to the Service of the colour's name in its namespace, or in home.
func route(namespace, name, host string, of parent, c colour) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"parentRefs": []any{map[string]any{
				"group": "gateway.networking.k8s.io", "kind": of.kind, "namespace": of.namespace, "name": of.name,
			}},
			"hostnames": []any{host},
			"rules":     rules(c),
		},
	}}
}

// rules returns the rule of a route: a backend, and the filter that names it.
func rules(c colour) []any {
	return []any{map[string]any{
		"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
		"backendRefs": []any{map[string]any{"name": c.String(), "port": int64(80)}},
		"filters": []any{map[string]any{
			"type": "ResponseHeaderModifier", "responseHeaderModifier": map[string]any{
				"set": []any{map[string]any{"name": filterField, "value": c.String()}},
			},
		}},
	}}
}

// create writes an HTTPRoute.
func (w *world) create(ctx context.Context, object *unstructured.Unstructured) error {
	_, err := w.routes(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{})
	return err
}

// remove removes all HTTPRoutes of a namespace.
func (w *world) remove(tb testing.TB, namespace string) {
	tb.Helper()
	if err := w.routes(namespace).DeleteCollection(tb.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{}); err != nil {
		tb.Fatal(err)
	}
}

// each does something for all numbers below a limit, for as many at a time as there are hands.
func each(tb testing.TB, limit int, act func(context.Context, int) error) {
	tb.Helper()
	var running sync.WaitGroup
	failed := make(chan error, hands)
	for hand := range hands {
		running.Go(func() {
			for i := hand; i < limit; i += hands {
				if err := act(tb.Context(), i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	running.Wait()
	close(failed)
	for err := range failed {
		tb.Fatal(err)
	}
}
