package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/nginx/population"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

const (
	// static is what most tests start Sluice with.
	static = `
entryPoints: {web: {address: "127.0.0.1:0"}, websecure: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
api: {insecure: true}
providers: {kubernetesIngressNGINX: {httpEntryPoint: web, httpsEntryPoint: websecure}}
`
	// account is the ServiceAccount of deploy/kubernetes.
	account = "sluice/sluice"
	// home is the namespace of most objects.
	home = "shop"
	// prefix is that of annotations.
	prefix = population.Prefix
	// timeout bounds every wait.
	timeout = 2 * time.Minute
)

// world is a cluster with the class nginx, the rights of deploy/kubernetes, and endpoints.
type world struct {
	*cluster.Cluster

	t        testing.TB
	backends *population.Backends
}

// prepare starts a cluster with a namespace of some Services. The address of each is its number in 198.18.200.0/24, and
// its name is its endpoint's.
func prepare(t testing.TB, services ...string) *world {
	t.Helper()
	w := &world{Cluster: cluster.Start(t), t: t, backends: population.StartBackends(t)}
	for _, name := range []string{"base/namespace", "base/serviceaccount", "base/role", "rbac"} {
		text, err := os.ReadFile(filepath.Join("../../../deploy/kubernetes", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		w.Apply(string(text))
	}
	w.Apply("{apiVersion: v1, kind: Namespace, metadata: {name: "+home+"}}",
		class(population.Class, "k8s.io/ingress-nginx"))
	for i, name := range services {
		w.service(name, fmt.Sprintf("198.18.200.%d", i+1))
	}
	return w
}

// on returns the same world for a subtest.
func (w *world) on(t testing.TB) *world { return &world{w.For(t), t, w.backends} }

// class is the manifest of an IngressClass.
func class(name, controller string) string {
	return fmt.Sprintf("{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: %s}, "+
		"spec: {controller: %s}}", name, controller)
}

// service creates a Service of the port 80 with an endpoint of the same name.
func (w *world) service(name, address string) {
	w.t.Helper()
	w.serviceOf(name, address, name)
}

// serviceOf creates a Service of the port 80 with an endpoint of a name.
func (w *world) serviceOf(name, address, endpoint string) {
	w.t.Helper()
	w.backends.Name(address, endpoint)
	service, slice := population.WithEndpoints(home, name, address)
	if _, err := w.Kubernetes.CoreV1().Services(home).Create(w.t.Context(), service, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.Kubernetes.DiscoveryV1().EndpointSlices(home).Create(w.t.Context(), slice,
		metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// notes are annotations without their prefix.
type notes map[string]string

// ingress returns an Ingress of the class nginx that leads from / of a host to a Service.
func ingress(name, host, service string, annotations notes) *networkingv1.Ingress {
	return ingressAt(name, host, "/", networkingv1.PathTypePrefix, service, annotations)
}

func ingressAt(name, host, path string, kind networkingv1.PathType, service string, annotations notes,
) *networkingv1.Ingress {
	class := population.Class
	object := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name, Annotations: map[string]string{}},
		Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{{
			Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{
					Path: path, PathType: &kind, Backend: networkingv1.IngressBackend{
						Service: &networkingv1.IngressServiceBackend{
							Name: service, Port: networkingv1.ServiceBackendPort{Number: 80},
						},
					},
				}},
			}},
		}}},
	}
	for key, value := range annotations {
		object.Annotations[prefix+key] = value
	}
	return object
}

// put creates Ingresses, or replaces those that exist.
func (w *world) put(all ...*networkingv1.Ingress) {
	w.t.Helper()
	for _, object := range all {
		if err := w.tryPut(w.t.Context(), object); err != nil {
			w.t.Fatalf("Ingress %s: %.500v", object.Name, err)
		}
	}
}

func (w *world) tryPut(ctx context.Context, object *networkingv1.Ingress) error {
	client := w.Kubernetes.NetworkingV1().Ingresses(object.Namespace)
	_, err := client.Update(ctx, object, metav1.UpdateOptions{})
	if err != nil {
		_, err = client.Create(ctx, object, metav1.CreateOptions{})
	}
	return err
}

// gate is a Sluice that reads a cluster, seen by its clients.
type gate struct {
	*harness.Sluice

	t           testing.TB
	web, secure *harness.Client
}

// open starts Sluice as the ServiceAccount of deploy/kubernetes and waits until it is ready. The arguments are added to
// the static configuration.
func open(w *world, static string, args ...string) *gate {
	w.t.Helper()
	s := harness.Start(w.t, harness.Setup{
		Static: static, Args: args,
		Env: []string{"KUBECONFIG=" + w.AccountKubeconfig(account), "POD_NAMESPACE=sluice"},
	})
	g := &gate{Sluice: s, t: w.t, web: harness.NewClient(w.t, harness.H1, s.Addr("web"), "any.test", nil)}
	if strings.Contains(static, "websecure") {
		g.secure = harness.NewClient(w.t, harness.H1TLS, s.Addr("websecure"), "any.test",
			&tls.Config{InsecureSkipVerify: true}) //nolint:gosec // The certificate is that for unknown names.
	}
	return g
}

// on returns the same gate for a subtest.
func (g *gate) on(t testing.TB) *gate {
	own := *g
	own.t, own.web = t, g.web.For(t)
	if own.secure != nil {
		own.secure = g.secure.For(t)
	}
	return &own
}

// get requests host/path without TLS, with fields "NAME: VALUE".
func (g *gate) get(where string, fields ...string) harness.Response {
	g.t.Helper()
	host, path, _ := strings.Cut(where, "/")
	request := g.web.Request(http.MethodGet, "/"+path, nil)
	request.Host = host
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		request.Header.Set(name, value)
	}
	return g.web.Send(request)
}

// ask returns the status for host/path and the endpoint that has answered: "200 a".
func (g *gate) ask(where string, fields ...string) string {
	g.t.Helper()
	return summary(g.get(where, fields...))
}

func summary(answer harness.Response) string {
	return strings.TrimSpace(strconv.Itoa(answer.StatusCode) + " " + answer.Header.Get(population.FieldBackend))
}

// expect requests host/path once.
func (g *gate) expect(where, want string, fields ...string) {
	g.t.Helper()
	if got := g.ask(where, fields...); got != want {
		g.t.Errorf("%s with %q is answered by %q, want %q", where, fields, got, want)
	}
}

// becomes polls host/path for a result.
func (g *gate) becomes(where, want string, fields ...string) {
	g.t.Helper()
	var got string
	g.until(func() bool { got = g.ask(where, fields...); return got == want }, func() string {
		return where + " is answered by " + strconv.Quote(got) + ", want " + strconv.Quote(want)
	})
}

// until waits until something holds. Otherwise the test fails with the words of what and the end of the log.
func (g *gate) until(holds func() bool, what func() string) {
	g.t.Helper()
	harness.Eventually(g.t, timeout, holds, func() string {
		text := g.Log.String()
		return what() + "; the log ends\n" + text[max(0, len(text)-4000):]
	})
}

// reports waits until a verdict holds all of the words.
func (g *gate) reports(words ...string) harness.Finding {
	g.t.Helper()
	var found harness.Finding
	g.until(func() bool {
		for _, f := range g.Readiness().Verdicts {
			if containsAll(strings.Join([]string{f.Kind, f.Name, f.Status, f.Reason, f.Origin}, " "), words) {
				found = f
				return true
			}
		}
		return false
	}, func() string { return fmt.Sprintf("no verdict holds %q", words) })
	return found
}

func containsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
