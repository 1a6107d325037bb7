package translation

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// merge makes one configuration of what all sources declare.
type merge struct {
	provider string

	builder      *dynamic.Builder
	certificates certificates
	sections     map[dynamic.Kind]*section

	// origins are those of the objects in force; originsEdit is nil until this update changes them.
	origins     immutable.Map[dynamic.Ref, dynamic.Origin]
	originsEdit *immutable.Edit
	// judged are the entries whose verdicts may have changed in this update, changed those that declare something else
	// now, and refused those that have verdicts.
	judged, changed, refused map[*entry]struct{}
	last                     *dynamic.Configuration
}

func newMerge(provider string) *merge {
	m := &merge{
		provider: provider,
		builder: dynamic.NewBuilder(&dynamic.Configuration{
			HTTP: &dynamic.HTTPConfiguration{}, TCP: &dynamic.TCPConfiguration{},
			UDP: &dynamic.UDPConfiguration{}, TLS: &dynamic.TLSConfiguration{},
		}),
		certificates: certificates{},
		sections:     map[dynamic.Kind]*section{},
		refused:      map[*entry]struct{}{},
		judged:       map[*entry]struct{}{},
		changed:      map[*entry]struct{}{},
	}
	m.sections[dynamic.KindCertificate] = newSection(dynamic.KindCertificate, m.certificates)
	for _, kind := range dynamic.ObjectKinds() {
		m.sections[kind.Kind()] = newSection(kind.Kind(), m.builder)
	}
	return m
}

// replace takes what a source declares now.
func (m *merge) replace(by *entry, result Result) {
	before := by.refs
	by.refs = make([]dynamic.Ref, 0, len(before))
	changed := false
	for ref, object := range m.declared(result) {
		by.refs = append(by.refs, ref)
		if m.sections[ref.Kind].declare(by, ref.Name, object) {
			changed = true
		}
	}
	slices.SortFunc(by.refs, compareRefs)
	by.refs = slices.Clip(slices.Compact(by.refs))
	for _, ref := range before {
		if _, still := slices.BinarySearchFunc(by.refs, ref, compareRefs); !still {
			m.sections[ref.Kind].withdraw(by, ref.Name)
			delete(by.conflicts, ref)
			changed = true
		}
	}
	if !sameOrigin(by.origin, result.Origin) {
		by.origin = result.Origin
		changed = true
		for _, ref := range by.refs {
			m.sections[ref.Kind].touch(ref.Name)
		}
	}
	m.find(by, result)
	if changed {
		m.changed[by] = struct{}{}
		m.judged[by] = struct{}{}
	}
}

// declared yields the objects of a result.
func (m *merge) declared(result Result) iter.Seq2[dynamic.Ref, any] {
	return func(yield func(dynamic.Ref, any) bool) {
		for ref, object := range result.Objects {
			if !yield(ref, object) {
				return
			}
		}
		for name, entry := range m.named(result.Certificates) {
			if !yield(dynamic.Ref{Kind: dynamic.KindCertificate, Name: name}, entry) {
				return
			}
		}
	}
}

// named returns certificates by their own names, carrying the qualified ones.
func (m *merge) named(entries []*dynamic.CertificateEntry) map[string]*dynamic.CertificateEntry {
	named := make(map[string]*dynamic.CertificateEntry, len(entries))
	for _, entry := range entries {
		qualified := *entry
		own := strings.TrimSuffix(entry.Name, "@"+m.provider)
		qualified.Name = own + "@" + m.provider
		named[own] = &qualified
	}
	return named
}

// sameOrigin compares origins by what they say.
func sameOrigin(a, b dynamic.Origin) bool {
	if a.Resource != nil && b.Resource != nil && *a.Resource == *b.Resource {
		a.Resource = b.Resource
	}
	return a == b
}

// finish settles everything that has changed and returns the configuration that follows. Pushed counts, for each kind
// of source, those that declare something else now.
func (m *merge) finish() (configuration *dynamic.Configuration, changed bool, pushed map[string]int) {
	certificates := false
	for kind, section := range m.sections {
		if section.settle(m) {
			changed = true
			certificates = certificates || kind == dynamic.KindCertificate
		}
	}
	verdicts := m.judge()
	sources := m.changed
	m.changed = map[*entry]struct{}{}
	if !changed && !verdicts && m.originsEdit == nil && m.last != nil {
		return m.last, false, nil
	}
	pushed = map[string]int{}
	for one := range sources {
		pushed[one.source.Kind]++
	}
	m.last = m.assemble(m.last, certificates, verdicts)
	return m.last, true, pushed
}

// assemble makes a configuration of what the sections hold, and of the parts of the last one that have not changed.
func (m *merge) assemble(last *dynamic.Configuration, certificates, verdicts bool) *dynamic.Configuration {
	next := m.builder.Configuration()
	next.Origins = m.origins
	m.originsEdit = nil
	if certificates || last == nil {
		next.TLS.Certificates = slices.SortedFunc(maps.Values(m.certificates), compareCertificates)
	} else {
		next.TLS.Certificates = last.TLS.Certificates
	}
	if verdicts || last == nil {
		next.Verdicts = m.verdicts()
	} else {
		next.Verdicts = last.Verdicts
	}
	return next
}

// certificates are those in force, by their own names.
type certificates map[string]*dynamic.CertificateEntry

// Get returns a certificate; nil when there is none.
func (c certificates) Get(ref dynamic.Ref) any {
	if entry := c[ref.Name]; entry != nil {
		return entry
	}
	return nil
}

// Put adds a certificate or replaces it.
func (c certificates) Put(ref dynamic.Ref, object any) {
	c[ref.Name] = object.(*dynamic.CertificateEntry)
}

// Delete removes a certificate.
func (c certificates) Delete(ref dynamic.Ref) { delete(c, ref.Name) }

func compareCertificates(a, b *dynamic.CertificateEntry) int { return cmp.Compare(a.Name, b.Name) }
