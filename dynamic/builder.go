package dynamic

import (
	"fmt"

	"github.com/sluiceproxy/sluice/immutable"
)

// Builder changes a configuration without changing what it has returned. It belongs to one goroutine.
type Builder struct {
	next *Configuration
	// edit is that of the writes since the last Configuration.
	edit *immutable.Edit
}

// NewBuilder returns a Builder that begins with a configuration, which stays as it is.
func NewBuilder(from *Configuration) *Builder {
	return &Builder{next: copied(from), edit: new(immutable.Edit)}
}

// Get returns the object of a reference as it is now; nil when there is none.
func (b *Builder) Get(ref Ref) any { return b.next.Object(ref) }

// Put adds an object, which may be nil, or replaces the one of the same name. It panics when the object is not of the
// reference's kind, and for a certificate, which has no name of its own.
func (b *Builder) Put(ref Ref, object any) {
	kind := kindOf(ref.Kind)
	if kind == nil {
		panic(fmt.Sprintf("dynamic: %s is not a kind of objects with names", ref.Kind))
	}
	kind.put(b.next, b.edit, ref.Name, object)
}

// Delete removes an object, if it is there.
func (b *Builder) Delete(ref Ref) {
	if kind := kindOf(ref.Kind); kind != nil {
		kind.remove(b.next, b.edit, ref.Name)
	}
}

// Configuration returns what has been built, without certificates, origins and verdicts unless the Builder began with
// some. Its objects do not change any more; its other fields are the caller's.
func (b *Builder) Configuration() *Configuration {
	b.edit = new(immutable.Edit)
	return copied(b.next)
}

// copied copies a configuration and its sections, and shares the objects.
func copied(c *Configuration) *Configuration {
	next := *c
	next.HTTP, next.TCP, next.UDP, next.TLS = copyOf(c.HTTP), copyOf(c.TCP), copyOf(c.UDP), copyOf(c.TLS)
	next.Listeners = copyOf(c.Listeners)
	return &next
}

func copyOf[T any](section *T) *T {
	if section == nil {
		return nil
	}
	next := *section
	return &next
}
