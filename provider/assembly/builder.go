package assembly

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Builder changes a configuration without changing what it has returned: between two calls of Configuration each map is
// copied once, and only if it is written to. It belongs to one goroutine.
type Builder struct {
	next *dynamic.Configuration
	// own are the kinds whose maps have been copied since the last Configuration.
	own map[dynamic.Kind]struct{}
	// revision is that of the last Configuration, nil where the next one does not relate to it. Written are the objects that
	// were written to since.
	revision *dynamic.Revision
	written  map[dynamic.Ref]struct{}
}

// mostWritten bounds how many objects a Revision lists. Where more change, looking at all of them costs little more.
const mostWritten = 1000

// NewBuilder returns a Builder that begins with a configuration, which stays as it is.
func NewBuilder(from *dynamic.Configuration) *Builder {
	b := &Builder{next: copied(from), own: map[dynamic.Kind]struct{}{}, written: map[dynamic.Ref]struct{}{}}
	b.next.Revision = nil
	return b
}

// Get returns the object of a reference as it is now; nil when there is none.
func (b *Builder) Get(ref dynamic.Ref) any { return Get(b.next, ref) }

// Put adds an object, which may be nil, or replaces the one of the same name. It panics when the object is not of the reference's kind,
// and for a certificate, which has no map.
func (b *Builder) Put(ref dynamic.Ref, object any) {
	kind := b.writable(ref.Kind)
	kind.put(b.next, ref.Name, object)
	b.write(ref, kind.Get(b.next, ref.Name) == nil)
}

// Delete removes an object, if it is there.
func (b *Builder) Delete(ref dynamic.Ref) {
	if b.Get(ref) != nil {
		b.writable(ref.Kind).remove(b.next, ref.Name)
		b.write(ref, false)
	}
}

// Configuration returns what has been built, without certificates, origins and verdicts unless the Builder began with
// some. Its maps are not written to any more; its other fields but Revision are the caller's.
func (b *Builder) Configuration() *dynamic.Configuration {
	clear(b.own)
	if b.revision == nil {
		b.revision = dynamic.NewRevision()
	} else {
		b.revision = b.revision.Next(slices.Collect(maps.Keys(b.written)))
	}
	clear(b.written)
	next := copied(b.next)
	next.Revision = b.revision
	return next
}

// write notes that an object was written to, or that this cannot be noted: an object that declares nothing does not differ
// from one that is not there.
func (b *Builder) write(ref dynamic.Ref, nothing bool) {
	if b.revision == nil {
		return
	}
	if b.written[ref] = struct{}{}; nothing || len(b.written) > mostWritten {
		b.revision = nil
		b.written = map[dynamic.Ref]struct{}{}
	}
}

func (b *Builder) writable(name dynamic.Kind) Kind {
	kind := kindOf(name)
	if kind == nil {
		panic(fmt.Sprintf("assembly: %s is not a kind of objects with names", name))
	}
	if _, own := b.own[name]; !own {
		kind.clone(b.next)
		b.own[name] = struct{}{}
	}
	return kind
}

// copied copies a configuration and its sections, and shares the maps.
func copied(c *dynamic.Configuration) *dynamic.Configuration {
	next := *c
	next.HTTP, next.TCP, next.UDP, next.TLS = copyOf(c.HTTP), copyOf(c.TCP), copyOf(c.UDP), copyOf(c.TLS)
	return &next
}

func copyOf[T any](section *T) *T {
	if section == nil {
		return nil
	}
	next := *section
	return &next
}
