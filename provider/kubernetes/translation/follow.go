package translation

// Object is an object of a cluster.
type Object interface {
	GetNamespace() string
	GetName() string
}

// Notifier passes on the changes of a resource. Before is nil for an object that was added, after for one that was
// deleted.
type Notifier[T Object] interface {
	Notify(handle func(before, after T))
}

// Follow marks what depends on an object, for each change of an object of a resource. The sources have the kind.
func Follow[T Object](memory *Memory, kind string, of Notifier[T]) {
	of.Notify(func(before, after T) {
		object := Last(before, after)
		memory.Touch(Source{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()})
	})
}

// Last returns the last version of an object that changed: after, or before when it was deleted.
func Last[T Object](before, after T) T {
	var none T
	if any(after) == any(none) {
		return before
	}
	return after
}
