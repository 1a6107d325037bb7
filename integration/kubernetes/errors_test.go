package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// The crowd: good routes to few Services, and some routes of each fault among them.
const (
	goodRoutes   = 2000
	goodServices = 20
	perFault     = 10
)

// fault is one thing that can be wrong with an IngressRoute.
type fault struct {
	// match is the rule, where HOST is replaced by the host; empty is the host alone. services and more are as in the
	// manifest, more within the route; spec is beside the routes.
	match, services, more, spec string
	// status is the response for the host; 0 for no request. reason is part of the verdict.
	status int
	reason string
}

// web is a reference that nothing is wrong with.
const web = "[{name: web, port: 80}]"

// faults are all classes of errors, by name.
func faults() map[string]fault {
	const refused, unknown = http.StatusServiceUnavailable, http.StatusNotFound
	return map[string]fault{
		"syntax":  {match: "Host(`HOST`", status: unknown, reason: "rule"},
		"matcher": {match: "Hots(`HOST`)", status: unknown, reason: "Hots"},
		"regexp":  {match: "Host(`HOST`) && PathRegexp(`[`)", status: unknown, reason: "["},
		"service": {
			services: "[{name: nobody, port: 80}]", status: refused,
			reason: "Service faulty/nobody does not exist",
		},
		"port":     {services: "[{name: web, port: 81}]", status: refused, reason: "has no port 81"},
		"portname": {services: "[{name: web, port: grpc}]", status: refused, reason: "has no port grpc"},
		"external": {services: "[{name: external, port: 80}]", status: refused, reason: "allowExternalNameServices"},
		"headless": {
			services: "[{name: headless, port: 80, nativeLB: true}]", status: refused,
			reason: "is headless",
		},
		"service-elsewhere": {
			services: "[{name: good-0, namespace: shop, port: 80}]", status: refused,
			reason: "allowCrossNamespace",
		},
		"ts": {services: "[{name: nobody, kind: TraefikService}]", status: refused, reason: "nobody"},
		"ts-elsewhere": {
			services: "[{name: any, namespace: shop, kind: TraefikService}]", status: refused,
			reason: "allowCrossNamespace",
		},
		"ts-broken": {
			services: "[{name: broken, kind: TraefikService}]", status: refused,
			reason: "Service faulty/gone does not exist",
		},
		"transport": {
			services: "[{name: web, port: 80, serversTransport: nobody}]", status: refused,
			reason: "nobody",
		},
		"middleware": {more: "middlewares: [{name: nobody}]", status: refused, reason: "nobody"},
		"middleware-far": {
			more: "middlewares: [{name: any, namespace: shop}]", status: refused,
			reason: "allowCrossNamespace",
		},
		"middleware-secret": {
			more: "middlewares: [{name: locked}]", status: refused,
			reason: "Secret faulty/nobody does not exist",
		},
		"middleware-empty": {more: "middlewares: [{name: empty}]", status: refused, reason: "faulty-empty@kubernetescrd"},
		"tls-secret":       {spec: "tls: {secretName: nobody}", reason: "Secret faulty/nobody does not exist"},
		"tls-options":      {spec: "tls: {options: {name: nobody}}", reason: "nobody"},
		"entrypoint":       {spec: "entryPoints: [nowhere]", status: unknown, reason: "nowhere"},
	}
}

// faulty is what the faults refer to.
const faulty = `
apiVersion: v1
kind: Service
metadata: {name: external, namespace: faulty}
spec: {type: ExternalName, externalName: external.test}
---
apiVersion: v1
kind: Service
metadata: {name: headless, namespace: faulty}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: traefik.io/v1alpha1
kind: TraefikService
metadata: {name: broken, namespace: faulty}
spec: {weighted: {services: [{name: gone, port: 80}]}}
---
apiVersion: traefik.io/v1alpha1
kind: Middleware
metadata: {name: locked, namespace: faulty}
spec: {basicAuth: {secret: nobody}}
---
apiVersion: traefik.io/v1alpha1
kind: Middleware
metadata: {name: empty, namespace: faulty}
spec: {}
`

// manifest is an IngressRoute with a fault, for the host NAME.test.
func (f fault) manifest(name string) string {
	match, services, spec := f.match, f.services, f.spec
	if match == "" {
		match = "Host(`HOST`)"
	}
	if services == "" {
		services = web
	}
	if spec == "" {
		spec = "entryPoints: [web]"
	}
	return strings.NewReplacer(
		"NAME", name, "SPEC", spec, "MATCH", strings.ReplaceAll(match, "HOST", name+".test"), "SERVICES", services, "MORE",
		f.more,
	).Replace(`
---
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: NAME, namespace: faulty}
spec:
  SPEC
  routes:
  - match: "MATCH"
    kind: Rule
    services: SERVICES
    MORE
`)
}

// crowd is everything of the test, by kind, since neighbours of a kind are applied together.
func crowd() (manifests []string, broken map[string]fault) {
	broken = map[string]fault{}
	var services, routes strings.Builder
	for i := range goodServices {
		fmt.Fprintf(&services, `
---
apiVersion: v1
kind: Service
metadata: {name: good-%d, namespace: shop}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`, i)
	}
	for i := range goodRoutes {
		routes.WriteString(route("traefik.io", fmt.Sprintf("shop/good-%d", i), goodHost(i),
			fmt.Sprintf("[{name: good-%d, port: 80}]", i%goodServices)))
	}
	for class, one := range faults() {
		for i := range perFault {
			name := fmt.Sprintf("%s-%d", class, i)
			broken[name] = one
			routes.WriteString(one.manifest(name))
		}
	}
	return []string{
		namespace("shop"), namespace("faulty"), services.String(), polite("shop/web"), polite("faulty/web"), faulty,
		routes.String(),
	}, broken
}

func goodHost(i int) string { return fmt.Sprintf("good-%d.test", i) }

// TestBadRoutesAmongGoodOnes has 200 routes with different errors among 2,000 good ones. All good ones serve; each bad
// one is reported once, with its reason, by sluice check, in the log and in one Event; a repaired one serves and is
// reported as such.
func TestBadRoutesAmongGoodOnes(t *testing.T) {
	c := prepare(t)
	manifests, broken := crowd()
	c.Apply(manifests...)
	c.Deployed("shop/web")
	c.Deployed("faulty/web")
	g := open(t, c, static)
	g.serves(goodHost(goodRoutes - 1))
	expectGood(t, g)
	for name, one := range broken {
		if one.status != 0 {
			g.expect(name+".test/", fmt.Sprint(one.status))
		}
	}
	t.Run("check", func(t *testing.T) { expectCheck(t, c, broken) })
	t.Run("log", func(t *testing.T) { expectLog(t, g, broken) })
	t.Run("events", func(t *testing.T) { expectEvents(t, c.For(t), broken) })
	t.Run("nothing flaps", func(t *testing.T) { expectSteady(t, c.For(t), g.on(t)) })
	t.Run("repair", func(t *testing.T) { repair(c.For(t), g.on(t)) })
	expectGood(t, g)
}

// expectGood sends requests to all good hosts.
func expectGood(t *testing.T, g *gate) {
	t.Helper()
	var busy sync.WaitGroup
	for first := range clients {
		client := harness.NewClient(t, harness.H1, g.Addr("web"), "any.test", nil)
		busy.Go(func() {
			for i := first; i < goodRoutes; i += clients {
				request := client.Request(http.MethodGet, "/", nil)
				request.Host = goodHost(i)
				if answer, err := client.Try(request); err != nil || answer.StatusCode != http.StatusOK {
					t.Errorf("%s: %v, %+v", request.Host, err, answer.Response)
					return
				}
			}
		})
	}
	busy.Wait()
}

// expectCheck runs sluice check, which has a line for the fault of each bad route and none for a good one.
func expectCheck(t *testing.T, c *cluster.Cluster, broken map[string]fault) {
	env := []string{"KUBECONFIG=" + c.AccountKubeconfig(account)}
	result := harness.Run(t, t.TempDir(), env, "check", "--entryPoints.web.address=127.0.0.1:0",
		"--providers.kubernetesCRD=true")
	if result.Code != 1 {
		t.Errorf("exit code %d, want 1: %s", result.Code, result.Stderr)
	}
	lines := strings.Split(result.Stdout, "\n")
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		folded := func(line string) bool { // The fault of an object is one line for all routes that need the object.
			return strings.Contains(line, broken[name].reason) && strings.Contains(line, "; disables ")
		}
		if !slices.ContainsFunc(lines, folded) {
			expectLine(t, lines, name, broken[name].reason)
		}
	}
	if at := slices.IndexFunc(lines, func(line string) bool {
		return strings.Contains(line, "shop/") && !strings.Contains(line, "faulty/")
	}); at >= 0 {
		t.Errorf("a good route is complained about: %s", lines[at])
	}
}

// verdictLine is in every line of the log about an object that is not as it should be.
const verdictLine = `msg="object `

// expectLog waits for a warning for each bad route: the log reports objects after the source has been quiet for a
// moment.
func expectLog(t *testing.T, g *gate, broken map[string]fault) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		if _, err := g.Log.Wait(ctx, verdictLine, "IngressRoute faulty/"+name, broken[name].reason); err != nil {
			t.Errorf("nothing says %q of %s: %v", broken[name].reason, name, err)
		}
	}
}

func expectLine(t *testing.T, lines []string, name, reason string) {
	t.Helper()
	var about []string
	for _, line := range lines {
		if !strings.Contains(line, "IngressRoute faulty/"+name) {
			continue
		}
		if strings.Contains(line, reason) {
			return
		}
		about = append(about, line)
	}
	t.Errorf("nothing says %q of %s; there is %q", reason, name, about)
}

// expectEvents waits for the Event on each bad route: one warning, once, with the reason.
func expectEvents(t *testing.T, c *cluster.Cluster, broken map[string]fault) {
	events := c.UntilAll("Event", "faulty", "an Event for each bad route", func(events []*unstructured.Unstructured) bool {
		return len(warned(events)) >= len(broken)
	})
	const others = 3 // Those of faulty.
	if count := len(ours(events)); count > len(broken)+others {
		t.Errorf("%d Events about %d objects", count, len(broken)+others)
	}
	told := warned(events)
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		if messages := told[name]; len(messages) != 1 || !strings.Contains(messages[0], broken[name].reason) {
			t.Errorf("the Events on %s say %q, want one that says %q", name, messages, broken[name].reason)
		}
	}
	for name := range told {
		if _, known := broken[name]; !known {
			t.Errorf("%s is warned of: %q", name, told[name])
		}
	}
}

// ours are the Events that Sluice has made.
func ours(events []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(events), func(event *unstructured.Unstructured) bool {
		return event.Object["reportingComponent"] != "sluice"
	})
}

// warned returns the messages of the warnings about IngressRoutes, by their names.
func warned(events []*unstructured.Unstructured) map[string][]string {
	return messages(events, "Warning")
}

// messages returns those of the Events of a type about IngressRoutes. An Event that was repeated counts so many times.
func messages(events []*unstructured.Unstructured, kind string) map[string][]string {
	found := map[string][]string{}
	for _, event := range ours(events) {
		about, _, _ := unstructured.NestedStringMap(event.Object, "involvedObject")
		if about["kind"] != "IngressRoute" || event.Object["type"] != kind {
			continue
		}
		count, _, _ := unstructured.NestedInt64(event.Object, "count")
		message, _ := event.Object["message"].(string)
		found[about["name"]] = append(found[about["name"]], slices.Repeat([]string{message}, int(count))...)
	}
	return found
}

// expectSteady creates pods, good routes and one more bad route, which must be the only one that is reported.
func expectSteady(t *testing.T, c *cluster.Cluster, g *gate) {
	before := c.UntilAll("Event", "faulty", "listed", func([]*unstructured.Unstructured) bool { return true })
	logged := strings.Count(g.Log.String(), verdictLine)
	c.Scale("faulty/web", 2)
	c.Apply(route("traefik.io", "shop/another", "another.test", "[{name: good-0, port: 80}]"))
	g.serves("another.test")
	c.Apply(faults()["service"].manifest("late"))
	after := c.UntilAll("Event", "faulty", "the Event on one more route", func(events []*unstructured.Unstructured) bool {
		return len(messages(events, "Warning")["late"]) > 0
	})
	was, is := warned(before), warned(after)
	delete(is, "late")
	for name := range is {
		if len(is[name]) != len(was[name]) {
			t.Errorf("the Events on %s were %q and are %q", name, was[name], is[name])
		}
	}
	// One is about the router, one about its service. The log and the Events are written apart from each other.
	until(t, func() bool { return strings.Count(g.Log.String(), verdictLine) >= logged+2 }, func() string {
		return "the lines about one more bad route" + g.tail()
	})
	if now := strings.Count(g.Log.String(), verdictLine); now != logged+2 {
		t.Errorf("%d lines about one more bad route, want 2:\n%s", now-logged, g.Log)
	}
}

// repair repairs one route of each class. Each serves, and has a Normal Event.
func repair(c *cluster.Cluster, g *gate) {
	var sound []string
	for _, class := range slices.Sorted(maps.Keys(faults())) {
		sound = append(sound, fault{}.manifest(class+"-0"))
	}
	c.Apply(strings.Join(sound, ""))
	for class := range faults() {
		g.serves(class + "-0.test")
	}
	c.UntilAll("Event", "faulty", "an Event for each repaired route", func(events []*unstructured.Unstructured) bool {
		fine := messages(events, "Normal")
		for class := range faults() {
			if len(fine[class+"-0"]) != 1 {
				return false
			}
		}
		return len(fine) == len(faults())
	})
	// What another one needs comes late.
	c.Apply(strings.ReplaceAll(polite("faulty/nobody"), "nobody.test", "nobody-late.test"))
	c.Deployed("faulty/nobody")
	for i := 1; i < perFault; i++ {
		g.serves(fmt.Sprintf("service-%d.test", i))
	}
}
