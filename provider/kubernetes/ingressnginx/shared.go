package ingressnginx

import "reflect"

// mostShared bounds the objects of a kind that are kept.
const mostShared = 16

// shared keeps the last objects that are named by their content: most Ingresses declare equal ones, and comparing is
// much faster than hashing. Its zero value is usable.
type shared struct {
	kinds map[string][]sharedObject
	// next counts those of a kind that were kept, to replace the oldest.
	next map[string]int
}

// sharedObject is an object with its name. It is not changed any more.
type sharedObject struct {
	name   string
	object any
}

// share returns the name of an object by its content, and the object or an equal one that was there before.
func share[T any](s *shared, kind string, object T) (string, T) {
	for _, one := range s.kinds[kind] {
		if before, is := one.object.(T); is && reflect.DeepEqual(before, object) {
			return one.name, before
		}
	}
	name := hashed(kind, object)
	if s.kinds == nil {
		s.kinds, s.next = map[string][]sharedObject{}, map[string]int{}
	}
	if len(s.kinds[kind]) < mostShared {
		s.kinds[kind] = append(s.kinds[kind], sharedObject{name, object})
	} else {
		s.kinds[kind][s.next[kind]%mostShared] = sharedObject{name, object}
	}
	s.next[kind]++
	return name, object
}
