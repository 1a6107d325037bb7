package gateway

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// counted is what a watch of a Gateway has shown.
type counted struct {
	writes int64
	routes int64
	when   time.Time
}

// follow watches a Gateway until the context ends, and sends each new number of attached routes.
func (w *world) follow(ctx context.Context, tb testing.TB, name string) <-chan counted {
	tb.Helper()
	seen, err := w.Dynamic.Resource(resource("gateways")).Namespace(home).Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + name,
	})
	if err != nil {
		tb.Fatal(err)
	}
	out := make(chan counted, 10_000)
	go func() {
		defer close(out)
		defer seen.Stop()
		writes := int64(-1) // The first event is the state.
		for event := range seen.ResultChan() {
			object, is := event.Object.(*unstructured.Unstructured)
			if !is || event.Type == watch.Deleted {
				return
			}
			writes++
			out <- counted{writes, attachedRoutes(object), time.Now()}
		}
	}()
	return out
}

// attachedRoutes returns the number of routes of the first listener.
func attachedRoutes(gateway *unstructured.Unstructured) int64 {
	listeners, _, _ := unstructured.NestedSlice(gateway.Object, "status", "listeners")
	if len(listeners) == 0 {
		return -1
	}
	first, _ := listeners[0].(map[string]any)
	count, _ := first["attachedRoutes"].(int64)
	return count
}

// reach waits until a number of routes is attached.
func reach(tb testing.TB, seen <-chan counted, routes int64) counted {
	tb.Helper()
	deadline := time.NewTimer(2 * timeout)
	defer deadline.Stop()
	last := counted{}
	for {
		select {
		case next, open := <-seen:
			if !open {
				tb.Fatalf("the watch has ended at %+v", last)
			}
			if last = next; next.routes == routes {
				return next
			}
		case <-deadline.C:
			tb.Fatalf("still %+v, want %d routes", last, routes)
		}
	}
}

// measureAttached creates routes at once and deletes them, and watches the status of their Gateway.
func (w *world) measureAttached(tb testing.TB) {
	tb.Helper()
	w.gateway(tb, "attached")
	w.Apply(namespaceManifest("attached"), serviceManifest("attached", blue.String()))
	w.writeSlice(tb, "attached", blue.String(), place(blue, 0))
	settle(tb, w.sluice.PID())
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	seen := w.follow(ctx, tb, "attached")
	before := reach(tb, seen, 0)
	size := w.asked.attached
	name := func(i int) string { return fmt.Sprintf("route-%05d", i) }
	begun := time.Now()
	each(tb, size, func(ctx context.Context, i int) error {
		return w.create(ctx, route("attached", name(i), name(i)+".example.com", parent{"Gateway", home, "attached"}, blue))
	})
	created := time.Now()
	up := reach(tb, seen, int64(size))
	w.awaitAccepted(tb, "attached", size)
	accepted := time.Now()
	deleting := time.Now()
	each(tb, size, func(ctx context.Context, i int) error {
		return w.routes("attached").Delete(ctx, name(i), metav1.DeleteOptions{})
	})
	deleted := time.Now()
	down := reach(tb, seen, 0)
	pause(tb.Context(), 3*time.Second)
	writes := down.writes
	for len(seen) > 0 {
		writes = (<-seen).writes
	}
	writes -= before.writes
	w.results.note("attached", max(0, up.when.Sub(created).Seconds()))
	w.results.note("detached", max(0, down.when.Sub(deleted).Seconds()))
	w.results.note("gateway-writes", float64(writes))
	w.results.note("accepted", accepted.Sub(created).Seconds())
	w.results.say("%d routes created in %v: attachedRoutes after %v more, Accepted in all routes after %v; deleted in %v: 0 after "+
		"%v more; %d writes of the Gateway's status (%d until all were attached)", size, rounded(created.Sub(begun)),
		rounded(up.when.Sub(created)), rounded(accepted.Sub(created)), rounded(deleted.Sub(deleting)),
		rounded(down.when.Sub(deleted)), writes, up.writes-before.writes)
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// awaitAccepted waits until a number of routes of a namespace has the condition Accepted.
func (w *world) awaitAccepted(tb testing.TB, namespace string, size int) {
	tb.Helper()
	for begun := time.Now(); ; pause(tb.Context(), 100*time.Millisecond) {
		list, err := w.routes(namespace).List(tb.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			tb.Fatal(err)
		}
		count := 0
		for i := range list.Items {
			if len(parentsOf(&list.Items[i])) > 0 {
				count++
			}
		}
		if count == size {
			return
		}
		if time.Since(begun) > 2*timeout {
			tb.Fatalf("%d of %d routes have a status", count, size)
		}
	}
}

// parentsOf returns the entries in a route's status.
func parentsOf(route *unstructured.Unstructured) []any {
	parents, _, _ := unstructured.NestedSlice(route.Object, "status", "parents")
	return parents
}
