package gateway

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// manifestsOf returns the manifests of all goldens, one by one.
func manifestsOf(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.Split(content, []byte("\n---\n"))...)
	}
	return all
}

func common(t testing.TB) []byte {
	t.Helper()
	content, err := os.ReadFile("testdata/common.txt")
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// removers remove one object of a kind each.
func (c *fakeCluster) removers() []func(*rand.Rand) {
	return []func(*rand.Rand){
		remover(c.classes), remover(c.gateways), remover(c.listenerSets), remover(c.httpRoutes), remover(c.grpcRoutes),
		remover(c.tlsRoutes), remover(c.tcpRoutes), remover(c.udpRoutes), remover(c.grants), remover(c.policies),
		remover(c.namespaces), remover(c.services), remover(c.secrets), remover(c.configMaps),
	}
}

func remover[T client.Object](of *fakeWatch[T]) func(*rand.Rand) {
	return func(random *rand.Rand) {
		var names []types.NamespacedName
		for object := range of.All() {
			names = append(names, nameOf(object))
		}
		if len(names) > 0 {
			of.drop(names[random.IntN(len(names))])
		}
	}
}

// TestEditsEqualScratch proves that a provider that follows edits has what one has that begins with their result.
func TestEditsEqualScratch(t *testing.T) {
	manifests := manifestsOf(t)
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			c := newCluster()
			c.generation = 1
			c.apply(t, common(t))
			options := static.KubernetesGateway{ExperimentalChannel: true}
			p := c.provider(options)
			removers := c.removers()
			for step := range 60 {
				for range 1 + random.IntN(3) {
					switch random.IntN(5) {
					case 0:
						removers[random.IntN(len(removers))](random)
					case 1:
						c.apply(t, common(t)) // With other certificates.
					default:
						c.apply(t, manifests[random.IntN(len(manifests))])
					}
				}
				configuration := served(p)
				scratch := c.provider(options)
				other := served(scratch)
				if diff := gocmp.Diff(string(shown(t, other, scratch)), string(shown(t, configuration, p))); diff != "" {
					t.Fatalf("step %d (-scratch +edited):\n%s", step, diff)
				}
			}
		})
	}
}

// builds counts translations by kind.
type builds map[string]int

func (b builds) CountProvider(what, _, kind string, n int) {
	if what == translation.Builds {
		b[strings.TrimSuffix(kind, "."+gatewayv1.GroupName)] += n
	}
}

// TestOneEditIsOneTranslation proves that an edit of a route translates that route alone, an edit of the addresses of a
// Gateway's status that Gateway alone, and another edit of a status nothing.
func TestOneEditIsOneTranslation(t *testing.T) {
	c := newCluster()
	c.apply(t, common(t))
	http, err := os.ReadFile("testdata/http.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.apply(t, http)
	counted := builds{}
	p := c.counted(static.KubernetesGateway{}, counted)
	route, _ := c.httpRoutes.Get("shop", "web")
	for i := range 1000 {
		other := route.DeepCopy()
		other.Name = fmt.Sprintf("web-%d", i)
		c.httpRoutes.put(other)
	}
	p.update()
	clear(counted)
	edited := route.DeepCopy()
	edited.Generation++
	edited.Spec.Rules = edited.Spec.Rules[:1]
	c.httpRoutes.put(edited)
	if _, changed := p.update(); !changed || len(counted) != 1 || counted[kindHTTPRoute] != 1 {
		t.Errorf("an edit of a route changes something: %t, and translates %v", changed, counted)
	}
	clear(counted)
	gateway, _ := c.gateways.Get("shop", "main")
	reported := gateway.DeepCopy()
	reported.Status.Conditions = []metav1.Condition{{Type: "Programmed", Status: metav1.ConditionTrue}}
	reported.Status.Listeners = []gatewayv1.ListenerStatus{{Name: "http", AttachedRoutes: 3}}
	c.gateways.put(reported)
	p.update()
	if len(counted) != 0 {
		t.Errorf("an edit of a status translates %v", counted)
	}
	reported = reported.DeepCopy()
	reported.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: "192.0.2.1"}}
	c.gateways.put(reported)
	if _, changed := p.update(); changed || len(counted) != 1 || counted[kindGateway] != 1 {
		t.Errorf("addresses in a status change something: %t, and translate %v", changed, counted)
	}
	statuses := p.statuses.desired
	for key, desired := range statuses {
		if key.Kind == kindGateway && desired.Gateway.Listeners[0].AttachedRoutes != 1002 {
			t.Errorf("%d routes are attached, want 1002", desired.Gateway.Listeners[0].AttachedRoutes)
		}
	}
}

// FuzzHTTPRoute proves that no HTTPRoute keeps others from being translated, and that it always gets a status.
func FuzzHTTPRoute(f *testing.F) {
	for _, manifest := range manifestsOf(f) {
		f.Add(manifest)
	}
	f.Fuzz(func(t *testing.T, manifest []byte) {
		route := &gatewayv1.HTTPRoute{}
		if len(manifest) > 1<<14 || yaml.Unmarshal(manifest, route) != nil {
			return
		}
		c := newCluster()
		c.apply(t, common(t))
		c.gateways.put(clienttest.Parse[gatewayv1.Gateway](t, []byte(`{metadata: {name: main, namespace: shop}, spec: {
			gatewayClassName: sluice, listeners: [{name: http, port: 80, protocol: HTTP}]}}`)))
		p := c.provider(static.KubernetesGateway{ExperimentalChannel: true})
		route.Namespace, route.Name = "shop", "fuzzed"
		if len(route.Spec.ParentRefs) == 0 {
			route.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "main"}}
		}
		c.httpRoutes.put(route)
		configuration, _ := p.update()
		for name, router := range configuration.HTTP.Routers.All() {
			if err := router.Match.Validate(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, found := configuration.HTTP.Services.Find(router.Service); !found {
				t.Errorf("%s leads to %q, which is not declared", name, router.Service)
			}
		}
	})
}
