package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// TestVerdictsReachTheirObjects looks at the Events and conditions of objects of sluice.dev.
func TestVerdictsReachTheirObjects(t *testing.T) {
	c := prepare(t)
	c.Apply(namespace("shop"), polite("shop/web"))
	c.Deployed("shop/web")
	t.Run("apply in any order", func(t *testing.T) { applyInAnyOrder(t, c.For(t)) })
	t.Run("conditions", func(t *testing.T) { statusOfOwnObjects(t, c.For(t)) })
	t.Run("conditions are forbidden", func(t *testing.T) { statusIsForbidden(t, c.For(t)) })
}

// applyInAnyOrder applies a route before its middleware and Service, which follow within 400 ms. This is no error:
// there is no Event, condition or line of the log.
func applyInAnyOrder(t *testing.T, c *cluster.Cluster) {
	g := open(t, c, static)
	g.serves("web.test")
	attempt := 1
	name := "late-1"
	for !applyLate(t, c, name) {
		attempt++
		if name = fmt.Sprintf("late-%d", attempt); attempt > 50 {
			t.Fatal("three objects take this machine longer than 400 ms, fifty times in a row")
		}
	}
	g.serves(name + ".test")
	if got := g.get(name + ".test/").Header.Get("X-Late"); got != "yes" {
		t.Errorf("the middleware says %q", got)
	}
	// A later error is reported after it, so nothing more follows about the earlier one.
	c.Apply(route("sluice.dev", "shop/wrong", "wrong.test", "[{name: nobody, port: 80}]"))
	events := c.UntilAll("Event", "shop", "an Event on a route that is wrong",
		func(events []*unstructured.Unstructured) bool {
			return len(warned(events)["wrong"]) > 0
		})
	if told := warned(events)[name]; len(told) > 0 {
		t.Errorf("Events about what was only late: %q", told)
	}
	for line := range strings.Lines(g.Log.String()) {
		if strings.Contains(line, verdictLine) && strings.Contains(line, "shop/"+name) {
			t.Errorf("the log about what was only late: %s", line)
		}
	}
	object := c.Until("IngressRoute.sluice.dev", "shop/"+name, "accepted", accepted("True", "True"))
	for _, condition := range conditions(object) {
		if was, err := time.Parse(time.RFC3339, fmt.Sprint(condition["lastTransitionTime"])); err != nil ||
			was.Before(object.GetCreationTimestamp().Time) {
			t.Errorf("condition %v", condition)
		}
	}
}

// applyLate applies a route and, after a while, what it needs. It reports whether that took less than 400 ms.
func applyLate(t *testing.T, c *cluster.Cluster, name string) bool {
	t.Helper()
	began := time.Now()
	c.Apply(strings.Replace(route("sluice.dev", "shop/"+name, name+".test", "[{name: "+name+", port: 80}]"),
		"kind: Rule,", "kind: Rule, middlewares: [{name: "+name+"}],", 1))
	pause := time.NewTimer(250*time.Millisecond - time.Since(began))
	defer pause.Stop()
	<-pause.C
	c.Apply(strings.ReplaceAll(`
apiVersion: sluice.dev/v1alpha1
kind: Middleware
metadata: {name: NAME, namespace: shop}
spec: {headers: {customResponseHeaders: {X-Late: "yes"}}}
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: shop}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`, "NAME", name))
	took := time.Since(began)
	t.Logf("%s: everything is there after %v", name, took)
	return took < 400*time.Millisecond
}

// accepted reports whether an object's conditions have these statuses for its current generation.
func accepted(acceptance, references string) func(*unstructured.Unstructured) bool {
	return func(object *unstructured.Unstructured) bool {
		found := conditions(object)
		return len(found) == 2 && current(object) &&
			cluster.Condition(object, "Accepted") == acceptance && cluster.Condition(object, "ResolvedRefs") == references
	}
}

// conditions are those in an object's status.
func conditions(object *unstructured.Unstructured) []map[string]any {
	if object == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	var found []map[string]any
	for _, one := range list {
		if condition, ok := one.(map[string]any); ok {
			found = append(found, condition)
		}
	}
	return found
}

// current reports whether a status is about the newest version of its object, in all its parts.
func current(object *unstructured.Unstructured) bool {
	own, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return own == object.GetGeneration() && !slices.ContainsFunc(conditions(object), func(condition map[string]any) bool {
		return condition["observedGeneration"] != object.GetGeneration()
	})
}

// judged are objects of sluice.dev with the conditions Accepted and ResolvedRefs that they are to have.
const judged = `
apiVersion: sluice.dev/v1alpha1
kind: Middleware
metadata: {name: fine, namespace: shop, annotations: {want: True True}}
spec: {headers: {customResponseHeaders: {X-Fine: "yes"}}}
---
apiVersion: sluice.dev/v1alpha1
kind: Middleware
metadata: {name: locked, namespace: shop, annotations: {want: False False}}
spec: {basicAuth: {secret: nobody}}
---
apiVersion: sluice.dev/v1alpha1
kind: TraefikService
metadata: {name: both, namespace: shop, annotations: {want: True True}}
spec: {weighted: {services: [{name: web, port: 80}]}}
---
apiVersion: sluice.dev/v1alpha1
kind: TraefikService
metadata: {name: torn, namespace: shop, annotations: {want: False False}}
spec: {weighted: {services: [{name: nobody, port: 80}]}}
---
apiVersion: sluice.dev/v1alpha1
kind: ServersTransport
metadata: {name: fast, namespace: shop, annotations: {want: True True}}
spec: {maxIdleConnsPerHost: 10}
---
apiVersion: sluice.dev/v1alpha1
kind: TLSOption
metadata: {name: new, namespace: shop, annotations: {want: True True}}
spec: {minVersion: VersionTLS13}
---
apiVersion: sluice.dev/v1alpha1
kind: TLSStore
metadata: {name: default, namespace: shop, annotations: {want: False False}}
spec: {certificates: [{secretName: nobody}]}
---
apiVersion: sluice.dev/v1alpha1
kind: IngressRoute
metadata: {name: fine, namespace: shop, annotations: {want: True True}}
spec:
  entryPoints: [web]
  routes: [{match: Host(` + "`fine.test`" +
	`), kind: Rule, services: [{name: web, port: 80}], middlewares: [{name: fine}]}]
---
apiVersion: sluice.dev/v1alpha1
kind: IngressRoute
metadata: {name: garbled, namespace: shop, annotations: {want: False True}}
spec:
  entryPoints: [web]
  routes: [{match: Host(` + "`garbled.test`" + `, kind: Rule, services: [{name: web, port: 80}]}]
---
apiVersion: sluice.dev/v1alpha1
kind: IngressRoute
metadata: {name: lost, namespace: shop, annotations: {want: False False}}
spec:
  entryPoints: [web]
  routes: [{match: Host(` + "`lost.test`" + `), kind: Rule, services: [{name: nobody, port: 80}]}]
`

// statusOfOwnObjects reads the conditions of objects of sluice.dev while two Sluices run, of which one writes. They are
// those of the newest version of each object, also after the writer was killed; objects of traefik.io are never
// written.
func statusOfOwnObjects(t *testing.T, c *cluster.Cluster) {
	foreign := c.Apply(route("traefik.io", "shop/foreign", "foreign.test", "[{name: nobody, port: 80}]"))[0]
	objects := c.Apply(judged)
	gates := []*gate{open(t, c, static), open(t, c, static)}
	for _, object := range objects {
		acceptance, references, _ := strings.Cut(object.GetAnnotations()["want"], " ")
		kind, path := object.GroupVersionKind().GroupKind().String(), "shop/"+object.GetName()
		t.Run(object.GetKind()+" "+object.GetName(), func(t *testing.T) {
			c.For(t).Until(kind, path, "conditions "+acceptance+" "+references, accepted(acceptance, references))
		})
	}
	follow(t, c, 2)

	leader := elected(t, gates)
	fine := c.Get("IngressRoute.sluice.dev", "shop/fine")
	gates[leader].Signal(syscall.SIGKILL)
	gates[leader].Wait()
	gates[1-leader].serves("fine.test")
	follow(t, c, 4)
	if now := c.Get("IngressRoute.sluice.dev", "shop/fine"); now.GetResourceVersion() != fine.GetResourceVersion() {
		t.Errorf("a new leader writes what was there: %v, before %v", now.Object["status"], fine.Object["status"])
	}
	now := c.Get("IngressRoute.traefik.io", "shop/foreign")
	if _, has := now.Object["status"]; has || now.GetResourceVersion() != foreign.GetResourceVersion() {
		t.Errorf("an object of traefik.io was written: %v", now.Object)
	}
}

// follow breaks a route and repairs it; the status follows each version, the first of which is given.
func follow(t *testing.T, c *cluster.Cluster, version int64) {
	t.Helper()
	const path = "shop/edited"
	if version == 2 {
		c.Apply(route("sluice.dev", path, "edited.test", web))
	}
	for _, step := range []struct{ services, acceptance, references string }{
		{"[{name: nobody, port: 80}]", "False", "False"},
		{web, "True", "True"},
	} {
		c.Apply(route("sluice.dev", path, "edited.test", step.services))
		object := c.Until("IngressRoute.sluice.dev", path, "conditions "+step.acceptance, accepted(step.acceptance,
			step.references))
		if object.GetGeneration() != version {
			t.Errorf("the status is about version %d, want %d", object.GetGeneration(), version)
		}
		version++
	}
}

// elected returns which of two Sluices writes, of which there must be one.
func elected(t *testing.T, gates []*gate) int {
	t.Helper()
	var leaders []int
	for i, g := range gates {
		if strings.Contains(g.Log.String(), "this instance writes Events and statuses") {
			leaders = append(leaders, i)
		}
	}
	if len(leaders) != 1 {
		t.Fatalf("%d of two Sluices write", len(leaders))
	}
	return leaders[0]
}

// statusIsForbidden removes the permission to write statuses. One message reports this; everything else works, Events
// too.
func statusIsForbidden(t *testing.T, c *cluster.Cluster) {
	for _, text := range rights(t) {
		c.Apply(strings.ReplaceAll(text, "/status", "/nothing"))
	}
	c.Apply(namespace("mute"), polite("mute/web"))
	c.Apply(strings.ReplaceAll(strings.ReplaceAll(judged, "namespace: shop", "namespace: mute"), "fine.test", "mute.test"))
	c.Deployed("mute/web")
	g := open(t, c, static)
	g.serves("mute.test")
	const message = "may not patch ingressroutes/status.sluice.dev"
	g.WaitLog("level=warning", message)
	c.UntilAll("Event", "mute", "Events on what is wrong", func(events []*unstructured.Unstructured) bool {
		told := warned(events)
		return len(told["garbled"]) > 0 && len(told["lost"]) > 0
	})
	c.Apply(route("sluice.dev", "mute/fine", "loud.test", web))
	g.serves("loud.test")
	c.Apply(route("sluice.dev", "mute/wrong", "worse.test", "[{name: nobody, port: 80}]"))
	c.UntilAll("Event", "mute", "an Event on one more", func(events []*unstructured.Unstructured) bool {
		return len(warned(events)["wrong"]) > 0
	})
	if count := strings.Count(g.Log.String(), message); count != 1 {
		t.Errorf("the log says %d times %q:\n%s", count, message, g.Log)
	}
	if conditions := conditions(c.Get("IngressRoute.sluice.dev", "mute/lost")); len(conditions) > 0 {
		t.Errorf("a status that may not be written is %v", conditions)
	}
}
