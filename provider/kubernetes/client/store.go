package client

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// store is filled by a reflector: the part of a watch in one namespace, or all of it.
//
// It replaces the queue and the second store of an informer. The rest of an informer is in Watched, which all listeners
// share, on the reflector's goroutine and without a copy.
type store[T Object] struct {
	watched   *Watched[T]
	namespace string
}

// sample returns an empty object of T's type, by which a reflector recognises what belongs to it.
func sample[T Object]() runtime.Object {
	return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(runtime.Object)
}

// typed returns the object with its type and without unused fields.
func (s *store[T]) typed(object any) (T, error) {
	one, ok := object.(T)
	if !ok {
		return one, fmt.Errorf("%s expected: an object is a %T", s.watched.resource.Kind, object)
	}
	one.SetManagedFields(nil)
	if s.watched.resource.Strip != nil {
		s.watched.resource.Strip(one)
	}
	return one, nil
}

// Transformer returns what objects go through while they are streamed in at the start, so that they never lie in
// memory as a whole.
func (s *store[T]) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return s.typed(object) }
}

// Add keeps an object.
func (s *store[T]) Add(object any) error {
	one, err := s.typed(object)
	if err != nil {
		return err
	}
	s.watched.delivery.Lock()
	defer s.watched.delivery.Unlock()
	s.watched.put(one)
	return nil
}

// Update keeps an object.
func (s *store[T]) Update(object any) error { return s.Add(object) }

// Delete removes an object.
func (s *store[T]) Delete(object any) error {
	one, ok := object.(T)
	if !ok {
		return fmt.Errorf("%s expected: a deleted object is a %T", s.watched.resource.Kind, object)
	}
	s.watched.delivery.Lock()
	defer s.watched.delivery.Unlock()
	s.watched.drop(objectKey{one.GetNamespace(), one.GetName()})
	return nil
}

// Replace keeps the objects and removes all others.
func (s *store[T]) Replace(objects []any, _ string) error {
	listed := make(map[objectKey]struct{}, len(objects))
	s.watched.delivery.Lock()
	defer s.watched.delivery.Unlock()
	for _, object := range objects {
		one, err := s.typed(object)
		if err != nil {
			return err
		}
		listed[objectKey{one.GetNamespace(), one.GetName()}] = struct{}{}
		s.watched.put(one)
	}
	s.keepOnly(listed)
	return nil
}

// clear removes all objects.
func (s *store[T]) clear() {
	s.watched.delivery.Lock()
	defer s.watched.delivery.Unlock()
	s.keepOnly(nil)
}

// keepOnly removes every object of this part that is not listed.
func (s *store[T]) keepOnly(listed map[objectKey]struct{}) {
	var gone []objectKey
	s.watched.mu.RLock()
	for key := range s.watched.objects {
		if _, still := listed[key]; !still && (s.namespace == "" || s.namespace == key.namespace) {
			gone = append(gone, key)
		}
	}
	s.watched.mu.RUnlock()
	for _, key := range gone {
		s.watched.drop(key)
	}
}

// Resync does nothing.
func (s *store[T]) Resync() error { return nil }
