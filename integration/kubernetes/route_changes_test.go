package kubernetes

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/integration/cluster"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// counter returns the sum of all lines of a metric on /metrics.
func (g *gate) counter(name string) int {
	g.t.Helper()
	client := harness.NewClient(g.t, harness.H1, g.Addr("traefik"), "any.test", nil)
	defer client.Transport.CloseIdleConnections()
	answer := client.Get("/metrics")
	if answer.StatusCode != http.StatusOK {
		g.t.Fatalf("/metrics: %d", answer.StatusCode)
	}
	var sum float64
	for line := range strings.Lines(answer.Text) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), " "); found &&
			(key == name || strings.HasPrefix(key, name+"{")) {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				g.t.Fatalf("/metrics: %s", line)
			}
			sum += number
		}
	}
	return int(sum)
}

const (
	pushes  = "sluice_provider_pushes_total"
	drops   = "sluice_provider_drops_total"
	events  = "sluice_provider_events_total"
	reloads = "traefik_config_reloads_total"
)

// routesResource is that of IngressRoutes.
func routesResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "traefik.io", Version: "v1alpha1", Resource: "ingressroutes"}
}

// TestChangesThatChangeNothing edits unused fields: each edit is received, and none changes the configuration.
func TestChangesThatChangeNothing(t *testing.T) {
	c := prepare(t, "traefik.io")
	objects := map[string]string{
		"a Service":    app("shop/web"),
		"a Middleware": stamp("shop/stamp", "shop"),
		"a route":      guarded("shop/idle", "idle.test", "[{name: stamp}]"),
		"an Ingress":   ingressOf("shop/idle", "", host("ingress.test", at("Prefix", "/", to("web")))),
		"an EndpointSlice": slice("hand", "a", "IPv4", endpoint("198.18.0.1", "", "")) + plain("hand",
			"{ports: [{port: 80}]}"),
		"a Secret": pair(t, "idle", harness.NewAuthority(t).Issue("safe.test")) + secured("safe", "safe.test",
			"{secretName: idle}"),
	}
	c.Apply(namespace("shop"))
	for _, text := range objects {
		c.Apply(text)
	}
	c.Endpoints("shop/web", 1)
	s := open(t, c, static)
	s.becomes("idle.test/", "200 shop/web")
	s.becomes("ingress.test/", "200 shop/web")
	tests := map[string]func(*testing.T, *cluster.Cluster){
		"status of an Ingress": func(t *testing.T, c *cluster.Cluster) { forge(t, c, "shop/idle", "192.0.2.1") },
		"status of a Service": func(t *testing.T, c *cluster.Cluster) {
			patch := `{"status":{"conditions":[{"type":"Idle","status":"True","reason":"Test","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
			if _, err := c.Kubernetes.CoreV1().Services("shop").Patch(t.Context(), "web", types.MergePatchType, []byte(patch),
				metav1.PatchOptions{}, "status"); err != nil {
				t.Fatal(err)
			}
		},
		"managed fields of a route": func(t *testing.T, c *cluster.Cluster) {
			options := metav1.PatchOptions{FieldManager: "another", Force: new(true)}
			text := `{"apiVersion":"traefik.io/v1alpha1","kind":"IngressRoute","metadata":{"name":"idle"},"spec":{"entryPoints":["web"]}}`
			if _, err := c.Dynamic.Resource(routesResource()).Namespace("shop").Patch(t.Context(), "idle", types.ApplyPatchType,
				[]byte(text), options); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, text := range objects {
		tests["annotations of "+name] = func(_ *testing.T, c *cluster.Cluster) {
			text := strings.ReplaceAll(text, ", annotations: {}", "")
			c.Apply(strings.ReplaceAll(text, "namespace: shop", "annotations: {test.sluice.dev/idle: 'yes'}, namespace: shop"))
		}
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s := s.on(t)
			dropped, pushed, reloaded := s.counter(drops), s.counter(pushes), s.counter(reloads)
			change(t, c.For(t))
			until(t, func() bool { return s.counter(drops) > dropped }, func() string { return "it goes unnoticed" + s.tail() })
			if got := s.counter(pushes) - pushed; got != 0 {
				t.Errorf("%d changes were pushed", got)
			}
			if got := s.counter(reloads) - reloaded; got != 0 {
				t.Errorf("%d tables were made", got)
			}
		})
	}
	s.expect("idle.test/", "200 shop/web")
	t.Run("but for a thousand edits at once", func(t *testing.T) { burst(t, c.For(t), s.on(t)) })
}

// burst edits a hundred routes ten times each while Sluice is stopped, so that it meets all of them at once.
func burst(t *testing.T, c *cluster.Cluster, s *gate) {
	const routes, edits = 100, 10
	var text strings.Builder
	for i := range routes {
		text.WriteString(route("traefik.io", fmt.Sprintf("shop/burst-%d", i), fmt.Sprintf("burst-%d.test", i),
			"[{name: web, port: 80}]"))
	}
	c.Apply(text.String())
	s.becomes(fmt.Sprintf("burst-%d.test/", routes-1), "200 shop/web")
	until(t, func() bool { return strings.HasPrefix(s.ask("burst-0.test/"), "200") }, s.tail)
	reloaded, seen := s.counter(reloads), s.counter(events)
	s.Signal(syscall.SIGSTOP)
	editAll(t, c, routes, edits)
	began := time.Now()
	s.Signal(syscall.SIGCONT)
	for i := range routes {
		s.becomes(fmt.Sprintf("burst-%d.test/%d", i, edits-1), "200 shop/web")
	}
	if got := s.counter(events) - seen; got < routes {
		t.Errorf("%d events", got)
	}
	// A burst is held for half a second at most: one that a busy machine takes long to read makes more tables.
	most := max(5, 1+int(time.Since(began)/(500*time.Millisecond)))
	if got := s.counter(reloads) - reloaded; got < 1 || got > most {
		t.Errorf("%d tables were made for %d edits, want %d at most", got, routes*edits, most)
	}
}

// editAll gives every route another rule, several times, as fast as the API server takes it.
func editAll(t *testing.T, c *cluster.Cluster, routes, edits int) {
	t.Helper()
	resource := c.Dynamic.Resource(routesResource()).Namespace("shop")
	var running sync.WaitGroup
	for worker := range 8 {
		running.Go(func() {
			for i := worker; i < routes; i += 8 {
				for edit := range edits {
					match := fmt.Sprintf("Host(`burst-%d.test`) && Path(`/%d`)", i, edit)
					patch := fmt.Sprintf(`{"spec":{"routes":[{"match":%q,"kind":"Rule","services":[{"name":"web","port":80}]}]}}`,
						match)
					if _, err := resource.Patch(t.Context(), fmt.Sprintf("burst-%d", i), types.MergePatchType, []byte(patch),
						metav1.PatchOptions{}); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	running.Wait()
}
