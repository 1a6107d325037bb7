package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// setEdits is how many routes of ListenerSets are edited, setPause the time between two of them.
	setEdits, setPause = 50, 200 * time.Millisecond
)

// measureSets creates ListenerSets with routes, starts Sluice, and edits routes.
func (w *world) measureSets(tb testing.TB) {
	tb.Helper()
	address := w.gateway(tb, "sets")
	w.furnish(tb)
	w.sluice.Stop() // It would write statuses meanwhile.
	perNamespace := w.asked.sets / w.asked.namespaces
	set := func(i int) string { return fmt.Sprintf("set-%04d", i) }
	begun := time.Now()
	each(tb, w.asked.sets, func(ctx context.Context, i int) error {
		namespace := spread(i / perNamespace)
		_, err := w.Dynamic.Resource(resource("listenersets")).Namespace(namespace).Create(ctx,
			listenerSet(namespace, set(i)), metav1.CreateOptions{})
		return err
	})
	count := w.asked.sets * w.asked.routesOfSet
	host := func(i int) string {
		return fmt.Sprintf("r%02d.%s.example.com", i%w.asked.routesOfSet, set(i/w.asked.routesOfSet))
	}
	name := func(i int) string { return fmt.Sprintf("%s-%02d", set(i/w.asked.routesOfSet), i%w.asked.routesOfSet) }
	namespace := func(i int) string { return spread(i / w.asked.routesOfSet / perNamespace) }
	each(tb, count, func(ctx context.Context, i int) error {
		return w.create(ctx, route(namespace(i), name(i), host(i),
			parent{"ListenerSet", namespace(i), set(i / w.asked.routesOfSet)}, blue))
	})
	made := time.Since(begun)
	begun = time.Now()
	w.start(tb)
	p, when := w.firstAnswer(tb, address, host(count-1))
	defer func() { p.close() }()
	for i := 0; i < count; i += max(1, count/200) {
		if got, err := p.ask(host(i), "/"); err != nil || got.status != http.StatusOK {
			tb.Errorf("%s: %d %v", host(i), got.status, err)
		}
	}
	now, peak := w.sluice.Memory()
	used := harness.CPU(tb, w.sluice.PID())
	w.results.note("sets-start", when.Sub(begun).Seconds())
	w.results.note("sets-rss", float64(now)/1e6)
	w.results.say("%d ListenerSets with %d routes (created in %v): the last one served %v after the process was started, "+
		"CPU %v; %d MiB resident, at most %d MiB", w.asked.sets, count, rounded(made), rounded(when.Sub(begun)),
		rounded(used), now>>20, peak>>20)
	w.editSets(tb, p, func(i int) (string, string) { return namespace(i), name(i) }, set)
	now, peak = w.sluice.Memory()
	w.results.say("%d MiB resident after the edits, at most %d MiB", now>>20, peak>>20)
	for i := range w.asked.namespaces {
		w.remove(tb, spread(i))
	}
}

// firstAnswer repeats a request from the start of Sluice until the status is 200.
func (w *world) firstAnswer(tb testing.TB, address, host string) (p *probe, when time.Time) {
	tb.Helper()
	for begun := time.Now(); time.Since(begun) < 2*timeout; pause(tb.Context(), 2*time.Millisecond) {
		if p == nil {
			var err error
			if p, err = dial(tb.Context(), address); err != nil {
				p = nil
				continue
			}
		}
		got, err := p.ask(host, "/")
		if err != nil {
			p.close()
			p = nil
			continue
		}
		if got.status == http.StatusOK {
			return p, time.Now()
		}
	}
	tb.Fatalf("%s does not answer", host)
	return nil, time.Time{}
}

// listenerSet returns a ListenerSet with one listener, for the hosts below its name.
func listenerSet(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "ListenerSet",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"parentRef": map[string]any{"namespace": home, "name": "sets"},
			"listeners": []any{map[string]any{
				"name": "http", "port": int64(80), "protocol": "HTTP", "hostname": "*." + name + ".example.com",
			}},
		},
	}}
}

// editSets edits routes one after another.
func (w *world) editSets(tb testing.TB, p *probe, of func(int) (namespace, name string), set func(int) string) {
	tb.Helper()
	count := w.asked.sets * w.asked.routesOfSet
	var took times
	used := harness.CPU(tb, w.sluice.PID())
	for n := range setEdits {
		pause(tb.Context(), setPause)
		i := n * 7919 % count
		namespace, name := of(i)
		host := fmt.Sprintf("edit%d.%s.example.com", n, set(i/w.asked.routesOfSet))
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"hostnames": []any{host}}})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.routes(namespace).Patch(tb.Context(), name, types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			tb.Fatal(err)
		}
		edited := time.Now()
		when, _, err := p.await(tb.Context(), host, "/")
		if err != nil {
			tb.Fatal(err)
		}
		took = append(took, when.Sub(edited))
	}
	w.results.note("sets-edit", milliseconds(took.share(50)))
	w.results.say("%d routes edited, applied after: %v; CPU of Sluice %v, with the writes of statuses", setEdits, took,
		rounded(harness.CPU(tb, w.sluice.PID())-used))
}
