package client

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Watched is one resource, held in memory and kept as the cluster has it. Its methods may be called from any goroutine.
// The objects are shared and must not be changed.
type Watched[T Object] struct {
	resource  Resource[T]
	informers []*informer
	cluster   *Cluster
	key       string
	// stop ends the goroutines of the current run; it is guarded by the cluster's mu.
	stop context.CancelFunc

	// delivery is held while an object is replaced and listeners are called, so that all get the same order of changes.
	delivery sync.Mutex
	handlers []func(before, after T)

	mu      sync.RWMutex
	objects map[objectKey]T
}

// Watcher is what providers need of one resource of a cluster. Watched is one.
type Watcher[T Object] interface {
	// Get returns an object by its name, without a namespace where it has none.
	Get(namespace, name string) (T, bool)
	// All returns the objects, in no order.
	All() iter.Seq[T]
	// Notify has the function called for every object and each change, see [Watched.Notify].
	Notify(handle func(before, after T))
	// Status returns the status of the watch.
	Status() Status
}

type objectKey struct{ namespace, name string }

// Status is the status of a watch.
type Status struct {
	// State is pending, synced, absent (the API is not served) or forbidden.
	State dynamic.ProviderState
	// Reason explains the status, without secrets; it names verb and resource when forbidden, and is empty when synced.
	Reason string
}

// Watch returns the watch of a resource in a scope and starts it if the cluster runs. Equal resources in equal scopes
// share one watch.
func Watch[T Object](c *Cluster, resource Resource[T], scope Scope) *Watched[T] {
	key := watchKey(resource, scope)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.watches[key].(*Watched[T]); ok {
		if resource.Whole && c.running == nil {
			known.resource = resource
		}
		return known
	}
	watched := &Watched[T]{resource: resource, cluster: c, key: key, objects: map[objectKey]T{}}
	selector := scope.LabelSelector
	if resource.LabelSelector != "" && selector != "" {
		selector += ","
	}
	selector += resource.LabelSelector
	for _, namespace := range scope.namespaces(resource.Namespaced) {
		watched.informers = append(watched.informers, &informer{
			cluster: c,
			target: target{
				version: resource.GroupVersion, resource: resource.Name, namespace: namespace,
				fields: resource.FieldSelector, labels: selector, metadata: resource.Metadata,
			},
			sample:  sample[T](),
			newList: resource.NewList,
			store:   &store[T]{watched: watched, namespace: namespace},
		})
	}
	c.watches[key] = watched
	c.order = append(c.order, watched)
	if c.running != nil {
		watched.start(c.running)
	}
	return watched
}

func (w *Watched[T]) start(current *running) {
	ctx, cancel := context.WithCancel(current.ctx)
	w.stop = cancel
	for _, one := range w.informers {
		current.jobs.Go(func() { one.run(ctx) })
	}
}

// Close ends the watch for all that share it. Its listeners get no further changes, and a new Watch of the same
// resource reads it anew.
func (w *Watched[T]) Close() {
	w.cluster.mu.Lock()
	if w.cluster.watches[w.key] == watcher(w) {
		delete(w.cluster.watches, w.key)
	}
	w.cluster.order = slices.DeleteFunc(w.cluster.order, func(one watcher) bool { return one == watcher(w) })
	if w.stop != nil {
		w.stop()
	}
	w.cluster.mu.Unlock()
	w.delivery.Lock()
	w.handlers = nil
	w.delivery.Unlock()
}

// Get returns the object of that name; the namespace is empty for resources without one. It is false when there is
// none.
func (w *Watched[T]) Get(namespace, name string) (T, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	object, ok := w.objects[objectKey{namespace, name}]
	return object, ok
}

// All returns every object that was there when it was called, in no particular order.
func (w *Watched[T]) All() iter.Seq[T] {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return slices.Values(slices.Collect(maps.Values(w.objects)))
}

// Len returns the number of objects.
func (w *Watched[T]) Len() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.objects)
}

// Notify has the function called for every change from now on, and for every object that is there as one that is
// added, before Notify returns. Before is the zero value for an object that was not there, after for one that is gone;
// two objects with the same resourceVersion are no change. It is called on a goroutine of the watch, for one change at
// a time, and must return at once; it may read this watch, but not call its Notify.
func (w *Watched[T]) Notify(handle func(before, after T)) {
	w.delivery.Lock()
	defer w.delivery.Unlock()
	var none T
	for object := range w.All() {
		handle(none, object)
	}
	w.handlers = append(w.handlers, handle)
}

// put stores an object and calls the listeners; the caller holds delivery.
func (w *Watched[T]) put(object T) {
	key := objectKey{object.GetNamespace(), object.GetName()}
	w.mu.RLock()
	before, known := w.objects[key]
	w.mu.RUnlock()
	if known && before.GetResourceVersion() == object.GetResourceVersion() {
		return
	}
	w.mu.Lock()
	w.objects[key] = object
	w.mu.Unlock()
	for _, handle := range w.handlers {
		handle(before, object)
	}
}

// drop removes an object and calls the listeners; the caller holds delivery.
func (w *Watched[T]) drop(key objectKey) {
	w.mu.Lock()
	before, known := w.objects[key]
	delete(w.objects, key)
	w.mu.Unlock()
	if !known {
		return
	}
	var none T
	for _, handle := range w.handlers {
		handle(before, none)
	}
}
