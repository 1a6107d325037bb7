package kubernetes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/provider/kubernetes/manifest"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// world is what manifests mean to all providers of a cluster together.
type world struct {
	state *pipeline.State
	table *router.Table
	// statuses are those of the objects of the Gateway API.
	statuses map[status.Key]*status.Desired
}

// worldOf translates manifests and compiles what they mean, with an entrypoint for HTTP and one for HTTPS. A field that
// a kind does not have is a failure.
func worldOf(t *testing.T, ingress static.KubernetesIngress, manifests ...string) *world {
	t.Helper()
	objects, faults := manifest.Read("manifests.yaml", []byte(strings.Join(manifests, "\n---\n")))
	for _, fault := range faults {
		t.Error(fault)
	}
	all, err := New(Options{
		CRD: &static.KubernetesCRD{}, Ingress: &ingress,
		Gateway:   &static.KubernetesGateway{ControllerName: static.DefaultGatewayController},
		Manifests: manifest.NewServer(objects), Metrics: metrics.New(metrics.Options{}), Logger: telemetry.Discard{},
	})
	if err != nil {
		t.Fatal(err)
	}
	entrypoints := []router.EntryPoint{
		{Name: "web", Port: 80, Default: true},
		{Name: "websecure", Port: 443, Default: true, TLS: &dynamic.RouterTLS{}},
	}
	target := router.NewActiveTable(entrypoints)
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	transport := &dynamic.ServersTransport{}
	transport.SetDefaults()
	compiler := router.NewCompiler(router.Options{
		EntryPoints: entrypoints, Registry: registry, Transport: transport, Tickets: certificate.NewTickets(),
	}, target)
	line := pipeline.New(pipeline.Options{
		Source: provider.NewHub(all.Entries(), telemetry.Discard{}), Compiler: compiler, Endpoints: registry,
		Logger: telemetry.Discard{},
	})
	var watching sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	watching.Go(func() { all.Watch(ctx) })
	state, err := line.Once(ctx, time.Minute)
	cancel()
	watching.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range state.Providers {
		if one.State != dynamic.StateSynced && one.State != dynamic.StateAbsent {
			t.Errorf("provider %s: %s, %s", name, one.State, one.Reason)
		}
	}
	made := &world{state, target.Table(), map[status.Key]*status.Desired{}}
	statuses, _ := all.order[0].gateways.Statuses().Take()
	for _, desired := range statuses {
		made.statuses[desired.Key] = desired
	}
	return made
}

// routes returns how many routes of the Gateway API there are, each of which must be accepted by every parent, with all
// references resolved.
func (w *world) routes(t *testing.T) (found int) {
	t.Helper()
	for key, desired := range w.statuses {
		if !strings.HasSuffix(string(key.Kind), "Route") {
			continue
		}
		if found++; len(desired.Parents) == 0 {
			t.Errorf("%s %s has no parent", key.Kind, key)
		}
		for i := range desired.Parents {
			for _, kind := range []gatewayv1.RouteConditionType{
				gatewayv1.RouteConditionAccepted, gatewayv1.RouteConditionResolvedRefs,
			} {
				if one := conditionOf(desired.Parents[i].Conditions, string(kind)); one.Status != metav1.ConditionTrue {
					t.Errorf("%s %s: %s is %q: %s, %s", key.Kind, key, kind, one.Status, one.Reason, one.Message)
				}
			}
		}
	}
	return found
}

// sound fails for each verdict that says that something does not work.
func (w *world) sound(t *testing.T) {
	t.Helper()
	for _, verdict := range w.state.Verdicts {
		if verdict.Status < dynamic.Retained {
			continue // It works, such as without a certificate for the host.
		}
		t.Errorf("%s: %s", verdict.Status, verdict)
	}
}

func conditionOf(conditions []metav1.Condition, kind string) metav1.Condition {
	at := slices.IndexFunc(conditions, func(one metav1.Condition) bool { return one.Type == kind })
	if at < 0 {
		return metav1.Condition{}
	}
	return conditions[at]
}

// answer returns what answers a request: the backends with their shares, behind the middlewares of the router if there
// are any, or the reason why there is none. Without an entrypoint, the one that fits the URL is asked, which may be a
// listener.
func (w *world) answer(t *testing.T, entrypoint, url string, header map[string][]string) string {
	t.Helper()
	answer, err := w.table.Explain(router.Question{Method: "GET", URL: url, EntryPoint: entrypoint, Header: header})
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	switch {
	case answer.Router == nil:
		return answer.Reason
	case answer.Location != "":
		return fmt.Sprint(answer.Status, " ", answer.Location)
	}
	declared, found := w.state.Configuration.HTTP.Routers.Find(answer.Router.Name)
	if !found {
		t.Fatalf("%s: router %s is not declared", url, answer.Router.Name)
	}
	_, of, _ := strings.Cut(answer.Router.Name, "@")
	said := w.backends(t, declared.Service, of)
	slices.Sort(said)
	if len(answer.Middlewares) > 0 {
		said = append([]string{strings.Join(answer.Middlewares, " ") + ":"}, said...)
	}
	return strings.Join(said, " ")
}

// backends returns the backends of a service, each with its share where there are several: NAMESPACE/NAME/PORT, or the
// status of an answer by Sluice itself.
func (w *world) backends(t *testing.T, name, of string) []string {
	t.Helper()
	if !strings.Contains(name, "@") {
		name += "@" + of
	}
	service, found := w.state.Configuration.HTTP.Services.Find(name)
	switch {
	case !found:
		t.Errorf("service %s is not declared", name)
		return nil
	case service.DirectResponse != nil:
		return []string{fmt.Sprint(service.DirectResponse.Status)}
	case service.Weighted != nil:
		var all []string
		for _, branch := range service.Weighted.Services {
			for _, one := range w.backends(t, branch.Name, of) {
				all = append(all, fmt.Sprintf("%s*%d", one, *branch.Weight))
			}
		}
		return all
	case service.LoadBalancer == nil:
		t.Errorf("service %s is of another kind", name)
		return nil
	}
	return []string{strings.TrimPrefix(service.LoadBalancer.EndpointSet, source+"/")}
}

// secretFor returns the manifest of a Secret with a certificate for hosts.
func secretFor(t *testing.T, namespace, name string, hosts ...string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
	}
	made, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// serviceFor returns the manifest of a Service with ports.
func serviceFor(namespace, name string, ports ...int) string {
	var all []string
	for _, port := range ports {
		all = append(all, fmt.Sprintf("{port: %d, name: p%d}", port, port))
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: %s}\n"+
		"spec: {clusterIP: 10.0.0.1, ports: [%s]}\n", name, namespace, strings.Join(all, ", "))
}
