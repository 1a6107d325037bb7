package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/nginx/population"
)

// becomesShownAt waits until the load-balancer status of an Ingress has one address.
func (w *world) becomesShownAt(name, address string) {
	w.t.Helper()
	w.Until("Ingress.networking.k8s.io", home+"/"+name, "shown at "+address, func(object *unstructured.Unstructured) bool {
		return slices.Equal(shownAt(object), []string{address})
	})
}

func shownAt(object *unstructured.Unstructured) []string {
	if object == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress")
	var all []string
	for _, one := range list {
		fields, _ := one.(map[string]any)
		all = append(all, fmt.Sprint(fields["ip"]))
	}
	return all
}

// publish writes an address to the status of an Ingress, as ingress-nginx does.
func (w *world) publish(ctx context.Context, name, address string) error {
	patch := `{"status":{"loadBalancer":{"ingress":[{"ip":"` + address + `"}]}}}`
	_, err := w.Kubernetes.NetworkingV1().Ingresses(home).Patch(ctx, name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: "ingress-nginx"}, "status")
	return err
}

// statusWriters are the names of those who have written the status of an Ingress.
func statusWriters(object *unstructured.Unstructured) []string {
	var names []string
	for _, one := range object.GetManagedFields() {
		if one.Subresource == "status" {
			names = append(names, one.Manager)
		}
	}
	return names
}

const (
	theirs, ours = "192.0.2.9", "192.0.2.7"
	published    = "--providers.kubernetesIngressNGINX.publish"
	address      = "--providers.kubernetesIngressNGINX.publishStatusAddress=" + ours
)

// TestBesideIngressNGINX reads Ingresses that another controller serves too, and whose status that one writes.
func TestBesideIngressNGINX(t *testing.T) {
	w := prepare(t, "main")
	t.Run("the status is left alone", func(t *testing.T) { leavesStatus(w.on(t)) })
	t.Run("until it is published", func(t *testing.T) { takesStatus(w.on(t)) })
	t.Run("two writers do not race", func(t *testing.T) { doesNotRace(w.on(t)) })
	t.Run("one of two replicas writes", func(t *testing.T) { oneReplicaWrites(w.on(t)) })
}

// leavesStatus looks at a status after Sluice has written an Event on the same Ingress.
func leavesStatus(w *world) {
	object := ingress("left", "left.test", "main", notes{"unknown-annotation": "x"})
	w.put(object)
	if err := w.publish(w.t.Context(), "left", theirs); err != nil {
		w.t.Fatal(err)
	}
	g := open(w, static)
	g.becomes("left.test/", "200 main")
	w.UntilAll("Event", home, "an Event on the Ingress", func(events []*unstructured.Unstructured) bool {
		return len(warnings(events, "left")) > 0
	})
	object.Annotations[prefix+"upstream-vhost"] = "edited.internal"
	w.put(object)
	g.until(func() bool { return g.get("left.test/").Header.Get(population.FieldHost) == "edited.internal" },
		func() string { return "the edit has no effect" })
	left := w.Get("Ingress.networking.k8s.io", home+"/left")
	if got := shownAt(left); !slices.Equal(got, []string{theirs}) {
		w.t.Errorf("the status is %q", got)
	}
	if got := statusWriters(left); !slices.Equal(got, []string{"ingress-nginx"}) {
		w.t.Errorf("the status has been written by %q", got)
	}
}

// takesStatus has the addresses written with publish, and left as they are when Sluice ends.
func takesStatus(w *world) {
	w.put(ingress("taken", "taken.test", "main", nil))
	if err := w.publish(w.t.Context(), "taken", theirs); err != nil {
		w.t.Fatal(err)
	}
	other := ingress("other", "other.test", "main", nil)
	w.Apply(class("other", "example.com/other"))
	*other.Spec.IngressClassName = "other"
	w.put(other)
	g := open(w, static, published, address)
	w.becomesShownAt("taken", ours)
	w.put(ingress("new", "new.test", "main", nil))
	w.becomesShownAt("new", ours)
	if got := shownAt(w.Get("Ingress.networking.k8s.io", home+"/other")); len(got) > 0 {
		w.t.Errorf("an Ingress of another class is shown at %q", got)
	}
	g.Stop()
	w.becomesShownAt("taken", ours)
}

// doesNotRace has another controller write its address whenever it sees another one. Sluice waits between its writes to
// the same Ingress.
func doesNotRace(w *world) {
	w.put(ingress("raced", "raced.test", "main", nil))
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var writes atomic.Int64
	first := make(chan struct{})
	seen, err := w.Kubernetes.NetworkingV1().Ingresses(home).Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=raced",
	})
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range seen.ResultChan() {
			object, is := event.Object.(*networkingv1.Ingress)
			if !is || len(object.Status.LoadBalancer.Ingress) != 1 || object.Status.LoadBalancer.Ingress[0].IP != ours {
				continue
			}
			if writes.Add(1) == 1 {
				close(first)
			}
			if err := w.publish(context.WithoutCancel(ctx), "raced", theirs); err != nil {
				w.t.Error(err)
			}
		}
	}()
	open(w, static, published, address)
	harness.Await(w.t, first, "the address is written")
	timer := time.NewTimer(5 * time.Second)
	<-timer.C
	cancel()
	<-done
	if got := writes.Load(); got > 2 {
		w.t.Errorf("the address was written %d times in 5 s", got)
	}
}

// oneReplicaWrites has two Sluices serve the same Ingresses. One writes, and the other one takes over.
func oneReplicaWrites(w *world) {
	w.put(ingress("shared", "shared.test", "main", notes{"enable-modsecurity": "true"}))
	const debug = "--log.level=DEBUG" // It says who writes.
	gates := []*gate{open(w, static, published, address, debug), open(w, static, published, address, debug)}
	w.becomesShownAt("shared", ours)
	for _, g := range gates {
		g.becomes("shared.test/", "503")
	}
	count := func() int {
		events := w.UntilAll("Event", home, "an Event on the Ingress", func(events []*unstructured.Unstructured) bool {
			return len(warnings(events, "shared")) > 0
		})
		sum := 0
		for _, event := range events {
			about, _, _ := unstructured.NestedStringMap(event.Object, "involvedObject")
			if about["name"] == "shared" && event.Object["type"] == "Warning" {
				sum += max(1, int(number(event.Object["count"])))
			}
		}
		return sum
	}
	before := count()
	leader, follower := gates[0], gates[1]
	if !strings.Contains(leader.Log.String(), "this instance writes") {
		leader, follower = follower, leader
	}
	version := w.Get("Ingress.networking.k8s.io", home+"/shared").GetResourceVersion()
	leader.Stop()
	follower.WaitLog("this instance writes")
	w.put(ingress("later", "later.test", "main", nil))
	w.becomesShownAt("later", ours)
	if got := w.Get("Ingress.networking.k8s.io", home+"/shared").GetResourceVersion(); got != version {
		w.t.Error("the new leader has written what was there")
	}
	if got := count(); got != before {
		w.t.Errorf("%d Events of the first leader became %d", before, got)
	}
}

func number(value any) int64 {
	n, _ := value.(int64)
	return n
}

// TestBesideKubernetesIngress reads Ingresses with both providers. Each Ingress is read by one, whichever way it names
// its class, and it is never missing when it moves.
func TestBesideKubernetesIngress(t *testing.T) {
	w := prepare(t, "main")
	w.Apply(class("traefik", "traefik.io/ingress-controller"))
	classes := map[string]struct{ name, annotation, provider string }{
		"by-class":            {population.Class, "", "kubernetesingressnginx"},
		"by-annotation":       {"", population.Class, "kubernetesingressnginx"},
		"without":             {"", "", "kubernetesingressnginx"},
		"of-traefik":          {"traefik", "", "kubernetes"},
		"of-traefik-by-notes": {"", "traefik", "kubernetes"},
	}
	for name, c := range classes {
		object := ingress(name, name+".test", "main", nil)
		object.Spec.IngressClassName = nil
		if c.name != "" {
			object.Spec.IngressClassName = &c.name
		}
		if c.annotation != "" {
			object.Annotations["kubernetes.io/ingress.class"] = c.annotation
		}
		w.put(object)
	}
	g := open(w, static, "--providers.kubernetesIngress", "--providers.kubernetesIngressNGINX.watchIngressWithoutClass")
	for name, c := range classes {
		g.becomes(name+".test/", "200 main")
		if got := g.providers(name + ".test"); !slices.Equal(got, []string{c.provider}) {
			t.Errorf("%s is read by %q, want %s", name, got, c.provider)
		}
	}
	moved := ingress("of-traefik", "of-traefik.test", "main", nil)
	traffic := population.StartTraffic(t, g.Addr("web"), []string{"of-traefik.test"}, nil)
	for _, step := range []struct{ class, provider string }{
		{population.Class, "kubernetesingressnginx"}, {"traefik", "kubernetes"}, {population.Class, "kubernetesingressnginx"},
	} {
		moved.Spec.IngressClassName = &step.class
		w.put(moved)
		var got []string
		g.until(func() bool { got = g.providers("of-traefik.test"); return slices.Equal(got, []string{step.provider}) },
			func() string { return fmt.Sprintf("it is read by %q, want %s", got, step.provider) })
	}
	tally := traffic.Stop()
	t.Logf("%d of %d requests failed while an Ingress moved: %s", tally.Failed, tally.All, tally.FirstWrong)
}

// providers returns the providers with routers for a host.
func (g *gate) providers(host string) []string {
	g.t.Helper()
	var routers []struct{ Rule, Provider string }
	if err := json.Unmarshal([]byte(g.api("/api/http/routers?per_page=1000")), &routers); err != nil {
		g.t.Fatal(err)
	}
	var found []string
	for _, router := range routers {
		if strings.Contains(router.Rule, host) {
			found = append(found, router.Provider)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
