package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// shared is how many routes two controllers report on, editRate how many of them are edited per second.
	shared, editRate = 20, 2
	// otherController is the name of the controller that is not Sluice.
	otherController = "example.com/another-controller"
	// ourController is Sluice's.
	ourController = "sluice.dev/gateway-controller"
	// settledAfter is the time after the last edit in which both controllers write what is left, quietFor how long nothing
	// may be written after that.
	settledAfter, quietFor = 10 * time.Second, 20 * time.Second
)

// measureControllers lets a second controller write entries of its own to routes that are edited.
func (w *world) measureControllers(tb testing.TB) {
	tb.Helper()
	w.gateway(tb, "controllers")
	w.Apply(namespaceManifest("shared"), serviceManifest("shared", blue.String()))
	w.writeSlice(tb, "shared", blue.String(), place(blue, 0))
	ctx, cancel := context.WithCancel(tb.Context())
	other := &controller{routes: w.routes("shared"), latest: map[string]*unstructured.Unstructured{}}
	var running sync.WaitGroup
	running.Go(func() { other.run(ctx) })
	defer running.Wait()
	defer cancel()
	name := func(i int) string { return fmt.Sprintf("shared-%02d", i) }
	each(tb, shared, func(ctx context.Context, i int) error {
		return w.create(ctx, route("shared", name(i), name(i)+".example.com", parent{"Gateway", home, "controllers"}, blue))
	})
	edits := 0
	ticker := time.NewTicker(time.Second / editRate)
	for begun := time.Now(); time.Since(begun) < w.asked.contending; edits++ {
		<-ticker.C
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"hostnames": []any{
			fmt.Sprintf("edit%d-%s.example.com", edits, name(edits%shared)),
		}}})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.routes("shared").Patch(tb.Context(), name(edits%shared), types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			tb.Fatal(err)
		}
	}
	ticker.Stop()
	pause(tb.Context(), settledAfter)
	before := other.seen()
	pause(tb.Context(), quietFor)
	after := other.seen()
	lost := w.lost(tb)
	w.results.note("controllers-lost", float64(lost))
	w.results.note("controllers-writes", float64(after.events-before.events))
	w.results.say("%d routes of two controllers, %d edits in %v: %d status writes and edits, of them %d by the other one, "+
		"which had %d conflicts and found its entry gone %d times; %d entries missing or out of date, %d writes in %v without edits",
		shared, edits, w.asked.contending, after.events, after.writes, after.conflicts, after.robbed, lost,
		after.events-before.events, quietFor)
	w.remove(tb, "shared")
}

// lost returns how many entries of either controller are missing, or not of the current generation.
func (w *world) lost(tb testing.TB) int {
	tb.Helper()
	list, err := w.routes("shared").List(tb.Context(), metav1.ListOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	lost := 2*shared - 2*len(list.Items)
	for i := range list.Items {
		for _, controller := range []string{ourController, otherController} {
			if observed(&list.Items[i], controller) != list.Items[i].GetGeneration() {
				lost++
			}
		}
	}
	return lost
}

// observed returns the generation that a controller's entry is of; 0 when there is none.
func observed(route *unstructured.Unstructured, controller string) int64 {
	for _, one := range parentsOf(route) {
		entry, _ := one.(map[string]any)
		if entry["controllerName"] != controller {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(entry, "conditions")
		if len(conditions) == 0 {
			return 0
		}
		first, _ := conditions[0].(map[string]any)
		generation, _ := first["observedGeneration"].(int64)
		return generation
	}
	return 0
}

// controllerCounts is what a controller has done and seen.
type controllerCounts struct{ events, writes, conflicts, robbed int }

// controller is a second controller, which keeps an entry of its own in the status of each route and leaves the others.
type controller struct {
	routes interface {
		Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
		UpdateStatus(ctx context.Context, object *unstructured.Unstructured, options metav1.UpdateOptions) (
			*unstructured.Unstructured, error)
	}

	mu     sync.Mutex
	counts controllerCounts
	latest map[string]*unstructured.Unstructured
}

func (c *controller) seen() controllerCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// run watches routes until the context ends.
func (c *controller) run(ctx context.Context) {
	seen, err := c.routes.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	defer seen.Stop()
	for event := range seen.ResultChan() {
		object, is := event.Object.(*unstructured.Unstructured)
		if !is || event.Type == watch.Deleted {
			continue
		}
		c.mu.Lock()
		c.counts.events++
		before := c.latest[object.GetName()]
		c.latest[object.GetName()] = object
		if before != nil && observed(before, otherController) != 0 && observed(object, otherController) == 0 {
			c.counts.robbed++
		}
		c.mu.Unlock()
		c.reconcile(ctx, object.DeepCopy())
	}
}

// reconcile writes the entry where it is not of the current generation.
func (c *controller) reconcile(ctx context.Context, object *unstructured.Unstructured) {
	if observed(object, otherController) == object.GetGeneration() {
		return
	}
	var parents []any
	for _, one := range parentsOf(object) {
		if entry, is := one.(map[string]any); is && entry["controllerName"] != otherController {
			parents = append(parents, entry)
		}
	}
	parents = append(parents, map[string]any{
		"parentRef":      map[string]any{"name": "elsewhere"},
		"controllerName": otherController,
		"conditions": []any{map[string]any{
			"type": "Accepted", "status": "True", "reason": "Accepted", "message": "",
			"observedGeneration": object.GetGeneration(),
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		}},
	})
	if err := unstructured.SetNestedSlice(object.Object, parents, "status", "parents"); err != nil {
		return
	}
	_, err := c.routes.UpdateStatus(ctx, object, metav1.UpdateOptions{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if apierrors.IsConflict(err) {
		c.counts.conflicts++ // The next event brings the version to write.
	} else if err == nil {
		c.counts.writes++
	}
}
