package translation

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// declaration is one source's declaration of an object.
type declaration struct {
	by     *entry
	object any
}

// place returns the index that a source's declaration has among those of one object, or would have.
func place(all []declaration, by *entry) (at int, declared bool) {
	return slices.BinarySearchFunc(all, by.source, func(d declaration, s Source) int { return d.by.source.Compare(s) })
}

// declare notes that a source declares an object, and reports false when it declared the same before.
func (m *Memory) declare(by *entry, ref dynamic.Ref, object any) bool {
	if certificate, ok := object.(*dynamic.CertificateEntry); ok {
		qualified := *certificate
		qualified.Name += "@" + m.provider
		object = &qualified
	}
	all := m.declared[ref]
	switch at, again := place(all, by); {
	case !again:
		m.declared[ref] = slices.Insert(all, at, declaration{by, object})
	case dynamic.Equal(all[at].object, object):
		return false
	default:
		all[at].object = object
	}
	m.dirty[ref] = struct{}{}
	return true
}

// withdraw notes that a source does not declare an object any more.
func (m *Memory) withdraw(by *entry, ref dynamic.Ref) {
	all := m.declared[ref]
	if at, _ := place(all, by); len(all) > 1 {
		m.declared[ref] = slices.Delete(all, at, at+1)
	} else {
		delete(m.declared, ref)
	}
	m.dirty[ref] = struct{}{}
}

// settle puts the first declaration in force of each object whose declarations have changed. It reports whether any
// object or origin is another one now, and whether any certificate is.
func (m *Memory) settle() (changed, certificates bool) {
	edit := new(immutable.Edit)
	for ref := range m.dirty {
		var objects objects = m.builder
		if ref.Kind == dynamic.KindCertificate {
			objects = m.certificates
		}
		all, current := m.declared[ref], objects.Get(ref)
		differs := len(all) == 0 || current == nil || !dynamic.Equal(current, all[0].object)
		changed = changed || differs
		certificates = certificates || differs && ref.Kind == dynamic.KindCertificate
		if len(all) == 0 {
			objects.Delete(ref)
			m.origins.Delete(edit, ref)
			delete(m.contested, ref)
			continue
		}
		if differs {
			current = all[0].object
			objects.Put(ref, current)
		}
		if origin, known := m.origins.Find(ref); !known || origin != all[0].by.origin {
			m.origins.Set(edit, ref, all[0].by.origin)
			changed = true
		}
		contested := false
		for i := range all {
			if all[i].object == current || dynamic.Equal(all[i].object, current) {
				all[i].object = current // What is equal is one object.
			} else {
				contested = true
			}
		}
		_, before := m.contested[ref]
		for i, one := range all {
			switch conflicts := contested && (i == 0 || one.object != current) || before && len(one.by.verdicts) > 0; {
			case conflicts, one.by.finds(ref):
				m.judged[one.by] = struct{}{}
			}
		}
		if contested {
			m.contested[ref] = struct{}{}
		} else if before {
			delete(m.contested, ref)
		}
	}
	if len(m.dirty) > 0 {
		m.dirty = map[dynamic.Ref]struct{}{} // A cleared map still costs its largest size with each walk.
	}
	return changed, certificates
}

// objects is where the objects in force are: a dynamic.Builder, or certificates.
type objects interface {
	Get(ref dynamic.Ref) any
	Put(ref dynamic.Ref, object any)
	Delete(ref dynamic.Ref)
}

// certificates are those in force.
type certificates map[dynamic.Ref]*dynamic.CertificateEntry

// Get returns a certificate; nil when there is none.
func (c certificates) Get(ref dynamic.Ref) any {
	if entry := c[ref]; entry != nil {
		return entry
	}
	return nil
}

// Put adds a certificate or replaces it.
func (c certificates) Put(ref dynamic.Ref, object any) { c[ref] = object.(*dynamic.CertificateEntry) }

// Delete removes a certificate.
func (c certificates) Delete(ref dynamic.Ref) { delete(c, ref) }

// sorted returns the certificates in order of their names.
func (c certificates) sorted() []*dynamic.CertificateEntry {
	byName := func(a, b *dynamic.CertificateEntry) int { return cmp.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(c), byName)
}
