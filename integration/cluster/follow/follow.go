// Package follow watches the objects of one kind through failures of the API server.
//
// Run lists and watches a Source and passes changes to its handler: first all objects, then each change, and after an
// interruption the differences. It retries without backoff until its context ends, for tests that interrupt the API
// server for minutes.
package follow

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// pause is the time between two attempts.
const pause = 50 * time.Millisecond

// Source lists and watches objects of one kind, as the clients of client-go do.
type Source struct {
	List func(context.Context, metav1.ListOptions) (runtime.Object, error)
	// Watch begins at the ResourceVersion of the options.
	Watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// Change is a present or deleted object.
type Change struct {
	// Object is the current or the last known object.
	Object runtime.Object
	// Gone is set for a deleted object.
	Gone bool
}

// Run passes changes until ctx ends: all objects of the first list in one call, which may be empty, then one change at
// a time. The handler is called on the caller's goroutine.
func Run(ctx context.Context, source Source, handle func([]Change)) {
	known := map[string]runtime.Object{}
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if version, ok := list(ctx, source, known, handle); ok {
			stream(ctx, source, version, known, handle)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// list updates known and passes the differences.
func list(ctx context.Context, source Source, known map[string]runtime.Object, handle func([]Change)) (version string,
	ok bool,
) {
	found, err := source.List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", false
	}
	listMeta, err := meta.ListAccessor(found)
	if err != nil {
		return "", false
	}
	var changes []Change
	present := map[string]bool{}
	_ = meta.EachListItem(found, func(object runtime.Object) error { // Neither it nor the function fails on a list.
		key, version := identity(object)
		present[key] = true
		if before, there := known[key]; there {
			if _, old := identity(before); old == version {
				return nil
			}
		}
		known[key] = object
		changes = append(changes, Change{Object: object})
		return nil
	})
	for key, object := range known {
		if !present[key] {
			delete(known, key)
			changes = append(changes, Change{Object: object, Gone: true})
		}
	}
	handle(changes)
	return listMeta.GetResourceVersion(), true
}

// stream passes the events of a watch until it ends.
func stream(ctx context.Context, source Source, version string, known map[string]runtime.Object,
	handle func([]Change),
) {
	watched, err := source.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return
	}
	defer watched.Stop()
	for {
		var event watch.Event
		var open bool
		select {
		case <-ctx.Done():
			return
		case event, open = <-watched.ResultChan():
		}
		if !open {
			return
		}
		switch event.Type {
		case watch.Added, watch.Modified:
			key, _ := identity(event.Object)
			known[key] = event.Object
			handle([]Change{{Object: event.Object}})
		case watch.Deleted:
			key, _ := identity(event.Object)
			delete(known, key)
			handle([]Change{{Object: event.Object, Gone: true}})
		case watch.Bookmark:
		case watch.Error:
			return
		}
	}
}

// identity returns namespace, name and uid as one key, and the version.
func identity(object runtime.Object) (key, version string) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", ""
	}
	return accessor.GetNamespace() + "/" + accessor.GetName() + "/" + string(accessor.GetUID()),
		accessor.GetResourceVersion()
}
