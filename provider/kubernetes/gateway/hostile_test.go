package gateway

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/static"
)

// assembled returns the provider of the cluster with an exposure.
func (c *fakeCluster) assembled(exposure Exposure, counted builds) *Provider {
	return assemble("kubernetes", static.KubernetesGateway{ControllerName: static.DefaultGatewayController}, c.watches(),
		exposure, counted)
}

// footprint is what a tenant gets: the fingerprints of objects, answers, and statuses.
type footprint map[string]string

// footprintOf returns that of the tenant good.
func (s *serving) footprintOf(t *testing.T, configuration *dynamic.Configuration) footprint {
	t.Helper()
	found := footprint{}
	for ref, object := range configuration.Objects() {
		if strings.Contains(ref.Name, "good") {
			sum, err := dynamic.Fingerprint(object)
			if err != nil {
				t.Fatal(err)
			}
			found[string(ref.Kind)+" "+ref.Name] = fmt.Sprint(sum)
		}
	}
	for _, entry := range configuration.TLS.Certificates {
		if strings.HasPrefix(entry.Name, "good") {
			found["certificate "+entry.Name] = fmt.Sprint(entry.EntryPoints, len(entry.Certificate.CertFile))
		}
	}
	for i := range 50 {
		for _, url := range []string{
			"http://h%d.good.test/", "http://h%d.good.test/x", "https://h%d.good.test/x", "http://h%d.evil.test/",
		} {
			url = fmt.Sprintf(url, i)
			listener := "good_main_" + url[:strings.Index(url, ":")]
			found[url] = s.answer(t, listener, url)
		}
	}
	for key := range s.statuses.desired {
		if key.Namespace == "good" {
			found["status "+string(key.Kind)+" "+key.String()] = s.conditions(key.Kind, key.Namespace, key.Name, "")
		}
	}
	for _, section := range []string{"http", "https"} {
		found["listener "+section] = s.conditions(status.Gateway, "good", "main", section)
	}
	return found
}

// same fails for each difference of two footprints.
func (f footprint) same(t *testing.T, when string, other footprint) {
	t.Helper()
	for what, value := range f {
		if other[what] != value {
			t.Errorf("%s: %s is %q, and was %q", when, what, other[what], value)
		}
	}
	for what := range other {
		if _, known := f[what]; !known {
			t.Errorf("%s: %s is new", when, what)
		}
	}
}

// sizes are those of what the provider keeps beside the configuration.
func (s *serving) sizes() map[string]int {
	return map[string]int{
		"views": len(s.views), "plans": len(s.plans), "statuses": len(s.statuses.desired), "bases": len(s.statuses.bases),
		"attached": len(s.statuses.attached), "routes": len(s.counts.routes), "uses": len(s.counts.uses),
		"contended": len(s.contention.byRoute), "sets": len(s.sets.of), "grants": len(s.grants.of),
		"policies": len(s.policies.of),
	}
}

// TestHostileTenantsChangeNothingForOthers proves that what a tenant gets is the same beside one whose objects are
// invalid by the thousand, or demand what is not theirs: the same objects, answers and statuses. It proves that the
// statuses of the others say what is wrong, that a grant that comes and goes costs what depends on it, and that nothing
// is kept of objects that are gone.
func TestHostileTenantsChangeNothingForOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		exposure Exposure
		routes   int
		// grabbed is the condition of a listener that is one of the tenant good as well. Where Gateways share an address, a
		// more specific hostname has its listener, whichever Gateway that is of.
		grabbed string
	}{
		"an address for each Gateway": {&ownAddresses{}, 10_000, " Programmed=True:Programmed@0"},
		"one address":                 {fakeExposure{}, 300, " Programmed=False:Invalid@0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, counted := newCluster(), builds{}
			c.apply(t, []byte(strings.TrimSpace(tenants)))
			for i := range 50 {
				c.httpRoutes.put(goodRoute(t, i))
			}
			s := serve(t, c.assembled(test.exposure, counted))
			before, sizes := s.footprintOf(t, s.follow(t)), s.sizes()
			if got := before["https://h1.good.test/x"]; !strings.HasPrefix(got, "good.web,80,http") {
				t.Fatalf("the tenant is answered %q", got)
			}
			s.statuses.Take()
			routes := c.attack(t, test.routes)
			before.same(t, "attacked", s.footprintOf(t, s.follow(t)))
			s.exact(t, routes, test.grabbed)
			changed, _ := s.statuses.Take()
			reported := 0
			for _, want := range routes {
				if want != "none" {
					reported++
				}
			}
			if most := reported + 3; len(changed) > most { // The Gateway and the ListenerSet of evil, and the class.
				t.Errorf("%d statuses are written, want at most %d", len(changed), most)
			}
			s.flip(t, c, counted, before, routes)
			for route := range routes {
				c.httpRoutes.drop(types.NamespacedName{Namespace: "evil", Name: route})
			}
			c.gateways.drop(types.NamespacedName{Namespace: "evil", Name: "main"})
			c.listenerSets.drop(types.NamespacedName{Namespace: "evil", Name: "grab"})
			before.same(t, "alone again", s.footprintOf(t, s.follow(t)))
			if after := s.sizes(); !maps.Equal(after, sizes) {
				t.Errorf("the sizes are %v, and were %v before", after, sizes)
			}
		})
	}
}

// ownAddresses binds each Gateway to an address of its own.
type ownAddresses struct {
	fakeExposure
	known map[types.NamespacedName]int
}

// Expose implements Exposure.
func (o *ownAddresses) Expose(gateway *gatewayv1.Gateway, ports []Port) Exposed {
	exposed := o.fakeExposure.Expose(gateway, ports)
	if o.known == nil {
		o.known = map[types.NamespacedName]int{}
	}
	if o.known[nameOf(gateway)] == 0 {
		o.known[nameOf(gateway)] = len(o.known) + 1
	}
	for port := range exposed.Bindings {
		exposed.Bindings[port] = Binding{Address: fmt.Sprintf("192.0.2.%d:%d", o.known[nameOf(gateway)], port.Number)}
	}
	return exposed
}

// attack puts the objects of the tenant evil into the cluster, and returns the names of its routes with the conditions
// that they must have.
func (c *fakeCluster) attack(t *testing.T, routes int) map[string]string {
	t.Helper()
	for _, secret := range garbage(t) {
		c.secrets.put(secret)
	}
	created := metav1.NewTime(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	c.gateways.put(&gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: "main", CreationTimestamp: created},
		Spec:       gatewayv1.GatewaySpec{GatewayClassName: "sluice", Listeners: grabbing()},
	})
	grab := &gatewayv1.ListenerSet{}
	grab.Namespace, grab.Name, grab.CreationTimestamp = "evil", "grab", created
	grab.Spec.ParentRef = gatewayv1.ParentGatewayReference{Name: "main", Namespace: new(gatewayv1.Namespace("good"))}
	for _, one := range grabbing() {
		grab.Spec.Listeners = append(grab.Spec.Listeners, gatewayv1.ListenerEntry(one))
	}
	c.listenerSets.put(grab)
	kinds, made := invalidRoutes(), map[string]string{}
	for i := range routes {
		kind := kinds[i%len(kinds)]
		spec := strings.ReplaceAll("{parentRefs: ["+kind[0]+"], "+kind[1]+"}", "%d", fmt.Sprint(i))
		route := clienttest.Parse[gatewayv1.HTTPRoute](t, []byte(`{metadata: {namespace: evil}, spec: `+spec+`}`))
		route.Name = fmt.Sprintf("r%d", i)
		c.httpRoutes.put(route)
		made[route.Name] = kind[2]
	}
	return made
}

// exact fails where a status of the tenant evil does not say what is wrong.
func (s *serving) exact(t *testing.T, routes map[string]string, grabbed string) {
	t.Helper()
	wrong := 0
	for name, want := range routes {
		if got := s.conditions(status.HTTPRoute, "evil", name, ""); got != want {
			if wrong++; wrong < 5 {
				t.Errorf("route %s: %q, want %q", name, got, want)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d routes have another status", wrong)
	}
	const resolved, refused = " ResolvedRefs=True:ResolvedRefs@0", " Programmed=False:Invalid@0"
	for i := range 64 {
		want := resolved + grabbed
		switch {
		case i == 0, grabbed != refused:
			want = resolved + " Programmed=True:Programmed@0"
		case i%2 == 0 && i != 32, i%2 == 1 && i != 1: // Other hostnames than those of the listeners of good.
			want = resolved + " Programmed=True:Programmed@0"
		}
		switch {
		case i%6 == 1:
			want = " ResolvedRefs=False:RefNotPermitted@0" + refused
		case i%6 == 3:
			want = " ResolvedRefs=False:InvalidCertificateRef@0" + refused
		}
		section := fmt.Sprintf("l%d", i)
		got := s.conditions(status.Gateway, "evil", "main", section)
		if want = " Accepted=True:Accepted@0 Conflicted=False:NoConflicts@0" + want; !strings.HasPrefix(got, want) {
			t.Errorf("listener %s: %q, want %q", section, got, want)
		}
	}
	const set = " Accepted=False:NotAllowed@0 Programmed=False:NotAllowed@0"
	if got := s.conditions(status.ListenerSet, "evil", "grab", ""); got != set {
		t.Errorf("the ListenerSet: %q, want %q", got, set)
	}
}

// flip lets a ReferenceGrant come and go, which must cost the routes that depend on it and nothing else.
func (s *serving) flip(t *testing.T, c *fakeCluster, counted builds, before footprint, routes map[string]string) {
	t.Helper()
	kinds := invalidRoutes()
	dependent := len(routes) / len(kinds)
	grant := clienttest.Parse[gatewayv1beta1.ReferenceGrant](t, []byte(`{metadata: {name: g, namespace: lent}, spec: {
		from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: evil}], to: [{group: "", kind: Service}]}}`))
	name := fmt.Sprintf("r%d", len(kinds)-1)
	for i := range 6 {
		want := "RefNotPermitted"
		if i%2 == 0 {
			want = "ResolvedRefs=True"
			c.grants.put(grant)
		} else {
			c.grants.drop(nameOf(grant))
		}
		clear(counted)
		configuration := s.follow(t)
		if got := s.conditions(status.HTTPRoute, "evil", name, ""); !strings.Contains(got, want) {
			t.Errorf("flip %d: %q, want %s", i, got, want)
		}
		if len(counted) != 1 || counted[kindHTTPRoute] != dependent {
			t.Errorf("flip %d translates %v, want %d routes", i, counted, dependent)
		}
		if changed, gone := s.statuses.Take(); len(changed) != dependent || len(gone) != 0 {
			t.Errorf("flip %d writes %d statuses and removes %d, want %d", i, len(changed), len(gone), dependent)
		}
		if i > 3 {
			before.same(t, "flipped", s.footprintOf(t, configuration))
		}
	}
	c.grants.drop(nameOf(grant))
	s.follow(t)
	s.statuses.Take()
}

// TestInvalidRoutesTakeLittleMemory proves that an invalid route takes no more memory than its object and one router
// with its status need. It is not parallel to others, since it measures the heap.
func TestInvalidRoutesTakeLittleMemory(t *testing.T) {
	const routes, most = 3000, 12 << 10
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // What was finalized by the first one.
		var read runtime.MemStats
		runtime.ReadMemStats(&read)
		return int64(read.HeapAlloc)
	}
	c := newCluster()
	c.apply(t, []byte(strings.TrimSpace(tenants)))
	p := c.assembled(fakeExposure{}, builds{})
	served(p)
	before := heap()
	c.attack(t, routes)
	served(p)
	each := (heap() - before) / routes
	t.Logf("an invalid route takes %d bytes", each)
	if each > most {
		t.Errorf("an invalid route takes %d bytes, want at most %d", each, most)
	}
	runtime.KeepAlive(p)
}
