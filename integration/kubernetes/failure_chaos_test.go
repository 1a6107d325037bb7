package kubernetes

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// What is edited at random, for so long. Every Service has room for two EndpointSlices.
const (
	wildTime     = 12 * time.Second
	wildRoutes   = 12
	wildServices = 8
	wildPods     = 6
)

// wild edits objects of the namespace wild at random. It records only which of them there are.
type wild struct {
	t         testing.TB
	c         *cluster.Cluster
	random    *rand.Rand
	there     map[string]bool
	addresses []string
}

// randomEdits edits routes, Services, EndpointSlices and a Deployment at random beside a host under load, and compares
// Sluice's final responses with the objects of the cluster.
func randomEdits(t *testing.T, c *cluster.Cluster) {
	c.Apply(namespace("wild"), polite("wild/calm"), polite("wild/crew"))
	c.Scale("wild/calm", wildPods)
	g := open(t, c, static)
	g.serves("calm.test")
	g.serves("crew.test")
	l := press(t, g, "calm.test")
	seed := rand.Uint64()
	w := &wild{
		t: t, c: c, random: rand.New(rand.NewPCG(seed, 0)), there: map[string]bool{}, addresses: c.Endpoints("wild/calm",
			wildPods), //nolint:gosec // Nothing secret.
	}
	over := time.NewTimer(wildTime)
	defer over.Stop()
	count := 0
	for done := false; !done; count++ {
		w.edit()
		select {
		case <-over.C:
			done = true
		default:
		}
	}
	t.Logf("%d edits, by seed %d", count, seed)
	c.Deployed("wild/crew")
	crew, err := c.Kubernetes.AppsV1().Deployments("wild").Get(t.Context(), "crew", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Endpoints("wild/crew", int(*crew.Spec.Replicas)) // The EndpointSlice follows the pods a moment later.
	m := read(t, c)
	kinds := map[string]int{}
	for i := range wildRoutes {
		want := m.answers(fmt.Sprintf("wild-%d", i))
		g.answers(wildHost(i), want)
		kinds[want[0][:3]]++
	}
	t.Logf("hosts by their status: %v", kinds)
	g.answers("crew.test", m.answers("crew"))
	l.spread(wildPods)
	l.end()
}

func wildHost(i int) string { return fmt.Sprintf("wild-%d.test", i) }

// edit changes one thing.
func (w *wild) edit() {
	w.t.Helper()
	service := fmt.Sprintf("wild-%d", w.random.IntN(wildServices))
	slice := fmt.Sprintf("%s-%d", service, w.random.IntN(2))
	number := w.random.IntN(wildRoutes)
	path := fmt.Sprintf("wild/wild-%d", number)
	switch w.random.IntN(10) {
	case 0, 1:
		w.apply("IngressRoute.traefik.io", path, route("traefik.io", path, wildHost(number), "[{name: "+service+
			", port: 80}]"))
	case 2:
		w.remove("IngressRoute.traefik.io", path)
	case 3:
		w.apply("Service", "wild/"+service, fmt.Sprintf(
			"{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: wild}, spec: {clusterIP: None, ports: [{name: "+
				"http, port: 80}]}}", service))
	case 4:
		if w.random.IntN(3) == 0 {
			w.remove("Service", "wild/"+service)
		}
	case 5, 6, 7:
		w.apply("EndpointSlice.discovery.k8s.io", "wild/"+slice, w.slice(service, slice))
	case 8:
		w.remove("EndpointSlice.discovery.k8s.io", "wild/"+slice)
	case 9:
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, w.random.IntN(4))
		if _, err := w.c.Kubernetes.AppsV1().Deployments("wild").Patch(
			w.t.Context(), "crew", types.MergePatchType, patch, metav1.PatchOptions{}, "scale"); err != nil {
			w.t.Fatal(err)
		}
	}
}

// slice is an EndpointSlice of some of the pods, some of which are not ready.
func (w *wild) slice(service, name string) string {
	var endpoints []string
	for _, address := range w.addresses {
		switch w.random.IntN(4) {
		case 0:
			endpoints = append(endpoints, "{addresses: [\""+address+"\"], conditions: {ready: true}}")
		case 1:
			endpoints = append(endpoints, "{addresses: [\""+address+"\"], conditions: {ready: false}}")
		case 2:
			endpoints = append(endpoints, "{addresses: [\""+address+"\"]}")
		}
	}
	return fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %s, namespace: wild, labels: {kubernetes.io/service-name: %s}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [%s]
`, name, service, strings.Join(endpoints, ", "))
}

func (w *wild) apply(kind, path, manifest string) {
	w.t.Helper()
	w.c.Apply(manifest)
	w.there[kind+path] = true
}

func (w *wild) remove(kind, path string) {
	w.t.Helper()
	if w.there[kind+path] {
		w.c.DeleteNow(kind, path)
		delete(w.there, kind+path)
	}
}

// model is the expected behaviour by the objects of the namespace wild.
type model struct {
	services  map[string]string          // of each route
	known     map[string]bool            // the Services
	endpoints map[string]map[string]bool // of each Service
}

// read reads the cluster.
func read(t *testing.T, c *cluster.Cluster) model {
	t.Helper()
	m := model{services: map[string]string{}, known: map[string]bool{}, endpoints: map[string]map[string]bool{}}
	every := func([]*unstructured.Unstructured) bool { return true }
	for _, object := range c.UntilAll("IngressRoute.traefik.io", "wild", "listed", every) {
		routes, _, _ := unstructured.NestedSlice(object.Object, "spec", "routes")
		references, _, _ := unstructured.NestedSlice(routes[0].(map[string]any), "services")
		m.services[object.GetName()] = fmt.Sprint(references[0].(map[string]any)["name"])
	}
	for _, object := range c.UntilAll("Service", "wild", "listed", every) {
		m.known[object.GetName()] = true
	}
	names := map[string]string{}
	for _, object := range c.UntilAll("Pod", "wild", "listed", every) {
		address, _, _ := unstructured.NestedString(object.Object, "status", "podIP")
		names[address] = "200 wild/" + object.GetName()
	}
	list, err := c.Kubernetes.DiscoveryV1().EndpointSlices("wild").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, slice := range list.Items {
		m.add(slice, names)
	}
	return m
}

// add adds the endpoints of a slice that are ready, or whose readiness is unknown.
func (m model) add(slice discoveryv1.EndpointSlice, names map[string]string) {
	service := slice.Labels[discoveryv1.LabelServiceName]
	for _, endpoint := range slice.Endpoints {
		if slice.AddressType != discoveryv1.AddressTypeIPv4 || endpoint.Conditions.Ready != nil &&
			!*endpoint.Conditions.Ready {
			continue
		}
		if m.endpoints[service] == nil {
			m.endpoints[service] = map[string]bool{}
		}
		m.endpoints[service][names[endpoint.Addresses[0]]] = true
	}
}

// answers are all that a route is answered with, in order.
func (m model) answers(route string) []string {
	service, known := m.services[route]
	if !known {
		return []string{"404"}
	}
	pods := slices.Sorted(maps.Keys(m.endpoints[service]))
	if !m.known[service] || len(pods) == 0 {
		return []string{"503"}
	}
	return pods
}

// answers repeats requests for a host until all responses are as wanted.
func (g *gate) answers(host string, want []string) {
	g.t.Helper()
	var got []string
	until(g.t, func() bool {
		got = nil
		for range 2*len(want) + 1 {
			got = append(got, g.ask(host+"/"))
		}
		slices.Sort(got)
		got = slices.Compact(got)
		return slices.Equal(got, want)
	}, func() string { return fmt.Sprintf("%s is answered by %v, want %v", host, got, want) })
}
