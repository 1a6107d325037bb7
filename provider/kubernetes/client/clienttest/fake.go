package clienttest

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// Watch is a client.Watcher whose objects a test puts and drops. Its methods may be called from any goroutine.
type Watch[T client.Object] struct {
	// delivery is held while listeners are called, so that all get the same order of changes.
	delivery sync.Mutex
	handlers []func(before, after T)

	mu      sync.Mutex
	objects map[name]T
	status  client.Status
}

// NewWatch returns a watch without objects, which is synced.
func NewWatch[T client.Object]() *Watch[T] {
	return &Watch[T]{objects: map[name]T{}, status: client.Status{State: dynamic.StateSynced}}
}

// Get implements client.Watcher.
func (w *Watch[T]) Get(namespace, of string) (T, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	object, ok := w.objects[name{namespace, of}]
	return object, ok
}

// All implements client.Watcher.
func (w *Watch[T]) All() iter.Seq[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Values(slices.Collect(maps.Values(w.objects)))
}

// Notify implements client.Watcher.
func (w *Watch[T]) Notify(handle func(before, after T)) {
	w.delivery.Lock()
	defer w.delivery.Unlock()
	var none T
	for object := range w.All() {
		handle(none, object)
	}
	w.handlers = append(w.handlers, handle)
}

// Status implements client.Watcher.
func (w *Watch[T]) Status() client.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// SetStatus sets the status, of which no listener is notified.
func (w *Watch[T]) SetStatus(state dynamic.ProviderState, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = client.Status{State: state, Reason: reason}
}

// Put adds an object, or replaces the one of its name.
func (w *Watch[T]) Put(object T) {
	w.delivery.Lock()
	defer w.delivery.Unlock()
	w.mu.Lock()
	key := name{object.GetNamespace(), object.GetName()}
	before := w.objects[key]
	w.objects[key] = object
	w.mu.Unlock()
	for _, handle := range w.handlers {
		handle(before, object)
	}
}

// Drop deletes an object, if it is there.
func (w *Watch[T]) Drop(namespace, of string) {
	w.delivery.Lock()
	defer w.delivery.Unlock()
	w.mu.Lock()
	key := name{namespace, of}
	before, known := w.objects[key]
	delete(w.objects, key)
	w.mu.Unlock()
	var none T
	for _, handle := range w.handlers {
		if known {
			handle(before, none)
		}
	}
}

// Parse returns the object of a manifest, which has no unknown fields.
func Parse[T any](tb testing.TB, manifest []byte) *T {
	tb.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict(manifest, object); err != nil {
		tb.Fatalf("%v in\n%s", err, manifest)
	}
	return object
}
