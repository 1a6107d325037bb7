package gateway

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
	"sigs.k8s.io/gateway-api/pkg/consts"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// fakeWatch is a watch that a test feeds.
type fakeWatch[T client.Object] struct{ *clienttest.Watch[T] }

func newWatch[T client.Object]() *fakeWatch[T] { return &fakeWatch[T]{clienttest.NewWatch[T]()} }

func (w *fakeWatch[T]) put(object T) { w.Put(object) }

func (w *fakeWatch[T]) drop(name types.NamespacedName) { w.Drop(name.Namespace, name.Name) }

// fakeCluster is a cluster that a test feeds.
type fakeCluster struct {
	classes      *fakeWatch[*gatewayv1.GatewayClass]
	gateways     *fakeWatch[*gatewayv1.Gateway]
	listenerSets *fakeWatch[*gatewayv1.ListenerSet]
	httpRoutes   *fakeWatch[*gatewayv1.HTTPRoute]
	grpcRoutes   *fakeWatch[*gatewayv1.GRPCRoute]
	tlsRoutes    *fakeWatch[*gatewayv1.TLSRoute]
	tcpRoutes    *fakeWatch[*gatewayv1.TCPRoute]
	udpRoutes    *fakeWatch[*gatewayv1.UDPRoute]
	grants       *fakeWatch[*gatewayv1beta1.ReferenceGrant]
	policies     *fakeWatch[*gatewayv1.BackendTLSPolicy]
	namespaces   *fakeWatch[*corev1.Namespace]
	services     *fakeWatch[*corev1.Service]
	secrets      *fakeWatch[*corev1.Secret]
	configMaps   *fakeWatch[*corev1.ConfigMap]
	definitions  *fakeWatch[*metav1.PartialObjectMetadata]
	extensions   fakeExtensions
	// generation is that of the next object, where it is not 0: an edit of a specification changes it.
	generation int64
}

func newCluster() *fakeCluster {
	c := &fakeCluster{
		newWatch[*gatewayv1.GatewayClass](), newWatch[*gatewayv1.Gateway](), newWatch[*gatewayv1.ListenerSet](),
		newWatch[*gatewayv1.HTTPRoute](), newWatch[*gatewayv1.GRPCRoute](), newWatch[*gatewayv1.TLSRoute](),
		newWatch[*gatewayv1.TCPRoute](), newWatch[*gatewayv1.UDPRoute](), newWatch[*gatewayv1beta1.ReferenceGrant](),
		newWatch[*gatewayv1.BackendTLSPolicy](), newWatch[*corev1.Namespace](), newWatch[*corev1.Service](),
		newWatch[*corev1.Secret](), newWatch[*corev1.ConfigMap](), newWatch[*metav1.PartialObjectMetadata](),
		fakeExtensions{known: map[string]bool{
			"sluice.dev Middleware shop/auth":       true,
			"traefik.io TraefikService shop/canary": true,
		}},
		0,
	}
	c.define(consts.BundleVersion)
	return c
}

// define installs the CRDs of a version of the Gateway API; an empty one is not said.
func (c *fakeCluster) define(version string) {
	definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: client.GatewayDefinition}}
	if version != "" {
		definition.Annotations = map[string]string{consts.BundleVersionAnnotation: version}
	}
	c.definitions.put(definition)
}

// provider returns the provider of the cluster as New would make it, which knows the objects that are there.
func (c *fakeCluster) provider(options static.KubernetesGateway) *Provider {
	return c.counted(options, nil)
}

func (c *fakeCluster) counted(options static.KubernetesGateway, counters translation.Counters) *Provider {
	options.ControllerName = static.DefaultGatewayController
	p := assemble("kubernetes", options, c.watches(), fakeExposure{}, counters)
	p.Extend(&c.extensions)
	return p
}

// watches returns all watches of the cluster.
func (c *fakeCluster) watches() watches {
	return watches{
		c.classes, c.gateways, c.listenerSets, c.httpRoutes, c.grpcRoutes, c.tlsRoutes, c.tcpRoutes, c.udpRoutes, c.grants,
		c.policies, c.namespaces, c.services, c.secrets, c.configMaps, c.definitions,
	}
}

// fakeExtensions are custom resources, as GROUP KIND NAMESPACE/NAME.
type fakeExtensions struct {
	known   map[string]bool
	changed []func(kind, namespace, name string)
}

func (e *fakeExtensions) Extension(group, kind, namespace, name string) (string, bool) {
	return namespace + "-" + name + "@kubernetescrd", e.known[group+" "+kind+" "+namespace+"/"+name]
}

func (e *fakeExtensions) Follow(changed func(kind, namespace, name string)) {
	e.changed = append(e.changed, changed)
}

func (*fakeExtensions) Pending() (bool, string) { return false, "" }

// put makes a custom resource exist, or not.
func (e *fakeExtensions) put(group, kind, namespace, name string, exists bool) {
	e.known[group+" "+kind+" "+namespace+"/"+name] = exists
	for _, changed := range e.changed {
		changed(kind, namespace, name)
	}
}

// served translates what has changed, makes it active, and returns it.
func served(p *Provider) *dynamic.Configuration {
	configuration, _ := p.update()
	p.Activated(configuration, nil)
	configuration, _ = p.update()
	return configuration
}

// fakeExposure binds the ports of each Gateway to an address of its own.
type fakeExposure struct{}

func (fakeExposure) Expose(gateway *gatewayv1.Gateway, ports []Port) Exposed {
	kind := gatewayv1.IPAddressType
	exposed := Exposed{
		Bindings:  map[Port]Binding{},
		Addresses: []gatewayv1.GatewayStatusAddress{{Type: &kind, Value: "192.0.2.1"}},
	}
	for _, address := range gateway.Spec.Addresses {
		if address.Type != nil && *address.Type != gatewayv1.IPAddressType {
			exposed.Refusal = &Refusal{string(gatewayv1.GatewayReasonUnsupportedAddress), "only IP addresses are supported"}
		}
	}
	for _, port := range ports {
		exposed.Bindings[port] = Binding{Address: fmt.Sprintf("192.0.2.1:%d", port.Number)}
	}
	return exposed
}

func (fakeExposure) Withdraw(types.NamespacedName) {}

func (fakeExposure) Notify(func(types.NamespacedName)) {}

// apply puts manifests into the cluster. Those of Secrets with the key generate get a certificate.
func (c *fakeCluster) apply(t testing.TB, manifests []byte) {
	t.Helper()
	for _, manifest := range bytes.Split(manifests, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(manifest, &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case kindClass:
			c.classes.put(edited(c, clienttest.Parse[gatewayv1.GatewayClass](t, manifest)))
		case kindGateway:
			c.gateways.put(edited(c, clienttest.Parse[gatewayv1.Gateway](t, manifest)))
		case kindListenerSet:
			c.listenerSets.put(edited(c, clienttest.Parse[gatewayv1.ListenerSet](t, manifest)))
		case kindHTTPRoute:
			c.httpRoutes.put(edited(c, clienttest.Parse[gatewayv1.HTTPRoute](t, manifest)))
		case kindGRPCRoute:
			c.grpcRoutes.put(edited(c, clienttest.Parse[gatewayv1.GRPCRoute](t, manifest)))
		case kindTLSRoute:
			c.tlsRoutes.put(edited(c, clienttest.Parse[gatewayv1.TLSRoute](t, manifest)))
		case kindTCPRoute:
			c.tcpRoutes.put(edited(c, clienttest.Parse[gatewayv1.TCPRoute](t, manifest)))
		case kindUDPRoute:
			c.udpRoutes.put(edited(c, clienttest.Parse[gatewayv1.UDPRoute](t, manifest)))
		case kindGrant:
			c.grants.put(clienttest.Parse[gatewayv1beta1.ReferenceGrant](t, manifest))
		case kindPolicy:
			c.policies.put(edited(c, clienttest.Parse[gatewayv1.BackendTLSPolicy](t, manifest)))
		case "Namespace":
			c.namespaces.put(clienttest.Parse[corev1.Namespace](t, manifest))
		case "Service":
			c.services.put(clienttest.Parse[corev1.Service](t, manifest))
		case "ConfigMap":
			config := clienttest.Parse[corev1.ConfigMap](t, manifest)
			if config.Data["generate"] != "" {
				certificate, _ := generated(t)
				config.Data = map[string]string{"ca.crt": string(certificate)}
			}
			c.configMaps.put(config)
		case "Secret":
			secret := clienttest.Parse[corev1.Secret](t, manifest)
			if secret.StringData["generate"] != "" {
				certificate, key := generated(t)
				secret.Data = map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}
			}
			c.secrets.put(secret)
		default:
			t.Fatalf("a manifest has the kind %q:\n%s", kind.Kind, manifest)
		}
	}
}

// edited gives an object its generation.
func edited[T client.Object](c *fakeCluster, object T) T {
	if c.generation > 0 {
		object.SetGeneration(c.generation)
		c.generation++
	}
	return object
}

// generated returns a certificate and its key as PEM.
func generated(t testing.TB) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"example.org"}, IsCA: true, BasicConstraintsValid: true,
	}
	made, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}
